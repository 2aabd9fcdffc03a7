"""Asks one web server one question: a GET for a host name and a path, at an address that is given.

Takes where the web server is, the question, and a moment until which the answer must have come
whole. Returns what it answered, or why there is no answer. Follows no redirect, asks for no
compression, keeps no more of an answer than its head: whatever is sent, memory stays bounded. Does
not judge the answer.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import re
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from flex_api.moving.trust_in_certificates import Trust, Untrusted, begin_tls

Clock = Callable[[], float]
Found = TypeVar("Found")

# In the PROXY protocol: a connection of nobody but its sender.
LOCAL = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"
# Bytes of an answer that are read at a time. A guess.
_PART = 2**16
# Bytes of the lines before the content, and around its chunks, at most. http.client takes 100 lines
# of 64 KiB; a web server that sends more than this is none.
_HEAD = 2**18
# Of the beginning of an answer so much is kept: a time stands there, where one is asked for.
_BEGINNING = 200
# Letters of what came that are shown.
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class At:
    """Where a web server is. One that is `proxied` wants the PROXY protocol; `trust` says whose
    certificates count, and None that it speaks plain HTTP.
    """

    node: str
    address: str
    port: int
    proxied: bool = False
    trust: Trust | None = None

    @property
    def scheme(self) -> str:
        return "http" if self.trust is None else "https"

    def __str__(self) -> str:
        shown = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.node} ({shown} port {self.port})"


@dataclass(frozen=True, slots=True)
class Question:
    """`texts` are looked for in the answer, of which `largest` bytes are read."""

    host: str
    path: str
    texts: tuple[bytes, ...] = ()
    largest: int = 2**22

    def url(self, scheme: str) -> str:
        return f"{scheme}://{self.host}{self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """`length` counts the bytes that came; without `whole` there would have been more. `found` are
    those of the texts that are in it. `modified` and `stamp` are the times of its head and content.
    """

    status: int
    location: str
    kind: str
    length: int
    digest: str
    whole: bool = True
    found: frozenset[bytes] = frozenset()
    modified: datetime | None = None
    stamp: datetime | None = None
    days_left: float | None = None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why. What is wrong with a certificate is told apart, and so is that nobody listens: where
    it is so on the old node, too, nothing gets worse.
    """

    why: str
    of_certificate: bool = False
    is_closed: bool = False


class _TooMuch(Exception):
    """More lines than any web server sends."""


def ask(
    at: At, question: Question, until: float, clock: Clock, patience: float
) -> Answer | NoAnswer:
    """All of it by then. `patience` is what is said of an answer that did not come in time."""

    def answer() -> Answer:
        connected, days_left = _begin(at, question.host, until, clock)
        with closing(connected):
            return _ask(connected, question, until, clock, days_left)

    return _or_why_not(answer, patience)


def look_at_certificate(
    at: At, host: str, until: float, clock: Clock, patience: float
) -> float | NoAnswer:
    """For how many days the certificate that is shown for this name is valid yet."""

    def days() -> float:
        connected, days_left = _begin(at, host, until, clock)
        connected.close()
        return days_left or 0.0

    return _or_why_not(days, patience)


def _or_why_not(attempt: Callable[[], Found], patience: float) -> Found | NoAnswer:
    try:
        return attempt()
    except Untrusted as error:
        return NoAnswer(error.why, of_certificate=True)
    except TimeoutError:
        return NoAnswer(f"it did not answer whole within {patience:g} s")
    except ConnectionRefusedError:
        return NoAnswer("nobody listens there", is_closed=True)
    except (ConnectionError, http.client.RemoteDisconnected, ssl.SSLEOFError):
        return NoAnswer("it broke the connection off")
    except _TooMuch:
        return NoAnswer("it sends more around its content than a web server does")
    except http.client.IncompleteRead:
        return NoAnswer("its answer was cut short")
    except ssl.SSLError as error:
        return NoAnswer(f"it does not speak TLS: {_printable(error.reason or str(error))}")
    except (http.client.HTTPException, ValueError) as error:
        return NoAnswer(f"what it sent is no HTTP: {_printable(str(error))}")
    except OSError as error:
        return NoAnswer(_printable(error.strerror or str(error)))


def _begin(at: At, host: str, until: float, clock: Clock) -> tuple[socket.socket, float | None]:
    def connect() -> socket.socket:
        return _connect(at, until, clock)

    if at.trust is None:
        return connect(), None
    return begin_tls(connect, host, at.trust, lambda: _seconds_left(until, clock))


def _connect(at: At, until: float, clock: Clock) -> socket.socket:
    connected = socket.create_connection((at.address, at.port), timeout=_seconds_left(until, clock))
    try:
        if at.proxied:
            connected.sendall(LOCAL)
    except BaseException:
        connected.close()
        raise
    return connected


def _seconds_left(until: float, clock: Clock) -> float:
    """Raises TimeoutError where no time is left."""
    left = until - clock()
    if left <= 0:
        raise TimeoutError
    return left


def _ask(
    connected: socket.socket,
    question: Question,
    until: float,
    clock: Clock,
    days_left: float | None,
) -> Answer:
    connected.settimeout(_seconds_left(until, clock))
    connected.sendall(_request(question))
    bounded = _Bounded(connected, until, clock)
    # Any other kind of file would do: of a socket http.client asks for nothing but a file.
    with closing(http.client.HTTPResponse(_Filed(bounded), method="GET")) as answer:  # type: ignore[arg-type]
        answer.begin()
        return _read(answer, bounded, question, days_left)


def _request(question: Question) -> bytes:
    lines = (
        f"GET {question.path} HTTP/1.1",
        f"Host: {question.host}",
        "User-Agent: flex-ready",
        "Accept: */*",
        "Accept-Encoding: identity",
        "Connection: close",
    )
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("ascii")


class _Bounded(io.RawIOBase):
    """What a socket sends, until a moment, and so many bytes at most."""

    def __init__(self, connected: socket.socket, until: float, clock: Clock) -> None:
        super().__init__()
        self._connected, self._until, self._clock = connected, until, clock
        self.allowed = _HEAD

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any buffer
        if self.allowed <= 0:
            raise _TooMuch
        self._connected.settimeout(_seconds_left(self._until, self._clock))
        count = self._connected.recv_into(memoryview(buffer)[: self.allowed])
        self.allowed -= count
        return count


class _Filed:
    """As http.client wants it."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(self._raw)


def _read(
    answer: http.client.HTTPResponse, bounded: _Bounded, question: Question, days_left: float | None
) -> Answer:
    # What is around chunks counts as head: a web server that sends ever smaller ones is cut off.
    bounded.allowed = 2 * question.largest + _HEAD
    content = _Content(question.texts)
    while content.length <= question.largest and (part := answer.read1(_PART)):
        content.take(part)
    whole = content.length <= question.largest
    promised = answer.length
    if whole and promised:
        raise http.client.IncompleteRead(b"", promised)
    return Answer(
        status=answer.status,
        location=_header(answer, "Location"),
        kind=_header(answer, "Content-Type").partition(";")[0].strip().lower(),
        length=content.length,
        digest=content.digest.hexdigest(),
        whole=whole,
        found=frozenset(content.found),
        modified=_parse_http_date(_header(answer, "Last-Modified")),
        stamp=_parse_content_time(content.beginning),
        days_left=days_left,
    )


def _header(answer: http.client.HTTPResponse, name: str) -> str:
    return str(answer.headers.get(name, ""))


class _Content:
    """What is known of an answer's content while it passes by."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.length = 0
        self.beginning = b""
        self.digest = hashlib.sha256()
        self.found: set[bytes] = set()
        self._texts = set(texts)
        self._longest = max(map(len, texts), default=0)
        self._end = b""

    def take(self, part: bytes) -> None:
        self.length += len(part)
        self.beginning = (self.beginning + part[:_BEGINNING])[:_BEGINNING]
        self.digest.update(part)
        if self._texts:
            # A text may begin in one part and end in the next.
            seen = self._end + part
            self.found |= {text for text in self._texts - self.found if text in seen}
            self._end = seen[-self._longest :]


def _parse_http_date(header: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse_content_time(beginning: bytes) -> datetime | None:
    """A time that the content consists of: seconds since 1970, or as ISO 8601 or a head writes
    it.
    """
    text = beginning.decode("ascii", "replace").strip()
    try:
        if re.fullmatch(r"[0-9]{9,11}(\.[0-9]{1,9})?", text):
            return datetime.fromtimestamp(float(text), UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return _parse_http_date(text) if text else None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _printable(text: str) -> str:
    """What others sent, as part of a sentence."""
    letters = (letter if letter.isprintable() else "?" for letter in text[:_SHOWN])
    return "".join(letters) or "nothing that could be read"
