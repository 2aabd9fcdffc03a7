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
from flex_api.moving.commands_of_site import command, of_stage
from flex_api.moving.run_hook import Ran, forget_lock, lock_of_move
from flex_api.moving.run_side_by_side import Command, Steps
from flex_api.settings.moving import Hook
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


def bring(one: OnItsWay) -> Steps:
    """Until the new node has what the site needs, or the site stays where it is. One that is held
    later gets the rest then.
    """
    one = one.store(replace(one.move, state="under way", ended=None, reason=""))
    with lock_of(one) as lock:
        if lock is None:
            one.store(replace(one.move, reason=STILL_AT_WORK))
            return
        done = _prepared_hooks(one)
        for stage in UNDOABLE:
            if one.is_held and stage in WITHIN_HOLD:
                continue
            for hook in of_stage(one.hooks, stage):
                # What is copied goes stale; a node that is prepared stays so.
                if stage == "prepare" and hook.shown_name in done:
                    continue
                ran = yield from tries(one, stage, hook, lock)
                if ran.code:
                    failed = failure(one, said_by(stage, hook, ran), ran.code)
                    yield from _way_back(one.store(failed), lock)
                    return
        one.store(replace(one.move, state="ready"))


def take_back(one: OnItsWay) -> Steps:
    """The move has the state `taking back`, and says why."""
    with lock_of(one) as lock:
        if lock is not None:
            yield from _way_back(one, lock)


def release(one: OnItsWay) -> Steps:
    """The site is at its new node."""
    yield from _last_stage(one, "release")


def clean(one: OnItsWay) -> Steps:
    """Nobody needs the old copy any more."""
    is_released = yield from _last_stage(one, "release")
    is_done = is_released and (yield from _last_stage(one, "clean"))
    if is_done:
        one.store(replace(one.move, state="done"))
        forget_lock(_folder(one), one.move.id)


def _last_stage(one: OnItsWay, stage: Stage) -> Generator[Command, Ran, bool]:
    """What fails is tried again with the next run: the site is at its new node, and stays."""
    done = {(run.stage, run.hook) for run in _runs(one) if run.state == "done"}
    with lock_of(one) as lock:
        if lock is None:
            return False
        for hook in of_stage(one.hooks, stage):
            if (stage, hook.shown_name) in done:
                continue
            ran = yield from tries(one, stage, hook, lock)
            if ran.code:
                return False
    return True


@contextmanager
def lock_of(one: OnItsWay) -> Iterator[int | None]:
    with lock_of_move(_folder(one), one.move.id) as lock:
        yield lock


def _folder(one: OnItsWay) -> Path:
    return one.world.settings.ingest.directory / "moves"


def _prepared_hooks(one: OnItsWay) -> set[str]:
    return {run.hook for run in _runs(one) if run.stage == "prepare" and run.state == "done"}


def _runs(one: OnItsWay) -> tuple[StageRun, ...]:
    return one.world.store.stage_runs([one.move.id])


def tries(one: OnItsWay, stage: Stage, hook: Hook, lock: int) -> Generator[Command, Ran, Ran]:
    """As often as the settings say. How the last try ended."""
    words = command(one.world, hook.command, one.move, one.names)
    ran, count = Ran(1), 0
    while count <= hook.retries:
        count += 1
        row = StageRun(one.move.id, stage, hook.shown_name, "begun", count, one.now)
        one.world.store.put_stage_run(row)
        ran = yield Command(words, hook.timeout.total_seconds(), lock)
        ended = replace(row, ended=one.now, said=ran.said)
        one.world.store.put_stage_run(replace(ended, state="failed" if ran.code else "done"))
        if ran.code in _FINAL:
            break
    return ran


def said_by(stage: Stage, hook: Hook, ran: Ran) -> str:
    """What everybody may know: what a command prints is for operators."""
    printed = "" if ran.said == ran.ended else f"; {PRINTED}"
    return f"{stage} ({hook.shown_name}): {ran.ended}{printed}"


def failure(one: OnItsWay, reason: str, code: int) -> SiteMove:
    """The move as it is once a command ended so. The site rests."""
    rest = one.world.settings.move.rest
    rests = {NOT_NOW: one.now + min(rest, UNTIL_NEXT_NIGHT), NEVER: FOREVER}.get(
        code, one.now + rest
    )
    return replace(
        one.move, state="taking back", reason=reason, rests_until=rests, for_now=code == NOT_NOW
    )


def _way_back(one: OnItsWay, lock: int) -> Steps:
    """What was begun last is taken back first. Where that fails it is tried again with the next
    run, and the site does not move before.
    """
    hooks = {(hook.stage, hook.shown_name): hook for hook in one.hooks}
    left = [run for run in reversed(_runs(one)) if run.state != "undone" and run.stage in UNDOABLE]
    if left and one.kept:
        _stay(one, f"what was brought to {one.move.target} is left there: {one.kept}")
        return
    unknown = [run for run in left if (run.stage, run.hook) not in hooks]
    for run in left:
        hook = hooks.get((run.stage, run.hook))
        if hook is None or not hook.undo:
            continue
        ran = yield from _undo(one, run, hook, lock)
        if ran.code:
            return
    named = ", ".join(f"{run.stage} ({run.hook})" for run in unknown)
    gone = "is not taken back, as the settings have it no more"
    _stay(one, f"{named} {gone}" if unknown else "")


def _stay(one: OnItsWay, more: str) -> None:
    reason = "; ".join(filter(None, (one.move.reason, more)))
    one.store(replace(one.move, state="stayed", ended=one.now, reason=reason))
    forget_lock(_folder(one), one.move.id)


def _undo(one: OnItsWay, run: StageRun, hook: Hook, lock: int) -> Generator[Command, Ran, Ran]:
    words = command(one.world, hook.undo, one.move, one.names)
    # What is kept is what it said when it failed, and why it is not taken back.
    first = run.said.partition(ITS_UNDO)[0].removesuffix("; ")
    ran = Ran(1)
    for _ in range(hook.retries + 1):
        row = replace(run, state="undoing", ended=None)
        one.world.store.put_stage_run(row)
        ran = yield Command(words, hook.timeout.total_seconds(), lock)
        if not ran.code:
            done = replace(row, state="undone", ended=one.now, said=first)
            one.world.store.put_stage_run(done)
            break
        said = "; ".join(filter(None, (first, f"{ITS_UNDO}{ran.said}")))
        failed = replace(row, ended=one.now, said=said)
        one.world.store.put_stage_run(failed)
    return ran
