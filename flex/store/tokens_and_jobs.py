"""Tokens and jobs in the database: what the API needs besides."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from sqlalchemy import delete, insert, or_, select, update

from flex.model.jobs import Job
from flex.model.roles_and_tokens import Token
from flex.store.database_by_url import StorePart
from flex.store.schema import jobs, tokens


class SqlTokens(StorePart):
    def tokens(self) -> tuple[Token, ...]:
        with self._database.reading() as connection:
            return tuple(
                Token(**row)
                for row in connection.execute(select(tokens).order_by(tokens.c.id)).mappings()
            )

    def token(self, token_id: str) -> Token | None:
        with self._database.reading() as connection:
            row = (
                connection.execute(select(tokens).where(tokens.c.id == token_id))
                .mappings()
                .one_or_none()
            )
        return Token(**row) if row else None

    def token_of(self, digest: str) -> Token | None:
        with self._database.reading() as connection:
            row = (
                connection.execute(select(tokens).where(tokens.c.digest == digest))
                .mappings()
                .one_or_none()
            )
        return Token(**row) if row else None

    def put_token(self, token: Token) -> None:
        with self._database.writing() as connection:
            connection.execute(insert(tokens), asdict(token))

    def revoke_token(self, token_id: str, now: datetime) -> bool:
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
        wanted = select(jobs).order_by(jobs.c.created.desc(), jobs.c.id.desc()).limit(limit)
        with self._database.reading() as connection:
            return tuple(Job(**row) for row in connection.execute(wanted).mappings())

    def job(self, job_id: str) -> Job | None:
        with self._database.reading() as connection:
            row = (
                connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one_or_none()
            )
        return Job(**row) if row else None

    def put_job(self, job: Job) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(jobs).where(jobs.c.id == job.id))
            connection.execute(insert(jobs), asdict(job))
