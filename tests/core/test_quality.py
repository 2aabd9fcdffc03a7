"""What logs have to be like before anything is planned from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.model.log_reading import BadLine, Segment
from flex.model.period import Period
from flex.traffic.quality import (
    MAX_AGE,
    MAX_MALFORMED,
    MAX_SKEW,
    MIN_COVERAGE,
    Judged,
    Quality,
    QualityLimits,
    Times,
    history,
    hours_shifted,
    judge,
    spans,
)

DAY = datetime(2026, 3, 4, tzinfo=UTC)
FIRST = int(DAY.timestamp()) // 3600
NOW = DAY + timedelta(days=1, hours=2)
PERIOD = Period(DAY, DAY + timedelta(days=1))
LIMITS = QualityLimits(timedelta(hours=36), 0.05, 0.8, timedelta(minutes=10))
WHOLE_DAY = dict.fromkeys(range(FIRST, FIRST + 26), 60)


def segment(
    hours: Mapping[int, int],
    source: str = "n1",
    *,
    malformed: int = 0,
    read: datetime = NOW,
    last: int | None = None,
    reasons: Sequence[tuple[str, int]] = (),
) -> Segment:
    days = [hour // 24 for hour in hours] or [int(read.timestamp()) // 86400]
    newest = last if last is not None else max((hour * 3600 + 1800 for hour in hours), default=0)
    return Segment(
        id=source,
        source=source,
        node=source.partition(":")[0],
        path="access.log",
        format="combined",
        first_byte=0,
        last_byte=1,
        first_day=min(days),
        last_day=max(days),
        first_time=min((hour * 3600 for hour in hours), default=0),
        last_time=newest,
        lines=(("counted", sum(hours.values())), ("malformed", malformed)),
        reasons=tuple(reasons),
        samples=tuple(BadLine(i, "no_time", "x") for i in range(malformed)[:5]),
        hours=tuple(hours.items()),
        read_at=int(read.timestamp()),
    )


def judged(
    *segments: Segment,
    names: Sequence[str] = (),
    idle: Sequence[str] = (),
    now: datetime = NOW,
    empty: Mapping[str, Sequence[Times]] = MappingProxyType({}),
) -> Judged:
    sources = sorted({*(each.source for each in segments), *names})
    named = [(name, name.partition(":")[0]) for name in sources]
    return judge(named, segments, PERIOD, now, LIMITS, idle=idle, empty=empty)


def node(found: Judged, name: str = "n1") -> Quality:
    return next(each for each in found.nodes if each.name == name)


def rules(quality: Quality) -> list[tuple[str, str]]:
    return [(finding.rule, finding.state) for finding in quality.findings]


def without(*silent: int) -> dict[int, int]:
    return {hour: number for hour, number in WHOLE_DAY.items() if hour - FIRST not in silent}


def test_whole_and_fresh_logs_are_good() -> None:
    found = node(judged(segment(WHOLE_DAY), segment(WHOLE_DAY, "n2")))
    assert (found.state, found.coverage, found.heard, found.silent) == ("ok", 1.0, 24, ())


def test_a_node_of_which_no_line_was_read_or_for_too_long_is_bad() -> None:
    old = {hour - 72: number for hour, number in WHOLE_DAY.items()}
    found = judged(segment(WHOLE_DAY, "n2"), segment(old, "n1"), names=["n3"])
    assert (MAX_AGE, "bad") in rules(node(found, "n1"))
    assert rules(node(found, "n3")) == [(MAX_AGE, "bad")]
    assert "no line" in node(found, "n3").findings[0].said
    assert node(found, "n2").state == "ok"


def test_of_a_node_out_of_service_silence_is_only_told() -> None:
    assert node(judged(segment(WHOLE_DAY, "n2"), names=["n1"], idle=["n1"])).state == "warn"


def test_one_silent_log_beside_others_of_its_node_is_only_told() -> None:
    found = judged(segment(WHOLE_DAY, "n1"), names=["n1:a.example"])
    assert node(found).state == "ok"
    assert {each.name: each.state for each in found.sources} == {"n1": "ok", "n1:a.example": "warn"}


def test_a_line_of_days_to_come_does_not_make_a_dead_log_look_alive() -> None:
    old = {hour - 72: number for hour, number in WHOLE_DAY.items()}
    future = int((NOW + timedelta(days=900)).timestamp())
    found = node(
        judged(segment({**old, future // 3600: 1}, read=NOW - timedelta(days=3), last=future))
    )
    assert (MAX_AGE, "bad") in rules(found)


def test_hours_in_which_a_node_was_silent_and_others_were_not_are_gaps() -> None:
    few = node(judged(segment(without(3, 4)), segment(WHOLE_DAY, "n2")))
    assert rules(few) == [(MIN_COVERAGE, "warn")]
    assert "2026-03-04 03:00 to 05:00" in few.findings[0].said
    many = node(judged(segment(without(*range(3, 12))), segment(WHOLE_DAY, "n2")))
    assert rules(many) == [(MIN_COVERAGE, "bad")]
    assert many.coverage == pytest.approx(15 / 24)


def test_hours_in_which_all_were_silent_are_no_gaps_of_one() -> None:
    assert judged(segment(without(3, 4)), segment(without(3, 4), "n2")).nodes[0].silent == ()


def test_a_quiet_log_has_no_gaps() -> None:
    quiet = dict.fromkeys(range(FIRST, FIRST + 26, 2), 2)
    assert node(judged(segment(quiet), segment(WHOLE_DAY, "n2"))).silent == ()


def test_an_hour_that_is_silent_every_week_is_no_gap_and_one_that_never_was_is() -> None:
    weeks = [
        segment({hour - week * 168: 60 for hour in without(3)}, read=NOW - timedelta(weeks=week))
        for week in range(1, 4)
    ]
    found = node(judged(*weeks, segment(without(3, 15)), segment(WHOLE_DAY, "n2")))
    assert found.silent == (FIRST + 15,)


def test_before_its_first_line_a_log_has_no_gaps() -> None:
    assert node(judged(segment(without(*range(12))), segment(WHOLE_DAY, "n2"))).state == "ok"


def test_malformed_lines_are_told_from_half_the_limit_on_and_bad_above_it() -> None:
    answers = sum(WHOLE_DAY.values())
    for malformed, state in ((10, "ok"), (answers // 25, "warn"), (answers // 10, "bad")):
        assert node(judged(segment(WHOLE_DAY, malformed=malformed))).state == state


def test_a_reading_of_which_nothing_was_understood_counts_for_what_is_planned_after_it() -> None:
    broken = segment({}, malformed=3_000, reasons=[("no_fields", 3_000)])
    found = node(judged(segment(WHOLE_DAY), broken))
    assert rules(found) == [(MAX_MALFORMED, "bad")]
    assert "no_fields" in found.findings[0].said


def test_a_few_malformed_lines_among_few_are_nobodys_fault() -> None:
    assert node(judged(segment({FIRST + 25: 20}, malformed=20))).state == "ok"


def test_lines_dated_after_they_were_read_are_bad_unless_they_are_a_few() -> None:
    late = {hour + 6: number for hour, number in WHOLE_DAY.items()}
    assert (MAX_SKEW, "bad") in rules(node(judged(segment(late))))
    one = {**WHOLE_DAY, FIRST + 2000: 1}
    assert rules(node(judged(segment(one)))) == [(MAX_SKEW, "warn")]


def test_a_log_whose_days_lie_elsewhere_than_those_of_all_others_is_told() -> None:
    rhythm = {
        hour: 300 + 250 * (1 if hour % 24 in range(8, 20) else -1) + hour % 7
        for hour in range(FIRST - 150, FIRST + 24)
    }
    shifted = {hour - 6: number for hour, number in rhythm.items()}
    assert hours_shifted(shifted, rhythm) == -6
    assert hours_shifted(rhythm, rhythm) == 0
    found = node(judged(segment(shifted), segment(rhythm, "n2"), segment(rhythm, "n3")))
    assert (MAX_SKEW, "warn") in rules(found)
    assert "6 h" in str(found.findings[-1])


def test_a_finding_says_rule_limit_and_what_there_is() -> None:
    (finding,) = node(judged(names=["n1"])).findings
    since = PERIOD.start - timedelta(days=28)
    assert (
        str(finding) == f"no line of {since:%Y-%m-%d} or later was read: missing, the limit is 36 "
        "h (profile.max_age)"
    )


def test_the_readings_asked_for_reach_back_the_weeks_that_hours_are_compared_with() -> None:
    first, last = history(PERIOD)
    assert (first, last > PERIOD.last_day) == (PERIOD.first_day - 28, True)


def test_runs_of_hours_are_said_in_one_piece() -> None:
    assert spans([FIRST, FIRST + 1, FIRST + 3]) == [
        "2026-03-04 00:00 to 02:00",
        "2026-03-04 03:00 to 04:00",
    ]


hour_counts = st.dictionaries(
    st.integers(0, 3_000_000 * 24), st.integers(0, 2**63 - 1), max_size=30
)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(hour_counts, st.sampled_from(["n1", "n2", "n2:a"]), st.integers(0, 99)),
        max_size=6,
    )
)
def test_whatever_was_read_is_judged(found: list[tuple[dict[int, int], str, int]]) -> None:
    judgement = judged(
        *(segment(hours, name, malformed=bad) for hours, name, bad in found), names=["n1", "n2"]
    )
    assert all(0 <= each.coverage <= 1 for each in (*judgement.nodes, *judgement.sources))
    several = {each.node for each in judgement.sources if each.name != each.node}
    assert all(each.state != "bad" for each in judgement.sources if each.node in several)


def test_of_a_log_whose_site_is_elsewhere_now_silence_says_nothing() -> None:
    gone, kept = (
        segment({FIRST - 48: 60}, "n1:gone.example"),
        segment(WHOLE_DAY, "n1:kept.example"),
    )
    for idle, rules in (((), {MAX_AGE, MIN_COVERAGE}), (("n1:gone.example",), set())):
        (found,) = (
            each for each in judged(gone, kept, idle=idle).sources if each.name == "n1:gone.example"
        )
        assert {finding.rule for finding in found.findings} == rules


@pytest.mark.parametrize(
    ("hours", "out", "said"),
    [
        # Without a site since seven o'clock, and so without a line.
        (range(7), [(7, 26)], []),
        # It is new, and has none yet.
        ((), [(-2_000, 26)], []),
        # It wrote nothing for weeks before it lost its sites.
        ((), [(-24, 26)], [(MAX_AGE, "bad")]),
        # It has had sites again since midnight, and not a line came since.
        (range(7), [(7, 24)], []),
        # It stopped before it lost its sites.
        (range(2), [(10, 26)], [(MIN_COVERAGE, "bad")]),
        # It has had sites again since the morning, and wrote nothing.
        (range(2), [(2, 8)], [(MIN_COVERAGE, "bad")]),
        # It has had sites for two days, and wrote nothing.
        ((), [(-48, -20)], [(MAX_AGE, "bad")]),
    ],
)
def test_a_node_without_sites_is_silent_and_that_is_no_fault(
    hours: Sequence[int], out: Sequence[tuple[int, int]], said: list[tuple[str, str]]
) -> None:
    ours = [segment({FIRST + hour: 60 for hour in hours})] if hours else []
    times = [(DAY + timedelta(hours=begin), DAY + timedelta(hours=end)) for begin, end in out]
    others = segment(WHOLE_DAY, "n2")
    found = judged(*ours, others, names=["n1"], empty={"n1": times})
    assert rules(node(found)) == said
    assert rules(node(judged(*ours, others, names=["n1"]))) != []
