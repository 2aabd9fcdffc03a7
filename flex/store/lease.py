"""The rules of the one lease, the same for every store: when it is free, and what becomes of those
who lost it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from flex.model.nightly_run import NightlyRun
from flex.store.lease_holder import has_ended

# As a shell reports a process that was killed: one that is told to end says so itself.
INTERRUPTED = 137


@dataclass(frozen=True, slots=True)
class Lease:
    run: str
    holder: str
    since: datetime
    expires: datetime
    waiting: bool = False

    def is_free(self, now: datetime, *, breaks_in: bool = False) -> bool:
        """It has expired, or the process that holds it is gone from this very machine. One that is
        there keeps it.

        But for one that only waits, where somebody `breaks_in`.
        """
        if breaks_in and self.waiting:
            return True
        return has_ended(self.holder, self.expires, now)


def interrupted_run(run: NightlyRun, now: datetime) -> NightlyRun:
    """What is recorded of a run that ended without a word: the stage that it was in, if it had
    begun one.
    """
    open_stages = [stage.name for stage in run.stages if stage.ended is None]
    done = [stage.name for stage in run.stages if stage.ended]
    where = f" at {open_stages[-1]}" if open_stages else f" behind {done[-1]}" if done else ""
    return replace(
        run,
        ended=now,
        exit_code=INTERRUPTED,
        message=f"interrupted{where}: it ended without saying how",
    )
