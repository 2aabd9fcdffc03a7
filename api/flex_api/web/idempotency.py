"""Idempotency-Key: a request that comes twice with one key is done once, and gets the same answer
twice.

A key belongs to its caller for a day. Another request with the same key is refused. While the first
request is still running, the second is told so. What failed on our side is forgotten, so that it
can be tried again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flex.errors import BadInput, Busy, FlexError, Reused
from flex.model.jobs import Once
from flex.ports import Store
from flex.store.lease_holder import PATIENCE, has_ended, holder
from flex_api.web.form_body import again
from flex_api.web.gate import present

HEADER = "idempotency-key"
# How long an answer is kept for a request that is repeated with the same key. A guess.
KEPT_FOR = timedelta(days=1)
# Said of what is shown once only, such as a token's secret: it is never kept.
SHOWN_ONCE = "x-flex-shown-once"
# Bytes. A larger answer is not stored: only that it was given. A guess.
LARGEST = 2**20
# The header that marks a stored answer whose body was too large.
TOO_LARGE = "x-flex-too-large"
KEY = re.compile(r"[A-Za-z0-9._:-]{1,255}")


@dataclass(slots=True)
class OnceOnly:
    app: ASGIApp
    store: Store
    problem: Callable[[Request, FlexError], Response]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive) if scope["type"] == "http" else None
        # Who is nobody is refused by the route, whatever came with that key before.
        known = (
            request is not None and scope["method"] == "POST" and request.state.caller is not None
        )
        if request is None or not known or (key := request.headers.get(HEADER)) is None:
            await self.app(scope, receive, send)
            return
        try:
            body = await request.body()
            once = _request_as_kept(request, key, body)
            kept = await run_in_threadpool(self._begin, once)
        except FlexError as error:
            await self.problem(request, error)(scope, receive, send)
            return
        if kept is not None:
            await Response(kept.body, kept.status, json.loads(kept.headers))(scope, receive, send)
            return
        await self._do(once, scope, again(body, receive), send)

    def _begin(self, once: Once) -> Once | None:
        self.store.drop_answers(once.created - KEPT_FOR)
        kept = self.store.answer(once)
        if kept is None:
            return None
        if kept.fingerprint != once.fingerprint:
            raise _refusal(
                Reused, "another request used this key before", "take a new key for a new request"
            )
        if not kept.status and has_ended(kept.headers, kept.created + PATIENCE, present()):
            answer = "the process that was doing it ended: nobody knows whether it was done"
            raise _refusal(
                Reused, answer, "look whether it was; take a new key to ask for it again"
            )
        if not kept.status:
            raise _refusal(
                Busy,
                "the request that came with it first is still being done",
                "ask again in a moment",
            )
        if TOO_LARGE in kept.headers:
            raise _refusal(
                Reused,
                "it was done, and its answer was too large to be kept",
                "look at what it made",
            )
        if not kept.body and SHOWN_ONCE in kept.headers:
            raise _refusal(
                Reused,
                "its answer was shown once, and is kept nowhere",
                "make another with a new key",
            )
        return kept

    async def _do(self, once: Once, scope: Scope, receive: Receive, send: Send) -> None:
        seen, size = list[Message](), 0

        async def note_and_send(message: Message) -> None:
            nonlocal size
            size += len(message.get("body", b""))
            # What is too large is let go as it comes.
            seen.append(message if size <= LARGEST else {**message, "body": b""})
            await send(message)

        try:
            await self.app(scope, receive, note_and_send)
        finally:
            done = _answer_to_keep(once, seen, size)
            if done is None:
                await run_in_threadpool(self.store.drop_answer, once.key)
            else:
                await run_in_threadpool(self.store.keep_answer, done)


def _request_as_kept(request: Request, key: str, body: bytes) -> Once:
    if not KEY.fullmatch(key):
        raise _refusal(
            BadInput,
            "the key is not valid: it takes 1 to 255 letters, digits and . _ : -",
            "take a UUID",
        )
    caller = request.state.caller
    owner = (caller.token or caller.name) if caller else ""
    what = f"{request.method} {request.url.path}?{request.url.query}\n".encode() + body
    # Until there are headers of an answer, who is at it stands in their place.
    return Once(_hash(f"{owner}\n{key}".encode()), _hash(what), present(), headers=holder())


def _answer_to_keep(once: Once, messages: list[Message], size: int) -> Once | None:
    """What is kept of an answer; None where it never came, was a fault of ours, or said that it may
    go well later.
    """
    status = messages[0]["status"] if messages else 500
    if status >= 500 or status in PASSING or messages[-1].get("more_body", False):
        return None
    headers = {
        name.decode("latin-1"): value.decode("latin-1") for name, value in messages[0]["headers"]
    }
    for why, without in ((SHOWN_ONCE, SHOWN_ONCE in headers), (TOO_LARGE, size > LARGEST)):
        if without:
            return replace(once, status=status, headers=json.dumps({why: "yes"}), body=b"")
    kept = {name: headers[name] for name in KEPT if name in headers}
    body = b"".join(message.get("body", b"") for message in messages[1:])
    return replace(once, status=status, headers=json.dumps(kept), body=body)


# Nothing was done: somebody else was at it, another version was meant, or the caller may not, now.
PASSING = (401, 403, 409, 412, 423, 428, 429)
KEPT = ("content-type", "etag", "location", "link")


def _hash(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()


def _refusal(kind: type[FlexError], answer: str, advice: str) -> FlexError:
    return kind(
        "a request with an Idempotency-Key", answer, kept="nothing was done again", advice=advice
    )
