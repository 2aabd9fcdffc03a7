"""The questions of `flex onboard`: five at most, each with an answer that enter takes.

Takes how to ask, and what was answered by options already. Returns answers. Does not print.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# The question, and the answer that is taken when there is none.
Ask = Callable[[str, str], str]
MOST_QUESTIONS = 5
# The answer that there is none, where something was found that is not meant.
NONE = "-"


@dataclass(slots=True)
class Questions:
    """`ask` is None where nobody is there to answer: then what was found counts."""

    ask: Ask | None
    asked: int = 0

    def answer(self, given: str | None, question: str, otherwise: str) -> str:
        """What an option says, else a person, else what was found."""
        if given is not None:
            return given.strip()
        if self.ask is None:
            return otherwise
        self.asked += 1
        assert self.asked <= MOST_QUESTIONS, "each is asked once"
        answer = self.ask(question, otherwise).strip() or otherwise
        return "" if answer == NONE else answer
