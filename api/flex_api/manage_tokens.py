"""Tokens are made, listed and revoked here, for the command line and the API alike.

Nobody gives a role above their own, and nobody revokes a token of a role above their own.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from flex.errors import BadInput, Denied, Unknown
from flex.model.roles_and_tokens import ROLES, Role, Token, digest_of, reaches, secret_of
from flex.store import Store

# How long a browser's session lasts. A guess.
SESSION = timedelta(hours=12)
# How long a token is valid for which nobody said an end. A guess.
USUAL = timedelta(days=365)

# What the names of tokens of nodes begin with.
NODE = "node@"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what they may do. `token` is empty for who is known in another way."""

    name: str
    role: Role
    token: str = ""

    @property
    def node(self) -> str:
        """Whose token it is, where it is a node's: that fetches its own files and does nothing
        else.
        """
        _, prefix, node = self.name.partition(f"token:{NODE}")
        return node if prefix else ""

    def may(self, needed: Role) -> bool:
        return not self.node and reaches(self.role, needed)


def refuse_below(caller: Caller, needed: Role, doing: str) -> None:
    """Raises Denied where the caller's role does not reach so far."""
    if caller.node:
        raise Denied(
            doing,
            f"{caller.name} is for the files of {caller.node} alone",
            advice=f"show a token whose name does not begin with {NODE}",
        )
    if not caller.may(needed):
        raise Denied(
            doing,
            f"{caller.name} is {caller.role}, and this takes {needed}",
            advice=f"ask somebody who is {' or '.join(ROLES[ROLES.index(needed) :])}",
        )


def create(
    store: Store,
    caller: Caller,
    name: str,
    role: Role,
    now: datetime,
    expires: datetime | None = None,
    *,
    parent: str = "",
    random: Callable[[int], bytes] = secrets.token_bytes,
) -> tuple[Token, str]:
    """A new token and its secret, which is nowhere afterwards. Raises Denied, or BadInput for one
    that has ended.
    """
    refuse_below(caller, role, f"making a token for {role}")
    if expires and expires <= now:
        raise BadInput(
            f"a token for {name}",
            "its end is in the past",
            advice="give a later one, or none for a year",
        )
    secret = secret_of(random(32))
    token = Token(
        random(6).hex(),
        name,
        role,
        digest_of(secret),
        caller.name,
        now,
        expires or now + USUAL,
        parent=parent,
    )
    store.put_token(token)
    return token, secret


def revoke(store: Store, caller: Caller, token_id: str, now: datetime) -> Token:
    """It opens nothing any more. Raises Unknown where there is none, or none that still opens."""
    with store.together():
        token = find(store, token_id)
        refuse_below(caller, token.role, f"revoking the token {token.id}")
        if not store.revoke_token(token.id, now):
            raise unknown_token(token_id, "it was revoked before")
        return find(store, token.id)


def find(store: Store, token_id: str) -> Token:
    token = store.token(token_id)
    if token is None:
        raise unknown_token(token_id, "there is none with that id")
    return token


def unknown_token(token_id: str, answer: str) -> Unknown:
    return Unknown(f"the token {token_id!r}", answer, advice="`flex token list` shows them all")


def role_of(name: str) -> Role:
    for role in ROLES:
        if role == name:
            return role
    raise BadInput(
        f"the role {name!r}", f"the roles are {', '.join(ROLES)}", advice="name one of them"
    )
