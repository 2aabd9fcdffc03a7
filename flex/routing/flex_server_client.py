"""Asks a FLEX server something about this machine's node, with the node's token.

Takes an address, the token, and for how long. Returns the answer, or raises an error in FLEX's
words. An answer that is too long, too slow, from elsewhere or nonsense is an error and changes
nothing. Does not know what is asked for.
"""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from threading import BoundedSemaphore, Thread
from typing import Any
from urllib.parse import urlsplit

from flex import http_without_redirects
from flex.errors import Away, BadInput, Denied, FlexError, Unauthenticated

KEPT = "the configuration before is in force"
AGAIN = "see that the server runs, and do it again"
TRUST = (
    "where that is your own CA, have this machine trust it: SSL_CERT_FILE names a file with its "
    "certificate"
)
# Bytes of an answer. The files of a node with a million names of 253 letters are just below that.
LONGEST = 2**28
# Questions that were given up and whose answer still trickles in. A guess of what nobody notices.
_MOST_GIVEN_UP = 8


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    reason: str
    tag: str
    content: bytes


class Asker:
    """Asks one question after the other, and does not wait for what it gave up."""

    def __init__(self, longest: int = LONGEST) -> None:
        """Takes at most `longest` bytes of an answer."""
        self._room = BoundedSemaphore(_MOST_GIVEN_UP)
        self._longest = longest

    def begin(self, request: urllib.request.Request, patience: float) -> Future[HttpAnswer]:
        """Whoever asks may look after other things meanwhile. Raises Away where too many answers
        have not come to their end.
        """
        if not self._room.acquire(blocking=False):
            raise silent(
                request.full_url, f"{_MOST_GIVEN_UP} of its answers have not come to their end"
            )
        told: Future[HttpAnswer] = Future()
        told.set_running_or_notify_cancel()
        Thread(target=self._ask, args=(request, patience, told), daemon=True).start()
        return told

    def _ask(
        self, request: urllib.request.Request, patience: float, told: Future[HttpAnswer]
    ) -> None:
        try:
            _ask(request, patience, told, self._longest)
        finally:
            self._room.release()


def wait_for_answer(url: str, told: Future[HttpAnswer], patience: float) -> HttpAnswer:
    """What was begun. Raises Away where it does not come in this time."""
    try:
        return told.result(patience)
    except TimeoutError as error:
        raise silent(url, f"its answer was not whole after {patience:g} s") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        distrusted = isinstance(reason, ssl.SSLCertVerificationError)
        advice = TRUST if distrusted else AGAIN
        raise silent(url, printable(str(reason)), advice) from error


def request(
    url: str, token: str, tag: str = "", body: bytes | None = None
) -> urllib.request.Request:
    """With the tag of what is known already, or with JSON that is told.

    Raises BadInput for an address that is none, and for a token that no request can carry, which is
    not repeated.
    """
    try:
        parts = urlsplit(url)
        if not (
            parts.hostname
            and url.isascii()
            and url.isprintable()
            and " " not in url
            and parts.port != 0
        ):
            raise ValueError
        parts.hostname.encode("idna")
    except ValueError as error:
        raise unusable(url, "it is no address of a server") from error
    if not (token.isascii() and token.isprintable()):
        raise unusable(url, "the token is not one line of plain text")
    headers = {"Authorization": f"Bearer {token}"} | ({"If-None-Match": tag} if tag else {})
    if body is not None:
        headers["Content-Type"] = "application/json"
    return urllib.request.Request(url, body, headers)  # noqa: S310  the scheme was looked at


def _ask(
    request: urllib.request.Request, patience: float, told: Future[HttpAnswer], longest: int
) -> None:
    try:
        with http_without_redirects.answer(request, patience) as answer:
            content = answer.read(longest + 1)
            if len(content) > longest:
                said = f"its answer has more than {longest} bytes, which is no node's files"
                raise unusable(request.full_url, said)
            told.set_result(HttpAnswer(answer.status, "", answer.headers.get("ETag", ""), content))
    except urllib.error.HTTPError as error:
        with error:
            told.set_result(
                HttpAnswer(
                    error.code,
                    http_without_redirects.elsewhere(error) or error.reason,
                    "",
                    _rest(error),
                )
            )
    except (OSError, ValueError, http.client.HTTPException, BadInput) as error:
        told.set_exception(error)


def _rest(error: urllib.error.HTTPError) -> bytes:
    """Why it refuses, where that comes."""
    try:
        return error.read(2**16)
    except (OSError, http.client.HTTPException):
        return b""


def parse(content: bytes) -> Any:  # anything at all
    """None where it is not JSON, or is nested too deeply."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def printable(text: str) -> str:
    """As much of what a stranger says as can be shown."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:300])


def unusable(where: str, answer: str) -> BadInput:
    return BadInput(
        f"the files of a node's HAProxy from {printable(where)}",
        answer,
        kept=KEPT,
        advice="give the folder that `flex route deliver` filled, or what GET "
        "/api/v1/routing/nodes/NODE answers",
    )


def refusal(url: str, answer: HttpAnswer) -> FlexError:
    body = parse(answer.content)
    reason = body["detail"] if isinstance(body, dict) and "detail" in body else answer.reason
    words = f"it answered {answer.status}: {printable(str(reason))}"
    if answer.status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return silent(url, words)
    kind = Unauthenticated if answer.status == HTTPStatus.UNAUTHORIZED else Denied
    return kind(
        _fetching(url), words, kept=KEPT, advice="give the token of this node: --token-file"
    )


def silent(url: str, answer: str, advice: str = AGAIN) -> Away:
    return Away(_fetching(url), answer, kept=KEPT, advice=advice)


def _fetching(url: str) -> str:
    return f"fetching the files of a node's HAProxy from {printable(url)}"
