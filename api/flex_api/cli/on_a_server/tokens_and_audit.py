"""Who may come into a FLEX server, and who changed what there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from flex.model.roles_and_tokens import Role
from flex_api import verify_audit_log
from flex_api.cli.on_a_server.send_and_follow_jobs import given_as
from flex_api.client import Client
from flex_api.schemas.rest_bodies import TokenGiven
from flex_api.schemas.tokens_and_audit import (
    AuditOutput,
    AuditVerifyOutput,
    TokenOutput,
    TokenRow,
    TokensOutput,
)

# The most rows of a page of the API.
PAGE = 1000


@dataclass(frozen=True, slots=True)
class DeskThere:
    client: Client

    def make_token(
        self, name: str, role: Role, expires: datetime | None, reason: str
    ) -> TokenOutput:
        given = given_as(TokenGiven, name=name, role=role, expires=expires, reason=reason)
        token = self.client.make_token(given)
        row = TokenRow(**token.model_dump(exclude={"secret"}))
        return TokenOutput(token=row, secret=token.secret)

    def tokens(self) -> TokensOutput:
        return TokensOutput(items=list(self.client.tokens()))

    def revoke(self, token: str, reason: str) -> TokenOutput:
        self.client.revoke(token, reason)
        return TokenOutput(token=self.client.token_row(token))

    def audit(self, limit: int, actor: str, action: str, since: datetime | None) -> AuditOutput:
        wanted = {"actor": actor, "action": action, "since": since.isoformat() if since else ""}
        entries = self.client.audit(
            **{name: value for name, value in wanted.items() if value}, limit=min(limit, PAGE)
        )
        return AuditOutput(items=list(islice(entries, limit)))

    def check_audit(self, last: str) -> AuditVerifyOutput:
        verification = self.client.audit_verified(last)
        if not verification.holds:
            raise verify_audit_log.altered_error(verification.wrong)
        return AuditVerifyOutput(entries=verification.entries, last=verification.last)
