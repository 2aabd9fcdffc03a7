"""What the verbs of tokens and of the audit log print with -o json, and how the core's values
become that.
"""

from __future__ import annotations

import json
from datetime import datetime

from flex.model.audit_chain import Entry
from flex.model.roles_and_tokens import Role, Token
from flex_api.schemas.output_base import Output, Part


class TokenRow(Part):
    id: str
    name: str
    role: Role
    author: str
    created: datetime
    expires: datetime | None
    last_used: datetime | None
    revoked: datetime | None


class TokenOutput(Output):
    token: TokenRow
    secret: str = ""


class TokensOutput(Output):
    items: list[TokenRow]


class AuditRow(Part):
    number: int
    time: datetime
    actor: str
    action: str
    subject: str
    reason: str
    request: str
    before: object
    after: object
    previous: str
    hash: str


class AuditOutput(Output):
    items: list[AuditRow]


class AuditVerifyOutput(Output):
    entries: int
    last: str


def token_row(token: Token) -> TokenRow:
    return TokenRow.like(token)


def audit_row(entry: Entry) -> AuditRow:
    return AuditRow.like(entry, before=json.loads(entry.before), after=json.loads(entry.after))
