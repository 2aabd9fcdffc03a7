"""One key changes a zone, another reads it, and neither can do what the other is for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from flex.errors import Refused
from flex_dns.preflight.primary_check import preflight
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Server
from tests.dns.given import OWNER, many, owned

pytestmark = pytest.mark.real

ZONE = "hosting.example."


@pytest.fixture
def server(folder: Path, key: Key, reader: Key) -> Iterator[Server]:
    """As FLEX knows it, with both keys."""
    with PrivateNamed(folder, [ZONE], key, readers=[reader], apart=True) as own:
        yield replace(own.server, reader=reader)


def test_with_both_keys_a_plan_is_applied_read_back_and_verified(server: Server) -> None:
    target = Rfc2136Publisher(server, OWNER)
    target.apply(many(ZONE, 300))
    assert owned(target, ZONE, 300) == 300
    said = target.read(ZONE, [f"s{number}.{ZONE}" for number in range(300)]).records
    assert all(verdict.agrees for verdict in target.verify(ZONE, said))


def test_each_key_can_do_its_own_and_nothing_else(server: Server, reader: Key) -> None:
    assert _transfer(server) == "ok"
    assert _transfer(replace(server, reader=None)) == "warn"
    with pytest.raises(Refused, match="the key reader may not change this"):
        Rfc2136Publisher(replace(server, key=reader), OWNER).apply(many(ZONE, 1))


def _transfer(server: Server) -> str:
    return next(check.state for check in preflight(server, ZONE) if check.name == "transfer")
