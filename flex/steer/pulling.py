"""A node's files as it gets them: from a folder, from one file, or from a FLEX server, which it asks by what it has.

In goes where from; out come the files by name, once all of them are there to the last byte. What was fetched is noted
beside the files in force, so that a server is heard in full only when something changed. Nothing is told here.
"""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flex.errors import Away, BadInput
from flex.steer import delivery, haproxy

# Beside the files in force: by which tag the server knows which version of them.
FETCHED = ".fetched"
_SCHEMES = ("http://", "https://")
_PATIENCE = 30.0
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
        return self._said(_NODE)

    @property
    def directory(self) -> str:
        """Where HAProxy looks for its maps."""
        return self._said(_DIRECTORY)

    @property
    def socket(self) -> str:
        """By which HAProxy is told, once it goes by these."""
        return self._said(_SOCKET)

    def _said(self, what: re.Pattern[str]) -> str:
        found = what.search(self.files[haproxy.CONFIGURATION])
        return found[1] if found else ""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Nobody else is told the token."""

    def redirect_request(self, *_: object) -> None:
        return None


def pulled(where: str, folder: Path, token: str = "") -> Pulled:
    """`folder` has the files in force, if there are any. Raises Away where a server does not answer, BadInput for what
    are not a node's files.
    """
    if where.startswith(_SCHEMES):
        return _fetched(where, folder, token)
    path = Path(where)
    try:
        found = _of_folder(path) if path.is_dir() else _of_json(_read(path))
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(where, getattr(error, "strerror", None) or "it is not plain text") from error
    return Pulled(_whole(found, where))


def noted(taken: Pulled, folder: Path) -> None:
    """These are in force now. Where that cannot be noted, the server is asked for all of them next time."""
    if not taken.tag:
        return
    with suppress(OSError):
        (folder / FETCHED).write_text(f"{taken.tag} {haproxy.version(taken.files)}\n", encoding="utf-8")


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LONGEST)


def _of_folder(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text("ascii") for name in haproxy.NAMES if (folder / name).exists()}


def _of_json(content: bytes) -> dict[str, str]:
    """As the server answers, or the files alone. Nothing where it is something else."""
    try:
        said: Any = json.loads(content)  # anything at all
    except ValueError:
        return {}
    found = said.get("files", said) if isinstance(said, dict) else None
    if not isinstance(found, dict) or not all(isinstance(text, str) and text.isascii() for text in found.values()):
        return {}
    return found


def _fetched(url: str, folder: Path, token: str) -> Pulled:
    there = _of_folder(folder) if folder.is_dir() else {}
    tag, _, version = (delivery.content(folder / FETCHED) or "").strip().partition(" ")
    has = bool(version) and haproxy.is_whole(there) and haproxy.version(there) == version
    headers = {"Authorization": f"Bearer {token}"} | ({"If-None-Match": tag} if has else {})
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310  the scheme was looked at
        with urllib.request.build_opener(_Stay).open(request, timeout=_PATIENCE) as answer:
            content, tag = answer.read(_LONGEST), answer.headers.get("ETag", "")
    except urllib.error.HTTPError as error:
        with error:
            if error.code == http.HTTPStatus.NOT_MODIFIED and has:
                return Pulled(there, tag)
            raise _silent(url, f"it answered {error.code}: {_reason(error)}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _silent(url, str(getattr(error, "reason", error))) from error
    return Pulled(_whole(_of_json(content), url), tag)


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        said: Any = json.loads(error.read(2**16))  # anything at all
        return str(said["detail"])[:300] if isinstance(said, dict) and "detail" in said else error.reason
    except (OSError, ValueError, http.client.HTTPException):
        return error.reason


def _whole(found: Mapping[str, str], where: str) -> Mapping[str, str]:
    if haproxy.CONFIGURATION not in found or not haproxy.is_whole(found):
        raise _unusable(where, "these are not all files of one version, byte by byte")
    return found


def _unusable(where: str, answer: str) -> BadInput:
    return BadInput(
        f"the files of a node's HAProxy from {where}",
        answer,
        kept="the configuration before is in force",
        advice="give the folder that `flex route deliver` filled, or what GET /api/v1/routing/nodes/NODE answers",
    )


def _silent(url: str, answer: str) -> Away:
    return Away(
        f"fetching the files of a node's HAProxy from {url}",
        answer,
        kept="the configuration before is in force",
        advice="see that the server runs, and that the token is this node's; then do it again",
    )
