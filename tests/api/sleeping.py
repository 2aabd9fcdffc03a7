"""A step that stops itself in the middle, as a process does whose machine sleeps.

`python sleeping.py SETTINGS VERB MOMENT HOURS [PLAN]`, by a clock that is so many hours ahead.
Moments are what dying.py has, of the store and its journals, and `apply`, `refuse_late`, `read` and
`verify` of the name server, with `look` where this looks for the lease; with `before-` in front it
stops before the step. It says that it runs on another machine, so that nobody can see it live; it
ends with the exit code of what stopped it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flex.errors import FlexError
from flex.model.dns_update_journal import RowState
from flex.model.drains_and_freezes import NodeOrder
from flex.model.nightly_run import NightlyRun
from flex.ports import Publisher
from flex_api import wiring
from flex_api.night import (
    failover,
    plan_orders_by_hand,
    plan_undo,
    recovery,
)
from flex_api.night.leases import lease
from flex_api.settings import file as config
from flex_api.wiring import World
from flex_dns.rfc2136 import Rfc2136Publisher

ELSEWHERE = "elsewhere.example.org:1:1"


class Moment:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_over = False

    def passed(self, step: str, work: Callable[[], Any]) -> Any:
        self._stop(f"before-{step}")
        answer = work()
        self._stop(step)
        return answer

    def _stop(self, step: str) -> None:
        if step == self.name and not self.is_over:
            self.is_over = True
            os.kill(os.getpid(), signal.SIGSTOP)


class Sleeping:
    """A store, a journal or a target that stops there. Any: it passes on whatever it is asked to
    what it stands for.
    """

    def __init__(self, real: Any, moment: Moment) -> None:
        self._real, self._moment = real, moment

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = getattr(self._real, name)

        def asked(*given: Any, **how: Any) -> Any:
            answer = self._moment.passed(name, lambda: found(*given, **how))
            return Sleeping(answer, self._moment) if name in ("new_journal", "journal") else answer

        return asked

    def begin(self, run: NightlyRun, *given: Any, **how: Any) -> Any:
        return self._real.begin(replace(run, holder=ELSEWHERE), *given, **how)

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        self._moment.passed(state, lambda: self._real.became(numbers, state, note))


def looking(target: Publisher, moment: Moment) -> Publisher:
    """The same, whose looks for the lease are moments, too. Where no zone is ours nobody looks."""
    if not isinstance(target, Rfc2136Publisher):
        return target
    return replace(target, refuse_lost=lambda: moment.passed("look", target.refuse_lost))


VERBS: dict[str, Callable[[World, str], object]] = {
    "apply": plan_orders_by_hand.apply,
    "accept": plan_orders_by_hand.accept,
    "down": lambda world, _: failover.take_down(
        world, NodeOrder("n1", "down", given=world.time_of_day())
    ),
    "resume": lambda world, _: recovery.finish(world),
    "undo": lambda world, _: plan_undo.take_back(world),
    "abandon": lambda world, _: plan_undo.give_up(world),
}


def main(path: str, verb: str, moment: str, hours: str, plan: str = "") -> None:
    real = wiring.world(config.load(Path(path)), lambda: datetime.now(UTC))
    when = Moment(moment)
    store: Any = Sleeping(real.store, when)
    target: Any = Sleeping(looking(real.publisher, when), when)
    ahead = timedelta(hours=float(hours))
    world = replace(
        real, store=store, connect=lambda: target, time_of_day=lambda: datetime.now(UTC) + ahead
    )
    try:
        with lease(world, verb, breaks_in=verb == "down"):
            VERBS[verb](world, plan)
    except FlexError as error:
        sys.stdout.write(f"{error}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main(*sys.argv[1:])
