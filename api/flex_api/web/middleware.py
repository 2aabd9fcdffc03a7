"""What every request goes through before a route sees it: its id, its caller, its limits.

Does not decide anything: caller_identity.py decides who may come in, limits.py how much they may
ask. It is pure ASGI, since the framework's own kind of middleware would cost as much time as a
route does.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flex.errors import BadInput, FlexError
from flex_api.manage_tokens import Caller
from flex_api.report.page import STYLE_DIGEST
from flex_api.web import client_address, form_body
from flex_api.web.caller_identity import ANYBODY, AskedOfGate, Gate, present
from flex_api.web.known_hosts import Hosts
from flex_api.web.latency_histogram import Timing
from flex_api.web.limits import Rate, too_large, too_many

REQUEST_ID = "X-Request-Id"
POLICY = "Content-Security-Policy"
# For what is no page: it loads nothing, sends nothing and stands in no frame.
BARE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# For a page that brings its styles: just these. Pages that load theirs have a policy of their own
# (pages/frame.py).
STYLED = (
    f"default-src 'none'; style-src '{STYLE_DIGEST}'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # Nobody else hears where we were; our own pages do, or their changes would come from the origin
    # `null`.
    "Referrer-Policy": "same-origin",
    # What a plan says changes every night, and a page from yesterday must not look like today's.
    "Cache-Control": "no-store",
}
# The API's answers may be kept, and are asked for again each time: that is what their ETags are
# for.
KEPT = "private, no-cache"
# What has to be answered whoever asks.
OPEN = re.compile(
    r"/livez|/readyz|/favicon\.ico|/problems(/.*)?|/static/.*|/api/docs|/api/openapi\.json"
    r"|/login|/logout"
)

# What whoever looks after the process has to hear, however many ask: it is not counted.
HEALTH = frozenset({"/livez", "/readyz"})
# It once had a request done once, and answered alike for a day.
KEY = "Idempotency-Key"
SIGN_IN = frozenset({"/login", "/logout"})

# What a form has a box each for, so that a browser says it as often as boxes are ticked.
TICKED = {"/simulate": "policies"}

Problem = Callable[[Request, FlexError], Response]


@dataclass(slots=True)
class Asking:
    """The outermost layer. `problem` turns an error into an answer."""

    app: ASGIApp
    gate: Gate
    hosts: Hosts
    rate: Rate
    max_body: int
    problem: Problem
    timing: Timing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        request.state.request_id = request_id = _request_id(request.headers)

        begun = perf_counter()

        async def seal_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                seal(MutableHeaders(scope=message), request_id, scope["path"])
                # Until the answer begins: a stream of events may last for hours. What a caller
                # asked to wait for is no time that the answer took.
                waited: float = getattr(request.state, "waited", 0.0)
                self.timing.took(
                    _route(scope),
                    request.method,
                    message["status"],
                    max(perf_counter() - begun - waited, 0.0),
                )
            await send(message)

        limited = _limit(receive, self.max_body)
        try:
            self.hosts.refuse_others(request.headers, (scope.get("server") or ("",))[0])
            self._refuse_large(request)
            if form_body.is_form(request):
                body = await Request(scope, limited).body()
                request.state.form, limited = (
                    form_body.fields(body),
                    form_body.again(body, limited),
                )
            await self._let_in(request)
        except FlexError as error:
            await self.problem(request, error)(scope, receive, seal_and_send)
            return
        await self.app(scope, limited, seal_and_send)

    def _refuse_large(self, request: Request) -> None:
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.max_body:
            raise too_large(
                self.max_body, f"{int(length)} bytes" if length.isdecimal() else "no length"
            )

    async def _let_in(self, request: Request) -> None:
        """Who asks is on the request from here on. Raises what keeps them out."""
        request.state.caller = None
        proof = form_body.proof(getattr(request.state, "form", {}))
        peer = request.client.host if request.client else ""
        path, at = request.scope["path"], self._address(request, peer)
        if OPEN.fullmatch(path) is None:
            gate_request = AskedOfGate(request.method, peer, request.headers, proof)
            try:
                # A thread costs as much as the rest of a small answer: only the store is worth one.
                known = self.gate.remembers(gate_request)
                who = self.gate.caller
                request.state.caller = (
                    who(gate_request, present())
                    if known
                    else await run_in_threadpool(who, gate_request, present())
                )
            except FlexError:
                # In a bucket of their own: who guesses tokens keeps nobody else at the same address
                # out.
                self._count(f"refused from {at}")
                raise
        if path not in HEALTH:
            self._count(_name(request.state.caller, path, at))
        # Whoever it is, it is counted before what was sent is looked through.
        _refuse_twice(request)
        if request.state.caller is not None:
            _refuse_key(request)

    def _address(self, request: Request, peer: str) -> str:
        auth = self.gate.auth
        forwarded = request.headers.getlist(auth.address_header) if auth.address_header else []
        return client_address.bucket(
            client_address.find_client_address(peer, forwarded, auth.trusted_proxies)
        )

    def _count(self, caller: str) -> None:
        if seconds := self.rate.take(caller):
            raise too_many(seconds, self.rate.each)


def _name(caller: Caller | None, path: str, at: str) -> str:
    """Who is counted. Somebody unknown goes by the address, and there by what is asked for: where
    one of many behind an address asks too often for one thing, the others still sign in.
    """
    if caller and (caller.token or caller.name != ANYBODY):
        return caller.token or caller.name
    kind = "sign-in" if path in SIGN_IN else "open" if OPEN.fullmatch(path) else "unknown"
    return f"{kind} from {at}"


def _route(scope: Scope) -> str:
    """The template of the path: there are few, whatever is asked for."""
    template = getattr(scope.get("route"), "path", "")
    return template if isinstance(template, str) and template else "none"


def _refuse_twice(request: Request) -> None:
    """The framework would take the last of several values and say nothing of the others."""
    ticked = TICKED.get(request.url.path)
    names = Counter(name for name, _ in request.query_params.multi_items() if name != ticked)
    if twice := sorted(name for name, times in names.items() if times > 1):
        raise BadInput(
            f"the parameter {twice[0][:100]!r}",
            "it is there more than once",
            kept="nothing was read or changed",
            advice="give it once",
        )


def _refuse_key(request: Request) -> None:
    """Who counts on a request with a key being done once hears that it would be done again."""
    if request.method == "POST" and KEY in request.headers:
        raise BadInput(
            f"a request with the header {KEY}",
            "answers are not kept for requests that come again",
            advice="leave it out; a change with If-Match is made once, and GET /api/v1/jobs says "
            "what was begun",
        )


def seal(headers: MutableHeaders, request_id: str, path: str) -> None:
    kept = (
        headers.get("ETag") is not None
        and path.startswith("/api/")
        and "Cache-Control" not in headers
    )
    if POLICY not in headers:
        headers[POLICY] = (
            STYLED if headers.get("Content-Type", "").startswith("text/html") else BARE
        )
    for name, value in HEADERS.items():
        if name not in headers:
            headers[name] = KEPT if kept and name == "Cache-Control" else value
    headers[REQUEST_ID] = request_id


def _limit(receive: Receive, most: int) -> Receive:
    """Counts what comes: a body without a length is no way around the limit."""
    seen = 0

    async def receive_limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise too_large(most)
        return message

    return receive_limited


def _request_id(headers: Headers) -> str:
    """The caller's own where it is fit for a log line, else a new one."""
    given = headers.get(REQUEST_ID, "")
    return given if re.fullmatch(r"[A-Za-z0-9._-]{1,64}", given) else uuid.uuid4().hex
