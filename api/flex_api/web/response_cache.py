"""Answers that many callers ask for, given again as long as nobody has written to the store.

Takes a request whose caller is known. Returns the last answer of the route where it still holds. A
view (cached_views.py) saves reading the store; this saves all the rest.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flex.store import Store
from flex_api.manage_tokens import Caller
from flex_api.web.etag_responses import matches

# What is made of the store, the settings and the time, and of nothing else.
STORED = re.compile(
    r"/api/v1/(sites|nodes|plans|partitions)(/[^/]+)?|/api/v1/(pins|runs|audit|jobs|freeze)"
)
# A wish begins, a freeze ends and a job's process dies without a word to the store: seen so late at
# most.
TRUST = 1.0
# Answers that are remembered. A guess: with LARGEST, they stay under 32 MiB.
MOST = 1000
# Bytes of the largest answer that is remembered: 32 KiB. A guess.
LARGEST = 2**15

# The role, the path, the query, and the kind of text that is asked for.
Key = tuple[str, str, bytes, bytes]


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """As the route gave it, when, and at which state of the store."""

    stamp: int
    made: float
    route: object
    start: Message
    body: Message


@dataclass(slots=True)
class ResponseCache:
    app: ASGIApp
    store: Store
    ticks: Callable[[], float] = time.monotonic
    answers: OrderedDict[Key, CachedAnswer] = field(default_factory=OrderedDict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _key(scope)
        # Looked at before the route reads it: what changes meanwhile is seen the next time.
        stamp = self.store.stamp() if key else None
        if key is None or stamp is None:
            await self.app(scope, receive, send)
            return
        known = self.answers.get(key)
        if known is None or known.stamp != stamp or self.ticks() - known.made >= TRUST:
            await self.app(scope, receive, self._keeping(key, stamp, scope, send))
            return
        scope["route"] = known.route
        for message in _again(known, _header(scope, b"if-none-match")):
            await send(message)

    def _keeping(self, key: Key, stamp: int, scope: Scope, send: Send) -> Send:
        made_at, seen = self.ticks(), list[Message]()

        async def note_and_send(message: Message) -> None:
            # Nothing is kept of one that comes in pieces, so that no more than its first is held.
            if len(seen) < 3:
                # Copied: who sends it on adds what belongs to this one request.
                seen.append({**message, "headers": list(message.get("headers", ()))})
            if len(seen) == 2 and _is_whole(*seen):
                self._keep(key, CachedAnswer(stamp, made_at, scope.get("route"), seen[0], message))
            await send(message)

        return note_and_send

    def _keep(self, key: Key, answer: CachedAnswer) -> None:
        self.answers[key] = answer
        self.answers.move_to_end(key)
        while len(self.answers) > MOST:
            self.answers.popitem(last=False)


def _key(scope: Scope) -> Key | None:
    """None for what is asked of the route each time, as by who may not read it: a role alone opens
    nothing.
    """
    if scope["type"] != "http" or scope["method"] != "GET" or not STORED.fullmatch(scope["path"]):
        return None
    caller: Caller | None = scope["state"]["caller"]
    if caller is None or not caller.may("viewer"):
        return None
    return caller.role, scope["path"], scope["query_string"], _header(scope, b"accept")


def _header(scope: Scope, wanted: bytes) -> bytes:
    return b",".join(value for name, value in scope["headers"] if name == wanted)


def _is_whole(start: Message, body: Message) -> bool:
    tagged = any(name == b"etag" for name, _ in start["headers"])
    return (
        start["status"] == 200
        and tagged
        and not body.get("more_body")
        and len(body.get("body", b"")) <= LARGEST
    )


def _again(known: CachedAnswer, given: bytes) -> tuple[Message, Message]:
    """Whole, or that the caller has it already."""
    headers = known.start["headers"]
    tag = next(value for name, value in headers if name == b"etag")
    if not matches(given.decode("latin-1"), tag.decode("latin-1")):
        return {**known.start, "headers": list(headers)}, known.body
    spared = [(name, value) for name, value in headers if not name.startswith(b"content-")]
    return {**known.start, "status": 304, "headers": spared}, {
        "type": "http.response.body",
        "body": b"",
    }
