"""Who asks: a bearer token, a browser's session, or a proxy that names its user.

Takes a request. Returns a Caller, or raises Unauthenticated. What the store said of a token is
believed for a second. A revoked token ends at once in the process that revoked it, and a second
later in all others.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.cookies import CookieError, SimpleCookie

from flex.errors import Denied, Unauthenticated
from flex.model.roles_and_tokens import Token, caller_of, digest_of, limit_session
from flex.store import Store
from flex_api.manage_tokens import Caller
from flex_api.settings.api import Auth
from flex_api.web.client_address import is_trusted

COOKIE = "flex_session"
CSRF = "X-CSRF-Token"
# What who shows no token is called, where that is enough.
ANYBODY = "anybody"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# What a form of any page can send to any site, as the HTML standard has it.
SENT_BY_FORMS = frozenset(
    {"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}
)

# Seconds for which the store's answer about a token is believed. A guess: a revoked token stays
# valid no longer than this.
TRUST = 1.0
# Tokens that are remembered at a time. A guess.
MOST = 10_000
# The use of a token is stored once in this time at most. A guess.
USED = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class AskedOfGate:
    """What of a request says who asks. `proof` is what a form brings in place of the header of that
    name.
    """

    method: str
    peer: str
    headers: Mapping[str, str]
    proof: str = ""


@dataclass(slots=True)
class Gate:
    auth: Auth
    store: Store
    ticks: Callable[[], float] = time.monotonic
    known: dict[str, tuple[float, Token | None]] = field(default_factory=dict)

    def caller(self, request: AskedOfGate, now: datetime) -> Caller | None:
        """None where the request names no caller. Raises Unauthenticated where it names one and
        does not prove it.
        """
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme:
            return self._caller_by_token(secret.strip() if scheme.lower() == "bearer" else "", now)
        session = cookie(request.headers.get("cookie", ""))
        if session:
            return self._caller_by_session(request, session, now)
        caller = self._caller_by_proxy(request) or self._anybody()
        # Nothing secret came with the request, so the browser of whoever is looked after by a
        # proxy, or of anybody, sends it for any page. A change must come from our own pages, or
        # from a program.
        if caller and request.method not in SAFE and may_be_foreign(request.headers):
            raise forged_error("another site's page may have asked for the change")
        return caller

    def remembers(self, request: AskedOfGate) -> bool:
        """Whether the store need not be asked for this one."""
        secret = request.headers.get("authorization", "").partition(" ")[2].strip() or cookie(
            request.headers.get("cookie", "")
        )
        told, _ = (
            self.known.get(digest_of(secret), (float("-inf"), None))
            if secret
            else (float("inf"), None)
        )
        # Asked a little sooner than it must be, so that it is still so when it is looked at.
        return self.ticks() - told < TRUST * 0.9

    def forget(self) -> None:
        self.known.clear()

    def _caller_by_token(self, secret: str, now: datetime) -> Caller:
        token = self._token(secret, now)
        if token is None or token.parent:
            raise unauthenticated_error("the token is not known, or it has expired or was revoked")
        return Caller(caller_of(token), token.role, token.id)

    def _caller_by_session(self, request: AskedOfGate, secret: str, now: datetime) -> Caller | None:
        token = self._token(secret, now)
        if token is None or not token.parent:
            return self._anybody() if request.method in SAFE else None
        shown = request.headers.get(CSRF.lower(), "") or request.proof
        if request.method not in SAFE and not hmac.compare_digest(
            shown.encode(), csrf_of(secret).encode()
        ):
            raise forged_error(f"a session's change must carry the {CSRF} of its page")
        return Caller(caller_of(token), token.role, token.id)

    def _caller_by_proxy(self, request: AskedOfGate) -> Caller | None:
        name = (
            request.headers.get(self.auth.proxy_header.lower(), "")
            if self.auth.proxy_header
            else ""
        )
        if not name or not is_trusted(request.peer, self.auth.trusted_proxies):
            return None
        return Caller(f"sso:{name[:200]}", self.auth.users.get(name, self.auth.proxy_role))

    def _anybody(self) -> Caller | None:
        return Caller(ANYBODY, self.auth.anonymous) if self.auth.anonymous else None

    def _token(self, secret: str, now: datetime) -> Token | None:
        digest, moment = digest_of(secret), self.ticks()
        asked_at, token = self.known.get(digest, (float("-inf"), None))
        if moment - asked_at > TRUST:
            token = self._stored_token(digest)
            if len(self.known) >= MOST:
                self.forget()
            self.known[digest] = (moment, token)
            if (
                token
                and token.holds(now)
                and (token.last_used is None or now - token.last_used > USED)
            ):
                self.store.use_token(token.id, now)
        return token if token and token.holds(now) else None

    def _stored_token(self, digest: str) -> Token | None:
        """As the store has it; of a session what its token leaves of it."""
        token = self.store.token_of(digest)
        return (
            limit_session(token, self.store.token(token.parent))
            if token and token.parent
            else token
        )


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a page of another site asks. Over plain http browsers say no more than where their
    page is from.
    """
    if site := headers.get("sec-fetch-site", ""):
        return site not in ("same-origin", "none")
    origin = headers.get("origin", "") or headers.get("referer", "")
    ours = {headers.get("host", ""), headers.get("x-forwarded-host", "")}
    return bool(origin) and (origin.partition("://")[2].partition("/")[0] or "null") not in ours


def may_be_foreign(headers: Mapping[str, str]) -> bool:
    """The same, also of a form that says nothing of where it comes from: a page may send those
    three kinds anywhere, and anything else only after the browser has asked us, with the page's
    origin.
    """
    silent = not any(headers.get(name, "") for name in ("sec-fetch-site", "origin", "referer"))
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return is_foreign(headers) or (silent and kind in SENT_BY_FORMS)


def cookie(header: str) -> str:
    try:
        morsel = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def csrf_of(secret: str) -> str:
    """What a page of this session carries and no other site can know."""
    return hmac.new(secret.encode(), b"csrf", hashlib.sha256).hexdigest()


def unauthenticated_error(answer: str) -> Unauthenticated:
    return Unauthenticated(
        "finding out who asks",
        answer,
        kept="nothing was read or changed",
        advice="send `Authorization: Bearer TOKEN`; `flex token create` on the server makes one",
    )


def forged_error(answer: str) -> Denied:
    return Denied(
        "a change from a browser",
        answer,
        advice="in a browser, go back to the page of FLEX and reload it; a program "
        "shows a token, or sends JSON",
    )


def present() -> datetime:
    return datetime.now(UTC)
