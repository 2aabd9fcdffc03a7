"""What is still to be done for moves once their plan is in force, or is not carried out: releases,
cleaning up when it is due, and ways back.

Takes a world whose lease is held. Returns how much is left. Nothing is run while changes are frozen
or in shadow mode, and no copy is removed that anybody is led to, or may want back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from flex.errors import DnsError, Unknown
from flex.model.plan import Plan
from flex.model.plan_summary import Headline
from flex.model.site_moves import SiteMove
from flex_api.facts import visitors_at_other_nodes
from flex_api.facts.other_names_to_route import other_names
from flex_api.in_words import amounts
from flex_api.moving import stages_of_one_site
from flex_api.moving.hook_commands import HooksOfSites, hooks_now
from flex_api.moving.run_side_by_side import Limits, Steps, Work, run_side_by_side
from flex_api.moving.stages_of_one_site import OnItsWay
from flex_api.moving.which_copies_may_go import Copies
from flex_api.night import (
    copies_in_use,
    freezes,
    note_strays_of_doors,
    watch_moved_sites,
)
from flex_api.night.interruptible_wait import giving_way
from flex_api.night.visitors_at_doors import visitors_elsewhere
from flex_api.wiring import World, refuse_lost

# What a run was doing that gave way to one that cannot wait.
BRINGING = "running the commands of sites that move"
# Characters of the number of a move, in hexadecimal, by two.
NUMBER = 8
# An old copy goes once no visitor came to it for so long. A guess: some look each day.
QUIET = timedelta(days=1)
# So long after a move it goes all the same: some never ask DNS again. A guess.
LONGEST = timedelta(days=30)


def mark_moves_made(world: World, plan: Plan) -> None:
    """The plan is in force: its moves are made."""
    now = world.time_of_day()
    world.store.put_site_moves(
        [
            replace(move, state="moved", ended=now, reason="")
            for move in every_open(world)
            if move.plan == plan.id and move.state == "ready"
        ]
    )
    watch_moved_sites.begin(world, plan)
    go_on(world)
    watch_moved_sites.count_hour_before(world)


def is_something_open(world: World) -> bool:
    return bool(world.store.site_moves(1, only_open=True))


def go_on(world: World) -> str:
    """How much is left, in words."""
    begun = every_open(world)
    if not begun:
        return "no move is open"
    is_shadow = world.settings.cluster.mode == "shadow"
    if is_shadow or freezes.current_stops(world):
        return f"{amounts.count(len(begun), 'move')} open, as nothing may be changed now"
    moves = [_as_its_plan_is(world, move) for move in begun]
    world.store.put_site_moves(moves)
    try:
        known = copies_in_use.copies(world, {move.site for move in moves}, moves)
    except DnsError as error:
        world.say(f"What sites that moved have left is kept for now: {error}")
        return f"{amounts.count(len(moves), 'move')} open, as DNS could not be read"
    _end_moved(world, known, [move for move in moves if move.state == "moved"])
    take_back(world, known, [move for move in moves if move.state == "taking back"])
    return f"{amounts.count(len(every_open(world)), 'move')} still open"


def _as_its_plan_is(world: World, move: SiteMove) -> SiteMove:
    if move.state not in ("under way", "ready"):
        return move
    plan = world.store.headline(move.plan)
    if _is_in_force(world, plan, move):
        return replace(move, state="moved", ended=world.time_of_day(), reason="")
    waits = plan is not None and plan.state in ("proposed", "applying", "failed")
    if plan is not None and waits and plan.base == world.store.in_force():
        return move
    return replace(move, state="taking back", reason=f"plan {move.plan} did not move it")


def _is_in_force(world: World, plan: Headline | None, move: SiteMove) -> bool:
    """A plan that was given up may have moved a site all the same."""
    if plan is None or move.state != "ready":
        return False
    if plan.state == "applied" or plan.id != world.store.in_force():
        return plan.state == "applied"
    _, now = world.store.placement()
    return move.target in set(now.loc[now["site"] == move.site, "node"])


def _end_moved(world: World, known: Copies, moved: Sequence[SiteMove]) -> None:
    """A site that went on to other nodes needs nothing of this move any more; its old copy stays,
    as nobody can tell any more which copy is whole.
    """
    here = [move for move in moved if known.is_at_target(move)]
    gone = [
        replace(
            move,
            state="done",
            reason=f"it is on other nodes by now; its copy on {move.source} is left",
        )
        for move in moved
        if not known.is_at_target(move)
    ]
    world.store.put_site_moves(gone)
    run(world, moves_on_their_way(world, here, known), stages_of_one_site.release)
    _clean(world, known, here)


def _clean(world: World, known: Copies, moved: Sequence[SiteMove]) -> None:
    now, wait = world.time_of_day(), world.settings.move.clean_after
    serving = {node.name for node in world.nodes if node.is_serving}
    # Where they may have to go back to is kept until they are watched no more.
    watched = {move.id for move, _ in world.store.watched_moves()}
    due = [
        move
        for move in moved
        if move.ended
        and now - move.ended >= wait
        and move.target in serving
        and move.id not in watched
    ]
    due = list(_moves_without_visitors(world, list(_moves_past_ttl(world, due))))
    kept = {move.id: known.why_kept(move, move.source) for move in due}
    world.store.put_site_moves(
        [
            replace(
                move, state="done", reason=f"its copy on {move.source} is left: {kept[move.id]}"
            )
            for move in due
            if kept[move.id]
        ]
    )
    unneeded = [move for move in due if not kept[move.id]]
    run(world, moves_on_their_way(world, unneeded, known), stages_of_one_site.clean)


def _moves_past_ttl(world: World, moves: Sequence[SiteMove]) -> Iterator[SiteMove]:
    """Those of which no resolver leads to the old node any more."""
    now, ttls = world.time_of_day(), dict[str, timedelta]()
    for plan in {move.plan for move in moves}:
        # A plan that is forgotten was made long ago.
        with suppress(Unknown):
            ttls[plan] = world.store.plan(plan).longest_old_ttl
    for move in moves:
        if move.ended and now - move.ended >= ttls.get(move.plan, timedelta()):
            yield move


def _moves_without_visitors(world: World, moves: Sequence[SiteMove]) -> Iterator[SiteMove]:
    """Those to whose old node, as its door has told lately, nobody came for a while."""
    settings, now = world.settings, world.time_of_day()
    if not moves or not settings.routing.leads_to_all:
        yield from moves
        return
    note_strays_of_doors.note_strays(settings, world.store, now)
    _, in_force = world.store.placement()
    came = {
        (visitors.site, visitors.node): visitors.last
        for visitors in visitors_elsewhere(settings, world.store, in_force)
    }
    serving = [node.name for node in world.nodes if node.is_serving]
    unread = visitors_at_other_nodes.not_known(world.store.doors_read(), serving, now)
    for move in moves:
        last = came.get((move.site, move.source))
        is_quiet = move.source not in unread and (last is None or now - last > QUIET)
        if is_quiet or (move.ended and now - move.ended > LONGEST):
            yield move


def take_back(world: World, known: Copies, moves: Sequence[SiteMove]) -> None:
    """A site may have left its old node by another way, such as when that died: to undo there what
    its move did, such as to switch jobs on again, would be wrong.
    """
    left = {move.id for move in moves if known.has_left_source(move)}
    run(
        world,
        moves_on_their_way(world, moves, known),
        lambda moving_site: (
            stages_of_one_site.leave(moving_site)
            if moving_site.move.id in left
            else stages_of_one_site.take_back(moving_site)
        ),
    )


def moves_on_their_way(
    world: World, moves: Sequence[SiteMove], known: Copies, hooks: HooksOfSites | None = None
) -> list[OnItsWay]:
    """With what is run for them, and why what they bring is to be left where it is."""
    return [
        replace(moving_site, kept=known.why_kept(moving_site.move, moving_site.move.target))
        for moving_site in attach_commands(world, moves, hooks)
    ]


def attach_commands(
    world: World, moves: Sequence[SiteMove], hooks: HooksOfSites | None = None
) -> list[OnItsWay]:
    if not moves:
        return []
    hooks = hooks or hooks_now(world)
    names = other_names(world.settings, {move.site for move in moves})
    return [
        OnItsWay(world, move, hooks.hooks_of_site(move.site), tuple(names.get(move.site, ())))
        for move in moves
    ]


def run(world: World, wanted: Sequence[OnItsWay], steps: Callable[[OnItsWay], Steps]) -> None:
    if not wanted:
        return
    move = world.settings.move
    with giving_way(world, BRINGING):
        run_side_by_side(
            list(_works(wanted, steps)),
            Limits(move.at_once, move.at_once_per_node),
            lambda: refuse_lost(world.store),
        )


def _works(wanted: Sequence[OnItsWay], steps: Callable[[OnItsWay], Steps]) -> Iterator[Work]:
    for moving_site in wanted:
        nodes = frozenset((moving_site.move.source, moving_site.move.target))
        yield Work(nodes, lambda moving_site=moving_site: steps(moving_site))  # type: ignore[misc]


def every_open(world: World) -> tuple[SiteMove, ...]:
    return world.store.site_moves(only_open=True)
