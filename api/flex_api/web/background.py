"""Answers that take longer than a page may: worked out in threads, once for each state of the
store.

In goes the name of a question and how to answer it; out comes the answer, or None while it is being
worked out. Who got None asks again; what nobody asks for any more is not begun. An error is handed
to who asks next, and forgotten.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from flex.ports import Store

Answer = TypeVar("Answer")

# What a plan is made from: after these an answer may be another one.
FACTS = (
    "profiles.put", "plan.propose", "plan.update", "plan.settle", "pin.put", "pin.drop", "node.order", "node.put",
    "node.drop", "ingest",
)  # fmt: skip

# Seconds: how long a page waits itself, when a question counts as forgotten, and how long an answer
# is good.
PATIENCE, FORGOTTEN, LASTING = 0.05, 5.0, 600.0
# How many are worked out at a time, and how many are remembered.
AT_ONCE, MOST = 2, 64


@dataclass(slots=True)
class Question:
    """What was asked as of a state of the store, when somebody last wanted to know it, and what is
    known by now.
    """

    version: int
    begun: float
    wanted: float
    over: threading.Event = field(default_factory=threading.Event)
    dropped: bool = False
    value: object = None
    error: BaseException | None = None


@dataclass(slots=True)
class Later:
    store: Store
    ticks: Callable[[], float] = time.monotonic
    patience: float = PATIENCE
    held: dict[str, Question] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    turn: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(AT_ONCE)
    )

    def ask(
        self,
        name: str,
        make: Callable[[], Answer],
        *,
        lasting: float = LASTING,
        patience: float | None = None,
    ) -> Answer | None:
        """Raises what working it out raised. Who has more `patience` than a page waits longer for
        it.
        """
        question = self._question(name, make, lasting)
        if (
            not question.over.wait(self.patience if patience is None else patience)
            or question.dropped
        ):
            return None
        if question.error is not None:
            self._forget(name, question)
            raise question.error
        return cast(Answer, question.value)

    def _question(
        self, name: str, make: Callable[[], Answer], lasting: float
    ) -> Question:
        version, now = self.store.last_number(*FACTS), self.ticks()
        with self.lock:
            known = self.held.get(name)
            if (
                known
                and known.version == version
                and not known.dropped
                and now - known.begun <= lasting
            ):
                known.wanted = now
                return known
            question = self.held[name] = Question(version, now, now)
            for old in list(self.held)[: len(self.held) - MOST]:
                del self.held[old]
        threading.Thread(
            target=self._work_out, args=(question, make), name="answer", daemon=True
        ).start()
        return question

    def _work_out(self, question: Question, make: Callable[[], Answer]) -> None:
        with self.turn:
            try:
                if self.ticks() - question.wanted > FORGOTTEN:
                    question.dropped = True
                else:
                    question.value = make()
            except BaseException as error:  # noqa: BLE001  whatever it was, who asked is told
                question.error = error
        question.over.set()

    def _forget(self, name: str, question: Question) -> None:
        with self.lock:
            if self.held.get(name) is question:
                del self.held[name]
