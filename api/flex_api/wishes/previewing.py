"""What the next plan would do if there were a certain wish or node, compared with what it would do
without.

Takes a world, and the wish or node. Returns how the two plans differ. Does not store anything or
ask a name server, and does not count the limits of a night. The search is the short one of previews
(quick_solver.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from flex.errors import Infeasible, NoData
from flex.model.balance import Balance
from flex.model.nodes import Node
from flex.model.plan import Move
from flex.model.stranded_sites import NO_CONTENT
from flex.model.wish import Pin
from flex.placing import failover, score
from flex.planning import propose_plan, what_if
from flex.planning.facts_and_rules import Facts
from flex.planning.stranded_site_holds import leave
from flex.planning.unmovable_sites import as_in
from flex.planning.what_if import WhatIf
from flex.wishes import suspended_wishes
from flex.wishes.wishes_in_force_now import NIGHT, pins_in_force
from flex_api import wiring
from flex_api.facts import names_that_stay, sites_of_failed_moves
from flex_api.night import failover as failing
from flex_api.night import gather_facts, nightly, stranded_sites
from flex_api.night.failover_attempts import stay_sentence
from flex_api.schemas.plan_parts import MoveRow
from flex_api.schemas.what_if_output import PreviewRow
from flex_api.wiring import World
from flex_api.wishes.quick_solver import quick

# The row, or notes on why there is none.
Tried = tuple[PreviewRow | None, list[str]]
NOT_TRIED: Tried = None, []

# How many moves are named.
MOST = 1_000


@dataclass(frozen=True, slots=True)
class Preview:
    """The next plan without what is supposed, and with it."""

    without: WhatIf
    with_it: WhatIf


def preview_pin(world: World, wanted: Pin) -> PreviewRow:
    return _row(compare_with_pin(world, wanted), {wanted.site})


def compare_with_pin(world: World, wanted: Pin) -> Preview:
    """As it will be when the wish begins, where that is later."""
    now, every = world.clock(), (*_others(world, wanted), wanted)
    later = wanted.since is not None and wanted.since > now + NIGHT
    return _preview(
        world,
        pins_in_force(every, wanted.since)
        if later and wanted.since
        else pins_in_force(every, now, NIGHT),
    )


def preview_unpin(world: World, dropped: Pin) -> PreviewRow:
    return _row(
        _preview(world, pins_in_force(_others(world, dropped), world.clock(), NIGHT)),
        {dropped.site},
    )


def preview_node(world: World, changed: Node) -> PreviewRow:
    """A node in another state, with other memory or capacity, or a new one."""
    others = [node for node in world.nodes if node.name != changed.name]
    leaving = () if changed.state == "active" else (changed.name,)
    preview = _preview(world, world.pins_of_next_plan, (*others, changed), leaving)
    return _row(preview, {changed.name})


def preview_failure(world: World, node: Node, *, without_content: bool = False) -> PreviewRow:
    """What taking a dead node out of DNS would do at once: nothing else moves, and nothing is
    balanced. Sites whose content is there alone stay, unless they are to go `without_content`.
    """
    facts, rules = failing.facts(world), world.rules
    nodes = tuple(
        replace(one, state="down") if one.name == node.name else one for one in facts.nodes
    )
    content = NO_CONTENT if without_content else stranded_sites.find_in_force(world, nodes)
    failed = replace(facts, nodes=nodes, content=content)
    if seen := names_that_stay.newest_plan(world):
        facts, failed = (as_in(seen, one, rules) for one in (facts, failed))
    else:
        failed = leave(failed)
    movable = set(failed.sites) - failed.fixed
    kept = suspended_wishes.possible(facts.pins, movable, nodes)
    failed = replace(failed, pins=kept.pins)
    problem = propose_plan.build(failed, rules)
    dead = problem.nodes.index(node.name)
    kept_rows = failover.survivors(problem, dead, failed.content.elsewhere)
    rows = failover.rehome(problem, kept_rows, dead)
    before = score.balance_in_force(
        propose_plan.build(replace(facts, pins=kept.pins), rules), facts.parts
    )
    moves = propose_plan.moves(problem, rows, propose_plan.because(failed))
    after = score.balance(problem, rows, failed.parts)
    notes = [*names_that_stay.remarks(world, [node.name])]
    if stay := {site: one.why for site, one in content.away.items() if one.node == node.name}:
        notes.append(stay_sentence(node.name, stay))
    return _preview_row(moves, (), after, before, {node.name}, notes)


def look_if_possible(look: Callable[[], PreviewRow]) -> Tried:
    """Much can be wished before any plan could be made."""
    try:
        return look(), []
    except (NoData, Infeasible) as error:
        return None, [f"what it would come to is not known: {error}"]


def _others(world: World, mine: Pin) -> list[Pin]:
    return [
        pin for pin in world.store.pins() if (pin.site, pin.campaign) != (mine.site, mine.campaign)
    ]


def _preview(
    world: World, pins: Sequence[Pin], nodes: Sequence[Node] = (), leaving: Collection[str] = ()
) -> Preview:
    """`leaving` are the nodes whose sites go elsewhere."""
    held = sites_of_failed_moves.resting_sites(world)
    every = replace(gather_facts.gather(world, replayed=False), held=held)
    changed = replace(every, pins=tuple(pins), nodes=tuple(nodes) or every.nodes)
    with_it = _next(world, changed)
    remarks = names_that_stay.remarks(world, leaving)
    return Preview(_next(world, every), replace(with_it, notes=(*with_it.notes, *remarks)))


def _next(world: World, every: Facts) -> WhatIf:
    rules = wiring.rules(world.settings, every.pins)
    return what_if.suppose(
        every.drop_excluded_sites(),
        rules,
        nightly.AS_SET,
        solver=quick(world.solver),
        seen=names_that_stay.newest_plan(world),
    )


def _row(preview: Preview, names: Collection[str]) -> PreviewRow:
    without, with_it = preview.without, preview.with_it
    return _preview_row(
        with_it.moves, without.moves, with_it.after, without.after, names, with_it.notes
    )


def _preview_row(
    moves: Sequence[Move],
    anyhow: Sequence[Move],
    after: Balance,
    without: Balance,
    names: Collection[str],
    notes: Sequence[str],
) -> PreviewRow:
    """Moves of the site that it is about, or from and to the node, come first; then the largest."""
    known = {(move.site, move.source, move.target) for move in anyhow}
    new = [move for move in moves if (move.site, move.source, move.target) not in known]
    new.sort(
        key=lambda move: (
            {move.site, move.source, move.target}.isdisjoint(names),
            -move.cold_bytes,
            move.site,
        )
    )
    return PreviewRow(
        moves=len(moves),
        moves_without=len(anyhow),
        sites=len({move.site for move in moves}),
        cold_bytes=sum(move.cold_bytes for move in moves),
        worst_ratio=after.worst,
        worst_node=after.worst_node,
        worst_resource=after.worst_resource,
        worst_ratio_without=without.worst,
        items=[MoveRow.like(move) for move in new[:MOST]],
        notes=list(notes),
    )
