"""What holds for all of a node's HAProxy: its limits and sockets, and for how long it waits.

Takes a node and the Layout of its machine. Returns lines of HAProxy's configuration. Knows no site.
"""

from __future__ import annotations

from datetime import timedelta

from flex.routing.ports_and_paths import Layout


def global_lines(node: str, layout: Layout) -> list[str]:
    return [
        "global",
        f"maxconn {layout.connections}",
        *([f"nbthread {layout.threads}"] if layout.threads else []),
        f"stats socket {layout.socket} mode 600 level admin expose-fd listeners",
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
