"""How the cluster is: its nodes, its last night, and what is wrong or waits for somebody, with the
next step.

Takes a `Sight`: what a server keeps at hand for its pages, and what the command line reads. Returns
sentences, what is wrong before what only waits. Asks no name server and reads no logs: it tells
what is known already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from urllib.parse import urlencode

from flex.errors import BadInput, FlexError, StoreError, Unverified
from flex.model.drains_and_freezes import Freeze
from flex.model.nightly_run import NightlyRun
from flex.model.period import Period
from flex.model.plan import Plan
from flex.model.plan_summary import Headline
from flex.planning import which_servers_agree
from flex.site_names_in_words import first_few
from flex.store import Store
from flex.store.lease_holder import is_gone
from flex.traffic.quality import Judged
from flex.zones import last_dns_check
from flex.zones.last_dns_check import Check
from flex_api.facts import core_to_output_models, dead_nodes_in_dns, logs_good_enough
from flex_api.facts.dead_nodes_in_dns import Dead
from flex_api.in_words import amounts, dead_nodes_text
from flex_api.night import (
    deliver_haproxy_files,
    freezes,
    pending_failovers,
    redelivering,
)
from flex_api.schemas.verbs_output import NodeStatus, RunRow, StatusOutput, TroubleRow
from flex_api.settings import file as config
from flex_api.wiring import World

# Nodes that a sentence names. A guess.
NAMED = 5
# Runs among which the last one is looked for that says how nights go. A guess.
RUNS = 100

# Exit codes of runs that ended as they should, or wait for a person who is told of that otherwise.
WELL = (0, 22, 23, None)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing a person should know; `step` leads on, on the page `to` or by a `command`. What is
    not `urgent` waits for somebody without being wrong.
    """

    said: str
    step: str
    to: str
    command: str = ""
    urgent: bool = True


@dataclass(frozen=True, slots=True)
class Sight:
    """What is looked at. `watch_trouble` says why nobody looks after dead nodes: only who serves
    knows.
    """

    world: World
    headlines: Callable[[], tuple[Headline, ...]]
    runs: Callable[[], Sequence[NightlyRun]]
    base: Callable[[], tuple[str, Plan | None]]
    plan: Callable[[str], Plan]
    dead: Callable[[], tuple[Dead, ...]]
    judged: Callable[[], tuple[Period, Judged]]
    # When the last line of nodes that are silent now was written, however long ago.
    last_lines: Callable[[Sequence[str]], Mapping[str, int]]
    watch_trouble: Callable[[], str] = lambda: ""

    @property
    def now(self) -> datetime:
        return self.world.time_of_day()


def sight(world: World) -> Sight:
    """With what the store says now, each asked for once at most."""
    store = world.store

    def base() -> tuple[str, Plan | None]:
        named = store.in_force()
        return named, store.plan(named) if named else None

    return Sight(
        world,
        headlines=cache(store.headlines),
        runs=cache(lambda: store.runs(RUNS)),
        base=cache(base),
        plan=store.plan,
        dead=lambda: dead_nodes(world, store.sites_of_nodes),
        judged=cache(partial(judge, world)),
        last_lines=partial(last_lines_of, store),
    )


def dead_nodes(world: World, sites: Callable[[], Mapping[str, int]]) -> tuple[Dead, ...]:
    """Those that are down and still in DNS. How many sites each node has is asked for only where
    one is down.
    """
    if all(node.is_serving for node in world.nodes):
        return ()
    return dead_nodes_in_dns.dead(
        world.nodes,
        sites(),
        world.store.attempts(),
        world.store,
        partial(pending_failovers.why_held_back, world),
    )


def last_lines_of(store: Store, nodes: Sequence[str]) -> dict[str, int]:
    return {node: logs_good_enough.last_line(store, node=node) for node in nodes}


def judge(world: World) -> tuple[Period, Judged]:
    """The logs, as the next plan would judge them."""
    now = world.clock()
    period = Period.days_before(now, world.settings.profile.window.days)
    return period, logs_good_enough.judge(world.settings, world.store, period, now)


def status(here: Sight) -> StatusOutput:
    base, plan = here.base()
    carried = here.world.store.sites_of_nodes() if base else {}
    return StatusOutput(
        cluster=here.world.settings.cluster.name,
        mode=here.world.settings.cluster.mode,
        partition=base,
        since=plan.in_force_since if plan else None,
        sites=plan.sites if plan else 0,
        worst_ratio=plan.after.worst if plan else None,
        nodes=[
            NodeStatus(node=node.name, state=node.state, sites=carried.get(node.name, 0))
            for node in here.world.nodes
        ],
        last_run=_row(here, last_run(here)),
        troubles=[TroubleRow.like(trouble) for trouble in troubles(here)],
    )


def _row(here: Sight, run: NightlyRun | None) -> RunRow | None:
    if run is None:
        return None
    plan = here.plan(run.plan) if run.plan else None
    return core_to_output_models.run_row(run, plan)


def troubles(here: Sight) -> tuple[Trouble, ...]:
    return tuple(sorted(_troubles(here), key=lambda trouble: not trouble.urgent))


def _troubles(here: Sight) -> Iterator[Trouble]:
    world = here.world
    if frozen := freezes.freeze_in_force(world):
        yield Trouble(
            _said_of_freeze(frozen),
            "Thaw it when changes may go on",
            "/settings#freeze",
            "flex thaw",
        )
    if trouble := here.watch_trouble():
        yield Trouble(
            f"Nobody looks after dead nodes: {trouble}.",
            "See what flex serve says of the health watch",
            "/nodes",
        )
    for still in here.dead():
        sentence = dead_nodes_text.sentence(dead_nodes_in_dns.row(still))
        yield Trouble(
            f"{sentence}.",
            "flex nodes down tries all the same where changes are frozen"
            if still.held_back
            else "Fix what the last attempt says; flex nodes down tries at once",
            "/nodes",
            f"flex nodes down {still.node}",
        )
    if owed := deliver_haproxy_files.owed_since(world.settings, world.store):
        ready = amounts.when(min(owed.values()))
        yield Trouble(
            f"Routing that was ready at {ready} has not reached {first_few(sorted(owed))}.",
            "The health watch and each night try again; flex route deliver does at once"
            if redelivering.is_wanted(world)
            else "Only flex route deliver does in shadow mode and while changes are frozen",
            "/nodes",
            "flex route deliver",
        )
    for half in (headline for headline in here.headlines() if headline.state == "applying"):
        yield Trouble(
            f"The plan of {amounts.when(half.created)} is half applied.",
            "Any new plan finishes it first; flex apply --resume does at once",
            f"/plans/{half.id}",
            "flex apply --resume",
        )
    if (last := last_run(here)) and last.exit_code == Unverified.exit_code:
        yield Trouble(
            _end_sentence(f"What the last run applied was not seen everywhere. {last.message}"),
            "See whether it is by now: nothing is left to apply",
            "/history#runs",
            "flex verify",
        )
    elif last and last.exit_code not in WELL:
        yield Trouble(
            _end_sentence(f"The last run failed with exit code {last.exit_code}. {last.message}"),
            "See what it said, fix that, run it again",
            "/history#runs",
            "flex history",
        )
    elif last and last.ended is None and is_gone(last.holder):
        yield Trouble(
            f"The last run, begun {amounts.ago(last.wall_time, here.now)}, was killed.",
            "The next run finishes or takes back what it began",
            "/history#runs",
            "flex run",
        )
    yield from _troubles_of_settings(world)
    yield from _legible(lambda: _troubles_of_logs(here))
    yield from _troubles_of_dns(here)
    yield from _troubles_of_plans(here)


def last_run(here: Sight) -> NightlyRun | None:
    """Who asked for what cannot be was told at once, and nothing was done."""
    return next(
        (
            run
            for run in here.runs()
            if not (run.is_ordered and run.exit_code == BadInput.exit_code and not run.stages)
        ),
        None,
    )


def _troubles_of_plans(here: Sight) -> Iterator[Trouble]:
    if waiting := waits(here):
        yield Trouble(
            f"A plan waits: {amounts.count(waiting.moves, 'move')}, made "
            f"{amounts.ago(waiting.wall_time, here.now)}.",
            "Look it over",
            f"/plans/{waiting.id}",
            f"flex plan show {waiting.id}",
            urgent=False,
        )
    elif old := undecided_plan(here):
        yield Trouble(
            f"{said_of_expired(here, old)}.",
            "Make a new plan",
            f"/plans/{old.id}#new",
            "flex plan",
            urgent=False,
        )


def _troubles_of_settings(world: World) -> Iterator[Trouble]:
    """A process keeps the settings of its start, and what somebody has written since is easily
    taken for them.
    """
    read, stale = config.read_from(world.settings), config.stale(world.settings)
    if read and stale:
        yield Trouble(
            f"This server goes by the settings that it read {amounts.when(read.read)}; "
            f"{_end_sentence(stale)}",
            "Run flex config check, then restart flex serve; the command line and "
            "nights go by the file already",
            "/settings",
            "flex config check",
            urgent=False,
        )


def _legible(find_troubles: Callable[[], Iterator[Trouble]]) -> Iterator[Trouble]:
    """What there is to say; where a setting or a file cannot be used, that: every other part of a
    page needs it not.
    """
    try:
        yield from tuple(find_troubles())
    except StoreError:
        raise
    except FlexError as error:
        yield Trouble(
            _end_sentence(str(error)),
            f"{error.advice[:1].upper()}{error.advice[1:]}",
            "/settings",
        )


def _end_sentence(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


def waits(here: Sight) -> Headline | None:
    """The newest plan, where somebody has still to decide about it and can."""
    newest = undecided_plan(here)
    return newest if newest and not has_expired(here, newest) else None


def undecided_plan(here: Sight) -> Headline | None:
    """The newest plan, where nobody has decided about it, though it may have expired."""
    newest = next(iter(here.headlines()), None)
    is_undecided = newest and newest.state == "proposed" and newest.base == here.base()[0]
    return newest if is_undecided else None


def has_expired(here: Sight, plan: Headline) -> bool:
    return here.now - plan.wall_time > here.world.settings.safety.plan_expiry


def said_of_expired(here: Sight, plan: Headline) -> str:
    return (
        f"The newest plan has expired: it was made {amounts.ago(plan.wall_time, here.now)}, "
        f"and safety.plan_expiry is {amounts.span(here.world.settings.safety.plan_expiry)}"
    )


@dataclass(frozen=True, slots=True)
class LogState:
    """When the last line of all logs was written, by node in service when its own last line was,
    and what else is bad about logs.
    """

    last: datetime | None
    nodes: tuple[tuple[str, datetime | None], ...]
    bad: tuple[str, ...]


def log_state(here: Sight) -> LogState:
    _, judged = here.judged()
    serving = {node.name for node in here.world.nodes if node.takes_sites}
    # Nobody is led to a node without sites, such as one that came back.
    serving &= here.world.store.sites_of_nodes().keys() or serving
    ever = newest_lines(here)
    lines = [(node.name, ever.get(node.name, 0)) for node in judged.nodes if node.name in serving]
    return LogState(
        last=core_to_output_models.moment(max((line for _, line in lines), default=0)),
        nodes=tuple((name, core_to_output_models.moment(line)) for name, line in lines),
        bad=tuple(
            f"The logs of {node.name}: {finding}"
            for node in judged.nodes
            for finding in node.findings
            if finding.state == "bad" and finding.rule != "profile.max_age"
        ),
    )


def newest_lines(here: Sight) -> dict[str, int]:
    """By node when its last line was written, however long ago that is; 0 where none was ever
    read.
    """
    _, judged = here.judged()
    silent = [node.name for node in judged.nodes if not node.last_line]
    read = here.last_lines(silent)
    return {node.name: node.last_line or read.get(node.name, 0) for node in judged.nodes}


def _troubles_of_logs(here: Sight) -> Iterator[Trouble]:
    if not here.world.settings.ingest.source:
        return
    known, limit = log_state(here), here.world.settings.profile.max_age
    if not known.nodes:
        yield _log_trouble("No log is read.", "See what was read")
    if never := [node for node, last in known.nodes if last is None]:
        yield _log_trouble(
            f"No line of {_list_nodes(never)} was ever read.", "See that the logs arrive"
        )
    now = here.world.clock()
    late = sorted((last, node) for node, last in known.nodes if last and now - last > limit)
    if late:
        ages = list(dict.fromkeys(amounts.span(now - late[at][0]) for at in (-1, 0)))
        which = "line" if len(late) == 1 else "lines"
        verb = "is" if len(late) == 1 else "are"
        yield _log_trouble(
            f"The newest {which} of {_list_nodes([node for _, node in late])} {verb} "
            f"{' to '.join(ages)} old; {amounts.span(limit)} is the limit.",
            "See which logs stopped coming",
        )
    for finding in known.bad[:1]:
        yield _log_trouble(_end_sentence(finding), "See what is wrong with them")


def _log_trouble(sentence: str, step: str) -> Trouble:
    return Trouble(sentence, step, "/data", "flex data")


def _list_nodes(nodes: Sequence[str]) -> str:
    return first_few(nodes, NAMED)


def last_check(here: Sight) -> Check | None:
    """What the name servers said of the partition in force when last asked; else when it was
    applied.
    """
    base, plan = here.base()
    kept = here.world.store.last_check()
    if kept and kept.partition == base:
        return kept
    return (
        last_dns_check.check(plan.in_force_since or plan.wall_time, base, plan.verdicts)
        if plan and plan.verdicts
        else None
    )


def _troubles_of_dns(here: Sight) -> Iterator[Trouble]:
    known = last_check(here)
    if known and known.wrong:
        yield Trouble(
            said_of_check(known, here.now),
            "Ask them again",
            f"/dns?{urlencode({'ask': 'now'})}",
            "flex verify",
        )


def said_of_check(check: Check, now: datetime) -> str:
    """Which name servers were right, when they were asked. A server of several zones is named
    once.
    """
    silent = list(dict.fromkeys(answer.server for answer in check.wrong if answer.error))
    other = [answer for answer in check.wrong if not answer.error]
    parts = [f"{_list_nodes(silent)} did not answer"] if silent else []
    if other:
        lines = amounts.count(sum(answer.differ for answer in other), "line")
        parts.append(
            f"{_list_nodes(list(dict.fromkeys(answer.server for answer in other)))} "
            f"disagreed in {lines}"
        )
    if not parts:
        agreeing = which_servers_agree.servers(check.servers).agreeing
        parts = [
            f"{amounts.count(agreeing, 'name server')} agreed"
            if agreeing
            else "there was nothing to ask about"
        ]
    return f"DNS, {amounts.ago(check.asked, now)}: {'; '.join(parts)}."


def _said_of_freeze(freeze: Freeze) -> str:
    until = f"until {amounts.when(freeze.until)}" if freeze.until else "until somebody thaws it"
    reason = f": {freeze.reason}" if freeze.reason else ""
    return f"All changes are frozen by {freeze.author or 'somebody'} {until}{reason}."
