"""A nightly run that ends itself by kill -9 at one of its stages' boundaries: `python mortal.py
SETTINGS AS_OF NUMBER`.

Each stage has two: when it is recorded as begun, and when it is recorded as ended. An even number
dies just before the record is made, an odd one just behind it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flex.model.nightly_run import Stage
from flex_api import wiring
from flex_api.night import nightly
from flex_api.settings import file as config


class Mortal:
    """A store that dies at that boundary. Any: it passes on whatever it is asked to the store it
    stands for.
    """

    def __init__(self, store: Any, number: int) -> None:
        self._store, self._left, self._behind = store, number // 2, number % 2

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self._store, name)
        return found

    def stage(self, run_id: str, stage: Stage) -> None:
        dies = self._left == 0
        self._left -= 1
        if dies and not self._behind:
            os.kill(os.getpid(), signal.SIGKILL)
        self._store.stage(run_id, stage)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)


def main(path: str, as_of: str, number: str) -> None:
    moment = datetime.fromisoformat(as_of).replace(tzinfo=UTC)
    world = wiring.world(config.load(Path(path)), lambda: moment)
    store: Any = Mortal(world.store, int(number))
    nightly.run(replace(world, store=store))


if __name__ == "__main__":
    main(*sys.argv[1:])
