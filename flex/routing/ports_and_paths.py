"""Where things are on the machine of every node.

Takes what the settings say of it. Returns one value, which nothing can be in that would mean
something else in a configuration. Does not look at any machine.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from datetime import timedelta

from flex.routing.member_pools import unusable_configuration

DIRECTORY = "/etc/haproxy/flex"
# The socket of its master process, where Debian's HAProxy has it.
MASTER = "/run/haproxy-master.sock"

# HAProxy waits no shorter and no longer than this for a visitor or a web server that says nothing.
_SHORTEST_TIMEOUT = timedelta(seconds=1)
_LONGEST_TIMEOUT = timedelta(days=1)
# Requests of a held site wait no shorter and no longer than this.
_SHORTEST_HOLD = timedelta(milliseconds=100)
_LONGEST_HOLD = timedelta(seconds=25)

_WORD = re.compile(r"[A-Za-z0-9_./:*\[\]@-]{1,200}")
_PORTS = range(1, 65_536)
_LISTENED = re.compile(r":([0-9]{1,5})(?:-([0-9]{1,5}))?$")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are on the machine of every node. A port or path that is 0 or "" is not used.

    The web servers listen on `origin_port` of the nodes' addresses, on this machine of `origin`;
    the distributors tell each other on `peers_port`. `directory` is where the files of the
    configuration are. With a `bypass` visitors come to the web servers, which pass on to HAProxy
    what is for a routed site. Nodes reach each other at `inner_port`, where HAProxy listens on all
    addresses of its machine unless `inner_listen` says where. They do so by TLS with an
    `inner_certificate`, which each node has with its key, and `inner_ca`, which signed those of all
    nodes; members of replicated sites then reach each other at `member_port`. With `listen_sni`
    doors lead to web servers that end TLS themselves, on `origin_tls_port` of the same addresses.
    `content` says whether each node has the content of all sites ("everywhere"), or of its own
    alone ("owner"). A visitor or a web server that says nothing for `timeout` is hung up on.
    Requests for a site that is held wait for `hold_time` at most, and at each door no more than
    `hold_requests` for one name. HAProxy answers visitors as the user and group `run_as`, with
    `chroot` as its root. It `counts_answers` of each site where sites that moved are watched.
    """

    directory: str = DIRECTORY
    listen: tuple[str, ...] = (":80",)
    listen_tls: tuple[str, ...] = ()
    certificates: str = ""
    origin: str = "127.0.0.1"
    origin_port: int = 8080
    proxy_protocol: bool = False
    check_path: str = ""
    peers_port: int = 10_000
    socket: str = "/run/haproxy/flex.sock"
    metrics: str = "127.0.0.1:8405"
    threads: int = 0
    connections: int = 20_000
    bypass: bool = False
    inner_port: int = 10_001
    inner_listen: tuple[str, ...] = ()
    listen_sni: tuple[str, ...] = ()
    origin_tls_port: int = 8443
    inner_certificate: str = ""
    inner_ca: str = ""
    member_port: int = 10_002
    content: str = "everywhere"
    timeout: timedelta = timedelta(minutes=1)
    hard_stop_after: timedelta = timedelta(minutes=5)
    hold_time: timedelta = timedelta(seconds=10)
    hold_requests: int = 1000
    run_as: str = ""
    chroot: str = ""
    counts_answers: bool = False

    def __post_init__(self) -> None:
        words = (
            self.directory,
            *self.listen,
            *self.listen_tls,
            *self.inner_listen,
            *self.listen_sni,
            self.inner_certificate,
            self.inner_ca,
            self.certificates,
            self.socket,
            self.metrics,
            self.run_as,
            self.chroot,
        )
        for word in (*words, self.check_path):
            if word and not _WORD.fullmatch(word):
                raise unusable_configuration(
                    f"{word!r:.100} in [routing]", "it cannot stand in a HAProxy configuration"
                )
        if self.content not in ("everywhere", "owner"):
            raise unusable_configuration(
                f"content = {self.content!r:.50} in [routing]", 'it is "everywhere" or "owner"'
            )
        if bool(self.listen_tls) != bool(self.certificates):
            raise unusable_configuration(
                "TLS in [routing]",
                "addresses to listen on and a folder of certificates are needed together",
            )
        if bool(self.inner_certificate) != bool(self.inner_ca):
            raise unusable_configuration(
                "TLS between nodes in [routing]",
                "inner_certificate and inner_ca are needed together",
            )
        self._refuse_circles()
        ports = {
            self.origin_port,
            self.origin_tls_port,
            self.peers_port,
            self.inner_port,
            self.member_port,
        }
        if not ports <= set(_PORTS):
            raise unusable_configuration("ports of [routing]", "a port is a number from 1 to 65535")
        if not timedelta(seconds=1) <= self.hard_stop_after <= timedelta(days=7):
            raise unusable_configuration(
                "hard_stop_after in [routing]", "it is a second at least, and a week at most"
            )
        if not _SHORTEST_TIMEOUT <= self.timeout <= _LONGEST_TIMEOUT:
            raise unusable_configuration(
                f"timeout = {self.timeout.total_seconds():g} s in [routing]",
                "it is a second at least, and a day at most",
            )
        if not _SHORTEST_HOLD <= self.hold_time <= _LONGEST_HOLD:
            raise unusable_configuration(
                f"hold_time = {self.hold_time.total_seconds():g} s in [routing]",
                "it is 0.1 s at least, and 25 s at most: a request may wait at two nodes, one "
                "after the other",
            )
        ipaddress.ip_address(self.origin)

    def _refuse_circles(self) -> None:
        """A door that leads to a door by SNI could lead back."""
        if not self.listen_sni:
            return
        others = (*self.listen, *self.listen_tls, *self.inner_listen)
        if twice := set(self.listen_sni) & set(others):
            raise unusable_configuration(
                f"listen_sni = {min(twice)!r:.100} in [routing]",
                "HAProxy listens there already, for other visitors",
            )
        own = [self.inner_port, *([self.member_port] if self.inner_ca else [])]
        for where in (*self.listen_sni, *others, *(f":{port}" for port in own)):
            if self.origin_tls_port in _ports(where):
                raise unusable_configuration(
                    f"origin_tls_port = {self.origin_tls_port} in [routing]",
                    f"HAProxy itself listens at {where:.100}, and would lead visitors in "
                    "circles; the web servers need a port of their own",
                )


def _ports(where: str) -> range:
    """The ports at which HAProxy listens, as in ":443" or ":8000-8010"."""
    matched = _LISTENED.search(where)
    if not matched:
        return range(0)
    first = int(matched[1])
    return range(first, int(matched[2] or first) + 1)


def endpoint(address: str, port: int) -> str:
    """As HAProxy writes an address with its port."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
