"""Moves of sites as a night may leave them: one of each kind, with what was run for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from flex.model.site_moves import FOREVER, RunState, SiteMove, Stage, StageRun, State
from flex.store import Store

SECOND = timedelta(seconds=1)
# Each kind: its state, why, and what was run: stage, command, state, tries, seconds.
Run = tuple[Stage, str, RunState, int, float]
DOORS = "doors"
WITH_ONE_WRITER: tuple[Run, ...] = (
    ("prepare", "vhost", "done", 1, 2),
    ("copy", "files", "done", 2, 61),
    ("hold", DOORS, "done", 1, 0.25),
    ("final copy", "files", "done", 1, 0.5),
    ("check", "answers", "done", 1, 0.1),
    ("switch", DOORS, "done", 1, 0.15),
)
KINDS: tuple[tuple[State, str, tuple[Run, ...]], ...] = (
    ("under way", "", (("copy", "files", "begun", 1, 0),)),
    ("ready", "", (("copy", "files", "done", 1, 4),)),
    ("moved", "", WITH_ONE_WRITER),
    ("done", "", (*WITH_ONE_WRITER, ("clean", "files", "done", 1, 3))),
    ("taking back", "copy (files): it ended with 1", (("copy", "files", "undoing", 3, 30),)),
    (
        "stayed",
        "check (answers): it ended with 75",
        (("copy", "files", "undone", 1, 8), ("check", "answers", "failed", 3, 9)),
    ),
)


def fill_with_moves(store: Store, sites: Sequence[str], plan: str, now: datetime) -> list[SiteMove]:
    """One of each kind, for as many sites as there are; the newest is still under way. The last
    rests until somebody says otherwise.
    """
    made = []
    for at, (site, kind) in enumerate(zip(sites, KINDS, strict=False)):
        state, why, runs = kind
        begun = now - timedelta(minutes=3 + at)
        ended = begun + 90 * SECOND if state in ("moved", "done", "stayed") else None
        rests = FOREVER if state == "stayed" else None
        move = SiteMove(f"m{at}", site, "n1", "n2", plan, begun, state, ended, why, rests)
        made.append(move)
        store.put_site_moves([move])
        for stage, hook, ended_as, tries, seconds in runs:
            until = begun + seconds * SECOND
            over = until if ended_as not in ("begun", "undoing") else None
            said = "exit code 1: no answer" if ended_as == "failed" else ""
            store.put_stage_run(StageRun(move.id, stage, hook, ended_as, tries, begun, over, said))
            begun = until
    return made
