"""A secondary that missed its NOTIFY is told when somebody verifies, and nobody waits for one that
cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flex.model.name_server_verdict import NameServerVerdict
from flex.model.zone_plan import Change, Rrset
from flex.planning import which_servers_agree
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.several_primaries import SeveralPublishers
from flex_dns.wire.key import Key
from tests.dns.test_dns_settling import ZONE, many, stopped, strangers, target_of
from tests.primary_and_secondary import pair

pytestmark = pytest.mark.real


@pytest.fixture
def deaf(folder: Path, key: Key) -> Iterator[tuple[PrivateNamed, PrivateNamed]]:
    """A primary that notifies nobody."""
    with pair(folder, [ZONE], key, primary="notify no;") as both:
        yield both


@pytest.mark.parametrize("several", [False, True])
def test_a_secondary_that_is_behind_is_told_and_follows(
    deaf: tuple[PrivateNamed, PrivateNamed], several: bool
) -> None:
    made, wanted = many(3)
    target = target_of(*deaf)
    target.apply(made)
    first, second = target.verify(ZONE, wanted)
    assert first.agrees
    assert not second.agrees
    assert list(which_servers_agree.servers_behind((first, second))) == [(second.server, "")]
    (SeveralPublishers({ZONE: target}) if several else target).catch_up(ZONE, 20)
    assert all(verdict.agrees for verdict in target.verify(ZONE, wanted))


def test_what_somebody_edited_on_the_primary_keeps_nobody_waiting(
    deaf: tuple[PrivateNamed, PrivateNamed],
) -> None:
    """It differs on both, and no serial is behind once the secondary follows."""
    made, wanted = many(3)
    target = target_of(*deaf)
    target.apply(made)
    target.catch_up(ZONE, 20)
    name = f"s0.{ZONE}"
    ours = Rrset(name, "A", 60, ("192.0.2.1",))
    edit = (Change(ours, Rrset(name, "A", 60, ("203.0.113.9",))),)
    target.apply(type(made)(ZONE, edit))
    target.catch_up(ZONE, 20)
    verdicts = target.verify(ZONE, wanted)
    assert [len(verdict.wrong) for verdict in verdicts] == [1, 1]
    assert which_servers_agree.servers_behind(verdicts) == {}


def test_a_secondary_that_is_silent_is_not_waited_for(
    deaf: tuple[PrivateNamed, PrivateNamed],
) -> None:
    """Its one answer is: the time of a question is much less than what it would have to follow."""
    target = target_of(*deaf)
    made, _ = many(3)
    target.apply(made)
    quick = Rfc2136Publisher(
        type(target.server)(*target.server.address, target.server.key, 0.3),
        "flex",
        target.verify_servers,
    )
    with stopped(deaf[1]):
        quick.catch_up(ZONE, 3600)


def test_a_server_that_takes_no_notice_is_named_with_what_to_run(folder: Path, key: Key) -> None:
    made, wanted = many(3)
    with strangers(folder, key) as servers:
        target = target_of(*servers)
        target.apply(made)
        target.catch_up(ZONE, 0.2)
        verdicts = target.verify(ZONE, wanted)
        assert list(which_servers_agree.servers_behind(verdicts)) == [(verdicts[1].server, "")]


def test_who_agrees_is_not_behind_and_serials_run_in_a_circle() -> None:
    wrong = (Change(None, Rrset(f"a.{ZONE}", "A", 60, ("192.0.2.1",))),)
    late = NameServerVerdict("b", 1, 2**32 - 2, wrong, zone=ZONE)
    other = NameServerVerdict("c", 1, 7, wrong, zone="other.example.")
    silent = NameServerVerdict("d", 0, None, (), "no answer", zone=ZONE)
    agreeing = NameServerVerdict("e", 1, 1, zone=ZONE)
    assert which_servers_agree.servers_behind(
        (NameServerVerdict("a", 1, 3, zone=ZONE), late, other, silent, agreeing)
    ) == {("b", ZONE): which_servers_agree.Behind("b", ZONE, 2**32 - 2, 3)}
