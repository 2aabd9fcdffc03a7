"""What is wrong now, with the next step, at the top of every page.

Takes the views of a desk. Returns sentences, the most urgent first. Does not ask a name server and
does not read logs: it tells what the last night or the DNS page found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flex.errors import BadInput, FlexError, StoreError
from flex.model.nightly_run import NightlyRun
from flex.model.operator_orders import Freeze
from flex.model.period import Period
from flex.model.plan_summary import Headline
from flex.planning import which_servers_agree
from flex.site_names_in_words import first_few
from flex.traffic.quality import Judged
from flex.zones import last_dns_check
from flex.zones.last_dns_check import Check
from flex_api.facts import core_to_output_models, dead_nodes_in_dns, logs_good_enough
from flex_api.facts.hours_in_logs import HoursInLogs, hours_in_logs
from flex_api.in_words import amounts, dead_nodes_text
from flex_api.night import deliver_haproxy_files, freeze_and_change_windows, redelivering
from flex_api.pages.read_forms_and_redirect import address
from flex_api.routes.nodes import in_dns_still
from flex_api.settings import file as config
from flex_api.web.request_context import Desk

# Weeks of logs in the heat map of a node or a site. A guess.
WEEKS = 4
# Nodes that a sentence names. A guess.
NAMED = 5

# Exit codes of runs that ended as they should, or wait for a person who is told of that otherwise.
WELL = (0, 22, 23, None)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing a person should know; `step` leads on. What is not `urgent` waits for somebody
    without being wrong.
    """

    said: str
    step: str
    to: str
    urgent: bool = True


@dataclass(frozen=True, slots=True)
class LogState:
    """When the last line of all logs was written, by node in service when its own last line was,
    and what else is bad about logs.
    """

    last: datetime | None
    nodes: tuple[tuple[str, datetime | None], ...]
    bad: tuple[str, ...]


def troubles(desk: Desk) -> tuple[Trouble, ...]:
    return tuple(_troubles(desk))


def _troubles(desk: Desk) -> Iterator[Trouble]:
    if frozen := freeze_and_change_windows.freeze_in_force(desk.world()):
        yield Trouble(_said_of_freeze(frozen), "Thaw it when changes may go on", "/settings#freeze")
    if desk.house.watched and (trouble := desk.house.watched().trouble(datetime.now(UTC))):
        yield Trouble(
            f"Nobody looks after dead nodes: {trouble}.",
            "See what flex serve says of the health watch",
            "/nodes",
        )
    for still in in_dns_still(desk):
        said = dead_nodes_text.sentence(dead_nodes_in_dns.row(still))
        yield Trouble(
            f"{said}.",
            "flex nodes down tries all the same where changes are frozen"
            if still.held_back
            else "Fix what the last attempt says; flex nodes down tries at once",
            "/nodes",
        )
    if owed := deliver_haproxy_files.owed_since(desk.settings, desk.store):
        ready = amounts.when(min(owed.values()))
        yield Trouble(
            f"Routing that was ready at {ready} has not reached {first_few(sorted(owed))}.",
            "The health watch and each night try again; flex route deliver does at once"
            if redelivering.is_wanted(desk.world())
            else "Only flex route deliver does in shadow mode and while changes are frozen",
            "/nodes",
        )
    heads = desk.views.headlines()
    for half in (one for one in heads if one.state == "applying"):
        yield Trouble(
            f"The plan of {amounts.when(half.created)} is half applied.",
            "Any new plan finishes it first; flex apply --resume does at once",
            f"/plans/{half.id}",
        )
    # Who asked for what cannot be was told at once, and nothing was done.
    runs = (
        run
        for run in desk.views.runs()
        if not (run.is_ordered and run.exit_code == BadInput.exit_code and not run.stages)
    )
    if (last := next(runs, None)) and last.exit_code not in WELL:
        yield Trouble(
            _said_of_run(last), "See what it said, fix that, run it again", "/history#runs"
        )
    yield from _of_settings(desk)
    yield from _legible(lambda: _of_logs(desk))
    yield from _of_dns(desk)
    yield from _of_plans(desk, heads)


def _of_plans(desk: Desk, heads: tuple[Headline, ...]) -> Iterator[Trouble]:
    if waiting := waits(desk, heads):
        yield Trouble(
            f"A plan waits: {amounts.count(waiting.moves, 'move')}, made "
            f"{amounts.ago(waiting.wall_time, desk.now)}.",
            "Look it over",
            f"/plans/{waiting.id}",
            urgent=False,
        )
    elif old := undecided_plan(desk, heads):
        yield Trouble(
            f"{said_of_expired(desk, old)}.",
            "Make a new plan",
            f"/plans/{old.id}#new",
            urgent=False,
        )


def _of_settings(desk: Desk) -> Iterator[Trouble]:
    """A process keeps the settings of its start, and what somebody has written since is easily
    taken for them.
    """
    read, stale = config.read_from(desk.settings), config.stale(desk.settings)
    if read and stale:
        yield Trouble(
            f"This server goes by the settings that it read {amounts.when(read.read)}; "
            f"{_with_full_stop(stale)}",
            "Run flex config check, then restart flex serve; the command line and "
            "nights go by the file already",
            "/settings",
            urgent=False,
        )


def _legible(found: Callable[[], Iterator[Trouble]]) -> Iterator[Trouble]:
    """What there is to say; where a setting or a file cannot be used, that: every other part of a
    page needs it not.
    """
    try:
        yield from tuple(found())
    except StoreError:
        raise
    except FlexError as error:
        yield Trouble(
            _with_full_stop(str(error)),
            f"{error.advice[:1].upper()}{error.advice[1:]}",
            "/settings",
        )


def _with_full_stop(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


def newest(desk: Desk) -> datetime | None:
    """When the last line of all logs was written; None also where what says so cannot be read,
    which is told above.
    """
    try:
        return hear_distributors(desk).last
    except StoreError:
        raise
    except FlexError:
        return None


def waits(desk: Desk, heads: tuple[Headline, ...]) -> Headline | None:
    """The newest plan, where somebody has still to decide about it and can."""
    newest = undecided_plan(desk, heads)
    return newest if newest and not has_expired(desk, newest) else None


def undecided_plan(desk: Desk, heads: tuple[Headline, ...]) -> Headline | None:
    """The newest plan, where nobody has decided about it, though it may have expired."""
    newest, base = heads[0] if heads else None, desk.views.base()[0]
    return newest if newest and newest.state == "proposed" and newest.base == base else None


def has_expired(desk: Desk, plan: Headline) -> bool:
    return desk.now - plan.wall_time > desk.settings.safety.plan_expiry


def said_of_expired(desk: Desk, plan: Headline) -> str:
    return (
        f"The newest plan has expired: it was made {amounts.ago(plan.wall_time, desk.now)}, "
        f"and safety.plan_expiry is {amounts.span(desk.settings.safety.plan_expiry)}"
    )


def quality(desk: Desk) -> tuple[Period, Judged]:
    """The logs, as the next plan would judge them: looked at anew after each run that read any, and
    every hour.
    """
    now = desk.house.clock()
    period = Period.days_before(now, desk.settings.profile.window.days)
    hour = now.replace(minute=0, second=0, microsecond=0)

    def look() -> tuple[datetime, Period, Judged]:
        return (hour, period, logs_good_enough.judge(desk.settings, desk.house.store, period, now))

    found = desk.views.of("quality", look)
    if found[0] != hour:
        desk.views.held.pop("quality", None)
        found = desk.views.of("quality", look)
    return found[1:]


def hear_distributors(desk: Desk) -> LogState:
    _, found = quality(desk)
    serving = {node.name for node in desk.world().nodes if node.state == "active"}
    # Nobody is led to a node without sites, such as one that came back.
    serving &= desk.house.store.sites_of_nodes().keys() or serving
    ever = last_lines(desk)
    lines = [(node.name, ever.get(node.name, 0)) for node in found.nodes if node.name in serving]
    return LogState(
        last=core_to_output_models.moment(max((line for _, line in lines), default=0)),
        nodes=tuple((name, core_to_output_models.moment(line)) for name, line in lines),
        bad=tuple(
            f"The logs of {node.name}: {finding}"
            for node in found.nodes
            for finding in node.findings
            if finding.state == "bad" and finding.rule != "profile.max_age"
        ),
    )


def last_lines(desk: Desk) -> dict[str, int]:
    """By node when its last line was written, however long ago that is; 0 where none was ever
    read.
    """
    _, found = quality(desk)
    silent = [node.name for node in found.nodes if not node.last_line]
    read = desk.views.of(
        "last-lines",
        lambda: {name: logs_good_enough.last_line(desk.house.store, node=name) for name in silent},
    )
    return {node.name: node.last_line or read.get(node.name, 0) for node in found.nodes}


def latest_weeks(desk: Desk) -> Period:
    """The weeks before today; before the day after the last line, where the logs stopped coming."""
    now, last = desk.house.clock(), newest(desk)
    return Period.days_before(min(now, last + timedelta(days=1)) if last else now, 7 * WEEKS)


def latest_hours(desk: Desk) -> HoursInLogs:
    """How busy the hours of these weeks were, on the days that logs are of."""
    return desk.views.of("hours-in-logs", lambda: hours_in_logs(desk.store, latest_weeks(desk)))


def _of_logs(desk: Desk) -> Iterator[Trouble]:
    if not desk.settings.ingest.source:
        return
    known, limit = hear_distributors(desk), desk.settings.profile.max_age
    if not known.nodes:
        yield Trouble("No log is read.", "See what was read", "/data")
    if never := [node for node, last in known.nodes if last is None]:
        yield Trouble(
            f"No line of {_list_nodes(never)} was ever read.", "See that the logs arrive", "/data"
        )
    now = desk.house.clock()
    late = sorted((last, node) for node, last in known.nodes if last and now - last > limit)
    if late:
        ages = list(dict.fromkeys(amounts.span(now - late[at][0]) for at in (-1, 0)))
        which = "line" if len(late) == 1 else "lines"
        verb = "is" if len(late) == 1 else "are"
        yield Trouble(
            f"The newest {which} of {_list_nodes([node for _, node in late])} {verb} "
            f"{' to '.join(ages)} old; {amounts.span(limit)} is the limit.",
            "See which logs stopped coming",
            "/data",
        )
    for said in known.bad[:1]:
        yield Trouble(said, "See what is wrong with them", "/data")


def _list_nodes(nodes: Sequence[str]) -> str:
    return first_few(nodes, NAMED)


def last_check(desk: Desk) -> Check | None:
    """What the name servers said of the partition in force when last asked; else when it was
    applied.
    """
    base, plan = desk.views.base()
    kept = desk.store.last_check()
    if kept and kept.partition == base:
        return kept
    return (
        last_dns_check.check(plan.settled or plan.created, base, plan.verdicts)
        if plan and plan.verdicts
        else None
    )


def _of_dns(desk: Desk) -> Iterator[Trouble]:
    known = last_check(desk)
    if known and known.wrong:
        yield Trouble(said_of_check(known, desk.now), "Ask them again", address("/dns", ask="now"))


def said_of_check(found: Check, now: datetime) -> str:
    """Which name servers were right, when they were asked. A server of several zones is named
    once.
    """
    silent = list(dict.fromkeys(one.server for one in found.wrong if one.error))
    other = [one for one in found.wrong if not one.error]
    said = [f"{_list_nodes(silent)} did not answer"] if silent else []
    if other:
        lines = amounts.count(sum(one.differ for one in other), "line")
        said.append(
            f"{_list_nodes(list(dict.fromkeys(one.server for one in other)))} disagreed in {lines}"
        )
    if not said:
        agreeing = which_servers_agree.servers(found.servers).agreeing
        said = [
            f"{amounts.count(agreeing, 'name server')} agreed"
            if agreeing
            else "there was nothing to ask for"
        ]
    return f"DNS, {amounts.ago(found.asked, now)}: {'; '.join(said)}."


def _said_of_freeze(found: Freeze) -> str:
    until = f"until {amounts.when(found.until)}" if found.until else "until somebody thaws it"
    reason = f": {found.reason}" if found.reason else ""
    return f"All changes are frozen by {found.author or 'somebody'} {until}{reason}."


def _said_of_run(run: NightlyRun) -> str:
    return f"The last run failed with exit code {run.exit_code}. {run.message}"
