"""Tokens and jobs in the database: what the API needs besides."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import insert, or_, select, update

from flex.model.jobs import Job
from flex.model.roles_and_tokens import Token
from flex.store.database_by_url import StorePart
from flex.store.keyed_table import KeyedTable
from flex.store.schema import jobs, tokens

TOKENS = KeyedTable(tokens, Token)
JOBS = KeyedTable(jobs, Job)


class SqlTokens(StorePart):
    def tokens(self) -> tuple[Token, ...]:
        """In order of their ids."""
        return TOKENS.all(self._database)

    def token(self, token_id: str) -> Token | None:
        return TOKENS.get(self._database, token_id)

    def token_of(self, digest: str) -> Token | None:
        return next(iter(TOKENS.all(self._database, tokens.c.digest == digest)), None)

    def put_token(self, token: Token) -> None:
        with self._database.writing() as connection:
            connection.execute(insert(tokens), TOKENS.row(token))

    def revoke_token(self, token_id: str, now: datetime) -> bool:
        """Revokes the token and the sessions that were opened with it. Returns whether it was valid
        before.
        """
        theirs = or_(tokens.c.id == token_id, tokens.c.parent == token_id)
        with self._database.writing() as connection:
            known = select(tokens.c.id).where(tokens.c.id == token_id, tokens.c.revoked.is_(None))
            was_valid = connection.scalar(known) is not None
            connection.execute(
                update(tokens).where(theirs, tokens.c.revoked.is_(None)).values(revoked=now)
            )
        return was_valid

    def use_token(self, token_id: str, now: datetime) -> None:
        with self._database.writing() as connection:
            connection.execute(update(tokens).where(tokens.c.id == token_id).values(last_used=now))


class SqlJobs(StorePart):
    def jobs(self, limit: int = 1000) -> tuple[Job, ...]:
        """Newest first."""
        newest_first = (jobs.c.created.desc(), jobs.c.id.desc())
        return JOBS.all(self._database, order=newest_first, limit=limit)

    def job(self, job_id: str) -> Job | None:
        return JOBS.get(self._database, job_id)

    def put_job(self, job: Job) -> None:
        JOBS.put(self._database, job)
