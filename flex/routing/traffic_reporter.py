"""Tells the server what this node's door counts: requests that belong to other nodes, and what was
answered for the sites that are watched.

Takes where HAProxy's socket is, and the server's address of this node with the node's token. Does
not end before it is told to. What is not told now is told later: HAProxy goes on counting.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import ClassVar

from flex.errors import FlexError
from flex.model.node_answer_counts import SPAN, SPANS, AnswersOfSpan
from flex.routing import flex_server_client, read_http_answers, read_strays
from flex.routing.flex_server_client import Asker
from flex.routing.haproxy_socket import Socket

# Seconds between two reports of strays. A guess: an operator looks at days.
EVERY = 300.0
# Seconds between two tries before the first report of strays. A guess.
BEFORE_THE_FIRST = 5.0
# Seconds between two reports while a site is watched. A site that fails is back within a minute.
WATCHED = 5.0
# Seconds between two questions whether a site is watched. A guess.
QUIET = 10.0
# Seconds for the server's answer. A guess.
PATIENCE = 30.0
# Bytes of the server's answer that are read: names of 253 letters.
LONGEST_ANSWER = 2**20
# A server without doors for all sites, or an older one, does not want any.
_UNWANTED = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


@dataclass(slots=True, eq=False)
class _Reporter:
    """`stats` finds HAProxy's socket; None where HAProxy is not there yet."""

    subject: ClassVar[str]

    url: str
    token: str
    stats: Callable[[], Socket | None]
    say: Callable[[str], None]
    over: threading.Event
    asker: Asker
    # The last error that was told.
    trouble: str = ""

    def run(self) -> None:
        while not self.over.wait(self.pause()):
            try:
                self.report()
                self.trouble = ""
            except FlexError as error:
                self._note_trouble(error)

    def pause(self) -> float:
        """Return the seconds until the next report."""
        raise NotImplementedError

    def report(self) -> bool:
        """Return whether there was something to report. Raises FlexError where the server did not
        take it.
        """
        raise NotImplementedError

    def _post(self, path: str, body: object) -> flex_server_client.HttpAnswer | None:
        """None where the server does not want such reports. Raises FlexError where it refused."""
        content = json.dumps(body).encode("ascii")
        request = flex_server_client.request(
            f"{self.url.rstrip('/')}/{path}", self.token, body=content
        )
        answer = flex_server_client.wait_for_answer(
            self.url, self.asker.begin(request, PATIENCE), PATIENCE
        )
        if answer.status in _UNWANTED:
            return None
        if answer.status not in (HTTPStatus.OK, HTTPStatus.NO_CONTENT):
            raise flex_server_client.refusal(self.url, answer)
        return answer

    def _note_trouble(self, error: FlexError) -> None:
        """Tell an error once, however often it comes again."""
        line = f"{error.asked}: {error.answer}"
        if line != self.trouble:
            self.say(f"{self.subject} was not reported: {line}")
        self.trouble = line


@dataclass(slots=True, eq=False)
class StraysReporter(_Reporter):
    """Reports every few minutes what came to this door and belongs to other nodes."""

    subject = "What came to this door for other nodes"

    begun: bool = False

    def pause(self) -> float:
        return EVERY if self.begun else BEFORE_THE_FIRST

    def report(self) -> bool:
        stats = self.stats()
        reading = read_strays.strays(stats) if stats else None
        if reading is None:
            return False
        self.begun = True
        self._post("strays", asdict(reading))
        return True


@dataclass(slots=True, eq=False)
class AnswersReporter(_Reporter):
    """Reports what this node answered for the host names that the server says it watches. Where
    HAProxy counts no answers nothing is asked.
    """

    subject = "What this node answers"

    # The names that the server wants to hear of, as it said last.
    names: Sequence[str] = ()

    def pause(self) -> float:
        return WATCHED if self.names else QUIET

    def report(self) -> bool:
        stats = self.stats()
        if stats is None or not read_http_answers.counts_answers(stats):
            return False
        counted = self._counts(stats)
        self.names = self._tell(counted)
        if self.names and not counted:
            # The hour before is known at once, and not only when it is over.
            self.names = self._tell(self._counts(stats))
        return True

    def _counts(self, stats: Socket) -> tuple[AnswersOfSpan, ...]:
        last = int(time.time()) // SPAN
        spans = range(last - SPANS + 1, last + 1)
        return read_http_answers.answers(stats, "", self.names, spans)

    def _tell(self, counted: Sequence[AnswersOfSpan]) -> Sequence[str]:
        rows = [
            {"name": count.name, "span": count.span, **asdict(count.answers)} for count in counted
        ]
        answer = self._post("answers", {"counted": rows})
        return _names(flex_server_client.parse(answer.content)) if answer else ()


def _names(reply: object) -> Sequence[str]:
    """Return the names of a reply, none where the server answers something else."""
    names = reply.get("names") if isinstance(reply, dict) else None
    if not isinstance(names, list):
        return ()
    return [name for name in names if isinstance(name, str)]
