"""Whether the logs of a period are good enough to plan from.

Takes the settings and the store. Returns what is known of every source and node. Does not judge:
flex.traffic.quality does. A plan from bad logs would mislead, so it is refused until the logs are
better, or until somebody overrides the rule by name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from flex.errors import BadInput, NoData
from flex.model.limits_and_approvals import Stop
from flex.model.log_reading import Segment
from flex.model.period import LAST_DAY, Period
from flex.planning import movement_rules
from flex.planning.missing_readings import holes
from flex.site_names_in_words import first_few
from flex.store import Store
from flex.traffic import quality
from flex.traffic.quality import Finding, Judged, QualityLimits, Times
from flex_api.facts import core_to_output_models
from flex_api.schemas.log_verbs_output import (
    BadLineRow,
    DataOutput,
    FindingRow,
    QualityRow,
    UnreadRow,
)
from flex_api.settings.file import Settings
from flex_api.wiring import nodes, sources
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading import failed_files
from flex_logs_ingest.reading.failed_files import UnreadFile
from flex_logs_ingest.reading.rewritten_logs import copy_is_counted, edited_note, original_of

# The latest readings of a node in which its last line is looked for: enough for one that has been
# silent for weeks. A guess.
LATEST = 50
# The rules that a node without any line breaks.
SILENCE = (quality.MAX_AGE, quality.MIN_COVERAGE)
# Days on which the logs of nodes end that are tried as the time of a plan. A guess.
ENDS = 3


def judge(settings: Settings, store: Store, period: Period, now: datetime) -> Judged:
    known, every = sources(settings), nodes(settings, store)
    idle = {node.name for node in every if not node.takes_sites} | _logs_left_behind(known, store)
    segments = store.segments(*quality.history(period))
    named = [(source.name, source.node) for source in known]
    missing = holes([each for each in segments if each.last_day >= period.first_day], store)
    judge = partial(
        quality.judge, named, segments, period, now, _limits(settings), idle=idle, holes=missing
    )
    judged = judge()
    silent = {
        node.name
        for node in judged.nodes
        if any(finding.state == "bad" and finding.rule in SILENCE for finding in node.findings)
    }
    # A node with another name than before has no site, as long as those are on one that nobody
    # knows.
    if not silent or store.sites_of_nodes().keys() - {node.name for node in every}:
        return judged
    return judge(empty=_times_without_sites(store, silent, period, now))


def _times_without_sites(
    store: Store, names: Collection[str], period: Period, now: datetime
) -> dict[str, list[Times]]:
    """When nodes of these names had no site by the partition that was in force. One without sites
    by the first of all had none before either, but where that moved them away.
    """
    applied = sorted(
        (headline.settled, headline.id)
        for headline in store.headlines()
        if headline.state == "applied" and headline.settled
    )
    begins = [datetime.fromtimestamp(0, UTC), *(settled for settled, _ in applied[1:]), now]
    first = datetime.fromtimestamp(quality.history(period)[0] * 86400, UTC)
    times: dict[str, list[Times]] = {}
    for at, (settled, plan) in enumerate(applied):
        begin, end = begins[at], min(begins[at + 1], now)
        if begin >= end or end < first:
            continue
        empty = set(names) - store.sites_of_nodes(plan).keys()
        left = {move.source for move in store.plan(plan).moves} if empty and not at else set()
        for node in empty:
            times.setdefault(node, []).append((settled if node in left else begin, end))
    return times


def gone_sources(settings: Settings, store: Store, period: Period) -> list[tuple[str, str]]:
    """Sources with their nodes that the settings do not have, and whose counts are in the
    period.
    """
    known = {source.name for source in sources(settings)}
    segments = store.segments(period.first_day, period.last_day)
    return sorted({(each.source, each.node) for each in segments if each.source not in known})


def _logs_left_behind(known: Sequence[Source], store: Store) -> set[str]:
    """The logs of one site on a node that serves it no more."""
    if not any(source.site.fixed for source in known):
        return set()
    _, partition = store.placement()
    placed = set(zip(partition["site"], partition["node"], strict=True))
    settled = set(partition["site"])
    return {
        source.name
        for source in known
        if source.site.fixed in settled and (source.site.fixed, source.node) not in placed
    }


def _limits(settings: Settings) -> QualityLimits:
    profile = settings.profile
    return QualityLimits(
        profile.max_age, profile.max_malformed, profile.min_coverage, profile.max_skew
    )


def refuse_unknown(force: Collection[str]) -> None:
    """Raises BadInput for the name of a rule that no plan is made in spite of."""
    if strange := sorted(set(force) - {*quality.RULES, *movement_rules.RULES}):
        raise BadInput(
            f"--force {strange[0]}",
            f"the rules for logs are {', '.join(quality.RULES)}, those for plans "
            f"{', '.join(movement_rules.RULES)}",
            kept="nothing was planned",
            advice="name one of them, or leave it out",
        )


def refuse_bad(
    settings: Settings, store: Store, period: Period, now: datetime, force: Collection[str]
) -> None:
    """Raises NoData when the logs of a node are bad by a rule that is not forced, BadInput for a
    rule there is not.
    """
    refuse_unknown(force)
    findings = _bad(judge(settings, store, period, now), force)
    if findings:
        # Logs that stopped are silent besides.
        old = any(finding.rule == quality.MAX_AGE for _, finding in findings)
        ended = _as_of_the_end(settings, store, force) if old else None
        raise _bad_logs(period, findings, str(ended or ""))


def _bad(judged: Judged, force: Collection[str]) -> list[tuple[str, Finding]]:
    return [
        (node.name, finding)
        for node in judged.nodes
        for finding in node.findings
        if finding.state == "bad" and finding.rule not in force
    ]


@dataclass(frozen=True, slots=True)
class _AsOfTheEnd:
    """A plan as of the end of the logs, past these rules, which are broken even then."""

    then: datetime
    broken: Sequence[tuple[str, Finding]]
    rules: Sequence[str]
    ended: str

    @property
    def command(self) -> str:
        forced = "".join(f" --force {rule}" for rule in self.rules)
        return f"flex plan --as-of {self.then:%Y-%m-%d}{forced}"

    def __str__(self) -> str:
        despite = f", though {_findings_text(self.broken)}" if self.broken else ""
        return (
            f"the logs{self.ended}; to plan as of {self.then:%Y-%m-%d}, on the machine of "
            f"FLEX: `{self.command}`{despite}; otherwise "
        )


def _as_of_the_end(settings: Settings, store: Store, force: Collection[str]) -> _AsOfTheEnd | None:
    """What to do about logs that are old: a plan as of their end, by as few rules as possible that
    are gone past.
    """
    known = {source.name: source.node for source in sources(settings)}
    of_node: dict[str, int] = {}
    for each in store.segments(0, LAST_DAY):
        is_past = each.last_time and _is_past(each)
        if is_past and (node := known.get(each.source)):
            of_node[node] = max(of_node.get(node, 0), each.last_day)
    # The last day is rarely whole.
    days = {each for last in of_node.values() for each in (last, last - 1)}
    tried: list[tuple[datetime, list[tuple[str, Finding]]]] = []
    for day in sorted(days, reverse=True)[:ENDS]:
        then = datetime.fromtimestamp((day + 1) * 86400, UTC)
        period = Period.days_before(then, settings.profile.window.days)
        tried.append((then, _bad(judge(settings, store, period, then), force)))
        if not tried[-1][1]:
            break
    if not tried:
        return None
    then, bad = min(tried, key=lambda attempt: len(attempt[1]))
    rules = sorted({*force, *(finding.rule for _, finding in bad)})
    day = int(then.timestamp()) // 86400 - 1
    newest = max(last for last in of_node.values() if last <= day + 1)
    ended = sorted(node for node, last in of_node.items() if last == newest)
    of = "" if len(ended) == len(of_node) else f" of {first_few(ended)}"
    last = datetime.fromtimestamp(newest * 86400, UTC)
    return _AsOfTheEnd(then, bad, rules, f"{of} end on {last:%Y-%m-%d}")


def first_plan(settings: Settings, store: Store, now: datetime) -> str:
    """The command that makes the first plan from what was read, or that says what is in its way;
    empty once there is a plan.
    """
    if store.headlines():
        return ""
    period = Period.days_before(now, settings.profile.window.days)
    bad = _bad(judge(settings, store, period, now), ())
    if any(finding.rule == quality.MAX_AGE for _, finding in bad):
        ended = _as_of_the_end(settings, store, ())
        return ended.command if ended else "flex data"
    return "flex data" if bad else "flex plan"


def _findings_text(findings: Sequence[tuple[str, Finding]]) -> str:
    told = [f"the logs of {node}: {finding}" for node, finding in findings]
    return first_few(told, between="; ")


def _bad_logs(period: Period, findings: Sequence[tuple[str, Finding]], ended: str) -> NoData:
    rules = sorted({finding.rule for _, finding in findings})
    forced = " ".join(f"--force {rule}" for rule in rules)
    return NoData(
        f"profiles of {period}",
        _findings_text(findings),
        kept="the partition in force stays",
        advice=f"{ended}`flex data` shows what every source is like; see that the logs "
        "arrive and what format they are in; "
        f"to plan all the same: `flex plan {forced}`",
        stops=[
            Stop(finding.rule, finding.limit, finding.actual, f"{node}: {finding.said}")
            for node, finding in findings
        ],
    )


# What to do where the note does not say it by itself.
_MEND = {
    "unreadable": "see that FLEX may read it, and that it is whole",
    "read": "see that the file is whole; what is in front of the damage counts",
    "nothing new": "see that the file is whole; what is in front of the damage counts",
    "nothing matches": "see whether the glob is right and the logs are there",
    "unknown site": "correct site_pattern, or keep the file out of the glob",
    "rewritten": "nothing, if it is one; if it is another log: flex ingest --count-copies FILE",
    "copy": "nothing, if it is one; else give it a name of its own that site_pattern "
    "knows, or a source of its own",
}


def unused_files(settings: Settings, store: Store, period: Period) -> list[UnreadFile]:
    """Files that the last reading of their source could not use, and logs of the period that were
    taken for copies.
    """
    unread = list(failed_files.load(settings.ingest.directory))
    told = {(each.source, each.path) for each in unread}
    readings = store.segments(period.first_day, LAST_DAY)
    refused = [each for each in readings if each.copy_of and (each.source, each.path) not in told]
    return unread + [
        _rewritten_log(store, each) for each in refused if not copy_is_counted(store, each)
    ]


def _rewritten_log(store: Store, copy: Segment) -> UnreadFile:
    original = original_of(store, copy)
    if original is None:
        note = (
            "its lines are those of a log that was counted before it was edited, "
            "and are not counted again"
        )
    else:
        note = edited_note(original[0].path, original[1])
    return UnreadFile(copy.source, copy.path, "rewritten", note)


def last_line(store: Store, source: str = "", node: str = "") -> int:
    """When the last line of a source or a node was written, by its latest readings, however long
    ago these were; 0 where none was ever read. A line of days to come is no end of a log.
    """
    readings = store.readings(LATEST, source=source, node=node)
    return max((reading.last_time for reading in readings if _is_past(reading)), default=0)


def _is_past(reading: Segment) -> bool:
    return not reading.read_at or reading.last_time <= reading.read_at


def data_output(judged: Judged, period: Period, files: Sequence[UnreadFile] = ()) -> DataOutput:
    """`files` are those that could not be used."""
    names = {source.name for source in judged.sources}
    return DataOutput(
        period_start=period.start,
        period_end=period.end,
        nodes=[_row(each) for each in judged.nodes],
        sources=[_row(each) for each in judged.sources],
        unread=[_unread(each) for each in files if each.source in names],
    )


def _unread(unread: UnreadFile) -> UnreadRow:
    mend = _MEND.get(unread.outcome, "")
    return UnreadRow.like(unread, next_step=mend)


def _row(logs_quality: quality.Quality) -> QualityRow:
    return QualityRow.like(
        logs_quality,
        lines=dict(logs_quality.lines),
        coverage_ratio=logs_quality.coverage,
        hours_heard=logs_quality.heard,
        hours_expected=logs_quality.heard + len(logs_quality.silent),
        hours_silent=quality.spans(logs_quality.silent),
        last_line=core_to_output_models.moment(logs_quality.last_line),
        bad_lines=dict(logs_quality.reasons),
        bad_samples=[BadLineRow.like(sample, path=path) for path, sample in logs_quality.samples],
        findings=[FindingRow.like(finding) for finding in logs_quality.findings],
    )
