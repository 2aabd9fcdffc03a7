"""Ports for the servers that tests start.

HAProxy and BIND share a port with whoever has it already, without an error: a request would reach
the servers of another test. So each process of tests has ports of its own, none of those that the
system gives to sockets that ask for none, and gets none of them again before all others.
"""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterator
from itertools import cycle

# Below the ports of private name servers (`flex_dns.private`).
FIRST, LAST = 11_000, 15_000


def _ports_of_this_process() -> Iterator[int]:
    """Begins anywhere: another run of the tests may be under way."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports = range(FIRST, LAST)[number::processes]
    begin = random.SystemRandom().randrange(len(ports))
    return cycle([*ports[begin:], *ports[:begin]])


_ports = _ports_of_this_process()


def any_port() -> int:
    """Nobody has it, at no address, neither on TCP nor on UDP."""
    return next(port for port in _ports if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagram:
        try:
            stream.bind(("", port))
            datagram.bind(("", port))
        except OSError:
            return False
    return True
