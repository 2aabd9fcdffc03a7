"""The client of the FLEX server that `--server` names, with the token of `--token-file`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flex.errors import BadInput
from flex_api import client

if TYPE_CHECKING:
    from flex_api.client import Client


def client_of(server: str, token_file: Path | None) -> Client:
    """Raises BadInput for an address that is none, and for a file that holds no token."""
    return client.client(server, _token(token_file))


def _token(path: Path | None) -> str:
    """Never an argument: those are seen by everybody on the machine. Raises BadInput."""
    if path is None:
        raise _bad(
            "--server without --token-file",
            "nobody would know who asks",
            "name the file with the token",
        )
    return token_in(path)


def token_in(path: Path) -> str:
    """Raises BadInput where there is none, or more than that; what is there is never repeated."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        answer = getattr(error, "strerror", None) or "it is not plain text"
        raise _bad(
            f"--token-file {path}", answer, "put the token there, readable for you alone"
        ) from error
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise _bad(
            f"--token-file {path}",
            "it holds more than a token",
            "put the token there, and nothing else",
        )
    return token


def _bad(subject: str, answer: str, advice: str) -> BadInput:
    return BadInput(subject, answer, kept="nothing was asked", advice=advice)
