"""Who may do what: roles, and the tokens that carry them.

A token's secret is 256 random bits. Nobody but its owner keeps it: the store has its SHA-256, which
is enough to know it again and useless for coming in. A slow hash would protect secrets that people
choose, and these are not chosen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, get_args

Role = Literal["viewer", "operator", "approver", "admin"]

# Each may do all that those before it may.
ROLES: tuple[Role, ...] = get_args(Role)

# So that a secret in a log or a commit is known for what it is.
PREFIX = "flex_"

# How those are called who come in from elsewhere.
REMOTE = ("token:", "sso:")


@dataclass(frozen=True, slots=True)
class Token:
    """`parent` is the token that a browser's session was opened with: the session ends with it."""

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


def limit_session(session: Token, parent: Token | None) -> Token | None:
    """What a session opens now: what its token does, and no longer than that. None where the token
    is gone.
    """
    if parent is None:
        return None
    return replace(
        session,
        role=min(session.role, parent.role, key=ROLES.index),
        expires=min((end for end in (session.expires, parent.expires) if end), default=None),
        revoked=session.revoked or parent.revoked,
    )


def caller_of(token: Token) -> str:
    """What its owner is called in the record."""
    return f"token:{token.name}"


def one_person(name: str, tokens: Iterable[Token]) -> frozenset[str]:
    """The names that may all be the same person: this one, the authors of its token, and every
    token that any of these made.

    The author of a token sees its secret, and could use it. Somebody who makes tokens on the server
    makes them for everybody, so two of those tokens count as two people.
    """
    token_authors = [(caller_of(token), token.author) for token in tokens]
    above = _all_reached_from({name}, token_authors)
    shared = {caller for caller in above if caller == name or caller.startswith(REMOTE)}
    return above | _all_reached_from(shared, [(author, token) for token, author in token_authors])


def _all_reached_from(names: Set[str], steps: Sequence[tuple[str, str]]) -> frozenset[str]:
    """These, and whatever leads on from them."""
    reached, left = set(names), list(steps)
    while next_steps := [step for step in left if step[0] in reached]:
        reached.update(after for _, after in next_steps)
        left = [step for step in left if step not in next_steps]
    return frozenset(reached)


def secret_of(random: bytes) -> str:
    """What the owner keeps, of 32 random bytes."""
    assert len(random) == 32, "256 bits"
    return PREFIX + random.hex()


def digest_of(secret: str) -> str:
    """What we keep of it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
