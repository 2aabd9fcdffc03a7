"""A site on its way from one node to another: its stages, what was run for it, and how it ended.

Takes and returns plain values. Does not run anything.

The stages, in order. `prepare` makes the new node ready, and `copy` brings the content while the
old node serves. Requests of a site with one writer wait at doors from then on (`hold`). `final
copy` brings what changed since, and `check` asks whether all is there. Then doors and DNS lead
visitors to the new node (`switch`). `release` is run once that is done. How the new node answers
for the site is compared with the old one (`watch`), and `clean` is run when nobody needs the old
copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

Stage = Literal[
    "prepare", "copy", "hold", "final copy", "check", "switch", "release", "watch", "clean"
]
STAGES: tuple[Stage, ...] = get_args(Stage)
# Those that FLEX does itself.
OWN_STAGES: tuple[Stage, ...] = ("hold", "switch", "watch")
# Those that commands of the settings are run for.
HOOK_STAGES: tuple[Stage, ...] = tuple(stage for stage in STAGES if stage not in OWN_STAGES)
# Those of them that are run while a site's requests wait, where it has one writer.
WITHIN_HOLD: tuple[Stage, ...] = ("final copy", "check")
# Those of them after which the site may still stay where it is.
UNDOABLE: tuple[Stage, ...] = ("prepare", "copy", *WITHIN_HOLD)
# Who has to know it finds there what a command printed: it is not said elsewhere.
PRINTED = "`flex moves` shows what it printed"
# What a command is told of a move.
MARKS = frozenset(
    ("{site}", "{names}", "{from}", "{to}", "{from_address}", "{to_address}", "{move}")
)

# Exit codes of a command, beside 0 and failure (sysexits.h): not now (EX_TEMPFAIL), never
# (EX_CONFIG), and take back what was done, without another try (EX_SOFTWARE).
NOT_NOW = 75
NEVER = 78
TAKE_BACK = 70

# A site that a command said `never` of rests until somebody lets it move again.
FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
# One that cannot move now, or is not ready, rests until the next night. A guess: nights are a day
# apart, and a plan of the same day goes around it.
UNTIL_NEXT_NIGHT = timedelta(hours=12)

State = Literal["under way", "ready", "moved", "done", "taking back", "stayed", "went back"]
# States in which something is still to be done.
OPEN: tuple[State, ...] = ("under way", "ready", "moved", "taking back")


@dataclass(frozen=True, slots=True)
class SiteMove:
    """One site goes from the node `source` to the node `target`, by a plan.

    `reason` is why it stayed, is taken back or went back. Until `rests_until` it is not moved
    again; where it rests `for_now`, it only could not move then, and the same plan may ask it again
    at once.
    """

    id: str
    site: str
    source: str
    target: str
    plan: str
    begun: datetime
    state: State = "under way"
    ended: datetime | None = None
    reason: str = ""
    rests_until: datetime | None = None
    for_now: bool = False

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


RunState = Literal["begun", "done", "failed", "undoing", "undone"]
# In these a watch has not come to its end: the site is watched, or goes back.
WATCHING: tuple[RunState, ...] = ("begun", "undoing")


@dataclass(frozen=True, slots=True)
class StageRun:
    """One command of a move's stage, as it was run last. It is stored before the command begins:
    one that is `begun` may have done any part of its work.
    """

    move: str
    stage: Stage
    hook: str
    state: RunState
    tries: int
    begun: datetime
    ended: datetime | None = None
    said: str = ""


# When a move began, with its id: where it stands in the order of moves.
Place = tuple[datetime, str]


@dataclass(frozen=True, slots=True)
class MoveCounts:
    """How many moves there are in each state, and since when the oldest of each open state is open.

    Of those that began lately: how often commands of a stage were tried again, how many stages
    failed at last, and for how long requests of each site waited at the doors, in seconds.
    """

    states: Mapping[State, int]
    oldest: Mapping[State, datetime]
    again: Mapping[Stage, int]
    failed: Mapping[Stage, int]
    waited: Sequence[float]


def seconds_waited(runs: Sequence[StageRun]) -> float | None:
    """For how long requests of a site waited at the doors in one move: until the doors led them on,
    or the site stayed after all. None where they did not wait, or do still.
    """
    began = next((run.begun for run in runs if run.stage == "hold"), None)
    ends = [
        run.ended
        for run in runs
        if run.ended
        and (
            (run.stage == "switch" and run.state == "done")
            or (run.stage == "hold" and run.state == "undone")
        )
    ]
    return (max(ends) - began).total_seconds() if began and ends else None
