"""Who may do what: roles, and the tokens that carry them.

A token's secret is 256 random bits. Nobody but its owner keeps it: the store has its SHA-256, which is enough to know
it again and useless for coming in. A slow hash would protect secrets that people choose, and these are not chosen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

Role = Literal["viewer", "operator", "approver", "admin"]

# Each may do all that those before it may.
ROLES: tuple[Role, ...] = get_args(Role)

# So that a secret in a log or a commit is known for what it is.
PREFIX = "flex_"


@dataclass(frozen=True, slots=True)
class Token:
    """`parent` is the token that a browser's session was opened with; revoking it ends the session too."""

    id: str
    name: str
    role: Role
    digest: str
    author: str
    created: datetime
    expires: datetime | None = None
    last_used: datetime | None = None
    revoked: datetime | None = None
    parent: str = ""

    def holds(self, now: datetime) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)


def reaches(role: Role, needed: Role) -> bool:
    """Whether who has the one role may do what takes the other."""
    return ROLES.index(role) >= ROLES.index(needed)


def caller_of(token: Token) -> str:
    """What its owner is called in the record."""
    return f"token:{token.name}"


def one_person(name: str, tokens: Iterable[Token]) -> frozenset[str]:
    """Who may all be the same: somebody, and every token that he made, or that one of these made."""
    names, left = {name}, list(tokens)
    while made := [token for token in left if token.author in names]:
        names.update(map(caller_of, made))
        left = [token for token in left if token not in made]
    return frozenset(names)


def secret_of(random: bytes) -> str:
    """What the owner keeps, of 32 random bytes."""
    assert len(random) == 32, "256 bits"
    return PREFIX + random.hex()


def digest_of(secret: str) -> str:
    """What we keep of it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
