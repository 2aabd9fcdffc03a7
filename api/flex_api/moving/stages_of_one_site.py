"""The stages of one site on its way: what is run, what is stored before and after it, and the way
back.

Takes a world whose lease is held, a move, and its hooks. Yields commands, and stores what became of
them. Does not decide which sites move.

Every command is in the store before it begins. So a run that goes on with another run's work knows
of everything that may have been done, and takes back also what was done in part.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from flex.model.site_moves import (
    FOREVER,
    NEVER,
    NOT_NOW,
    PRINTED,
    TAKE_BACK,
    UNDOABLE,
    UNTIL_NEXT_NIGHT,
    WITHIN_HOLD,
    SiteMove,
    Stage,
    StageRun,
)
from flex_api.moving.hook_commands import command, hooks_of_stage
from flex_api.moving.run_hook import Ran, forget_lock, lock_of_move
from flex_api.moving.run_side_by_side import Command, Steps
from flex_api.settings.move_commands import Hook
from flex_api.wiring import World

STILL_AT_WORK = "a command that an earlier run began for it is still at work"
# What stands before what an undo said that failed.
ITS_UNDO = "its undo: "
# What ends a command's tries at once.
_FINAL = (0, NOT_NOW, NEVER, TAKE_BACK)


@dataclass(frozen=True, slots=True)
class OnItsWay:
    """A move with what is run for it."""

    world: World
    move: SiteMove
    hooks: Sequence[Hook]
    # The other names of the site.
    names: Sequence[str] = ()
    # Why what is at the new node must stay there; empty where it may be taken back.
    kept: str = ""
    # Whether its requests wait at doors while what changed since is copied: that is done later.
    is_held: bool = False

    def store(self, move: SiteMove) -> OnItsWay:
        self.world.store.put_site_moves([move])
        return replace(self, move=move)

    @property
    def now(self) -> datetime:
        return self.world.time_of_day()


def bring(moving_site: OnItsWay) -> Steps:
    """Until the new node has what the site needs, or the site stays where it is. One that is held
    later gets the rest then.
    """
    moving_site = moving_site.store(
        replace(moving_site.move, state="under way", ended=None, reason="")
    )
    with lock_of(moving_site) as lock:
        if lock is None:
            moving_site.store(replace(moving_site.move, reason=STILL_AT_WORK))
            return
        done = _prepared_hooks(moving_site)
        for stage in UNDOABLE:
            if moving_site.is_held and stage in WITHIN_HOLD:
                continue
            for hook in hooks_of_stage(moving_site.hooks, stage):
                # What is copied goes stale; a node that is prepared stays so.
                if stage == "prepare" and hook.shown_name in done:
                    continue
                ran = yield from tries(moving_site, stage, hook, lock)
                if ran.code:
                    failed = failure(moving_site, said_by(stage, hook, ran), ran.code)
                    yield from _way_back(moving_site.store(failed), lock)
                    return
        moving_site.store(replace(moving_site.move, state="ready"))


def take_back(moving_site: OnItsWay) -> Steps:
    """The move has the state `taking back`, and says why."""
    with lock_of(moving_site) as lock:
        if lock is not None:
            yield from _way_back(moving_site, lock)


def leave(moving_site: OnItsWay) -> Steps:
    """The site has left its old node by another way: nothing of its move is taken back."""
    move = moving_site.move
    with lock_of(moving_site) as lock:
        if lock is not None:
            _stay(
                moving_site,
                f"it is not taken back, as the site has left {move.source}: what was brought to "
                f"{move.target} is left there",
            )
    yield from ()


def release(moving_site: OnItsWay) -> Steps:
    """The site is at its new node."""
    if (yield from _last_stage(moving_site, "release")) and moving_site.move.reason:
        moving_site.store(replace(moving_site.move, reason=""))


def clean(moving_site: OnItsWay) -> Steps:
    """Nobody needs the old copy any more."""
    is_released = yield from _last_stage(moving_site, "release")
    is_done = is_released and (yield from _last_stage(moving_site, "clean"))
    if is_done:
        moving_site.store(replace(moving_site.move, state="done", reason=""))
        forget_lock(_folder(moving_site), moving_site.move.id)


def _last_stage(moving_site: OnItsWay, stage: Stage) -> Generator[Command, Ran, bool]:
    """What fails is told, and tried again with the next run: the site is at its new node, and
    stays.
    """
    move = moving_site.move
    done = {(run.stage, run.hook) for run in _runs(moving_site) if run.state == "done"}
    with lock_of(moving_site) as lock:
        if lock is None:
            return False
        for hook in hooks_of_stage(moving_site.hooks, stage):
            if (stage, hook.shown_name) in done:
                continue
            ran = yield from tries(moving_site, stage, hook, lock)
            if ran.code:
                reason = f"{said_by(stage, hook, ran)}; the next run tries it again"
                moving_site.store(replace(move, reason=reason))
                moving_site.world.say(f"{move.site} is at {move.target}, but not whole: {reason}.")
                return False
    return True


@contextmanager
def lock_of(moving_site: OnItsWay) -> Iterator[int | None]:
    with lock_of_move(_folder(moving_site), moving_site.move.id) as lock:
        yield lock


def _folder(moving_site: OnItsWay) -> Path:
    return moving_site.world.settings.ingest.directory / "moves"


def _prepared_hooks(moving_site: OnItsWay) -> set[str]:
    return {
        run.hook for run in _runs(moving_site) if run.stage == "prepare" and run.state == "done"
    }


def _runs(moving_site: OnItsWay) -> tuple[StageRun, ...]:
    return moving_site.world.store.stage_runs([moving_site.move.id])


def tries(
    moving_site: OnItsWay, stage: Stage, hook: Hook, lock: int
) -> Generator[Command, Ran, Ran]:
    """As often as the settings say. How the last try ended."""
    words = command(moving_site.world, hook.command, moving_site.move, moving_site.names)
    ran, count = Ran(1), 0
    while count <= hook.retries:
        count += 1
        row = StageRun(moving_site.move.id, stage, hook.shown_name, "begun", count, moving_site.now)
        moving_site.world.store.put_stage_run(row)
        ran = yield Command(words, hook.timeout.total_seconds(), lock)
        ended = replace(row, ended=moving_site.now, said=ran.said)
        moving_site.world.store.put_stage_run(
            replace(ended, state="failed" if ran.code else "done")
        )
        if ran.code in _FINAL:
            break
    return ran


def said_by(stage: Stage, hook: Hook, ran: Ran) -> str:
    """What everybody may know: what a command prints is for operators."""
    printed = "" if ran.said == ran.ended else f"; {PRINTED}"
    return f"{stage} ({hook.shown_name}): {ran.ended}{printed}"


def failure(moving_site: OnItsWay, reason: str, code: int) -> SiteMove:
    """The move as it is once a command ended so. The site rests."""
    rest = moving_site.world.settings.move.rest
    rests = {NOT_NOW: moving_site.now + min(rest, UNTIL_NEXT_NIGHT), NEVER: FOREVER}.get(
        code, moving_site.now + rest
    )
    return replace(
        moving_site.move,
        state="taking back",
        reason=reason,
        rests_until=rests,
        for_now=code == NOT_NOW,
    )


def _way_back(moving_site: OnItsWay, lock: int) -> Steps:
    """What was begun last is taken back first. Where that fails it is tried again with the next
    run, and the site does not move before.
    """
    hooks = {(hook.stage, hook.shown_name): hook for hook in moving_site.hooks}
    left = [
        run
        for run in reversed(_runs(moving_site))
        if run.state != "undone" and run.stage in UNDOABLE
    ]
    if left and moving_site.kept:
        _stay(
            moving_site,
            f"what was brought to {moving_site.move.target} is left there: {moving_site.kept}",
        )
        return
    unknown = [run for run in left if (run.stage, run.hook) not in hooks]
    for run in left:
        hook = hooks.get((run.stage, run.hook))
        if hook is None or not hook.undo:
            continue
        ran = yield from _undo(moving_site, run, hook, lock)
        if ran.code:
            return
    named = ", ".join(f"{run.stage} ({run.hook})" for run in unknown)
    gone = "is not taken back, as the settings have it no more"
    _stay(moving_site, f"{named} {gone}" if unknown else "")


def _stay(moving_site: OnItsWay, more: str) -> None:
    reason = "; ".join(filter(None, (moving_site.move.reason, more)))
    moving_site.store(
        replace(moving_site.move, state="stayed", ended=moving_site.now, reason=reason)
    )
    forget_lock(_folder(moving_site), moving_site.move.id)


def _undo(
    moving_site: OnItsWay, run: StageRun, hook: Hook, lock: int
) -> Generator[Command, Ran, Ran]:
    words = command(moving_site.world, hook.undo, moving_site.move, moving_site.names)
    # What is kept is what it said when it failed, and why it is not taken back.
    first = run.said.partition(ITS_UNDO)[0].removesuffix("; ")
    ran = Ran(1)
    for _ in range(hook.retries + 1):
        row = replace(run, state="undoing", ended=None)
        moving_site.world.store.put_stage_run(row)
        ran = yield Command(words, hook.timeout.total_seconds(), lock)
        if not ran.code:
            done = replace(row, state="undone", ended=moving_site.now, said=first)
            moving_site.world.store.put_stage_run(done)
            break
        message = "; ".join(filter(None, (first, f"{ITS_UNDO}{ran.said}")))
        failed = replace(row, ended=moving_site.now, said=message)
        moving_site.world.store.put_stage_run(failed)
    return ran
