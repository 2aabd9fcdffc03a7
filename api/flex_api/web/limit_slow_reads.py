"""Slow reads, one at a time in each process. A caller that has waited too long for its turn is told
to ask again.

Takes the caller. Returns nothing, or refuses. A caller whose answer took long waits as long before
the next one, so that no token keeps all processors busy.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from flex.errors import TooMany
from flex.model.limits_and_approvals import Stop

# Seconds. A read that takes less is no burden. A guess.
SHORT = 2.0
# Seconds for which a request waits for its turn. A guess.
PATIENCE = 5.0
# Seconds between two looks whether it is the request's turn. A guess.
LOOK = 0.02
# More callers than anybody has.
MOST = 10_000


@dataclass(slots=True)
class Turns:
    ticks: Callable[[], float] = time.monotonic
    busy: threading.Lock = field(default_factory=threading.Lock)
    rests: dict[str, float] = field(default_factory=dict)

    @asynccontextmanager
    async def take_turn(self, caller: str) -> AsyncIterator[None]:
        """Raises TooMany. Waiting takes no thread: there would be none left for what is answered at
        once.
        """
        asked_at = self.ticks()
        while not self._free(caller, asked_at):
            await asyncio.sleep(LOOK)
        begun = self.ticks()
        try:
            yield
        finally:
            self.busy.release()
            if (took := self.ticks() - begun) > SHORT:
                self._rest(caller, took)

    def _free(self, caller: str, asked_at: float) -> bool:
        """Whether it is this caller's turn, and takes the turn. Raises TooMany where the caller
        would have to wait too long.
        """
        moment = self.ticks()
        until, patient = self.rests.get(caller, moment), asked_at + PATIENCE
        if until > patient:
            raise _too_soon(until - moment, "what this caller asked for last took long")
        if until <= moment and self.busy.acquire(blocking=False):
            return True
        if moment > patient:
            raise _too_soon(PATIENCE, "others that take long are being worked out")
        return False

    def _rest(self, caller: str, seconds: float) -> None:
        if len(self.rests) >= MOST:
            self.rests.clear()
        self.rests[caller] = self.ticks() + seconds


def _too_soon(seconds: float, answer: str) -> TooMany:
    return TooMany(
        "an answer that takes long to work out",
        answer,
        kept="nothing was read or changed",
        advice=f"ask again in {math.ceil(seconds)} s, as `Retry-After` says",
        seconds=seconds,
        stops=[
            Stop(
                "turns",
                "one at a time, in turn",
                answer,
                "it takes long",
                f"wait {math.ceil(seconds)} s",
            )
        ],
    )
