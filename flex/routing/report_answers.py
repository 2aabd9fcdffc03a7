"""Tells the server what this node answered for the sites that it watches.

Takes where HAProxy's socket is, and the server's address of this node with the node's token. The
server says for which host names it wants to hear. Does not end before it is told to. Where HAProxy
counts no answers nothing is asked.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from flex.errors import FlexError
from flex.model.answers_of_sites import SPAN, SPANS, AnswersOfSpan
from flex.routing import ask_flex_server, read_answers_of_sites
from flex.routing.ask_flex_server import Asker
from flex.routing.haproxy_socket import Socket

# Seconds between two reports while a site is watched. A site that fails is back within a minute.
EVERY = 5.0
# Seconds between two questions whether a site is watched. Guesses, as the next ones.
QUIET = 10.0
# Seconds for the server's answer.
PATIENCE = 30.0
# Bytes of an answer that are read: names of 253 letters.
_LONGEST = 2**20
# An older server does not want any.
_UNWANTED = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


@dataclass(slots=True, eq=False)
class AnswersReporter:
    """`stats` finds HAProxy's socket; None where HAProxy is not there yet."""

    url: str
    token: str
    stats: Callable[[], Socket | None]
    say: Callable[[str], None]
    over: threading.Event
    every: float = EVERY
    quiet: float = QUIET
    # The names that the server wants to hear of, as it said last.
    names: Sequence[str] = ()
    # What was said last to be wrong.
    trouble: str = ""

    def run(self) -> None:
        # An answer may be longer than those that the node waits for.
        asker = Asker(_LONGEST)
        while not self.over.wait(self.every if self.names else self.quiet):
            try:
                self.report(asker)
                self.trouble = ""
            except FlexError as error:
                self._note_trouble(error)

    def report(self, asker: Asker) -> None:
        """Raises FlexError where the server did not take it."""
        stats = self.stats()
        if stats is None or not read_answers_of_sites.counts_answers(stats):
            return
        counted = self._counts(stats)
        self.names = self._tell(asker, counted)
        if self.names and not counted:
            # The hour before is known at once, and not only when it is over.
            self.names = self._tell(asker, self._counts(stats))

    def _counts(self, stats: Socket) -> tuple[AnswersOfSpan, ...]:
        last = int(time.time()) // SPAN
        spans = range(last - SPANS + 1, last + 1)
        return read_answers_of_sites.answers(stats, "", self.names, spans)

    def _tell(self, asker: Asker, counted: Sequence[AnswersOfSpan]) -> Sequence[str]:
        url = f"{self.url.rstrip('/')}/answers"
        rows = [
            {
                "name": one.name,
                "span": one.span,
                "requests": one.answers.requests,
                "errors": one.answers.errors,
                "times": one.answers.times,
            }
            for one in counted
        ]
        body = json.dumps({"counted": rows}).encode("ascii")
        request = ask_flex_server.request(url, self.token, body=body)
        answer = ask_flex_server.wait_for_answer(self.url, asker.begin(request, PATIENCE), PATIENCE)
        if answer.status in _UNWANTED:
            return ()
        if answer.status != HTTPStatus.OK:
            raise ask_flex_server.refusal(self.url, answer)
        return _names(ask_flex_server.parse(answer.content))

    def _note_trouble(self, error: FlexError) -> None:
        """Said once, however often it is so."""
        line = f"{error.asked}: {error.answer}"
        if line != self.trouble:
            self.say(f"What this node answers was not reported: {line}")
        self.trouble = line


def _names(said: object) -> Sequence[str]:
    """None where the server answers something else."""
    names = said.get("names") if isinstance(said, dict) else None
    if not isinstance(names, list):
        return ()
    return [name for name in names if isinstance(name, str)]
