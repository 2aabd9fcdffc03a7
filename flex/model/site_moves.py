"""A site on its way from one node to another: its stages, what was run for it, and how it ended.

Takes and returns plain values. Does not run anything.

The stages, in order. `prepare` makes the new node ready, `copy` brings the content while the old
node serves, `check` asks whether all is there. Then the plan leads visitors to the new node
(`switch`). `release` is run once that is done, and `clean` when nobody needs the old copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Protocol

Stage = Literal["prepare", "copy", "check", "switch", "release", "clean"]
STAGES: tuple[Stage, ...] = ("prepare", "copy", "check", "switch", "release", "clean")
# Those that commands of the settings are run for. FLEX itself does the others.
HOOK_STAGES: tuple[Stage, ...] = ("prepare", "copy", "check", "release", "clean")
# Those after which the site may still stay where it is.
UNDOABLE: tuple[Stage, ...] = ("prepare", "copy", "check")
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

State = Literal["under way", "ready", "moved", "done", "taking back", "stayed"]
# States in which something is still to be done.
OPEN: tuple[State, ...] = ("under way", "ready", "moved", "taking back")


@dataclass(frozen=True, slots=True)
class SiteMove:
    """One site goes from the node `source` to the node `target`, by a plan.

    `reason` is why it stayed or is taken back. Until `rests_until` it is not moved again.
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

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


RunState = Literal["begun", "done", "failed", "undoing", "undone"]


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


class SiteMoves(Protocol):
    """The store of moves. Plans and settings decide; these only follow, so they are not in the
    audit log.
    """

    def put_site_moves(self, moves: Sequence[SiteMove]) -> None:
        """All of them or none; in place of those with the same ids."""
        ...

    def site_moves(
        self,
        limit: int | None = None,
        *,
        site: str = "",
        plan: str = "",
        only_open: bool = False,
        resting_at: datetime | None = None,
    ) -> tuple[SiteMove, ...]:
        """Those begun last come first; only those of one site or plan, where one is named,
        and those whose site rests at a moment, where that is given.
        """
        ...

    def put_stage_run(self, run: StageRun) -> None:
        """In place of the one of the same move, stage and hook."""
        ...

    def stage_runs(self, moves: Sequence[str]) -> tuple[StageRun, ...]:
        """In the order in which they were begun."""
        ...
