"""Brings what sites need to their new nodes before a plan is carried out, and asks these nodes
whether they are ready.

Takes a world whose lease is held, and a plan. Returns the sites that stay where they are, each with
the reason. Does not change the plan, DNS or doors. Where the settings ask for nothing of this,
nothing is read and nothing is run.

A move is `under way` until its new node has all that the site needs, then `ready`. It is `moved`
once its plan is in force, and `done` when nothing is to be done for it any more
(go_on_with_moves.py). A site that cannot move has `stayed`, and what was done for it is taken back.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

import pandas as pd

from flex.model.plan import Plan
from flex.model.site_moves import UNTIL_NEXT_NIGHT, WITHIN_HOLD, SiteMove
from flex.placing import failover
from flex_api.facts import sites_of_failed_moves
from flex_api.in_words import amounts
from flex_api.moving import stages_of_one_site
from flex_api.moving.check_sites_on_new_nodes import not_ready
from flex_api.moving.hook_commands import HooksOfSites, hooks_now, refuse_unusable
from flex_api.moving.which_copies_may_go import Copies
from flex_api.moving.which_sites_go_where import Route, routes
from flex_api.night import copies_in_use, one_writer_moves
from flex_api.night.go_on_with_moves import NUMBER, every_open, moves_on_their_way, run, take_back
from flex_api.wiring import World

# A plan that is older was waiting, and its new nodes may have changed. A guess.
FRESH = timedelta(minutes=15)
NO_SOURCE = "no node that has its content answers"
TAKING_BACK = "what an earlier move brought is still being taken back"


def brings(world: World, plan: Plan) -> bool:
    """A dead node cannot give anything, and what it served cannot wait."""
    move = world.settings.move
    is_wanted = bool(move.hook) or move.ready.check
    return is_wanted and plan.quality.solver != failover.SOLVER


def bring(world: World, plan: Plan) -> Mapping[str, str]:
    """The sites that stay, with the reason: a command failed, or their new node is not ready.

    Raises BadSetting where a command is not there, DnsError where a zone cannot be read, and
    LostLease where another run broke in: commands that are running then are ended.
    """
    if not brings(world, plan):
        return {}
    hooks = hooks_now(world)
    stay = _bring_by_commands(world, plan, hooks) if world.settings.move.hook else {}
    unready = _not_ready(world, plan, stay, hooks)
    end_unneeded(world, plan, {**stay, **unready}, unready)
    return {**stay, **unready}


def _not_ready(
    world: World, plan: Plan, stay: Mapping[str, str], hooks: HooksOfSites
) -> Mapping[str, str]:
    """What was brought just now is asked for, and all others where the plan is not of this moment:
    they were asked for when it was made.
    """
    brought = {move.site for move in world.store.site_moves(plan=plan.id)}
    is_fresh = world.time_of_day() - plan.wall_time < FRESH
    later = _sites_asked_later(world, plan, hooks)
    moves = [
        move
        for move in plan.moves
        if move.site not in {*stay, *later} and (move.site in brought or not is_fresh)
    ]
    return not_ready(world, moves)


def _sites_asked_later(world: World, plan: Plan, hooks: HooksOfSites) -> set[str]:
    """Those that get something while their requests wait: before, they are not whole."""
    return {
        site
        for site in one_writer_moves.to_be_led_on(world, plan)
        if hooks.site_hooks_in(site, WITHIN_HOLD)
    }


def end_unneeded(
    world: World, plan: Plan, stay: Mapping[str, str], unready: Collection[str] = ()
) -> None:
    """What was brought for sites that stay all the same is taken back. Those that are not ready
    rest until the next night.
    """
    until = world.time_of_day() + min(world.settings.move.rest, UNTIL_NEXT_NIGHT)
    back = [
        replace(
            move,
            state="taking back",
            reason=stay[move.site],
            rests_until=until if move.site in unready else None,
            for_now=move.site in unready,
        )
        for move in world.store.site_moves(plan=plan.id, only_open=True)
        if move.site in stay and move.state == "ready"
    ]
    if back:
        world.store.put_site_moves(back)
        take_back(world, _where_copies_are(world, back), back)


def _where_copies_are(world: World, moves: list[SiteMove]) -> Copies:
    every = {move.id: move for move in every_open(world)}
    every |= {move.id: move for move in moves}
    sites = {move.site for move in moves}
    return copies_in_use.copies(world, sites, list(every.values()))


def _bring_by_commands(world: World, plan: Plan, hooks: HooksOfSites) -> Mapping[str, str]:
    _, before = world.store.placement()
    known_routes = _routes(world, plan, before)
    stay = _sourceless_sites(plan, before, known_routes, hooks)
    stay |= _failed_since(world, plan)
    wanted_routes = {route for route in known_routes if route.site not in stay}
    stay |= _still_taken_back(world, plan, wanted_routes)
    begun = {_route(move): move for move in reversed(every_open(world))}
    wanted = [
        move for move in _moves_of(world, plan, known_routes, begun, hooks) if move.site not in stay
    ]
    if not wanted:
        return stay
    ours = moves_on_their_way(world, wanted, _where_copies_are(world, wanted), hooks)
    refuse_unusable(
        dict.fromkeys(hook for moving_site in ours for hook in moving_site.hooks),
        f"moving the sites of {plan.id}",
    )
    world.store.put_site_moves(wanted)
    if ours:
        sites = amounts.count(len(ours), "site")
        world.say(f"Bringing what {sites} need to new nodes.")
    held = one_writer_moves.to_be_led_on(world, plan)
    ours = [replace(moving_site, is_held=moving_site.move.site in held) for moving_site in ours]
    run(world, ours, stages_of_one_site.bring)
    return {**stay, **staying(world, plan)}


def _still_taken_back(world: World, plan: Plan, wanted: Collection[Route]) -> dict[str, str]:
    """Sites of which an earlier move cannot be taken back, which is tried first: to undo anything
    at a node that the site has left, such as to switch jobs on again, would be wrong.
    """
    sites = {route.site for route in wanted}
    back = [
        move
        if move.state == "taking back"
        else replace(move, state="taking back", reason=f"plan {plan.id} has it on other nodes")
        for move in every_open(world)
        if move.site in sites
        and (
            move.state == "taking back"
            or (move.state in ("under way", "ready") and _route(move) not in wanted)
        )
    ]
    if not back:
        return {}
    world.store.put_site_moves(back)
    take_back(world, _where_copies_are(world, back), back)
    return _taken_back(world, sites)


def _taken_back(world: World, sites: Collection[str]) -> dict[str, str]:
    return {
        move.site: TAKING_BACK
        for move in every_open(world)
        if move.site in sites and move.state == "taking back"
    }


def staying(world: World, plan: Plan) -> dict[str, str]:
    """The sites that the plan moves and that are not ready for it, with the reason. What an earlier
    try of the same plan came to does not count.
    """
    newest: dict[Route, SiteMove] = {}
    for move in world.store.site_moves(plan=plan.id):
        newest.setdefault(_route(move), move)
    return _taken_back(world, {move.site for move in plan.moves}) | {
        move.site: move.reason or "it is not ready"
        for move in newest.values()
        if move.state not in ("ready", "moved", "done")
    }


def _routes(world: World, plan: Plan, before: pd.DataFrame) -> list[Route]:
    """By the moves of the plan: before the first partition nobody else knows where sites are."""
    serving = {node.name for node in world.nodes if node.is_serving}
    return routes(plan.moves, before, serving)


def _sourceless_sites(
    plan: Plan, before: pd.DataFrame, known_routes: list[Route], hooks: HooksOfSites
) -> dict[str, str]:
    """Sites that come to a node and have commands for that, and that no serving node has. A site
    that is new has nothing to bring.
    """
    known = {*before["site"], *(move.site for move in plan.moves if move.source)}
    reached = {route.site for route in known_routes}
    return {
        move.site: NO_SOURCE
        for move in plan.moves
        if move.target
        and move.site in known
        and move.site not in reached
        and hooks.hooks_of_site(move.site)
    }


def _failed_since(world: World, plan: Plan) -> dict[str, str]:
    """Sites whose move failed after the plan was made: it does not know of that."""
    moved = {move.site for move in plan.moves}
    resting = sites_of_failed_moves.resting_sites(world, since=plan.wall_time)
    return {site: why for site, why in resting.items() if site in moved}


def _moves_of(
    world: World,
    plan: Plan,
    wanted: list[Route],
    begun: Mapping[Route, SiteMove],
    hooks: HooksOfSites,
) -> Iterator[SiteMove]:
    """Those that were begun go on; with a newer plan they are that plan's."""
    now = world.time_of_day()
    for route in wanted:
        if not hooks.hooks_of_site(route.site):
            continue
        earlier = begun.get(route)
        if earlier is not None and earlier.state != "moved":
            yield replace(earlier, plan=plan.id)
        else:
            id_ = secrets.token_hex(NUMBER)
            yield SiteMove(id_, route.site, route.source, route.target, plan.id, now)


def _route(move: SiteMove) -> Route:
    return Route(move.site, move.source, move.target)
