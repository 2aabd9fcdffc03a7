"""After a change every server is waited for until it agrees, and each one's lag is said."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from flex.frame_schemas import RECORDS
from flex.model.zone_plan import ZonePlan
from flex.planning.which_servers_agree import is_since
from flex_dns.checks.settling import UNHEARD, nudged
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key, make_key
from tests.dns.given import placed
from tests.primary_and_secondary import pair

pytestmark = pytest.mark.real

ZONE = "hosting.example."


@pytest.fixture
def servers(folder: Path, key: Key) -> Iterator[tuple[PrivateNamed, PrivateNamed]]:
    with pair(folder, [ZONE], key) as both:
        yield both


def target_of(primary: PrivateNamed, secondary: PrivateNamed) -> Rfc2136Publisher:
    return Rfc2136Publisher(
        primary.server, "flex", (primary.server.address, secondary.server.address)
    )


def many(count: int) -> tuple[ZonePlan, pd.DataFrame]:
    names = [f"s{number}.{ZONE}" for number in range(count)]
    rows = [(name, "A", 60, "192.0.2.1") for name in names]
    zone_plan = ZonePlan(
        ZONE, tuple(one for name in names for one in placed(ZONE, name, "192.0.2.1", owner="flex"))
    )
    return zone_plan, RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))


@contextmanager
def strangers(folder: Path, key: Key) -> Iterator[tuple[PrivateNamed, PrivateNamed]]:
    """Two servers, of which the second has nothing to do with the first, and does not know the
    key.
    """
    with (
        PrivateNamed(folder / "1", [ZONE], key) as primary,
        PrivateNamed(folder / "2", [ZONE], make_key("other")) as own,
    ):
        yield primary, own


@contextmanager
def stopped(server: PrivateNamed) -> Iterator[None]:
    os.kill(server.pid, signal.SIGSTOP)
    os.waitpid(server.pid, os.WUNTRACED)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


@pytest.mark.parametrize("count", [3, 1000], ids=["name by name", "by transfer"])
def test_a_secondary_is_waited_for_and_its_lag_is_said(
    servers: tuple[PrivateNamed, PrivateNamed], count: int
) -> None:
    target, (zone_plan, wanted) = target_of(*servers), many(count)
    target.apply(zone_plan)
    verdicts = target.verify(ZONE, wanted, patience=20)
    assert [verdict.agrees for verdict in verdicts] == [True, True]
    assert [verdict.checked for verdict in verdicts] == [2 * count, 2 * count]
    assert all(0 < verdict.lag < 20 for verdict in verdicts)


@pytest.mark.slow
def test_a_secondary_that_never_catches_up_is_named_when_the_time_is_up(
    servers: tuple[PrivateNamed, PrivateNamed],
) -> None:
    primary, secondary = servers
    zone_plan, wanted = many(3)
    target = target_of(primary, secondary)
    # The primary has to answer within it, on a busy machine too.
    target = replace(target, server=replace(target.server, timeout=3))
    with stopped(secondary):
        target.apply(zone_plan)
        first, second = target.verify(ZONE, wanted, patience=0.5)
    assert first.agrees
    assert "no answer in time" in second.error
    assert not second.wrong


@pytest.mark.slow
def test_a_silent_secondary_is_not_waited_for_longer_than_was_asked(
    servers: tuple[PrivateNamed, PrivateNamed],
) -> None:
    primary, secondary = servers
    zone_plan, wanted = many(3)
    target = target_of(primary, secondary)
    # Whoever waits for an answer at all waits for a day, and no test does.
    target = replace(target, server=replace(target.server, timeout=86_400))
    with stopped(secondary):
        target.apply(zone_plan)
        _, second = target.verify(ZONE, wanted, patience=1)
    assert "no answer in time" in second.error


def test_a_secondary_known_by_its_host_name_is_told_by_us(folder: Path, key: Key) -> None:
    with pair(folder, [ZONE], key, primary="notify no;") as (_, secondary):
        assert nudged(("localhost", secondary.port), ZONE, key, 5)
        assert not nudged(("localhost", secondary.port), ZONE, make_key("other"), 5)


def test_what_a_secondary_still_says_of_old_is_shown(folder: Path, key: Key) -> None:
    """One that hears of nothing: its primary notifies nobody."""
    zone_plan, wanted = many(300)
    with pair(folder, [ZONE], key, primary="notify no;") as (primary, secondary):
        target = target_of(primary, secondary)
        target.apply(zone_plan)
        _, second = target.verify(ZONE, wanted, patience=0.3)
    assert (len(second.wrong), second.error) == (300, "")


@pytest.mark.slow
def test_a_secondary_that_was_not_notified_is_told_by_us(folder: Path, key: Key) -> None:
    zone_plan, wanted = many(3)
    with pair(folder, [ZONE], key, primary="notify no;") as (primary, secondary):
        target = target_of(primary, secondary)
        target.apply(zone_plan)
        first, second = target.verify(ZONE, wanted, patience=20)
    assert first.agrees
    assert second.agrees
    assert second.lag >= UNHEARD


@pytest.mark.slow
def test_a_server_that_takes_no_notice_from_us_is_told_once(folder: Path, key: Key) -> None:
    """It logs each NOTIFY that it refuses."""
    zone_plan, wanted = many(3)
    with strangers(folder, key) as servers:
        target = target_of(*servers)
        target.apply(zone_plan)
        _, second = target.verify(ZONE, wanted, patience=4 * UNHEARD)
    assert len(second.wrong) == 3
    assert (folder / "2" / "named.log").read_text(encoding="utf-8").count("BADKEY") == 1


def test_a_server_that_gives_our_key_no_transfers_is_asked_name_by_name(
    folder: Path, key: Key
) -> None:
    zone_plan, wanted = many(250)
    with strangers(folder, key) as servers:
        target = target_of(*servers)
        target.apply(zone_plan)
        first, second = target.verify(ZONE, wanted)
    assert first.agrees
    assert (second.checked, len(second.wrong)) == (500, 250)


def test_serials_run_in_a_circle() -> None:
    assert is_since(5, 5)
    assert is_since(6, 5)
    assert not is_since(5, 6)
    assert is_since(3, 2**32 - 3)
    assert not is_since(2**32 - 3, 3)
