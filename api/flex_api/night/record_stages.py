"""The stages of a run. The store records when each begins and when it ends, also where it fails.

Takes what a stage does. Returns its result. The last stage of a killed run has no end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import TypeVar

from flex.errors import FlexError, LostLease
from flex.model.nightly_run import NightlyRun, Stage
from flex_api.night.still_holding_lease import beat
from flex_api.wiring import World

T = TypeVar("T")


def time_after(began: datetime, since: float) -> datetime:
    """What time it is, of something that began then: an hour of --as-of stands still, and a clock
    may be set back.
    """
    return began + timedelta(seconds=monotonic() - since)


@dataclass(slots=True)
class Steps:
    world: World
    run: NightlyRun
    _now: Stage | None = field(default=None, init=False)
    _since: float = field(default=0.0, init=False)

    def __call__(self, name: str, work: Callable[[], T], outcome: Callable[[T], str]) -> T:
        """One stage."""
        self.enter(name)
        return self.run_work(work, outcome)

    def run_work(self, work: Callable[[], T], outcome: Callable[[T], str]) -> T:
        """Work that enters its stages itself; its outcome is that of the last of them."""
        try:
            result = work()
        except FlexError as error:
            # Where the lease was lost nothing is written any more, and what was raised says why.
            with suppress(LostLease):
                self._leave(str(error))
            raise
        self._leave(outcome(result))
        return result

    def enter(self, name: str) -> None:
        """The stage before ends well."""
        self._leave("done")
        beat(self.world, self.run)
        self._now, self._since = Stage(name, self.world.clock()), monotonic()
        self.world.store.stage(self.run.id, self._now)

    def _leave(self, outcome: str) -> None:
        if self._now:
            ended = time_after(self._now.started, self._since)
            self.world.store.stage(self.run.id, replace(self._now, ended=ended, outcome=outcome))
        self._now = None
