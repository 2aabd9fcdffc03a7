"""`flex nodes down n1` that ends itself by kill -9: `python dying.py SETTINGS MOMENT`, behind that
step of the store.

Steps are `propose` and `settle`, and of the journal `intend`, `sent` and `done`; with `before-` in
front it dies before the step is written down.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flex.model.dns_update_journal import RowState
from flex.model.drains_and_freezes import NodeOrder
from flex_api import wiring
from flex_api.night import failover
from flex_api.night.leases import lease
from flex_api.settings import file as config


class Dying:
    """A store, or its journal, that dies at that step. Any: it passes on whatever it is asked to
    what it stands for.
    """

    def __init__(self, real: Any, moment: str) -> None:
        self._real, self._moment = real, moment

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = getattr(self._real, name)

        def asked(*given: Any, **how: Any) -> Any:
            answer = self._dying(name, lambda: found(*given, **how))
            return Dying(answer, self._moment) if name == "new_journal" else answer

        return asked

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        self._dying(state, lambda: self._real.became(numbers, state, note))

    def _dying(self, step: str, work: Callable[[], Any]) -> Any:
        if self._moment == f"before-{step}":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = work()
        if self._moment == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


def main(path: str, moment: str) -> None:
    world = wiring.world(config.load(Path(path)), lambda: datetime.now(UTC))
    store: Any = Dying(world.store, moment)
    with lease(world, "node n1 down", breaks_in=True):
        failover.take_down(
            replace(world, store=store), NodeOrder("n1", "down", given=datetime.now(UTC))
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
