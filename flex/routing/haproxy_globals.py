"""What holds for all of a node's HAProxy: its limits and sockets, and for how long it waits.

Takes a node and the Layout of its machine. Returns lines of HAProxy's configuration. Knows no site.
"""

from __future__ import annotations

from datetime import timedelta

from flex.routing.ports_and_paths import Layout

# In a process that ends after a reload HAProxy counts no server of any backend as up, though all
# of them take requests that come over older connections.
ENDS = "{ stopping }"
# One in so many connections is kept from visitors, for what has to be accepted so that theirs can
# end: requests that other nodes pass on, and hops within HAProxy. Without it two nodes full of
# visitors for each other accept nothing of each other, and nobody is answered. What is kept waits
# for web servers alone, so it becomes free again however many visitors wait for it. A quarter is
# enough for every third visitor to be passed on at the same time, and is a guess.
_KEPT = 4
# Where web servers end TLS, visitors have two doors, and this is the part of the one for requests,
# most of which are told to come by TLS. A guess.
_REQUESTS_BESIDE_TLS = 3


def most_visitors(layout: Layout) -> int:
    """Return how many connections visitors have at most at the door for requests."""
    most = _most(layout)
    return max(1, most // _REQUESTS_BESIDE_TLS) if layout.listen_sni else most


def most_visitors_by_sni(layout: Layout) -> int:
    return max(1, _most(layout) - most_visitors(layout))


def _most(layout: Layout) -> int:
    return max(1, layout.connections - layout.connections // _KEPT)


def none_is_up(backend: str) -> str:
    """Whether all servers of the backend, which a variable names, are away."""
    return f"{{ {backend},nbsrv eq 0 }} !{ENDS}"


def global_lines(node: str, layout: Layout) -> list[str]:
    return [
        "global",
        f"maxconn {layout.connections}",
        *([f"nbthread {layout.threads}"] if layout.threads else []),
        f"stats socket {layout.socket} mode 600 level admin expose-fd listeners",
        *([f"user {layout.run_as}", f"group {layout.run_as}"] if layout.run_as else []),
        *([f"chroot {layout.chroot}"] if layout.chroot else []),
        f"hard-stop-after {layout.hard_stop_after // timedelta(seconds=1)}s",
        f"localpeer {node}",
        f"node {node}",
    ]


def defaults_lines(layout: Layout) -> list[str]:
    timeout = _time(layout.timeout)
    return [
        "defaults",
        "mode http",
        "timeout connect 2s",
        f"timeout client {timeout}",
        f"timeout server {timeout}",
        "timeout queue 30s",
        "timeout http-request 10s",
        "timeout http-keep-alive 15s",
        "timeout check 2s",
        "retries 2",
        "option redispatch 1",
        "option http-ignore-probes",
        "http-reuse safe",
        *([f"option httpchk GET {layout.check_path}"] if layout.check_path else []),
    ]


def _time(span: timedelta) -> str:
    """To the millisecond."""
    if span % timedelta(seconds=1):
        return f"{span / timedelta(milliseconds=1):.0f}ms"
    return f"{span // timedelta(seconds=1)}s"
