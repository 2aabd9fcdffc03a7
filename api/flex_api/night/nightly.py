"""What a night does, step by step. Each verb of the command line is one of these steps; `run` is
all of them.

A step that changes something holds the cluster's one lease, so two never overlap. The next run
finishes what a killed run left: logs are read on from where the last reading ended, and a plan that
is half applied is applied to its end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from flex.errors import Busy, FlexError, Held, NoData, NoneMoved, NotWritten, Unknown
from flex.model.nightly_run import NIGHTLY, NightlyRun
from flex.model.period import Period
from flex.model.plan import Plan
from flex.planning import given_partition, propose_plan, what_if
from flex.planning.facts_and_rules import Facts
from flex.planning.propose_plan import Proposal
from flex.planning.what_if import Supposition
from flex.site_names_in_words import first_few
from flex.store import Store
from flex.zones.records_of_partition import name_of
from flex_api.facts import (
    earlier_nights,
    prediction_errors,
    sites_of_failed_moves,
)
from flex_api.facts.forecast_loads import expect
from flex_api.facts.logs_good_enough import refuse_bad, refuse_unknown
from flex_api.facts.move_progress import REPLACED
from flex_api.facts.profiles_from_counts import learn_profiles
from flex_api.in_words import amounts
from flex_api.moving import readiness_replanning
from flex_api.night import (
    bring_what_sites_need,
    dead_nodes_first,
    gather_facts,
    go_on_with_moves,
    human_decision_records,
    make_before_break_plans,
    move_watch_round,
    notifying,
    plan_of_movable_sites,
    plan_reasons,
    recovery,
    redelivering,
    route_and_publish_plan,
    warm_nodes,
)
from flex_api.night.leases import AT_ONCE, lease
from flex_api.night.record_stages import Steps
from flex_api.report import write_reports
from flex_api.wiring import World, sources
from flex_logs_ingest.counts import retention
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading import read_logs
from flex_logs_ingest.reading.malformed_lines_file import Invalid
from flex_logs_ingest.reading.read_logs import FileReport
from flex_logs_ingest.reading.report import describe_unread, needs_look

# Nothing else than the settings say.
AS_SET = Supposition()

# A night that goes around so many sites is given up: something is wrong with all of them. A guess.
MOST_STAYING = 100

# Sites that stay where they are.
NOBODY: Mapping[str, str] = {}

# How many partitions a refusal names, and how many names of others a night.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Night:
    """How a run went. `waiting` says why nothing was applied though there was something to apply,
    and `exit_code` how the program says so.
    """

    run: NightlyRun
    files: tuple[FileReport, ...]
    plan: Plan
    report: Path
    waiting: str = ""
    exit_code: int = 0


def run(
    world: World, force: Collection[str] = (), *, author: str = "", waits: timedelta = AT_ONCE
) -> Night:
    """The whole night; `force` are rules to go over, `author` is who runs it where no timer does.
    It `waits` so long for another run that is at work.
    Raises what stopped it; all before that is kept, and told.
    """
    # Whoever mistyped it is told. It is no night that failed.
    refuse_unknown(force)
    try:
        return _run(world, force, author, waits)
    except Busy:
        raise
    except FlexError as error:
        notifying.tell_failure(world, error)
        raise


def _run(world: World, force: Collection[str], author: str, waits: timedelta) -> Night:
    with lease(world, NIGHTLY, waits=waits) as held:
        step = Steps(world, held.run)
        # First of all: logs are read for long, and those of a dead node may stop the night.
        is_owed = not dead_nodes_first.cleared(world, step, force)
        if redelivering.is_wanted(world):
            step("routing", lambda: redelivering.again(world), str)
        files = step("ingest", lambda: ingest(world), _said_of_files)
        _refuse_unread(files)
        _tell_of_unread(world, files)
        period = step("profile", lambda: learn(world, force), str)
        step("tidy", lambda: tidy(world, period), str)
        if is_owed:
            dead_nodes_first.cleared(world, step, force, is_last=True)
        unread = step(
            "finish",
            lambda: recovery.finish_where_allowed(world, force),
            lambda _: _said_of_begun(world),
        )
        if world.settings.move.watch:
            step("watch", lambda: move_watch_round.watch_in_night(world), str)
        if go_on_with_moves.is_something_open(world):
            step("moves", lambda: go_on_with_moves.go_on(world), str)
        proposal = step(
            "plan", lambda: propose(world, force, author=author), lambda proposal: proposal.plan.id
        )
        held.concerns(proposal.plan)
        _tell_of_edits(world, proposal.plan)
        plan = proposal.plan
        code, waiting = _passes(world, step, plan)
        if not waiting:
            human_decision_records.refuse_unread([plan], unread)
        if not waiting and bring_what_sites_need.brings(world, plan):
            plan, code, waiting = _bring_or_go_around(world, step, plan, force)
            held.concerns(plan)
        if waiting:
            world.say(waiting)
            held.waits(code, waiting)
        else:
            # It may be another plan by now.
            human_decision_records.refuse_unread([plan], unread)
            plan, code, waiting = _carry_out(world, step, plan)
            held.concerns(plan)
            if waiting:
                world.say(waiting)
                held.waits(code, waiting)
        path = step("report", lambda: _report(world, plan), str)
        step("notify", lambda: notifying.tell_of_plan(world, plan, waiting, code), str)
        return Night(held.run, files, plan, path, waiting, code)


def _passes(world: World, step: Steps, plan: Plan) -> tuple[int, str]:
    """Return what `why_it_waits` says. It is asked once more behind the warm-up, which takes a
    while.
    """
    verdict = step(
        "gate",
        lambda: plan_reasons.why_it_waits(world, plan),
        lambda verdict: verdict[1] or "passed",
    )
    if verdict[1] or not make_before_break_plans.warms_first(world, plan):
        return verdict
    step("warm", lambda: warm_nodes.ahead(world, plan), str)
    return step(
        "gate again",
        lambda: plan_reasons.why_it_waits(world, plan),
        lambda verdict: verdict[1] or "passed",
    )


def _bring_or_go_around(
    world: World, step: Steps, plan: Plan, force: Collection[str]
) -> tuple[Plan, int, str]:
    """The plan without the sites that stay, or why it waits. Where the rest of it is no good alone
    there is another one, which goes around these sites; not for ever.
    """
    around: dict[str, str] = {}
    while True:
        try:
            wanted = step(
                "bring",
                lambda plan=plan: plan_of_movable_sites.bring_and_narrow(  # type: ignore[misc]
                    world, plan
                ),
                lambda wanted: wanted.id,
            )
        except Held as error:
            more = bring_what_sites_need.staying(world, plan)
            if more.keys() <= around.keys() or len(around) >= MOST_STAYING:
                return plan, error.exit_code, f"{error.asked}: {error.answer}."
            around |= more
            plan = _plan_around(world, step, plan, force, around)
            code, waiting = plan_reasons.why_it_waits(world, plan)
            if waiting or not bring_what_sites_need.brings(world, plan):
                return plan, code, waiting
        else:
            return wanted, *plan_reasons.why_it_waits(world, wanted)


def _carry_out(world: World, step: Steps, plan: Plan) -> tuple[Plan, int, str]:
    """The plan as it ended, or why nothing of it could be done."""
    try:
        done = step.run_work(
            lambda: route_and_publish_plan.carry_out(world, plan, step.enter),
            lambda done: done.state,
        )
    except NoneMoved as error:
        return (world.store.plan(plan.id), error.exit_code, f"{error.asked}: {error.answer}.")
    go_on_with_moves.mark_moves_made(world, done)
    return done, 0, ""


def _plan_around(
    world: World, step: Steps, plan: Plan, force: Collection[str], around: Mapping[str, str]
) -> Plan:
    proposal = step(
        "plan again",
        lambda: propose(world, force, author=plan.author, staying=around),
        lambda proposal: proposal.plan.id,
    )
    message = f"{REPLACED} {proposal.plan.id}, which goes around {first_few(sorted(around))}"
    world.store.update(replace(plan, state="discarded", message=message))
    return proposal.plan


def _said_of_begun(world: World) -> str:
    begun = world.store.plans(state="applying")
    return f"plan {begun[0].id} stays half applied" if begun else "nothing is half applied"


def _report(world: World, plan: Plan) -> Path:
    """A night is not undone by a report that cannot be written, and must not look so."""
    try:
        path = write_reports.write(world, plan)
        write_reports.print_too(world, path)
        return path
    except NotWritten as error:
        kept = f"plan {plan.id} is {plan.state}; only its report is missing"
        raise NotWritten(
            error.asked, error.answer, kept=kept, advice=f"{error.advice}; then `flex report`"
        ) from error


def _said_of_files(files: Sequence[FileReport]) -> str:
    lines = sum(number for file in files for _, number in file.lines)
    return f"{amounts.count(len(files), 'file')}, {amounts.count(lines, 'new line')}"


def ingest(
    world: World,
    chosen: Sequence[Source] | None = None,
    invalid: Invalid | None = None,
    copies_too: bool = False,
) -> tuple[FileReport, ...]:
    """Read what is new in the logs, of all sources where none is chosen; every line is counted
    once.

    With `copies_too`, also what looks like counted lines that were edited.
    """
    settings = world.settings.ingest
    every = sources(world.settings)
    wanted = [source for source in every if source.globs] if chosen is None else chosen
    if every and not wanted:
        return ()
    return read_logs.ingest(
        wanted,
        world.store,
        settings.directory,
        sample_limit=settings.sample_limit,
        workers=settings.workers,
        progress=world.progress,
        invalid=invalid,
        read_at=int(world.time_of_day().timestamp()),
        copies_too=copies_too,
    )


def _refuse_unread(files: Sequence[FileReport]) -> None:
    """A source of which nothing could be read is a node whose sites would look idle."""
    failed = {file.source for file in files if file.outcome in read_logs.FAILED}
    unread = sorted(
        failed - {file.source for file in files if file.outcome not in read_logs.FAILED}
    )
    if not unread:
        return
    told = describe_unread(file for file in files if file.source in unread)
    raise NoData(
        f"reading the logs of {', '.join(unread)}",
        f"none of them could be read: {first_few(told, between='; ')}",
        kept="what was read of the others is counted, and the partition in force stays",
        advice="correct the source in [[ingest.source]] or the rights on the logs, or "
        "take the source out; "
        "`flex ingest` shows every file",
    )


def _tell_of_unread(world: World, files: Sequence[FileReport]) -> None:
    for file in [file for file in files if file.outcome == "rewritten"][:5]:
        world.say(f"{file.path}: {file.note}; `flex data` shows it")
    if failed := [file for file in files if needs_look(file)]:
        world.say(
            f"{amounts.count(len(failed), 'file')} could not be read whole: "
            f"{first_few(describe_unread(failed), between='; ')}"
        )


def _tell_of_edits(world: World, plan: Plan) -> None:
    if edits := plan.said.edits:
        names = [edit.name.rstrip(".") for edit in edits]
        named = first_few(names, NAMED)
        world.say(
            f"Somebody else changed {amounts.count(len(edits), 'name')} in DNS, left "
            f"alone: {named}."
        )


def learn(world: World, force: Collection[str] = ()) -> Period:
    """Make and keep the profiles of the last complete days. Raises NoData when the logs are too bad
    to act on.
    """
    settings = world.settings
    period = Period.days_before(world.clock(), settings.profile.window.days)
    refuse_bad(settings, world.store, period, world.clock(), force)
    profiles, spreads, strangers = learn_profiles(world, period)
    if strangers:
        world.say(strangers)
    world.store.put_profiles(period, profiles, spreads)
    return period


def tidy(world: World, period: Period) -> str:
    """Add up or delete old counts, and forget old profiles. What stands in the way is said, and
    stops no night.
    """
    days = world.settings.ingest.keep_days
    directory = world.settings.ingest.directory
    table = file_table(world.store, directory, period).path
    keep_from = period.last_day + 1 - days if days else 0
    try:
        done = retention.tidy(
            world.store, directory, window_from=period.first_day, keep_from=keep_from, table=table
        )
    except (NotWritten, NoData, Busy) as error:
        world.say(f"Old counts could not be tidied: {error}")
        return str(error)
    forgotten = world.store.drop_profiles(period.end - timedelta(days=days)) if days else 0
    return (
        f"{amounts.count(done.added, 'reading')} added up, "
        f"{amounts.count(done.deleted, 'reading')} deleted, "
        f"{amounts.count(forgotten, 'old period')} forgotten"
    )


def propose(
    world: World,
    force: Collection[str] = (),
    *,
    author: str = "",
    wanted: Supposition = AS_SET,
    take_back: Collection[str] = (),
    staying: Mapping[str, str] = NOBODY,
) -> Proposal:
    """Make a plan and keep it, under the name of who asked for it. Nothing but the journal changes;
    another aim or fewer moves than the settings have may be `wanted` of it, sites that somebody
    changed in DNS to `take_back`, and others to be left where they are, with the reason.
    """
    held = {**sites_of_failed_moves.resting_sites(world, force), **staying}
    plain = replace(gather_facts.facts(world), held=held)
    known, outlook = expect(world, plain)
    rules = what_if.supposed_rules(
        replace(
            earlier_nights.drop_forced_rules(world.rules, force),
            take_back=frozenset(map(name_of, take_back)),
        ),
        wanted,
    )
    proposal = readiness_replanning.plan_of_ready(
        world,
        replace(known, guard=earlier_nights.guard(world, known.period, force)),
        lambda trial_facts: propose_plan.propose(
            trial_facts,
            rules,
            solver=world.solver,
            scratch=world.scratch,
            publisher=world.publisher,
            now=world.clock(),
        ),
    )
    told = replace(proposal.plan, measured=prediction_errors.measure(world, plain), outlook=outlook)
    return keep(world, replace(proposal, plan=told), author)


def keep(world: World, proposal: Proposal, author: str) -> Proposal:
    """Stored as proposed, under the name of who asked for it."""
    signed = replace(
        proposal,
        plan=replace(
            proposal.plan,
            made=world.time_of_day() if world.is_as_of else None,
            author=author,
            wishers=plan_reasons.wishers(world, proposal),
        ),
    )
    zones = human_decision_records.zones_to_believe(world, proposal)
    with world.store.together():
        world.store.propose(signed.plan, signed.placement)
        if signed.proof is not None:
            world.store.keep_proof(signed.plan.id, signed.proof)
        _replace_equals(world, signed.plan)
        human_decision_records.believe_exclusions(world, proposal, zones)
    return signed


def _replace_equals(world: World, newer: Plan) -> None:
    """One of several equal plans is enough to wait. A plan that somebody has approved stays as it
    is.
    """
    equal = [
        headline
        for headline in world.store.headlines()
        if (headline.digest, headline.base) == (newer.digest, newer.base)
    ]
    for older in (
        world.store.plan(headline.id)
        for headline in equal
        if headline.state == "proposed" and headline.id != newer.id
    ):
        if not older.approvals:
            message = f"{REPLACED} {newer.id}, which is the same"
            world.store.update(replace(older, state="discarded", message=message))


def go_back(world: World, to: str, *, author: str = "") -> Proposal:
    """A plan that leads back to the partition of that plan, under the same guards as any other."""
    proposal = readiness_replanning.plan_of_ready(
        world, gather_facts.facts(world), lambda trial_facts: _way_back(world, to, trial_facts)
    )
    return keep(world, proposal, author)


def way_back(world: World, to: str) -> Proposal:
    """The same, which is kept nowhere, and for which no node is asked whether it is ready."""
    return _way_back(world, to, gather_facts.facts(world))


def _way_back(world: World, to: str, known: Facts) -> Proposal:
    return given_partition.go_back(
        known,
        world.rules,
        world.store.placement_of(to),
        of_plan=to,
        scratch=world.scratch,
        publisher=world.publisher,
        now=world.clock(),
    )


def earlier(store: Store, plan: str = "") -> str:
    """The plan of a partition that was in force, by a beginning of its id; the one before, where
    none is named.

    Raises Unknown for a plan that never was: nobody may go back to what somebody rejected.
    """
    partitions = _partitions(store)
    if not plan:
        return _one_before(store, partitions)
    named_plan = store.plan(plan)
    if named_plan.id not in partitions:
        raise Unknown(
            f"the partition of plan {named_plan.id}",
            f"it is {named_plan.state} and was never in force",
            advice=_instead(partitions),
        )
    return named_plan.id


def _partitions(store: Store) -> list[str]:
    """The plans that were in force, the latest first. What a plan was made from was, also where it
    was given up.
    """
    plans, now = store.headlines(), store.in_force()
    bases = {plan.base for plan in plans}
    return [
        plan.id for plan in plans if plan.state == "applied" or plan.id in bases or plan.id == now
    ]


def _instead(partitions: Sequence[str]) -> str:
    if not partitions:
        return "none was in force yet: `flex apply` puts a plan in force"
    more = ", the latest" if len(partitions) > NAMED else ""
    return f"go back to one that was in force{more}: {', '.join(partitions[:NAMED])}"


def _one_before(store: Store, partitions: Sequence[str]) -> str:
    now = store.in_force()
    before = [plan for plan in partitions if plan != now]
    if not before:
        raise Unknown(
            "the partition before the one in force",
            "there is none",
            advice="`flex plan list` shows every plan",
        )
    return before[0]
