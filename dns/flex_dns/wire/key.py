"""TSIG keys: made, read from a file, and never shown.

Takes a file in BIND's own syntax, or one that holds only the secret. Returns a Key. Does not accept
keys that any user of the machine can read, that are too short, or that sign with a broken hash.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import dns.name
import dns.tsig

from flex.errors import BadSetting

ALGORITHMS = ("hmac-sha256", "hmac-sha384", "hmac-sha512")
# Bytes that a secret has at least: 128 bits. A guess.
LEAST_BYTES = 16
NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?")
BARE = re.compile(r"[A-Za-z0-9+/\s]+=*\s*")
# A quoted string comes first: two slashes inside a secret start no comment.
WORD = re.compile(r'"[^"]*"|/\*.*?\*/|//[^\n]*|#[^\n]*|[{};]|[^\s{};"]+', re.DOTALL)


@dataclass(frozen=True, slots=True, repr=False)
class Key:
    """A shared secret and its name. The secret is base64, as BIND writes it."""

    name: str
    secret: str
    algorithm: str = "hmac-sha256"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.lower().rstrip("."))
        if not NAME.fullmatch(self.name):
            raise _unusable(self, "a key's name is made of letters, digits, dots and dashes")
        if self.algorithm not in ALGORITHMS:
            raise _unusable(self, f"{self.algorithm} is not one of {', '.join(ALGORITHMS)}")
        if len(_decode(self)) < LEAST_BYTES:
            raise _unusable(self, f"its secret is shorter than {LEAST_BYTES} bytes")

    def __repr__(self) -> str:
        return f"Key(name={self.name!r}, secret='***', algorithm={self.algorithm!r})"

    def signer(self) -> dns.tsig.Key:
        """The key as dnspython wants it."""
        return _Masked(
            dns.name.from_text(self.name), _decode(self), dns.name.from_text(self.algorithm)
        )

    def clause(self) -> str:
        """The key as named.conf has it. This is the one text that shows the secret."""
        return (
            f'key "{self.name}" {{\n  algorithm {self.algorithm};\n  secret "{self.secret}";\n}};\n'
        )


class _Masked(dns.tsig.Key):
    """dnspython's own repr shows the secret, and tracebacks can show any repr."""

    def __repr__(self) -> str:
        return f"<DNS key name='{self.name}'>"


def make_key(name: str) -> Key:
    return Key(name, base64.b64encode(secrets.token_bytes(32)).decode())


def read_key(path: Path, name: str = "") -> Key:
    """The key in the file; where it holds several, the one of that name. Raises BadSetting.

    A file with nothing but a secret needs the name.
    """
    text = _private_text(path)
    if name and BARE.fullmatch(text):
        return Key(name, "".join(text.split()))
    keys = list(_keys(text))
    wanted = name.lower().rstrip(".")
    fitting = [key for key in keys if not wanted or key.name == wanted]
    if len(fitting) == 1:
        return fitting[0]
    held = ", ".join(key.name for key in keys) or "no key at all"
    raise BadSetting(
        f"the TSIG key {name or 'of the name server'} in {path}",
        f"the file holds {held}",
        kept="nothing was sent",
        advice="make the file with `tsig-keygen flex`, or name one of the keys it holds",
    )


def read_keys(path: Path) -> tuple[Key, ...]:
    """All keys in the file, in order: two while one takes the place of the other. Raises
    BadSetting.
    """
    keys = tuple(_keys(_private_text(path)))
    return keys or (read_key(path),)


def _private_text(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            _refuse_open_doors(path, os.fstat(file.fileno()).st_mode)
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise BadSetting(
            f"reading the TSIG key in {path}",
            str(reason),
            kept="nothing was sent",
            advice="check the path, and that this user may read it",
        ) from error


def _refuse_open_doors(path: Path, mode: int) -> None:
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise BadSetting(
            f"reading the TSIG key in {path}",
            f"its mode {stat.S_IMODE(mode):o} lets other users read or change it",
            kept="nothing was sent",
            advice=f"chmod 640 {path}, and make a new key if others have used this machine",
        )


def _keys(text: str) -> Iterator[Key]:
    words = [
        word.strip('"') for word in WORD.findall(text) if not word.startswith(("#", "//", "/*"))
    ]
    for at, word in enumerate(words):
        if word == "key" and words[at + 2 : at + 3] == ["{"] and "}" in words[at:]:
            body = words[at + 3 : words.index("}", at)]
            yield Key(
                words[at + 1], _word_after("secret", body), _word_after("algorithm", body).lower()
            )


def _word_after(word: str, words: list[str]) -> str:
    return next((value for previous, value in pairwise(words) if previous == word), "")


def _decode(key: Key) -> bytes:
    try:
        return base64.b64decode(key.secret, validate=True)
    except (binascii.Error, ValueError):
        # Without a cause: what cannot be decoded could still be most of the secret.
        raise _unusable(key, "its secret is not base64") from None


def _unusable(key: Key, why: str) -> BadSetting:
    return BadSetting(
        f"using the TSIG key {key.name}",
        why,
        kept="nothing was sent",
        advice="make a new one with `tsig-keygen flex` and give it to the name server as well",
    )
