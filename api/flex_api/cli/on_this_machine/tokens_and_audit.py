"""Who may come into this machine's installation, and who changed what there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flex.model.audit_chain import Author
from flex.model.roles_and_tokens import Role
from flex_api import manage_tokens, verify_audit_log
from flex_api.cli.common import Context, author, now
from flex_api.cli.open_installation import open_world
from flex_api.manage_tokens import Caller
from flex_api.schemas.tokens_and_audit import (
    AuditOutput,
    AuditVerifyOutput,
    TokenOutput,
    TokensOutput,
    audit_row,
    token_row,
)


@dataclass(frozen=True, slots=True)
class DeskHere:
    context: Context

    def make_token(
        self, name: str, role: Role, expires: datetime | None, reason: str
    ) -> TokenOutput:
        with open_world(self.context, reason=reason) as here:
            token, secret = manage_tokens.create(here.store, _me(), name, role, now(), expires)
        return TokenOutput(token=token_row(token), secret=secret)

    def tokens(self) -> TokensOutput:
        with open_world(self.context) as here:
            every = [token for token in here.store.tokens() if not token.parent]
        return TokensOutput(items=list(map(token_row, every)))

    def revoke(self, token: str, reason: str) -> TokenOutput:
        with open_world(self.context, reason=reason) as here:
            ended = manage_tokens.revoke(here.store, _me(), token, now())
        return TokenOutput(token=token_row(ended))

    def audit(self, limit: int, actor: str, action: str, since: datetime | None) -> AuditOutput:
        with open_world(self.context) as here:
            entries = here.store.found_entries(limit, actor=actor, action=action, since=since)
            return AuditOutput(items=list(map(audit_row, entries)))

    def check_audit(self, last: str) -> AuditVerifyOutput:
        with open_world(self.context) as here:
            head = verify_audit_log.verify_record(here.store, last)
        return AuditVerifyOutput(entries=head.number, last=head.hash)


def _me() -> Caller:
    """Who may open the database may do everything."""
    return Caller(Author(author()).name, "admin")
