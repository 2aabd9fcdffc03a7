"""A wait in the middle of a plan, during which nothing changes. Anybody who cannot wait may
interrupt it.

Takes for how long, or what to do meanwhile. Returns when that is over. Does not take the plan back
when it is interrupted: whoever interrupts does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from flex.errors import LostLease
from flex_api.in_words import amounts
from flex_api.night import still_holding_lease
from flex_api.wiring import World

# Between one look at the lease and the next.
LOOK = 1.0


def pause(world: World, seconds: float) -> None:
    """Raises LostLease where another run broke in."""
    world.say(
        f"Resolvers have {amounts.span(timedelta(seconds=seconds))} to learn of it; old "
        "nodes serve until then."
    )
    with giving_way(world) as run:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and (not run or world.store.holds(run)):
            time.sleep(min(left, LOOK))


@contextmanager
def giving_way(
    world: World, doing: str = "waiting with new and old addresses of what moves in DNS"
) -> Iterator[str]:
    """Nothing is done to DNS in here. Raises LostLease at its end where another run broke in,
    whatever else went wrong.
    """
    run = still_holding_lease.mine()
    if run:
        _mine_still(world.store.wait, run, doing)
    try:
        yield run
    finally:
        if run:
            _mine_still(world.store.go_on, run, doing)


def _mine_still(tell: Callable[[str], None], run: str, doing: str) -> None:
    try:
        tell(run)
    except LostLease as error:
        raise LostLease(
            doing,
            "a node died meanwhile, and taking it out of DNS could not wait",
            kept="what was begun is being taken back by whoever takes the node out; "
            "`flex plan list` says more",
            advice="make a new plan with `flex plan`",
        ) from error
