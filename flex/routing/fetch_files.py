"""Gets a node's files from a folder, from one file, or from a FLEX server.

Takes where to get them from. Returns the files by name, and only when all of them are complete.
What was fetched is noted beside the files in force, and the server is told it. So the server sends
the files only when something changed. Does not tell HAProxy.
"""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from flex import http_without_redirects
from flex.errors import Away, BadInput, Denied, FlexError, Unauthenticated
from flex.routing import haproxy, install_files

# Beside the files in force: by which tag the server knows which version of them.
FETCHED = ".fetched"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCHEMES = ("http", "https")
# For the whole of an answer.
_PATIENCE = 30.0
_KEPT = "the configuration before is in force"
_LONGEST = 2**26
_NODE = re.compile(r"^    node (\S+)$", re.MULTILINE)
_DIRECTORY = re.compile(rf"map_str\((\S+)/{re.escape(haproxy.HOSTS)}\)")
_SOCKET = re.compile(r"^    stats socket (\S+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pulled:
    """Files, and the server's tag of them; "" where no server was asked."""

    files: Mapping[str, str]
    tag: str = ""

    @property
    def node(self) -> str:
        return self._sentence(_NODE)

    @property
    def directory(self) -> str:
        """Where HAProxy looks for its maps."""
        return self._sentence(_DIRECTORY)

    @property
    def socket(self) -> str:
        """The socket of HAProxy in these files."""
        return self._sentence(_SOCKET)

    def _sentence(self, what: re.Pattern[str]) -> str:
        found = what.search(self.files[haproxy.CONFIGURATION])
        return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    reason: str
    tag: str
    content: bytes


def pull(
    where: str, folder: Path, token: str = "", patience: float = _PATIENCE
) -> Pulled:
    """`folder` has the files in force, if there are any. Raises Away where a server does not answer
    within `patience` seconds, Denied where the server does not accept the token, and BadInput where
    the answer is not a node's files.
    """
    if scheme := _SCHEME.match(where):
        if scheme[1].lower() not in _SCHEMES:
            raise _unusable(where, f"{scheme[0]} is no way to ask a FLEX server")
        return _fetch(where, folder, token, patience)
    path = Path(where)
    try:
        found = _of_folder(path) if path.is_dir() else _of_json(_read(path))
    except (OSError, ValueError) as error:
        raise _unusable(
            where, getattr(error, "strerror", None) or "it is not plain text"
        ) from error
    return Pulled(_whole(found, where))


def in_force(folder: Path) -> Pulled | None:
    """The files in the folder, None where FLEX did not write them."""
    try:
        found = _of_folder(folder)
    except (OSError, UnicodeDecodeError):
        return None
    return (
        Pulled(found)
        if haproxy.is_whole(found) and haproxy.CONFIGURATION in found
        else None
    )


def note_in_force(taken: Pulled, folder: Path) -> None:
    """These are in force now. Where that cannot be noted, the server is asked for all of them next
    time.
    """
    if not taken.tag:
        return
    with suppress(OSError):
        (folder / FETCHED).write_text(
            f"{taken.tag} {haproxy.version(taken.files)}\n", encoding="utf-8"
        )


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LONGEST)


def _of_folder(folder: Path) -> dict[str, str]:
    return {
        name: (folder / name).read_text("ascii")
        for name in haproxy.NAMES
        if (folder / name).exists()
    }


def _of_json(content: bytes) -> dict[str, str]:
    """As the server answers, or the files alone. Nothing where it is something else."""
    said = _parse(content)
    found = said.get("files", said) if isinstance(said, dict) else None
    if not isinstance(found, dict) or not all(
        isinstance(text, str) and text.isascii() for text in found.values()
    ):
        return {}
    return found


def _parse(content: bytes) -> Any:  # anything at all
    """None where it is not JSON, or is nested too deeply."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _fetch(url: str, folder: Path, token: str, patience: float) -> Pulled:
    there = in_force(folder)
    tag, _, version = (
        (install_files.content(folder / FETCHED) or "").strip().partition(" ")
    )
    has = (
        bool(version) and there is not None and haproxy.version(there.files) == version
    )
    answer = _ask_in_time(url, _request(url, token, tag if has else ""), patience)
    if answer.status == HTTPStatus.NOT_MODIFIED and has and there:
        return Pulled(there.files, tag)
    if answer.status != HTTPStatus.OK:
        raise _refusal(url, answer)
    return Pulled(_whole(_of_json(answer.content), url), answer.tag)


def _request(url: str, token: str, tag: str) -> urllib.request.Request:
    """Raises BadInput for an address that is none, and for a token that no request can carry, which
    is not repeated.
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
        raise _unusable(url, "it is no address of a server") from error
    if not (token.isascii() and token.isprintable()):
        raise _unusable(url, "the token is not one line of plain text")
    headers = {"Authorization": f"Bearer {token}"} | (
        {"If-None-Match": tag} if tag else {}
    )
    return urllib.request.Request(url, headers=headers)  # noqa: S310  the scheme was looked at


def _ask_in_time(url: str, request: urllib.request.Request, patience: float) -> _Answer:
    """However little of it comes at a time: whoever asks is left to himself once the time is
    over.
    """
    told: Future[_Answer] = Future()
    Thread(target=_ask, args=(request, patience, told), daemon=True).start()
    try:
        return told.result(patience)
    except TimeoutError as error:
        raise _silent(url, f"its answer was not whole after {patience:g} s") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _silent(url, _shown_text(str(getattr(error, "reason", error)))) from error


def _ask(
    request: urllib.request.Request, patience: float, told: Future[_Answer]
) -> None:
    try:
        with http_without_redirects.answer(request, patience) as answer:
            told.set_result(
                _Answer(
                    answer.status,
                    "",
                    answer.headers.get("ETag", ""),
                    answer.read(_LONGEST),
                )
            )
    except urllib.error.HTTPError as error:
        with error:
            told.set_result(
                _Answer(
                    error.code,
                    http_without_redirects.elsewhere(error) or error.reason,
                    "",
                    _rest(error),
                )
            )
    except (OSError, ValueError, http.client.HTTPException) as error:
        told.set_exception(error)


def _rest(error: urllib.error.HTTPError) -> bytes:
    """Why it refuses, where that comes."""
    try:
        return error.read(2**16)
    except (OSError, http.client.HTTPException):
        return b""


def _shown_text(text: str) -> str:
    """As much of what a stranger says as can be shown."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:300])


def _whole(found: Mapping[str, str], where: str) -> Mapping[str, str]:
    if haproxy.CONFIGURATION not in found or not haproxy.is_whole(found):
        raise _unusable(where, "these are not all files of one version, byte by byte")
    return found


def _unusable(where: str, answer: str) -> BadInput:
    return BadInput(
        f"the files of a node's HAProxy from {_shown_text(where)}",
        answer,
        kept=_KEPT,
        advice="give the folder that `flex route deliver` filled, or what GET "
        "/api/v1/routing/nodes/NODE answers",
    )


def _refusal(url: str, answer: _Answer) -> FlexError:
    said = _parse(answer.content)
    reason = (
        said["detail"] if isinstance(said, dict) and "detail" in said else answer.reason
    )
    words = f"it answered {answer.status}: {_shown_text(str(reason))}"
    if answer.status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return _silent(url, words)
    kind = Unauthenticated if answer.status == HTTPStatus.UNAUTHORIZED else Denied
    return kind(
        _fetching(url),
        words,
        kept=_KEPT,
        advice="give the token of this node: --token-file",
    )


def _silent(url: str, answer: str) -> Away:
    return Away(
        _fetching(url),
        answer,
        kept=_KEPT,
        advice="see that the server runs, and do it again",
    )


def _fetching(url: str) -> str:
    return f"fetching the files of a node's HAProxy from {_shown_text(url)}"
