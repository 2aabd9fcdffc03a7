"""Tells the server every few minutes what came to this node's door and belongs to other nodes.

Takes where HAProxy's socket is, and the server's address of this node with the node's token. Does
not end before it is told to. What is not told now is told later: HAProxy goes on counting.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from http import HTTPStatus

from flex.errors import FlexError
from flex.routing import ask_flex_server, read_strays
from flex.routing.ask_flex_server import Asker
from flex.routing.haproxy_socket import Socket

# Seconds between two reports. A guess: an operator looks at days.
EVERY = 300.0
# Seconds between two tries before the first report. A guess.
BEFORE_THE_FIRST = 5.0
# Seconds for the server's answer. A guess.
PATIENCE = 30.0
# A server without doors for all sites, or an older one, does not want any.
_UNWANTED = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


@dataclass(slots=True, eq=False)
class Reporter:
    """`stats` finds HAProxy's socket; None where HAProxy is not there yet."""

    url: str
    token: str
    stats: Callable[[], Socket | None]
    say: Callable[[str], None]
    over: threading.Event
    asker: Asker
    # What was said last to be wrong.
    trouble: str = ""

    def run(self) -> None:
        pause = BEFORE_THE_FIRST
        while not self.over.wait(pause):
            try:
                if self.report():
                    pause = EVERY
                self.trouble = ""
            except FlexError as error:
                pause = EVERY
                self._note_trouble(error)

    def report(self) -> bool:
        """Whether there was something to report. Raises FlexError where the server did not take
        it.
        """
        stats = self.stats()
        reading = read_strays.strays(stats) if stats else None
        if reading is None:
            return False
        url = f"{self.url.rstrip('/')}/strays"
        body = json.dumps(asdict(reading)).encode("ascii")
        request = ask_flex_server.request(url, self.token, body=body)
        answer = ask_flex_server.wait_for_answer(
            self.url, self.asker.begin(request, PATIENCE), PATIENCE
        )
        if answer.status not in (HTTPStatus.NO_CONTENT, *_UNWANTED):
            raise ask_flex_server.refusal(self.url, answer)
        return True

    def _note_trouble(self, error: FlexError) -> None:
        """Said once, however often it is so."""
        line = f"{error.asked}: {error.answer}"
        if line != self.trouble:
            self.say(f"What came to this door for other nodes was not reported: {line}")
        self.trouble = line
