"""Whether a run holds the cluster's lease still: asked at each stage, and before what a run that
lost it must not do.

Takes a world, and the run. Prolongs the lease, or raises LostLease. Does not take or give back a
lease: leases.py does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from flex.model.dns_update_journal import JournalRow, RowState
from flex.model.nightly_run import NightlyRun
from flex.store.lease_holder import PATIENCE
from flex_api import wiring
from flex_api.wiring import World

# "" where no lease is held.
HOLDER: ContextVar[str] = ContextVar("the run whose lease is held here", default="")


def mine() -> str:
    """The run of the step that asks; "" where it holds no lease."""
    return HOLDER.get()


def beat(world: World, run: NightlyRun) -> None:
    """Prolong the lease. Raises LostLease when it was lost to another run."""
    world.store.beat(run.id, PATIENCE, world.time_of_day())


def refuse_lost(world: World) -> None:
    """Raises LostLease where the step that asks holds it no more."""
    wiring.refuse_lost(world.store)


class Unwritten:
    """The journal of changes that nobody will go on with by it: all it does is to look for the
    lease before they are sent.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def rows(self) -> tuple[JournalRow, ...]:
        return ()

    def intend(self, rows: Sequence[JournalRow]) -> None:  # noqa: ARG002  nothing is written down
        refuse_lost(self._world)

    def became(
        self,
        numbers: Sequence[int],  # noqa: ARG002  nothing is written down
        state: RowState,
        note: str = "",  # noqa: ARG002
    ) -> None:
        if state == "sent":
            refuse_lost(self._world)
