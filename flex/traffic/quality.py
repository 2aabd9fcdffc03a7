"""How far the logs of a period can be trusted, before anything is planned from them.

Takes the sources, what their readings say, the period, and the time of now. Returns a Quality for
each source and for each node: figures, and what is wrong with them. Does not read logs, and does
not refuse a plan.

One silent log among several of a node is a quiet site, and a silent node is a fault. So only what
is found of a whole node can be bad.

A log whose clock is in another time zone has its days shifted by whole hours against those of other
logs. A shift is reported only where it explains nearly all of the difference, as the days of sites
differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby
from types import MappingProxyType
from typing import Literal

import numpy as np

from flex.model.log_reading import BadLine, Segment
from flex.model.period import LAST_DAY, Period

# From when to when.
Times = tuple[datetime, datetime]
State = Literal["ok", "warn", "bad"]
WORST: tuple[State, ...] = ("ok", "warn", "bad")

# As the settings call them.
MAX_AGE = "profile.max_age"
MAX_MALFORMED = "profile.max_malformed"
MIN_COVERAGE = "profile.min_coverage"
MAX_SKEW = "profile.max_skew"
RULES = (MAX_AGE, MAX_MALFORMED, MIN_COVERAGE, MAX_SKEW)

# What an hour usually brings is asked of the same hour in this many weeks before.
WEEKS = 4
# Hours.
WEEK = 7 * 24
# An hour is silent when so many answers were to be expected: chance leaves it empty once in 150
# times.
EXPECTED = 5
# In fewer lines, those that one scanner left are a large share.
ENOUGH_LINES = 100
# A larger share of answers from days to come is a clock that is wrong; fewer are somebody's fault,
# once.
AHEAD = 0.01
# Holes, and malformed lines of each reason, that are told one by one. A guess.
SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of a log that was read, and whose counts did not arrive: some of the bytes before
    `until`.

    Where `until` is 0, something was sent before what arrived of this log, and it is not known of
    which log.
    """

    source: str
    path: str
    until: int


@dataclass(frozen=True, slots=True)
class QualityLimits:
    max_age: timedelta
    max_malformed: float
    min_coverage: float
    max_skew: timedelta


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, by which rule, how much that rule allows, and how much there is."""

    rule: str
    state: State
    said: str
    limit: str
    actual: str

    def __str__(self) -> str:
        return f"{self.said}: {self.actual}, the limit is {self.limit} ({self.rule})"


@dataclass(frozen=True, slots=True)
class Quality:
    """What one source, or all of one node, say of a period.

    `heard` are the hours of the period with answers, `silent` those that should have had some.
    `lines` and `reasons` are those of the readings that reach into the period; `samples` some of
    their malformed lines, each with its log. `last_line` is 0 when there is none of the weeks
    before either that hours are compared with.
    """

    name: str
    node: str
    heard: int
    silent: tuple[int, ...]
    last_line: int
    lines: tuple[tuple[str, int], ...]
    reasons: tuple[tuple[str, int], ...]
    samples: tuple[tuple[str, BadLine], ...]
    findings: tuple[Finding, ...] = ()

    @property
    def state(self) -> State:
        return max((finding.state for finding in self.findings), key=WORST.index, default="ok")

    @property
    def coverage(self) -> float:
        expected = self.heard + len(self.silent)
        return self.heard / expected if expected else 1.0


@dataclass(frozen=True, slots=True)
class Judged:
    sources: tuple[Quality, ...]
    nodes: tuple[Quality, ...]


def history(period: Period) -> tuple[int, int]:
    """The first and the last day of the readings to ask for: those that say no day are of the day
    they were made.
    """
    return max(period.first_day - 7 * WEEKS, 0), LAST_DAY


def judge(
    sources: Iterable[tuple[str, str]],
    segments: Sequence[Segment],
    period: Period,
    now: datetime,
    limits: QualityLimits,
    *,
    idle: Collection[str] = (),
    holes: Sequence[Hole] = (),
    empty: Mapping[str, Sequence[Times]] = MappingProxyType({}),
) -> Judged:
    """`sources` are names with their nodes; of nodes and sources that are `idle`, silence says
    nothing. Nor does it of a node at times at which it was `empty`: nobody is led to one without
    sites.
    """
    of_source: dict[str, list[Segment]] = {name: [] for name, _ in sources}
    node_of = dict(sources)
    for segment in segments:
        if segment.source in of_source:
            of_source[segment.source].append(segment)
    of_node: dict[str, list[Segment]] = {node: [] for node in node_of.values()}
    for name, own_segments in of_source.items():
        of_node[node_of[name]] += own_segments
    bench = _Bench(
        period, now, limits, _hours(chain.from_iterable(of_source.values())), holes, empty
    )
    nodes = tuple(
        _soften(bench.judge(node, node, own_segments))
        if node in idle
        else bench.judge(node, node, own_segments)
        for node, own_segments in of_node.items()
    )
    alone = {quality.node: quality for quality in nodes}
    shared = {node for node, number in Counter(node_of.values()).items() if number > 1}
    judged = tuple(
        _soften(bench.judge(name, node_of[name], own_segments))
        if node_of[name] in shared
        else replace(alone[node_of[name]], name=name)
        for name, own_segments in of_source.items()
    )
    return Judged(
        tuple(_may_be_silent(quality) if quality.name in idle else quality for quality in judged),
        nodes,
    )


def _may_be_silent(quality: Quality) -> Quality:
    findings = tuple(
        finding for finding in quality.findings if finding.rule not in (MAX_AGE, MIN_COVERAGE)
    )
    return replace(quality, findings=findings)


def _soften(quality: Quality) -> Quality:
    return replace(
        quality, findings=tuple(replace(finding, state="warn") for finding in quality.findings)
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    """What all are judged by; `whole` are the answers of the cluster by hour."""

    period: Period
    now: datetime
    limits: QualityLimits
    whole: Mapping[int, int]
    holes: Sequence[Hole]
    empty: Mapping[str, Sequence[Times]]

    def judge(self, name: str, node: str, segments: Sequence[Segment]) -> Quality:
        reaching = [segment for segment in segments if self._reaches(segment)]
        hours = _hours(segments)
        first = int(self.period.start.timestamp()) // 3600
        hour_range = range(
            max(first, min(hours, default=first)), int(self.period.end.timestamp()) // 3600
        )
        quality = Quality(
            name=name,
            node=node,
            heard=sum(1 for hour in hour_range if hours.get(hour)),
            silent=tuple(
                hour
                for hour in hour_range
                if not hours.get(hour)
                and not self._was_empty(node, hour)
                and self._expected_answers(hour, hours) >= EXPECTED
            ),
            last_line=max((_last_line(segment) for segment in segments), default=0),
            lines=_add_up(segment.lines for segment in reaching),
            reasons=_add_up(segment.reasons for segment in reaching),
            samples=_few(
                (segment.path, sample) for segment in reaching for sample in segment.samples
            ),
        )
        findings = (
            self._age(quality),
            self._malformed_finding(quality),
            self._coverage(quality),
            self._whole({segment.source for segment in segments}),
            self._skew(reaching, hours),
        )
        return replace(quality, findings=tuple(finding for finding in findings if finding))

    def _reaches(self, segment: Segment) -> bool:
        """One of which no line says its time belongs to whatever is planned after it was read."""
        if not segment.last_time:
            return segment.read_at >= self.period.start.timestamp()
        return (
            segment.last_day >= self.period.first_day and segment.first_day <= self.period.last_day
        )

    def _expected_answers(self, hour: int, hours: Mapping[int, int]) -> float:
        """As in the same hour of most weeks before; of a source that is new, its share of what
        others had.
        """
        begin = min(hours, default=hour)
        weeks = [
            hours.get(hour - week * WEEK, 0)
            for week in range(1, WEEKS + 1)
            if hour - week * WEEK >= begin
        ]
        if len(weeks) > 1:
            return sorted(weeks)[(len(weeks) - 1) // 2]
        ours, whole = sum(hours.values()), sum(self.whole[hour] for hour in hours)
        others = self.whole.get(hour, 0)
        if whole > ours:
            return others * ours / (whole - ours)
        # Nobody to compare with: a night is a tenth of a day.
        return ours / max(len(hours), 1) / 10

    def _was_empty(self, node: str, hour: int) -> bool:
        """For a part of the hour, at least."""
        first = datetime.fromtimestamp(hour * 3600, UTC)
        last = first + timedelta(hours=1)
        return any(begin < last and end > first for begin, end in self.empty.get(node, ()))

    def _empty_since(self, quality: Quality) -> timedelta:
        """How long the node had no site since its last line."""
        last = datetime.fromtimestamp(quality.last_line, UTC)
        spans = (
            min(end, self.now) - max(begin, last)
            for begin, end in self.empty.get(quality.node, ())
            if end > last and begin < self.now
        )
        return sum(spans, timedelta())

    def _age(self, quality: Quality) -> Finding | None:
        limit = f"{self.limits.max_age / timedelta(hours=1):g} h"
        since = datetime.fromtimestamp(history(self.period)[0] * 86400, UTC)
        last = datetime.fromtimestamp(quality.last_line, UTC)
        age = self.now - last
        if self.now - max(last, since) - self._empty_since(quality) <= self.limits.max_age:
            return None
        if not quality.last_line:
            return Finding(
                MAX_AGE, "bad", f"no line of {since:%Y-%m-%d} or later was read", limit, "missing"
            )
        hours = age / timedelta(hours=1)
        return Finding(
            MAX_AGE,
            "bad",
            f"the last line is of {last:%Y-%m-%d %H:%M} UTC",
            limit,
            f"{hours:,.0f} h ago",
        )

    def _malformed_finding(self, quality: Quality) -> Finding | None:
        bad = dict(quality.lines).get("malformed", 0)
        total = sum(number for _, number in quality.lines)
        limit = self.limits.max_malformed
        if total < ENOUGH_LINES or bad <= limit * total / 2:
            return None
        state: State = "bad" if bad > limit * total else "warn"
        reasons = ", ".join(f"{number:,} {name}" for name, number in quality.reasons)
        sentence = f"{bad:,} of {total:,} lines are malformed{f' ({reasons})' if reasons else ''}"
        return Finding(MAX_MALFORMED, state, sentence, _percent(limit), _percent(bad / total))

    def _coverage(self, quality: Quality) -> Finding | None:
        if not quality.silent:
            return None
        state: State = "bad" if quality.coverage < self.limits.min_coverage else "warn"
        sentence = (
            f"no lines from {', '.join(spans(quality.silent)[:3])}, unlike other nodes or other "
            "weeks"
        )
        return Finding(
            MIN_COVERAGE,
            state,
            sentence,
            _percent(self.limits.min_coverage),
            _percent(quality.coverage),
        )

    def _whole(self, sources: Collection[str]) -> Finding | None:
        """Hours that are missing are found by the silence they leave; of parts of hours nothing
        else tells.
        """
        ours = [hole for hole in self.holes if hole.source in sources]
        if not ours:
            return None
        told = ", ".join(
            f"{hole.path} before byte {hole.until:,}"
            if hole.until
            else f"one sent before {hole.path}"
            for hole in ours[:SAMPLES]
        )
        sentence = f"readings that were made elsewhere have not arrived: {told}"
        return Finding(MIN_COVERAGE, "warn", sentence, "all", f"{len(ours)} missing")

    def _skew(self, reaching: Sequence[Segment], hours: Mapping[int, int]) -> Finding | None:
        limit = self.limits.max_skew.total_seconds()
        ahead = sum(_ahead(segment, limit) for segment in reaching)
        share = ahead / max(sum(number for segment in reaching for _, number in segment.hours), 1)
        most = max(
            (segment.last_time - segment.read_at for segment in reaching if segment.read_at),
            default=0,
        )
        if most > limit:
            state: State = "bad" if share > AHEAD else "warn"
            sentence = f"lines are dated after they were read, {_percent(share)} of them by hours"
            return Finding(MAX_SKEW, state, sentence, _minutes(limit), _minutes(most))
        others = {hour: number - hours.get(hour, 0) for hour, number in self.whole.items()}
        if shift := hours_shifted(hours, others):
            sentence = (
                f"the day begins {abs(shift)} h "
                f"{'later' if shift > 0 else 'earlier'} than that of other logs"
            )
            return Finding(MAX_SKEW, "warn", sentence, _minutes(limit), _minutes(abs(shift) * 3600))
        return None


def spans(hours: Iterable[int]) -> list[str]:
    """2026-03-01 04:00 to 07:00, for each run of hours."""
    span_texts = []
    for _, run in groupby(enumerate(sorted(hours)), key=lambda pair: pair[1] - pair[0]):
        of_run = [hour for _, hour in run]
        begin, end = (
            datetime.fromtimestamp(hour * 3600, UTC) for hour in (of_run[0], of_run[-1] + 1)
        )
        span_texts.append(f"{begin:%Y-%m-%d %H:%M} to {end:%H:%M}")
    return span_texts


def _last_line(segment: Segment) -> int:
    """Its latest line that is not of days to come: one such line must not make a dead log look
    alive.
    """
    if not segment.read_at or segment.last_time <= segment.read_at:
        return segment.last_time
    past = [hour for hour, _ in segment.hours if hour * 3600 <= segment.read_at]
    return min(past[-1] * 3600 + 3599, segment.read_at) if past else 0


def _ahead(segment: Segment, limit: float) -> int:
    if not segment.read_at:
        return 0
    return sum(number for hour, number in segment.hours if hour * 3600 > segment.read_at + limit)


def _hours(segments: Iterable[Segment]) -> Mapping[int, int]:
    """Answers by hour. Hours after the log was read are left out."""
    hours: Counter[int] = Counter()
    for segment in segments:
        last = segment.read_at or segment.last_time
        hours.update({hour: number for hour, number in segment.hours if hour * 3600 <= last})
    return hours


def _add_up(pairs: Iterable[Iterable[tuple[str, int]]]) -> tuple[tuple[str, int], ...]:
    total: Counter[str] = Counter()
    for pair in pairs:
        total.update(dict(pair))
    return tuple(total.items())


def _few(samples: Iterator[tuple[str, BadLine]]) -> tuple[tuple[str, BadLine], ...]:
    kept: dict[str, list[tuple[str, BadLine]]] = {}
    for path, sample in samples:
        of_reason = kept.setdefault(sample.reason, [])
        if len(of_reason) < SAMPLES:
            of_reason.append((path, sample))
    return tuple(chain.from_iterable(kept.values()))


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.0f} min"


# Zones lie between twelve hours behind and fourteen before UTC.
FARTHEST = 14
# Answers an hour, in the mean, from which on a log's hours say something. A guess.
BUSY = 100
# Hours that must be counted: two days. A guess.
SHORTEST = 48
# How alike days must be when shifted (a correlation). A guess.
ALIKE = 0.8
# The correlation when shifted is larger than without a shift by at least this. A guess.
BETTER = 0.4


def hours_shifted(ours: Mapping[int, int], others: Mapping[int, int]) -> int:
    """By how many hours ours are later than the others; 0 where nothing says so."""
    if len(ours) < SHORTEST or sum(ours.values()) < BUSY * len(ours):
        return 0
    first, last = min(ours), max(ours)
    if last - first > 100 * 24:
        return 0
    mine = np.array([ours.get(hour, 0) for hour in range(first, last + 1)], dtype=float)
    alike = {shift: _alike(mine, others, first - shift) for shift in range(-FARTHEST, FARTHEST + 1)}
    best = max(alike, key=lambda shift: (alike[shift], -abs(shift)))
    return best if alike[best] >= ALIKE and alike[best] - alike[0] >= BETTER else 0


def _alike(mine: np.ndarray, others: Mapping[int, int], first: int) -> float:
    """The correlation with the others' hours from `first` on."""
    theirs = np.array(
        [others.get(hour, 0) for hour in range(first, first + len(mine))], dtype=float
    )
    if np.count_nonzero(theirs) < SHORTEST or theirs.std() == 0 or mine.std() == 0:
        return 0.0
    return float(np.corrcoef(mine, theirs)[0, 1])
