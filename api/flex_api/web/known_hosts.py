"""For which hosts the server answers. A browser that a stranger's name leads here names that host,
and takes what it gets for that host's pages.

Takes settings, and what a request says of its host. Raises Misdirected where it is another one's.
Does not ask DNS.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from flex.errors import Misdirected
from flex_api.settings.file import Settings

LOOPBACK = ("localhost", "127.0.0.1", "::1")
# What a browser says, with a port or without. Anything else is nobody's name.
_HOST = re.compile(r"(\[[^\]]*\]|[^\[\]:%@,/\s]+)(:\d+)?")


@dataclass(frozen=True, slots=True)
class Hosts:
    names: frozenset[str]

    def refuse_others(self, headers: Headers, own: str) -> None:
        """`own` is the address at which the connection came in. A proxy may say in a header of its
        own what it was asked for.
        """
        for host_header in (*headers.getlist("host"), *_passed_on(headers)):
            host = _host(host_header)
            is_ours = host in self.names or host == _host(own)
            if host_header.strip() and not (_HOST.fullmatch(host_header.strip()) and is_ours):
                raise Misdirected(
                    f"a page of {host_header.strip()[:253]!r}",
                    "this server does not answer for that host",
                    kept="nothing was read or changed",
                    advice="ask for localhost or the server's address; or name the host in "
                    "api.hosts, where people reach the server by it",
                )


def hosts(settings: Settings) -> Hosts:
    """Those of the settings, and by which the machine itself is reached."""
    of_pages = urlsplit(settings.notify.base_url).hostname or ""
    # Browsers ask in ASCII.
    with suppress(UnicodeError):
        of_pages = of_pages.encode("idna").decode("ascii")
    of_machine = socket.gethostname()
    every = (*LOOPBACK, of_machine, of_pages, settings.api.listen, *settings.api.hosts)
    return Hosts(frozenset(map(_host, every)) - {""})


def _passed_on(headers: Headers) -> Iterator[str]:
    for header in headers.getlist("x-forwarded-host"):
        yield from header.split(",")


@lru_cache(256)
def _host(written_host: str) -> str:
    """Without its port, in one way of writing."""
    text = written_host.strip().lower()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return text.removesuffix(".")
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(address)
