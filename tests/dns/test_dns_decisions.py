"""Decisions in a zone: read by whatever way, changed by nobody but who holds the zone, and in the
way of every plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import dns.update
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import DnsError, PartlyApplied, Refused, Stale, Unreachable
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.zones.decisions_in_markers import (
    EXCLUDED,
    FROZEN,
    LONGEST,
    LONGEST_AUTHOR,
    LastWords,
    MarkedDecision,
    decision_in,
    decision_text,
    freeze_name,
    printable,
)
from flex.zones.marker import marker_name, marker_owner, marker_text
from flex_dns.private.private_named import PrivateNamed, free_port
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.update import fence
from flex_dns.update.decision_records import TextsToReplace, replace_texts
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.wire.txt_records import Texts, texts_at
from tests import knotd
from tests.dns.given import OWNER, many

US, ZONE = "flex-eu1@one 1", "decided.example."
NAME = f"s0.{ZONE}"
MARKER = marker_name(NAME, ZONE)
MINE = marker_text(OWNER)
SAID = MarkedDecision(datetime(2026, 3, 1, 2, 17, tzinfo=UTC), None, "anna", "moves")
TEXT = decision_text(EXCLUDED, SAID)

Serve = Callable[[Path, Key], AbstractContextManager[Server]]


@contextmanager
def bind(folder: Path, key: Key, *, transfers: bool = True) -> Iterator[Server]:
    with PrivateNamed(folder, [ZONE], key, transfers=transfers) as running:
        yield running.server


@contextmanager
def knot(folder: Path, key: Key, *, closed: str = "") -> Iterator[Server]:
    """The key has no right in a zone that is `closed`."""
    text = (
        f"key:\n  - id: {key.name}\n    algorithm: {key.algorithm}\n"
        f"    secret: {key.secret}\nacl:\n  - id: all\n    key: {key.name}\n"
        "    action: [transfer, update]\nzone:\n"
    )
    for zone in filter(None, (ZONE, closed)):
        (folder / f"{zone}db").write_text(
            f"$ORIGIN {zone}\n$TTL 60\n@ SOA ns1 host 1 3600 600 86400 30\n@ NS ns1\n"
            "ns1 A 127.0.0.1\n"
        )
        text += f"  - domain: {zone}\n    file: {zone}db\n"
        text += "" if zone == closed else "    acl: all\n"
    with free_port() as port, knotd.running(knotd.written(folder, port, text)):
        yield Server("127.0.0.1", port, key, timeout=5.0)


HAS_KNOT = pytest.mark.skipif(not knotd.found("knotd"), reason="Knot is not installed")
SERVERS = [
    pytest.param(bind, id="BIND"),
    pytest.param(partial(bind, transfers=False), id="BIND without transfers"),
    pytest.param(knot, id="Knot", marks=HAS_KNOT),
]


@pytest.mark.real
@pytest.mark.parametrize("serve", SERVERS)
def test_a_decision_is_changed_by_who_holds_the_zone_and_stops_every_plan(
    serve: Serve, folder: Path, key: Key
) -> None:
    with serve(folder, key) as server, Session(server) as session:
        target = Rfc2136Publisher(server, OWNER, controller=US, patience=3)
        target.apply(many(ZONE, 2))

        def put(holder: str, name: str, was: Texts, wanted: frozenset[str]) -> DnsError | None:
            changes = [TextsToReplace(name, was, wanted)]
            return replace_texts(session, server, ZONE, holder, changes)

        def there() -> frozenset[str]:
            found = texts_at(session, server, {MARKER: ZONE}, "test")[MARKER]
            assert isinstance(found, Texts)
            return found.values

        was, both = Texts(60, frozenset([MINE])), frozenset([MINE, TEXT])
        assert isinstance(put("flex-eu1@other 2", MARKER, was, both), Stale)
        assert isinstance(put(US, MARKER, Texts(), both), Stale)
        assert there() == {MINE}
        assert put(US, MARKER, was, both) is None
        assert there() == both
        frozen = decision_text(FROZEN, SAID)
        assert put(US, freeze_name(ZONE), Texts(), frozenset([frozen])) is None
        # Who holds the zone is as it was.
        assert fence.holders(session, server, [ZONE]) == {ZONE: US}

        names = [f"s{number}.{ZONE}" for number in range(2)]
        state = target.read(ZONE, names)
        assert state.excluded == {NAME: SAID}
        assert (state.owned, dict(state.blocked)) == (frozenset(names), {})
        moved = Change(Rrset(NAME, "A", 60, ("192.0.2.1",)), Rrset(NAME, "A", 60, ("192.0.2.9",)))
        with pytest.raises(Stale, match="is excluded, as its marker"):
            target.apply(ZonePlan(ZONE, (moved,)))
        # The name server refuses it, even where nobody looked.
        with pytest.raises((Stale, PartlyApplied), match="is excluded, as its marker"):
            target.apply(ZonePlan(ZONE, (moved,), serial=state.serial))
        assert target.read(ZONE, names).records.equals(state.records)

        assert put(US, MARKER, Texts(60, both), frozenset([MINE])) is None
        assert put(US, freeze_name(ZONE), Texts(60, frozenset([frozen])), frozenset()) is None
        assert there() == {MINE}
        target.apply(ZonePlan(ZONE, (moved,)))

        # Several names are changed in one message, or none of them.
        markers = {marker_name(name, ZONE): ZONE for name in names}
        both_names = [TextsToReplace(name, was, both) for name in markers]
        stale = [both_names[0], replace(both_names[1], was=Texts())]
        assert isinstance(replace_texts(session, server, ZONE, US, stale), Stale)
        assert there() == {MINE}
        assert replace_texts(session, server, ZONE, US, both_names) is None
        found = texts_at(session, server, markers, "test")
        assert list(found.values()) == [Texts(60, both)] * 2


@pytest.mark.real
def test_a_server_that_refuses_a_decision_changes_nothing(
    named: PrivateNamed, zone: str, reader: Key
) -> None:
    server = replace(named.server, key=reader)
    with Session(server) as session:
        wanted = TextsToReplace(freeze_name(zone), Texts(), frozenset([TEXT]))
        refused = replace_texts(session, server, zone, US, [wanted])
        assert isinstance(refused, Refused)
        assert "nothing was changed" in refused.kept
        assert texts_at(session, server, {freeze_name(zone): zone}, "test") == {
            freeze_name(zone): Texts()
        }


@pytest.mark.real
def test_a_name_server_that_does_not_answer_is_no_empty_zone(key: Key) -> None:
    with free_port() as port:
        server = Server("127.0.0.1", port, key, timeout=1.0)
        with Session(server) as session:
            found = texts_at(session, server, {freeze_name(ZONE): ZONE}, "test")
            assert isinstance(found[freeze_name(ZONE)], Unreachable)


@pytest.mark.real
def test_a_zone_that_is_not_loaded_is_in_the_way_of_no_other(folder: Path, key: Key) -> None:
    """BIND says SERVFAIL of it, and answers for all others."""
    beside = 'zone "torn.example" { type primary; file "none.db"; };\n'
    with (
        PrivateNamed(folder, [ZONE], key, beside=beside) as named,
        Session(named.server) as session,
    ):
        names = {freeze_name(zone): zone for zone in ("torn.example.", ZONE)}
        torn, found = texts_at(session, named.server, names, "test").values()
        assert isinstance(torn, Unreachable)
        assert "SERVFAIL" in torn.answer
        assert found == Texts()


@pytest.mark.real
@HAS_KNOT
def test_a_zone_in_which_the_key_has_no_right_is_in_the_way_of_no_other(
    folder: Path, key: Key
) -> None:
    """Knot says to any question there that it does not know the key."""
    closed = "closed.example."
    with knot(folder, key, closed=closed) as server, Session(server) as session:
        names = {freeze_name(zone): zone for zone in (closed, ZONE)}
        refused, found = texts_at(session, server, names, "test").values()
        assert isinstance(refused, Refused)
        assert found == Texts()


@pytest.mark.real
@pytest.mark.parametrize("serve", SERVERS)
def test_a_text_is_taken_out_however_somebody_split_it_and_too_many_are_said(
    serve: Serve, folder: Path, key: Key
) -> None:
    with serve(folder, key) as server, Session(server) as session:
        Rfc2136Publisher(server, OWNER, controller=US, patience=3).apply(many(ZONE, 1))

        def edit(*texts: str) -> Texts:
            update = dns.update.UpdateMessage(ZONE)
            update.replace(MARKER, 60, "TXT", f'"{MINE}"')
            for text in texts:
                update.add(MARKER, 60, "TXT", text)
            assert session.ask(update, "test").rcode() == 0
            found = texts_at(session, server, {MARKER: ZONE}, "test")[MARKER]
            assert isinstance(found, Texts)
            return found

        was = edit('"flex exclu" "ded since=2020-01-01"')
        assert was.values == {MINE, "flex excluded since=2020-01-01"}
        # Whoever reads the zone for a plan finds the same.
        (said,) = Rfc2136Publisher(server, OWNER).read(ZONE, [NAME]).excluded.values()
        assert said == MarkedDecision(datetime(2020, 1, 1, tzinfo=UTC))
        wanted = TextsToReplace(MARKER, was, frozenset([MINE]))
        assert replace_texts(session, server, ZONE, US, [wanted]) is None
        assert edit().values == {MINE}

        # BIND keeps a hundred records of one name.
        long = f'"{"x" * 250}"'
        was = edit(*(f'"flex excluded {at}" {long} {long}' for at in range(90)))
        wanted = TextsToReplace(MARKER, was, frozenset([MINE]))
        error = replace_texts(session, server, ZONE, US, [wanted])
        assert error is not None
        assert "more texts than fit into one message" in error.answer
        assert "by hand" in error.advice


times = st.integers(10**8, 7 * 10**9).map(lambda at: datetime.fromtimestamp(at + 0.25, UTC))
people = st.text(max_size=300)


@given(times, st.none() | times, people, people)
def test_whatever_people_write_fits_and_is_read_again(
    since: datetime, until: datetime | None, author: str, reason: str
) -> None:
    """As far as it fits; and no FLEX takes it for the marker of an owner, however old it is."""
    for kind, other in ((EXCLUDED, FROZEN), (FROZEN, EXCLUDED)):
        text = decision_text(kind, MarkedDecision(since, until, author, reason))
        assert len(text.encode()) <= LONGEST
        assert text.isprintable()
        assert text.isascii()
        assert not set('"\\') & set(text)
        found = decision_in(kind, text)
        assert found
        assert (found.since, found.until) == (since, until)
        assert printable(author).startswith(found.author)
        assert printable(reason).startswith(found.reason)
        assert len(author) > 4 or found.author == printable(author)
        assert len(reason) > 8 or found.reason == printable(reason)
        assert decision_in(other, text) is None
        assert marker_owner(text) is None


@given(st.text(max_size=60))
def test_what_stands_behind_the_word_never_keeps_it_from_counting(text: str) -> None:
    found = decision_in(EXCLUDED, f"{EXCLUDED} {text}")
    assert found
    assert LastWords().believe("a.example", found)
    assert decision_in(EXCLUDED, f"{EXCLUDED}s") is None


# As any bytes of a record are read, and as percent signs may hide them.
wild = st.binary(max_size=40).map(lambda data: data.decode(errors="surrogateescape"))
hidden = st.binary(max_size=40).map(lambda data: "".join(f"%{one:02x}" for one in data))


@given(wild | hidden, wild | hidden, st.integers(1, 3000))
def test_whatever_a_record_says_people_read_short_printable_text(
    author: str, reason: str, often: int
) -> None:
    text = f"{EXCLUDED} by={author * often} reason={reason * often}"
    found = decision_in(EXCLUDED, text)
    assert found
    for said, longest in ((found.author, LONGEST_AUTHOR), (found.reason, LONGEST)):
        assert said.isprintable()
        assert len(said) <= longest
        said.encode()
    # What is written of it is read as the same.
    again = decision_in(EXCLUDED, decision_text(EXCLUDED, found))
    assert again
    assert found.author.startswith(again.author)
    assert found.reason.startswith(again.reason)


@given(times, times)
def test_whoever_takes_a_decision_back_is_heard_whatever_time_it_says(
    since: datetime, now: datetime
) -> None:
    said = MarkedDecision(since)
    assert LastWords({}, now).believe("a.example", said)
    assert not LastWords({"a.example": now}, now).believe("a.example", said)


@given(times, st.none() | times, st.none() | times, times)
def test_the_later_word_counts_until_it_ends(
    since: datetime, until: datetime | None, told: datetime | None, now: datetime
) -> None:
    words = LastWords({} if told is None else {"a.example": told}, now)
    assert words.believe("a.example", MarkedDecision(since, until)) == (
        (told is None or told < since <= now) and (until is None or now < until)
    )
