"""Two controllers never change one zone, whatever they believe: the name server keeps the second
one out.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import dns.rcode
import pytest

from flex.errors import Refused
from flex.model.dns_update_journal import JournalRow
from flex.model.zone_plan import ZonePlan
from flex_dns.preflight import PreflightResult
from flex_dns.preflight.primary_check import ExpectedOfPrimary, preflight
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher, Unkept
from flex_dns.update import change_messages, fence
from flex_dns.update.change_messages import Claim
from flex_dns.update.fence import fence_name, fence_text, holders, take_over
from flex_dns.update.message_pipeline import deliver
from flex_dns.update.sending import carry
from flex_dns.wire import messages
from flex_dns.wire.key import Key
from flex_dns.wire.session import Session
from tests.dns.conftest import Edit
from tests.dns.given import OWNER, many, owned

pytestmark = pytest.mark.real

ONE, OTHER = "flex-eu1@one 1", "flex-eu1@other 2"


@pytest.fixture
def one(real: Rfc2136Publisher) -> Rfc2136Publisher:
    return replace(real, controller=ONE)


@pytest.fixture
def other(real: Rfc2136Publisher) -> Rfc2136Publisher:
    return replace(real, controller=OTHER)


def test_who_comes_first_holds_the_zone_and_the_second_changes_nothing(
    one: Rfc2136Publisher, other: Rfc2136Publisher, zone: str
) -> None:
    one.apply(many(zone, 2))
    before = one.read(zone, []).serial
    with pytest.raises(Refused, match=f"another controller holds it: {ONE}") as refused:
        other.apply(many(zone, 3))
    assert refused.value.kept == "nothing was changed"
    assert "flex dns takeover" in refused.value.advice
    assert one.read(zone, []).serial == before
    one.apply(many(zone, 3))
    assert owned(one, zone, 3) == 3


def test_the_text_of_a_wildcard_is_no_controller(folder: Path, key: Key) -> None:
    """It stands for every name that there is not, that of the record that is asked for among
    them.
    """
    zone = "wild.example."
    with PrivateNamed(folder, [zone], key, records={zone: '* 60 TXT "v=spf1 -all"\n'}) as named:
        target = Rfc2136Publisher(named.server, "flex", controller=ONE)
        made = many(zone, 2)
        names = tuple(one.name for one in made.changes if one.type == "A")
        target.apply(replace(made, below_wildcards=names))
        with Session(named.server) as session:
            assert fence.holders(session, named.server, [zone]) == {zone: ONE}


def test_a_plan_that_changes_nothing_is_refused_in_a_zone_of_another(
    one: Rfc2136Publisher, other: Rfc2136Publisher, zone: str
) -> None:
    other.apply(ZonePlan(zone, ()))
    one.apply(many(zone, 1))
    with pytest.raises(Refused, match="another controller holds it"):
        other.apply(ZonePlan(zone, ()))


def test_a_controller_that_was_replaced_while_it_sent_is_refused_by_the_server_itself(
    named: PrivateNamed, one: Rfc2136Publisher, zone: str, edit_real: Edit
) -> None:
    edit_real(fence_name(zone), "TXT", [f'"{fence_text(OTHER)}"'])
    changes = many(zone, 2).changes
    rows = [(JournalRow(0, zone, tuple(range(len(changes)))), changes)]
    claim = Claim(OWNER, ONE)
    tally = carry(named.server, rows, Unkept(), time.time, 3.0, claim)[zone]
    assert OTHER in str(tally.trouble)
    assert (tally.done, owned(one, zone, 2)) == (0, 0)


def test_a_record_that_somebody_took_away_holds_nothing_any_more(
    named: PrivateNamed, zone: str
) -> None:
    changes = many(zone, 1).changes
    tally = carry(
        named.server,
        [(JournalRow(0, zone, (0, 1)), changes)],
        Unkept(),
        time.time,
        3.0,
        Claim(controller=ONE),
    )[zone]
    assert "somebody took our record away" in str(tally.trouble)


def test_every_part_of_a_message_that_is_halved_is_fenced(zone: str) -> None:
    (whole,) = change_messages.messages(zone, many(zone, 4).changes)
    fenced = replace(whole, claim=Claim(controller=ONE))
    required = messages.rdata_bytes("TXT", fence_text(ONE))
    assert all(
        required in part.wire()
        for part in (fenced, *change_messages.halves(fenced), fenced.only(fenced.changes[:1]))
    )


def test_the_preflight_says_who_holds_the_zone(one: Rfc2136Publisher, zone: str) -> None:
    assert _controller(one, zone, OTHER).state == "ok"
    one.apply(many(zone, 1))
    assert [_controller(one, zone, name).state for name in (ONE, OTHER)] == ["ok", "fail"]


def _controller(target: Rfc2136Publisher, zone: str, name: str) -> PreflightResult:
    (found,) = (
        check
        for check in preflight(target.server, zone, wanted=ExpectedOfPrimary(controller=name))
        if check.name == "controller"
    )
    return found


def test_what_an_earlier_run_sent_is_refused_by_the_server_once_its_plan_is_being_ended(
    named: PrivateNamed, one: Rfc2136Publisher, zone: str
) -> None:
    one.apply(many(zone, 1))
    late = change_messages.Message(zone, many(zone, 3).changes[2:], claim=Claim(controller=ONE))
    one.refuse_late(zone)
    with Session(named.server) as session:
        (answer,) = [sent for _, sent in deliver(named.server, [late], time.time, lambda _: None)]
        assert answer == dns.rcode.NXRRSET
        assert holders(session, named.server, [zone]) == {zone: ONE}
        one.refuse_late(zone)
    one.apply(many(zone, 3))
    assert owned(one, zone, 3) == 3


def test_a_run_that_goes_on_while_its_plan_is_being_ended_stops(
    named: PrivateNamed, one: Rfc2136Publisher, zone: str
) -> None:
    one.apply(many(zone, 1))
    one.refuse_late(zone)
    changes = many(zone, 3).changes[2:]
    rows = [(JournalRow(0, zone, tuple(range(len(changes)))), changes)]
    tally = carry(named.server, rows, Unkept(), time.time, 3.0, Claim(controller=ONE))[zone]
    assert "another run of this controller" in str(tally.trouble)
    assert (tally.done, owned(one, zone, 3)) == (0, 1)


def test_a_zone_in_an_epoch_is_kept_from_others_and_taken_over_as_ever(
    named: PrivateNamed, one: Rfc2136Publisher, other: Rfc2136Publisher, zone: str
) -> None:
    one.apply(many(zone, 1))
    one.refuse_late(zone)
    with pytest.raises(Refused, match=f"another controller holds it: {ONE}"):
        other.apply(many(zone, 2))
    with Session(named.server) as session:
        take_over(session, named.server, zone, OTHER, ONE)
    one.refuse_late(zone)
    other.apply(many(zone, 2))
    assert owned(other, zone, 2) == 2


class Lost(Exception):
    """Who asks whether it still may."""


def test_a_run_that_may_not_any_more_begins_no_epoch_and_takes_no_zone(
    named: PrivateNamed, one: Rfc2136Publisher, zone: str
) -> None:
    def lost() -> None:
        raise Lost

    late = replace(one, refuse_lost=lost)
    with pytest.raises(Lost):
        late.apply(many(zone, 1))
    with Session(named.server) as session:
        assert fence.controller_records(session, named.server, [zone]) == {zone: ""}
        one.apply(many(zone, 1))
        before = fence.controller_records(session, named.server, [zone])
        with pytest.raises(Lost):
            late.refuse_late(zone)
        with pytest.raises(Lost):
            take_over(session, named.server, zone, OTHER, ONE, lost)
        assert fence.controller_records(session, named.server, [zone]) == before


def test_an_epoch_that_another_run_begins_behind_the_last_look_stays_and_is_asked_about(
    named: PrivateNamed, one: Rfc2136Publisher, zone: str
) -> None:
    """Who looked, slept and goes on must not end the messages of who took over."""
    one.apply(many(zone, 1))
    looks: list[dict[str, str]] = []

    def look() -> None:
        if looks:
            raise Lost
        one.refuse_late(zone)
        looks.append(fence.controller_records(session, named.server, [zone]))

    with Session(named.server) as session:
        with pytest.raises(Lost):
            replace(one, refuse_lost=look).refuse_late(zone)
        assert fence.controller_records(session, named.server, [zone]) == looks[0]
