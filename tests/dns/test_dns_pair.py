"""Secondaries of many zones that change at once: nothing of theirs gets lost on the way to the
primary.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from flex_dns.private.private_named import LOOPBACK, PrivateNamed
from flex_dns.server_configuration.named_conf_lines import tcp_only_clause
from flex_dns.wire.key import Key
from tests.primary_and_secondary import pair

pytestmark = pytest.mark.real

ZONE = "hosting.example."
# As many as a secondary fetches zones at once.
TRANSFERS = 100


def connected(port: int, count: int, seconds: float) -> int:
    """How many connections are there within these seconds, of as many as are asked for at once."""
    with ExitStack() as held:
        asked = [held.enter_context(socket.socket()) for _ in range(count)]
        poll = select.poll()
        for one in asked:
            one.setblocking(False)
            one.connect_ex((LOOPBACK, port))
            poll.register(one, select.POLLOUT)
        there = set[int]()
        while len(there) < count and (ready := poll.poll(1000 * seconds)):
            for fd, _ in ready:
                poll.unregister(fd)
                there.add(fd)
        return len(there)


def test_a_busy_primary_lets_all_transfers_of_a_secondary_wait_for_it(
    folder: Path, key: Key
) -> None:
    with pair(folder, [ZONE], key) as (primary, _):
        os.kill(primary.pid, signal.SIGSTOP)
        try:
            # What the system dropped it would try again after a second.
            assert connected(primary.port, TRANSFERS, 0.5) == TRANSFERS
        finally:
            os.kill(primary.pid, signal.SIGCONT)


def test_a_secondary_asks_for_serials_by_tcp(folder: Path, key: Key) -> None:
    with PrivateNamed(
        folder / "primary", [ZONE], key, options="notify no;\nquerylog yes;"
    ) as primary:
        follows = (
            f"type secondary;\nprimaries {{ {LOOPBACK} port {primary.port} key {key.name}; }};\n"
        )
        with PrivateNamed(
            folder / "secondary",
            [ZONE],
            key,
            options="notify no;",
            beside=tcp_only_clause(LOOPBACK),
            clause=follows,
        ):
            flags = re.findall(r"query: hosting\.example IN SOA \S*S\S*", primary.log())
    assert flags
    assert all("T" in found.rpartition(" ")[2] for found in flags)
