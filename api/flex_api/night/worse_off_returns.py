"""Leads sites back to their old node that are worse off on the new one, by the same way as any
move: commands, doors, then DNS; a site with one writer by a hold.

Takes a world whose lease is held. Returns the plan that was carried out, or that waits; None where
nothing could be done. Does not judge: watch_moved_sites.py has stored which sites go back, and why,
before anything is done here. So what is killed on the way is finished by the next run.

Limits of a night and windows do not hold a site where it fails. A freeze does, and so do wishes, a
node that takes no sites, and mail that leans on a name. In mode review the plan waits for a yes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from flex.errors import Held, NotWritten
from flex.model.plan import Plan
from flex.model.site_moves import SiteMove, StageRun
from flex.planning import carry_out_plan, moves_back_plan
from flex.planning.propose_plan import Proposal
from flex.site_names_in_words import first_few
from flex_api.moving import does_node_answer
from flex_api.night import (
    bring_what_sites_need,
    freezes,
    gather_facts,
    go_on_with_moves,
    notifying,
    plan_of_movable_sites,
    recovery,
    route_and_publish_plan,
    watch_moved_sites,
)
from flex_api.report import write_reports
from flex_api.wiring import World

Enters = Callable[[str], None]
NOT_APPLIED = "the plan that would have led it back was not applied"
NOT_OURS = "FLEX may not lead it back: `flex explain` says why it stays"


def sites_to_lead_back(world: World) -> tuple[tuple[SiteMove, StageRun], ...]:
    """The sites that are to go back; none where nothing is watched."""
    if not world.settings.move.watch:
        return ()
    return tuple(
        watched_move
        for watched_move in world.store.watched_moves()
        if watched_move[1].state == "undoing"
    )


def why_wait(world: World) -> str:
    """Why none of them can be led back at this moment; empty where that may be tried."""
    if world.settings.cluster.mode == "shadow":
        return "the mode is shadow"
    return "changes are frozen" if freezes.freeze_in_force(world) else ""


def lead_back(world: World, enters: Enters = carry_out_plan.unheard) -> Plan | None:
    """Raises FlexError where it is to be tried again."""
    going = sites_to_lead_back(world)
    if not going or why_wait(world):
        return None
    recovery.finish(world, enters)
    left = _still_to_go(world, going)
    return _lead(world, left, enters) if left else None


@dataclass(slots=True)
class _Ending:
    """What is told of sites whose watch ended."""

    world: World
    back: list[SiteMove] = field(default_factory=list)
    stayed: dict[str, str] = field(default_factory=dict)

    def is_back(self, move: SiteMove, run: StageRun) -> None:
        """It rests, and its move is over."""
        over = replace(move, state="went back", ended=self.world.time_of_day(), reason=run.said)
        if watch_moved_sites.end(self.world, run, "undone", run.said, over):
            self.back.append(over)

    def stays(self, move: SiteMove, run: StageRun, why: str) -> None:
        """It may move elsewhere with the next plan."""
        reason = f"{run.said}; {why}"
        free = replace(move, reason=reason, rests_until=None)
        if watch_moved_sites.end(self.world, run, "failed", reason, free):
            self.stayed[move.site] = reason


def _still_to_go(
    world: World, going: Sequence[tuple[SiteMove, StageRun]]
) -> list[tuple[SiteMove, StageRun]]:
    """Those that are back already, by whoever's hand, and those that cannot go back are done."""
    nodes = watch_moved_sites.nodes_of_sites(world)
    ending, left = _Ending(world), []
    for move, run in going:
        there = nodes.get(move.site, set())
        if move.source in there and move.target not in there:
            ending.is_back(move, run)
        elif move.target not in there:
            ending.stays(move, run, "it moved again meanwhile")
        elif why := _why_not(world, move, going):
            ending.stays(move, run, f"it stays: {why}")
        else:
            left.append((move, run))
    _tell(world, ending, None)
    return left


def _why_not(world: World, move: SiteMove, going: Sequence[tuple[SiteMove, StageRun]]) -> str:
    states = {node.name: node.state for node in world.nodes}
    if states.get(move.source) != "active":
        return f"{move.source} takes no sites"
    runs = world.store.stage_runs([move.id])
    if any(run.stage == "clean" for run in runs):
        return f"its copy on {move.source} was removed"
    return _why_wishes_keep(world, move, going) or does_node_answer.why_not(
        world, move.site, move.source
    )


def _why_wishes_keep(
    world: World, move: SiteMove, going: Sequence[tuple[SiteMove, StageRun]]
) -> str:
    ways = {going_move.site: (going_move.source, going_move.target) for going_move, _ in going}
    for pin in world.pins:
        if pin.site != move.site and move.site not in pin.together:
            continue
        for other in {pin.site, *pin.together} - {move.site} if pin.together else ():
            if ways.get(other) != (move.source, move.target):
                return f"it is to be together with {other}"
        if pin.site != move.site:
            continue
        if pin.excluded:
            return "people keep FLEX away from it"
        if (pin.nodes and move.source not in pin.nodes) or move.source in pin.not_on:
            return f"a wish has it on other nodes than {move.source}"
    return ""


def _lead(world: World, going: Sequence[tuple[SiteMove, StageRun]], enters: Enters) -> Plan | None:
    if waits_for_yes(world):
        return look_for_yes(world)
    enters("plan")
    proposal = plan_back(world, going)
    moving = {move.site for move in proposal.plan.moves}
    ending = _Ending(world)
    for move, run in going:
        if move.site not in moving:
            ending.stays(move, run, NOT_OURS)
    _tell(world, ending, None)
    if not moving:
        return None
    world.store.propose(proposal.plan, proposal.placement)
    if world.settings.cluster.mode != "auto":
        _ask_for_yes(world, proposal.plan, going)
        return proposal.plan
    return _carry_out(world, proposal.plan, going, enters)


def plan_back(world: World, going: Sequence[tuple[SiteMove, StageRun]]) -> Proposal:
    why = {move.site: run.said for move, run in going}
    proposal = moves_back_plan.lead_back(
        gather_facts.facts(world, replayed=False),
        world.rules,
        {move.site: move.source for move, _ in going},
        scratch=world.scratch,
        publisher=world.publisher,
        now=world.clock(),
    )
    moves = tuple(
        replace(plan_move, reason=f"goes back: {why[plan_move.site]}")
        if plan_move.site in why
        else plan_move
        for plan_move in proposal.plan.moves
    )
    return replace(proposal, plan=replace(proposal.plan, moves=moves))


def _carry_out(
    world: World, plan: Plan, going: Sequence[tuple[SiteMove, StageRun]], enters: Enters
) -> Plan | None:
    done: Plan | None = None
    staying: Mapping[str, str] = {}
    try:
        if bring_what_sites_need.brings(world, plan):
            enters("bring")
            plan = plan_of_movable_sites.bring_and_narrow(world, plan)
        done = route_and_publish_plan.carry_out(world, plan, enters)
        go_on_with_moves.mark_moves_made(world, done)
    except Held as error:
        staying = bring_what_sites_need.staying(world, plan)
        staying = staying or {move.site: str(error) for move, _ in going}
    ending, nodes = _Ending(world), watch_moved_sites.nodes_of_sites(world)
    for move, run in going:
        if nodes.get(move.site) == {move.source}:
            ending.is_back(move, run)
        else:
            why = staying.get(move.site) or _why_stayed(world, move)
            ending.stays(move, run, f"it stays: {why}")
    _tell(world, ending, done)
    return done


def _why_stayed(world: World, move: SiteMove) -> str:
    """What became of its way back."""
    back = (
        back_move
        for back_move in world.store.site_moves(site=move.site)
        if (back_move.source, back_move.target) == (move.target, move.source) and back_move.reason
    )
    return next((back_move.reason for back_move in back), "its way back failed")


def _ask_for_yes(world: World, plan: Plan, going: Sequence[tuple[SiteMove, StageRun]]) -> None:
    for _, run in going:
        world.store.put_stage_run(replace(run, tries=run.tries + 1))
    advice = f"`flex apply {plan.id}` leads {_names(move for move, _ in going)} back"
    world.say(f"{advice}.")
    notifying.sites_worse_off(world, plan, {m.site: run.said for m, run in going}, advice)


def waits_for_yes(world: World) -> bool:
    """Whether people were asked for all of them already: nobody is asked twice."""
    is_auto = world.settings.cluster.mode == "auto"
    return not is_auto and all(run.tries > 1 for _, run in sites_to_lead_back(world))


def look_for_yes(world: World) -> Plan | None:
    """Takes no lease, as nothing is led anywhere. The plan that waits still."""
    going = _still_to_go(world, sites_to_lead_back(world))
    base = world.store.in_force()
    proposed = [plan for plan in world.store.plans(state="proposed") if plan.base == base]
    ending, waiting_plan = _Ending(world), None
    for move, run in going:
        plan = next((plan for plan in proposed if _leads_back(plan, move)), None)
        waiting_plan = plan or waiting_plan
        if plan is None and not world.store.plans(state="applying"):
            ending.stays(move, run, NOT_APPLIED)
    _tell(world, ending, None)
    return waiting_plan


def _leads_back(plan: Plan, move: SiteMove) -> bool:
    ways = {(plan_move.site, plan_move.source, plan_move.target) for plan_move in plan.moves}
    return (move.site, move.target, move.source) in ways


def _tell(world: World, ending: _Ending, plan: Plan | None) -> None:
    """After it is stored: what cannot be told is not done again."""
    for site, why in sorted(ending.stayed.items()):
        world.say(f"{site} was worse off on its new node: {why}.")
    if ending.back:
        world.say(f"{_names(ending.back)} went back to where it was.")
    if plan:
        with suppress(NotWritten):
            write_reports.print_too(world, write_reports.write(world, plan))
    became = {move.site: f"went back: {move.reason}" for move in ending.back}
    became |= ending.stayed
    if became:
        notifying.sites_worse_off(world, plan, became, "")


def _names(moves: Iterable[SiteMove]) -> str:
    return first_few(sorted(move.site for move in moves))
