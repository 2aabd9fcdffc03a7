"""Brings what sites need to their new nodes before a plan is carried out, and goes on with it
afterwards.

Takes a world whose lease is held, and a plan. Returns the sites that stay where they are, each with
the reason. Does not change the plan, DNS or doors. Where the settings have no hooks nothing is read
and nothing is run.

A move is `under way` until its new node has all that the site needs, then `ready`. It is `moved`
once its plan is in force, and `done` when the old copy is cleaned up. A site that cannot move has
what was done for it taken back, and has `stayed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from flex.model.plan import Plan
from flex.model.site_moves import SiteMove
from flex.placing import failover
from flex_api.in_words import amounts
from flex_api.moving import stages_of_one_site
from flex_api.moving.check_sites_on_new_nodes import not_ready
from flex_api.moving.commands_of_site import (
    classes_of,
    hooks_of,
    refuse_unusable,
)
from flex_api.moving.run_side_by_side import Limits, Steps, Work, run_side_by_side
from flex_api.moving.stages_of_one_site import OnItsWay
from flex_api.moving.which_sites_go_where import Route, routes
from flex_api.night.wait_that_failover_may_interrupt import giving_way
from flex_api.wiring import World, refuse_lost

# A plan that is older was waiting, and its new nodes may have changed. A guess.
FRESH = timedelta(minutes=15)
# What a run was doing that gave way to one that cannot wait.
BRINGING = "running the commands of sites that move"
# More moves than any cluster has.
EVERY = 2**31


def brings(world: World, plan: Plan) -> bool:
    """A dead node cannot give anything, and what it served cannot wait."""
    move = world.settings.move
    is_wanted = bool(move.hook) or move.ready.check
    return is_wanted and plan.quality.solver != failover.SOLVER


def bring(world: World, plan: Plan) -> Mapping[str, str]:
    """The sites that stay, with the reason: a command failed, or their new node is not ready.

    Raises BadSetting where a command is not there, and LostLease where another run broke in:
    commands that are running then are ended.
    """
    if not brings(world, plan):
        return {}
    stay = _bring_by_commands(world, plan) if world.settings.move.hook else {}
    unready = _not_ready(world, plan, stay)
    _take_back_unready(world, plan, unready)
    return {**stay, **unready}


def _not_ready(world: World, plan: Plan, stay: Mapping[str, str]) -> Mapping[str, str]:
    """What was brought just now is asked for, and all others where the plan is not of this moment:
    they were asked for when it was made.
    """
    brought = {move.site for move in world.store.site_moves(EVERY, plan=plan.id)}
    is_fresh = world.time_of_day() - plan.created < FRESH
    moves = [
        move
        for move in plan.moves
        if move.site not in stay and (move.site in brought or not is_fresh)
    ]
    return not_ready(world, moves)


def _take_back_unready(world: World, plan: Plan, unready: Mapping[str, str]) -> None:
    back = [
        replace(move, state="taking back", reason=unready[move.site])
        for move in world.store.site_moves(EVERY, plan=plan.id, only_open=True)
        if move.site in unready and move.state == "ready"
    ]
    world.store.put_site_moves(back)
    _run(world, _with_hooks(world, back), stages_of_one_site.take_back)


def _bring_by_commands(world: World, plan: Plan) -> Mapping[str, str]:
    wanted = list(_moves_of(world, plan))
    if not wanted:
        return {}
    refuse_unusable(
        dict.fromkeys(hook for one in wanted for hook in one.hooks),
        f"moving the sites of {plan.id}",
    )
    world.store.put_site_moves([one.move for one in wanted])
    ours = [one for one in wanted if one.move.state != "taking back"]
    world.say(f"Bringing what {amounts.count(len(ours), 'site')} need to new nodes.")
    _run(world, ours, stages_of_one_site.bring)
    return staying(world, plan)


def staying(world: World, plan: Plan) -> dict[str, str]:
    """The sites that the plan moves and that are not ready for it, with the reason."""
    return {
        move.site: move.reason or "it is not ready"
        for move in world.store.site_moves(EVERY, plan=plan.id)
        if move.state not in ("ready", "moved", "done")
    }


def _moves_of(world: World, plan: Plan) -> Iterator[OnItsWay]:
    """Those that were begun go on; with a newer plan they are that plan's."""
    _, before = world.store.placement()
    serving = [node.name for node in world.nodes if node.state != "down"]
    begun = {_route(move): move for move in reversed(_every_open(world))}
    classes, now = classes_of(world), world.time_of_day()
    wanted = routes(before, world.store.placement_of(plan.id), serving)
    for number, route in enumerate(wanted):
        hooks = hooks_of(world.settings, route.site, classes.get(route.site, ""))
        if not hooks:
            continue
        fresh = SiteMove(
            f"{plan.id}/{number}",
            route.site,
            route.source,
            route.target,
            plan.id,
            now,
        )
        earlier = begun.get(route)
        if earlier is None or earlier.state == "moved":
            yield OnItsWay(world, fresh, hooks)
        else:
            yield OnItsWay(world, replace(earlier, plan=plan.id), hooks)


def _route(move: SiteMove) -> Route:
    return Route(move.site, move.source, move.target)


def after(world: World, plan: Plan) -> None:
    """The plan is in force: its moves are made. What is still to be run is run by `go_on`."""
    of_plan = [move for move in _every_open(world) if move.plan == plan.id]
    now = world.time_of_day()
    world.store.put_site_moves(
        [
            replace(move, state="moved", ended=now, reason="")
            for move in of_plan
            if move.state == "ready"
        ]
    )
    go_on(world)


def is_something_open(world: World) -> bool:
    return bool(world.store.site_moves(1, only_open=True))


def go_on(world: World) -> str:
    """With everything that earlier runs began: what became of their plans, releases, cleaning up
    once it is due, and ways back that failed. How much is left, in words.
    """
    if not (begun := _every_open(world)):
        return "no move is open"
    found = [_as_its_plan_is(world, move) for move in begun]
    world.store.put_site_moves(found)
    moved = [move for move in found if move.state == "moved"]
    _run(world, _with_hooks(world, moved), stages_of_one_site.release)
    _clean(world, moved)
    back = [move for move in found if move.state == "taking back"]
    _run(world, _with_hooks(world, back), stages_of_one_site.take_back)
    return f"{amounts.count(len(_every_open(world)), 'move')} still open"


def _as_its_plan_is(world: World, move: SiteMove) -> SiteMove:
    if move.state not in ("under way", "ready"):
        return move
    plan = world.store.headline(move.plan)
    is_in_force = plan is not None and plan.state == "applied"
    if is_in_force and move.state == "ready":
        return replace(move, state="moved", ended=world.time_of_day(), reason="")
    waits = plan is not None and plan.state in ("proposed", "applying", "failed")
    if plan is not None and waits and plan.base == world.store.in_force():
        return move
    return replace(
        move, state="taking back", reason=f"plan {move.plan} was not carried out"
    )


def _clean(world: World, moved: Sequence[SiteMove]) -> None:
    """Not where the site is at its old node again: that copy serves."""
    now, wait = world.time_of_day(), world.settings.move.clean_after
    _, in_force = world.store.placement()
    there = set(zip(in_force["site"], in_force["node"], strict=True))
    due, back = list[SiteMove](), list[SiteMove]()
    for move in moved:
        if (move.site, move.source) in there:
            back.append(replace(move, state="done"))
        elif move.ended and now - move.ended >= wait:
            due.append(move)
    world.store.put_site_moves(back)
    _run(world, _with_hooks(world, due), stages_of_one_site.clean)


def _with_hooks(world: World, moves: Sequence[SiteMove]) -> list[OnItsWay]:
    classes = classes_of(world) if moves else {}
    return [
        OnItsWay(
            world,
            move,
            hooks_of(world.settings, move.site, classes.get(move.site, "")),
        )
        for move in moves
    ]


def _run(
    world: World,
    wanted: Sequence[OnItsWay],
    steps: Callable[[OnItsWay], Steps],
) -> None:
    if not wanted:
        return
    move = world.settings.move
    works = [
        Work(
            frozenset((one.move.source, one.move.target)),
            lambda one=one: steps(one),  # type: ignore[misc]
        )
        for one in wanted
    ]
    with giving_way(world, BRINGING):
        run_side_by_side(
            works,
            Limits(move.at_once, move.at_once_per_node),
            lambda: refuse_lost(world.store),
        )


def _every_open(world: World) -> tuple[SiteMove, ...]:
    return world.store.site_moves(EVERY, only_open=True)
