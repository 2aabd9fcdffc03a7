"""The cluster's one lease: every step that changes something holds it, so two never overlap.

Takes what the step is for. For as long as the step lasts, a run is in the store, and the lease is
prolonged in the background, however long one stage takes. The lease goes by the real time of day,
not by the day that a plan is made for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from time import monotonic, sleep

from flex.errors import Busy, FlexError
from flex.model.nightly_run import NightlyRun
from flex.model.plan import Plan
from flex.store.lease_holder import BEATS, PATIENCE, holder
from flex_api.beat_while_working import beating
from flex_api.in_words import amounts
from flex_api.night.record_stages import time_after
from flex_api.night.still_holding_lease import HOLDER, beat
from flex_api.wiring import World

AT_ONCE = timedelta()
# Seconds between one look at a lease that another run has and the next. A guess.
LOOK = 1.0


@dataclass(slots=True)
class RunWithLease:
    """A run while it lasts; what it comes to is written into it on the way."""

    run: NightlyRun
    waiting: tuple[int, str] = (0, "")

    def concerns(self, plan: Plan) -> None:
        self.run = replace(self.run, plan=plan.id)

    def ends(self, exit_code: int, message: str) -> None:
        self.run = replace(self.run, exit_code=exit_code, message=message)

    def waits(self, exit_code: int, why: str) -> None:
        """It ends well, and leaves something to people."""
        self.waiting = (exit_code, why)


@contextmanager
def lease(
    world: World,
    purpose: str,
    *,
    beats: timedelta = BEATS,
    breaks_in: bool = False,
    waits: timedelta = AT_ONCE,
) -> Iterator[RunWithLease]:
    """Hold the cluster's lease for a step, recorded as a run. Raises Busy where another run has it
    and does not end while this one `waits`. Once the lease is lost nothing of the step is stored
    any more: the first thing that would be raises LostLease.

    What cannot wait `breaks_in` on a run that only waits.
    """
    started, since = world.clock(), monotonic()
    run = NightlyRun(
        f"{started:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}",
        holder(),
        started,
        message=purpose,
        made=world.time_of_day() if world.is_as_of else None,
    )
    for lost in _begin(world, run, breaks_in=breaks_in, waits=waits):
        world.say(
            f"The run of {amounts.when(lost.wall_time)} was {lost.message}. Its work is "
            "taken up where it ended."
        )
    held, token = RunWithLease(run), HOLDER.set(run.id)
    held.ends(1, f"{purpose}: interrupted")
    try:
        with beating("lease", lambda: beat(world, run), beats), world.store.holding(run.id):
            yield held
        code, why = held.waiting
        held.ends(code, f"{purpose}: {why}" if why else purpose)
    except FlexError as error:
        held.ends(error.exit_code, f"{purpose}: {error}")
        raise
    finally:
        HOLDER.reset(token)
        world.store.end(replace(held.run, ended=time_after(started, since)))


def _begin(
    world: World, run: NightlyRun, *, breaks_in: bool, waits: timedelta
) -> tuple[NightlyRun, ...]:
    """The runs that ended without a word. Each look is one at the store, however long it takes."""
    left = looks = int(waits.total_seconds() / LOOK)
    while True:
        try:
            return world.store.begin(run, PATIENCE, world.time_of_day(), breaks_in=breaks_in)
        except Busy as error:
            if not left:
                raise
            if left == looks:
                world.say(f"Waiting up to {amounts.span(waits)}: {error}")
        left -= 1
        sleep(LOOK)
