"""What every store promises, whatever it keeps things in: wishes, segments, profiles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pandas as pd
import pytest

from flex.errors import BadInput, Busy
from flex.frame_schemas import PROFILES, SPREADS
from flex.model.audit_chain import Author
from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.log_reading import BadLine, Segment, Stream
from flex.model.node_answer_counts import NO_TIMES, Answers, AnswersOfSpan
from flex.model.nodes import Node
from flex.model.orders_to_doors import DoorOrder, DoorReport
from flex.model.period import Period
from flex.model.retry_schedule import Attempt
from flex.model.site_moves import RunState, SiteMove, StageRun
from flex.model.wish import Pin
from flex.store import Store
from flex.zones.last_dns_check import Answered, Check

NOW = datetime(2026, 3, 1, 2, 30, 0, 123456, tzinfo=UTC)
DAY = timedelta(days=1)
LARGEST = 2**63 - 1


def profiles(*sites: str, bytes_: int = 1) -> pd.DataFrame:
    measured = {name: [bytes_] * len(sites) for name in PROFILES.columns if name != "site"}
    return PROFILES.from_columns({"site": list(sites), **measured})


def stream(offset: int, head: str = "head", path: str = "/var/log/access.log") -> Stream:
    return Stream("web", head, 4096, offset, f"tail{offset}", path, "w3c date time")


def segment(id_: str, first_day: int = 10, last_day: int = 10) -> Segment:
    lines = (("counted", 5), ("malformed", 1))
    return Segment(
        id=id_,
        source="web",
        node="n1",
        path="/var/log/access.log",
        format="combined",
        first_byte=0,
        last_byte=LARGEST,
        first_day=first_day,
        last_day=last_day,
        first_time=0,
        last_time=9,
        lines=lines,
        reasons=(("no_time", 1),),
        samples=(BadLine(LARGEST, "no_time", 'half a "line'), BadLine(0, "", "\ufffd\x00")),
        hours=((240, 5), (LARGEST, LARGEST)),
        read_at=LARGEST,
        begins="where it begins",
        ends=f"where {id_} ends",
        after="what was sent before",
    )


def test_places_that_readings_ended_at_are_found_however_many_are_asked_for(store: Store) -> None:
    for id_ in ("a", "b"):
        assert store.record(replace(segment(id_), ends=f"end {id_}"), stream(0, head=id_), None)
    assert store.places_where_readings_ended([]) == frozenset()
    assert store.places_where_readings_ended(
        ["end b", "end a", "end c", *map(str, range(2_000))]
    ) == {"end a", "end b"}
    assert store.known_segments(["c", "b", *map(str, range(2_000))]) == {"b"}


def test_readings_of_one_log_are_found_by_how_it_opens_and_by_where_they_go_on(
    store: Store,
) -> None:
    first = replace(segment("a"), opening="it opens so", begins="", ends="one")
    old = replace(segment("b"), opening="", first_time=77, begins="", ends="two")
    later = replace(
        segment("c"),
        opening="it opens so",
        first_byte=9,
        begins="one",
        signature="0" * 16,
        copy_of="a",
    )
    for each in (first, old, later):
        assert store.record(each, stream(0, head=each.id), None)
    assert store.with_opening("it opens so", 0) == (first,)
    assert store.with_opening("it opens so", 77) == (first, old)
    assert store.with_opening("another", 78) == ()
    assert store.behind(["one", "three"]) == (later,)
    assert store.behind([]) == ()


def test_where_counts_are_changes_for_all_of_them_at_once_and_again(store: Store) -> None:
    for id_ in ("a", "b", "c"):
        assert store.record(segment(id_), stream(0, head=id_), None)
    assert store.moved_counts() == {}
    store.move_counts(["a", "b"], "sum")
    assert store.moved_counts() == {"a": "sum", "b": "sum"}
    store.move_counts(("b", "a"), "")
    store.move_counts([], "nothing")
    assert store.moved_counts() == {"a": "", "b": ""}
    assert not store.record(segment("a"), stream(0, head="a"), None)


def test_old_periods_are_forgotten_but_never_the_latest(store: Store) -> None:
    for days in range(5):
        store.put_profiles(
            Period(NOW, NOW + (days + 1) * DAY), profiles("a.example.org"), SPREADS.empty()
        )
    assert store.drop_profiles(NOW + 3 * DAY) == 2
    assert store.drop_profiles(NOW + 3 * DAY) == 0
    assert store.drop_profiles(NOW + 100 * DAY) == 2
    assert store.profiles(NOW + 4 * DAY) is None
    found = store.profiles()
    assert found is not None
    assert found[0] == Period(NOW, NOW + 5 * DAY)


def test_a_pin_comes_back_as_it_was_put(store: Store) -> None:
    pins = (
        Pin("a.example.org", ("n2", "n1"), 2, NOW, "it's slow", "an operator"),
        Pin("b.example.org"),
        Pin("c.example.org", since=NOW, weight=1.1, sla="gold"),
        Pin("d.example.org", excluded=True),
    )
    for pin in reversed(pins):
        store.put_pin(pin)
    assert store.pins() == pins


def test_a_site_has_one_pin_and_the_last_one_counts(store: Store) -> None:
    store.put_pin(Pin("a.example.org", ("n1",)))
    store.put_pin(Pin("a.example.org", ("n2",)))
    assert store.pins() == (Pin("a.example.org", ("n2",)),)


def test_dropping_a_pin_says_whether_there_was_one(store: Store) -> None:
    store.put_pin(Pin("a.example.org"))
    assert store.drop_pin("a.example.org")
    assert not store.drop_pin("a.example.org")
    assert store.pins() == ()


def test_pins_of_hostile_names_are_kept_apart(store: Store, hostile: tuple[str, ...]) -> None:
    for site in hostile:
        store.put_pin(Pin(site, reason=site))
    assert store.drop_pin("%")
    assert [pin.site for pin in store.pins()] == sorted(set(hostile) - {"%"})


@pytest.mark.parametrize("site", ["\x00", "\ud800", "half\x00name"])
def test_text_that_is_none_is_kept_exactly_or_refused(store: Store, site: str) -> None:
    try:
        store.put_pin(Pin(site))
    except BadInput:
        assert store.pins() == ()
    else:
        assert store.pins() == (Pin(site),)


def test_a_time_comes_back_as_the_same_instant_in_utc(store: Store) -> None:
    tokyo = timezone(timedelta(hours=9))
    store.put_pin(Pin("a.example.org", until=NOW.astimezone(tokyo)))
    (pin,) = store.pins()
    assert pin.until == NOW


def test_the_last_order_of_each_node_counts(store: Store) -> None:
    assert store.node_orders() == ()
    store.order_node(NodeOrder("n2", "down", without_content=True))
    store.order_node(NodeOrder("n1", "active"))
    drained = NodeOrder("n1", "draining", NOW, NOW + DAY, "new disks", "an operator")
    store.order_node(drained)
    assert store.node_orders() == (drained, NodeOrder("n2", "down", without_content=True))


def test_a_node_of_peoples_own_comes_back_as_it_was_put(store: Store) -> None:
    store.put_node(Node("n9", ("192.0.2.9",), 1))
    changed = Node("n9", ("192.0.2.9", "2001:db8::9"), LARGEST, 1.5)
    store.put_node(changed)
    assert store.own_nodes() == (changed,)
    assert store.drop_node("n9")
    assert not store.drop_node("n9")
    assert store.own_nodes() == ()


def test_a_freeze_lasts_until_it_is_taken_back(store: Store) -> None:
    assert store.freeze() is None
    store.put_freeze(Freeze(NOW))
    ordered = Freeze(NOW, NOW + DAY, "the fair", "an operator")
    store.put_freeze(ordered)
    assert store.freeze() == ordered
    store.put_freeze(None)
    assert store.freeze() is None


def test_the_last_look_at_the_name_servers_is_kept_and_is_no_change(store: Store) -> None:
    assert store.last_check() is None
    store.put_check(Check(NOW, "p1", (Answered("ns1", 3, error="no answer"),)))
    found = Check(
        NOW + DAY,
        "p2",
        (Answered("ns1", 3, 7), Answered("ns2", 3, 6, 2, ("+ a", "- \u202eb"), lag=0.1)),
    )
    store.put_check(found)
    assert store.last_check() == found
    assert found.wrong == found.servers[1:]
    assert store.last_number() == 0


def test_the_last_attempt_of_each_node_is_kept_until_it_is_dropped_and_is_no_change(
    store: Store,
) -> None:
    assert store.attempts() == ()
    store.put_attempt(Attempt("n2", 1, NOW, NOW, "away"))
    store.put_attempt(Attempt("n1", 1, NOW, NOW, "away"))
    last = Attempt("n1", 2, NOW, NOW + DAY, "it said \u2028 no")
    store.put_attempt(last)
    assert store.attempts() == (last, Attempt("n2", 1, NOW, NOW, "away"))
    store.drop_attempt("n2")
    store.drop_attempt("n3")
    assert store.attempts() == (last,)
    assert store.last_number() == 0


def test_slots_of_a_site_are_kept_as_they_were_put_and_are_no_change(store: Store) -> None:
    assert store.slots() == {}
    first = {"n1": 0, "n2": 15}
    assert store.put_slots("shop.example", first, {})
    assert store.put_slots("news.example", {"n2": 3}, {})
    assert store.put_slots("shop.example", {"n2": 15, "n3": 0}, first)
    assert store.slots() == {"shop.example": {"n2": 15, "n3": 0}, "news.example": {"n2": 3}}
    assert store.last_number() == 0


def test_who_gives_slots_beside_somebody_else_loses_none_of_his(store: Store) -> None:
    assert store.put_slots("shop.example", {"n1": 0}, {})
    assert not store.put_slots("shop.example", {"n2": 0}, {})
    assert not store.put_slots("shop.example", {"n2": 0}, {"n1": 1})
    assert store.slots() == {"shop.example": {"n1": 0}}
    everybody = [f"n{number}" for number in range(2, 8)]

    def join(node: str) -> None:
        while not store.put_slots(
            "shop.example", {**(there := store.slots()["shop.example"]), node: len(there)}, there
        ):
            pass

    with ThreadPoolExecutor(len(everybody)) as side_by_side:
        list(side_by_side.map(join, everybody))
    slots = store.slots()["shop.example"]
    assert slots.keys() == {"n1", *everybody}
    assert sorted(slots.values()) == list(range(7))


def test_the_large_map_is_kept_and_replaced_by_who_knows_the_one_that_is_there(
    store: Store,
) -> None:
    first, second = ("a.example at_n1\n" * 1_000, "a.example at_n2\n" * 1_000)
    assert (store.large_map(), store.large_map_digest()) == ("", "")
    assert not store.put_large_map(second, "d2", "d1")
    assert store.put_large_map(first, "d1", "")
    assert store.large_map() == first
    assert not store.put_large_map(second, "d2", "")
    assert store.large_map() == first
    assert store.put_large_map(second, "d2", "d1")
    assert (store.large_map(), store.large_map_digest()) == (second, "d2")
    assert store.last_number() == 0


def door_order(number: int, moved: str = "m1") -> DoorOrder:
    waiting = frozenset({"b.example", "c.example"})
    held = frozenset({"a.example", "c.example"}) if number > 1 else frozenset()
    since = NOW if held else None
    return DoorOrder(number, "p1", "l1", moved, NOW, waiting, held, since)


def test_an_order_of_doors_takes_the_place_of_the_one_that_its_author_knew(store: Store) -> None:
    text = "a.example at_n1\n" * 1_000
    assert (store.door_order(), store.moved_map()) == (None, "")
    assert not store.put_door_order(door_order(2), text, 1)
    assert store.put_door_order(door_order(1), text, 0)
    assert (store.door_order(), store.moved_map()) == (door_order(1), text)
    assert not store.put_door_order(door_order(1, "m2"), "", 0)
    assert not store.put_door_order(door_order(1, "m2"), "", 1)
    assert (store.door_order(), store.moved_map()) == (door_order(1), text)
    assert store.put_door_order(door_order(LARGEST, "m2"), "", 1)
    assert (store.door_order(), store.moved_map()) == (door_order(LARGEST, "m2"), "")
    assert store.last_number() == 0


def test_of_many_who_order_at_once_one_is_first(store: Store) -> None:
    def put(number: int) -> bool:
        return store.put_door_order(door_order(1, f"m{number}"), f"{number}", 0)

    with ThreadPoolExecutor(8) as side_by_side:
        was_first = list(side_by_side.map(put, range(8)))
    assert sum(was_first) == 1
    place = was_first.index(True)
    assert store.door_order() == door_order(1, f"m{place}")
    assert store.moved_map() == f"{place}"


def test_what_nodes_last_said_of_their_doors_is_kept(store: Store) -> None:
    first = [DoorReport("n2", 1, "m1", NOW), DoorReport("n1", 0, "", NOW, "no room")]
    assert store.door_reports() == ()
    store.note_door_reports(first)
    assert store.door_reports() == tuple(reversed(first))
    busy = (("a.example", 3), ("b.example", 1))
    later = DoorReport("n1", LARGEST, "m2", NOW + DAY, "", busy, 2)
    store.note_door_reports([later])
    assert store.door_reports() == (later, first[0])
    assert store.last_number() == 0


def test_maps_and_orders_that_are_kept_together_are_kept_whole_or_not_at_all(store: Store) -> None:
    seen_by_another = store.in_the_name_of(Author("somebody else"))
    with suppress(ZeroDivisionError), store.together():
        assert store.put_large_map("a at_n1\n", "d1", "")
        assert store.put_door_order(door_order(1), "b at_n2\n", 0)
        raise ZeroDivisionError
    for each in (store, seen_by_another):
        assert (each.large_map(), each.door_order()) == ("", None)
    with seen_by_another.together():
        assert seen_by_another.put_large_map("a at_n1\n", "d1", "")
        assert seen_by_another.put_door_order(door_order(1), "b at_n2\n", 0)
    assert (store.large_map(), store.moved_map()) == ("a at_n1\n", "b at_n2\n")


def test_a_reading_is_recorded_with_how_far_the_log_was_read(store: Store) -> None:
    assert store.record(segment("s1"), stream(100), None)
    assert store.segments(0, 99) == (segment("s1"),)
    assert store.streams_of(["web"]) == (stream(100),)
    assert store.streams_of(["other"]) == ()
    assert store.every_stream() == (stream(100),)


def test_reading_on_replaces_the_stream(store: Store) -> None:
    store.record(segment("s1"), stream(100), None)
    store.record(segment("s2"), stream(200), stream(100))
    assert store.streams_of(["web"]) == (stream(200),)


def test_a_known_segment_is_not_counted_again_and_changes_nothing(store: Store) -> None:
    store.record(segment("s1"), stream(100), None)
    assert not store.record(segment("s1"), stream(200), stream(100))
    assert store.streams_of(["web"]) == (stream(100),)
    assert store.segments(0, 99) == (segment("s1"),)


def test_readings_that_are_recorded_together_may_go_on_behind_one_another(store: Store) -> None:
    store.record(segment("s1"), stream(100), None)
    readings = [
        (segment("s2"), stream(200), stream(100)),
        (segment("s3"), stream(300), stream(200)),
    ]
    assert (
        store.record_all([*readings, (segment("s4"), stream(9, head="other"), None)]) == frozenset()
    )
    assert [each.id for each in store.segments(0, 99)] == ["s1", "s2", "s3", "s4"]
    assert set(store.streams_of(["web"])) == {stream(300), stream(9, head="other")}
    assert set(store.streams_of(["web", "none"])) == set(store.streams_of(["web"]))
    assert store.streams_of([]) == ()


def test_known_ones_of_those_that_are_recorded_together_are_named_and_change_nothing(
    store: Store,
) -> None:
    store.record(segment("s1"), stream(100), None)
    known = store.record_all(
        [(segment("s1"), stream(200), stream(100)), (segment("s2"), stream(9, head="b"), None)]
    )
    assert known == {"s1"}
    assert store.record_all([(segment("s2"), stream(10, head="b"), None)]) == {"s2"}
    assert set(store.streams_of(["web"])) == {stream(100), stream(9, head="b")}


def test_of_readings_that_are_recorded_together_none_is_when_one_was_overtaken(
    store: Store,
) -> None:
    store.record(segment("s1"), stream(100), None)
    with pytest.raises(Busy):
        store.record_all(
            [(segment("s2"), stream(9, head="b"), None), (segment("s3"), stream(300), stream(200))]
        )
    assert store.segments(0, 99) == (segment("s1"),)
    assert store.streams_of(["web"]) == (stream(100),)


def test_who_was_overtaken_in_a_log_records_nothing(store: Store) -> None:
    store.record(segment("s1"), stream(100), None)
    store.record(segment("s2"), stream(200), stream(100))
    with pytest.raises(Busy) as refused:
        store.record(segment("s3"), stream(300), stream(100))
    assert "nothing" in refused.value.kept
    assert store.streams_of(["web"]) == (stream(200),)
    assert [each.id for each in store.segments(0, 99)] == ["s1", "s2"]


def test_what_was_read_elsewhere_is_adopted_in_any_order_and_once(store: Store) -> None:
    assert store.adopt(segment("s2"), stream(200), stream(100))
    assert store.adopt(segment("s1"), stream(100), None)
    assert not store.adopt(segment("s2"), stream(200), stream(100))
    assert [each.id for each in store.segments(0, 99)] == ["s1", "s2"]
    assert stream(200) in store.streams_of(["web"])


def test_what_is_adopted_replaces_how_far_the_log_was_read(store: Store) -> None:
    store.adopt(segment("s1"), stream(100), None)
    store.adopt(segment("s2"), stream(200), stream(100))
    assert store.streams_of(["web"]) == (stream(200),)


def test_a_stream_is_known_by_what_it_contains_whatever_its_file_is_called(store: Store) -> None:
    store.record(segment("s1"), stream(100), None)
    renamed = replace(stream(100), path="/var/log/access.log.1")
    store.record(segment("s2"), replace(stream(200), path="/var/log/access.log.1"), renamed)
    assert [each.path for each in store.streams_of(["web"])] == ["/var/log/access.log.1"]


def test_segments_are_those_of_the_days_asked_for_in_order_of_id(store: Store) -> None:
    for number, (id_, first, last) in enumerate(
        [("d", 4, 5), ("B", 5, 9), ("a", 6, 6), ("c", 9, 10)]
    ):
        store.record(segment(id_, first, last), stream(number, head=id_), None)
    assert [each.id for each in store.segments(5, 6)] == ["B", "a", "d"]
    assert [each.id for each in store.segments(10, 10)] == ["c"]
    assert store.segments(0, 3) == ()


def test_before_the_first_profiles_there_are_none(store: Store) -> None:
    assert store.profiles() is None


def test_profiles_come_back_as_they_were_put(store: Store, hostile: tuple[str, ...]) -> None:
    period = Period.days_before(NOW, 7)
    put = profiles(*hostile, bytes_=LARGEST)
    spread = SPREADS.from_columns(
        {"site": ["%", "%"], "replicas": [2, 3], "working_set": [10, LARGEST]}
    )
    store.put_profiles(period, put, spread)
    found = store.profiles()
    assert found is not None
    assert found[0] == period
    pd.testing.assert_frame_equal(found[1], put)
    pd.testing.assert_frame_equal(found[2], spread)


def test_the_same_period_is_replaced(store: Store) -> None:
    period = Period.days_before(NOW, 7)
    spread = SPREADS.from_columns({"site": ["a"], "replicas": [2], "working_set": [10]})
    store.put_profiles(period, profiles("a", "b"), spread)
    store.put_profiles(period, profiles("c"), SPREADS.empty())
    found = store.profiles()
    assert found is not None
    pd.testing.assert_frame_equal(found[1], profiles("c"))
    pd.testing.assert_frame_equal(found[2], SPREADS.empty())


def test_the_latest_period_is_the_one_that_ends_last(store: Store) -> None:
    for days_ago, site in ((1, "yesterday"), (0, "today"), (2, "earlier")):
        store.put_profiles(
            Period.days_before(NOW - days_ago * DAY, 1), profiles(site), SPREADS.empty()
        )
    found = store.profiles()
    assert found is not None
    assert list(found[1]["site"]) == ["today"]
    then = store.profiles(until=NOW - DAY)
    assert then is not None
    assert list(then[1]["site"]) == ["yesterday"]
    assert store.profiles(until=NOW - 9 * DAY) is None


def test_of_periods_with_one_end_the_last_stored_is_the_latest(store: Store) -> None:
    for days in (7, 30, 7):
        store.put_profiles(
            Period.days_before(NOW, days), profiles(f"over {days} days"), SPREADS.empty()
        )
    found = store.profiles()
    assert found is not None
    assert list(found[1]["site"]) == ["over 7 days"]


def test_what_sites_sent_is_side_by_side_as_far_back_as_no_night_is_missing(store: Store) -> None:
    for days, sent in ((0, 7), (2, 1), (3, 2), (4, 3)):
        period = Period(NOW + days * DAY, NOW + (days + 1) * DAY)
        store.put_profiles(period, profiles("a.example.org", bytes_=sent), SPREADS.empty())
    last = Period(NOW + 5 * DAY, NOW + 6 * DAY)
    store.put_profiles(last, profiles("a.example.org", "b.example.org", bytes_=4), SPREADS.empty())
    found = store.bytes_sent(last, 9)
    assert found.index.tolist() == ["a.example.org", "b.example.org"]
    assert found.to_numpy().tolist() == [[1, 2, 3, 4], [0, 0, 0, 4]]
    assert store.bytes_sent(last, 2).shape == (2, 2)
    assert store.bytes_sent(last, 9, gaps=True).to_numpy().tolist()[0] == [7, 1, 2, 3, 4]
    assert store.bytes_sent(Period(NOW + 9 * DAY, NOW + 10 * DAY), 9).empty


def test_moves_of_sites_and_their_commands_are_kept_as_they_were_last(store: Store) -> None:
    first = SiteMove("one/1", "a.example", "n1", "n2", "one", NOW)
    second = SiteMove("two/1", "b.example", "n2", "n1", "two", NOW + timedelta(hours=1))
    copying = StageRun("one/1", "copy", "files", "begun", 1, NOW)
    store.put_site_moves([first, second])
    store.put_stage_run(copying)
    store.put_stage_run(StageRun("two/1", "copy", "files", "begun", 1, NOW))
    copied = replace(copying, state="done", ended=NOW + timedelta(minutes=1))
    store.put_stage_run(copied)
    stayed = replace(
        first,
        state="stayed",
        ended=NOW,
        reason="no room",
        rests_until=NOW + timedelta(days=7),
        for_now=True,
    )
    store.put_site_moves([stayed])

    assert store.site_moves() == (second, stayed)
    assert store.site_moves(1) == (second,)
    assert store.site_moves(site="a.example") == (stayed,)
    assert store.site_moves(plan="two") == (second,)
    assert store.site_moves(only_open=True) == (second,)
    assert store.stage_runs(["one/1"]) == (copied,)
    assert store.stage_runs([]) == ()


def test_answers_of_a_span_are_those_of_the_count_that_saw_most(store: Store) -> None:
    few = Answers(3, 1, (2, *NO_TIMES[1:]))
    many = Answers(9, 1, (8, *NO_TIMES[1:]))
    of = AnswersOfSpan("n1", "a.example", 7, few)
    store.put_answers([of, AnswersOfSpan("n2", "b.example", 7, many)])
    assert store.answers_of(["a.example", "c.example"]) == (of,)
    store.put_answers([replace(of, answers=many)])
    store.put_answers([of])
    assert store.answers_of(["a.example"]) == (replace(of, answers=many),)


def test_answers_of_spans_long_ago_are_forgotten(store: Store) -> None:
    rows = [AnswersOfSpan("n1", "a.example", span, Answers(1)) for span in (5, 6, 7)]
    store.put_answers(rows)
    store.forget_answers(6)
    assert store.answers_of(["a.example"]) == tuple(rows[1:])


def test_moves_are_watched_from_the_begin_of_their_watch_to_its_end(store: Store) -> None:
    moves = [SiteMove(f"m{n}", f"{n}.example", "n1", "n2", "one", NOW, "moved") for n in range(4)]
    store.put_site_moves(moves)
    states: tuple[RunState, ...] = ("begun", "undoing", "done", "undone")
    runs = [
        StageRun(move.id, "watch", "flex", state, 1, NOW - timedelta(minutes=n))
        for n, (move, state) in enumerate(zip(moves, states, strict=True))
    ]
    for run in runs:
        store.put_stage_run(run)
    store.put_stage_run(StageRun("m2", "clean", "files", "begun", 1, NOW))
    assert store.watched_moves() == ((moves[1], runs[1]), (moves[0], runs[0]))
