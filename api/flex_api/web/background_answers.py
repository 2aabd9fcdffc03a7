"""Answers that take longer than a page may. Threads work them out, once for each state of the
store.

Takes the name of a question and how to answer it. Returns the answer, or None while it is being
worked out. A caller that got None asks again; a question that nobody asks any more is not begun. An
error goes to the next caller and is forgotten then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from flex.store import Store
from flex_api.web.cache_invalidation import outdated_by

Answer = TypeVar("Answer")

# Seconds that a page waits itself. A guess.
PATIENCE = 0.05
# Seconds after which a question that nobody asks again counts as forgotten. A guess.
FORGOTTEN = 5.0
# Seconds that an answer is good. A guess.
LASTING = 600.0
# How many answers are worked out at a time: the others wait. A guess.
AT_ONCE = 2
# How many questions are remembered. A guess.
MOST = 64


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
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(AT_ONCE))

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

    def _question(self, name: str, make: Callable[[], Answer], lasting: float) -> Question:
        version, now = self.store.last_number(*outdated_by("slow")), self.ticks()
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
