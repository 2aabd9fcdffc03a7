"""The store in memory, the other half: audit log, tokens, jobs, kept answers, and how all of it
changes together.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from flex.model.access import Token
from flex.model.audit import Author, Entry, Head, entry
from flex.model.jobs import Job, Once


@dataclass(slots=True)
class Kept:
    """What the desk holds; shared by every signed view of a store."""

    entries: dict[int, Entry] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    answers: dict[str, Once] = field(default_factory=dict)


class MemoryDesk:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        # Which run this thread writes for, where it writes for one.
        self._mine = threading.local()
        self._author = Author()
        self._desk = Kept()

    def in_the_name_of(self, author: Author) -> Self:
        view = copy.copy(self)
        view._author = author
        return view

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._lock:
            self._refuse_lost()
            before = [(held, held.copy()) for held in self._everything()]
            try:
                yield
            except BaseException:
                for held, saved in before:
                    held.clear()
                    held.update(saved)
                raise

    @property
    def _run(self) -> str:
        found: str = getattr(self._mine, "run", "")
        return found

    def _refuse_lost(self) -> None:
        """Raises LostLease where what this thread writes for has the lease no more."""

    def _everything(self) -> list[dict[Any, Any]]:
        """Everything that changes; it is changed in place, so that all views see it. Any: whatever
        each holds.
        """
        desk = self._desk
        return [
            *(value for value in vars(self).values() if isinstance(value, dict)),
            desk.entries,
            desk.tokens,
            desk.jobs,
            desk.answers,
        ]

    def note(self, action: str, subject: str, before: object, after: object) -> Entry:
        with self._lock:
            made = entry(
                self.audit_head(), self._author, action, subject, before, after
            )
            self._desk.entries[made.number] = made
            return made

    def audit_head(self) -> Head:
        last = self._desk.entries.get(self.last_number())
        return Head(last.number, last.hash) if last else Head()

    def entries(self, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        return tuple(one for one in self._desk.entries.values() if one.number > after)[
            :limit
        ]

    def found_entries(
        self,
        limit: int,
        behind: int | None = None,
        *,
        down: bool = True,
        actor: str = "",
        action: str = "",
        subject: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Entry, ...]:
        found = (
            one
            for one in sorted(
                self._desk.entries.values(), key=lambda one: one.number, reverse=down
            )
            if (
                behind is None or (one.number < behind if down else one.number > behind)
            )
            and actor in ("", one.actor)
            and (not action or f"{one.action}.".startswith(f"{action}."))
            and subject in ("", one.subject)
            and (since is None or one.time >= since)
            and (until is None or one.time < until)
        )
        return tuple(one for one, _ in zip(found, range(limit), strict=False))

    def last_number(self, *actions: str) -> int:
        found = (
            one.number
            for one in reversed(self._desk.entries.values())
            if not actions or one.action in actions
        )
        return next(found, 0)

    def stamp(self) -> int | None:
        return None

    def tokens(self) -> tuple[Token, ...]:
        return tuple(self._desk.tokens[key] for key in sorted(self._desk.tokens))

    def token(self, token_id: str) -> Token | None:
        return self._desk.tokens.get(token_id)

    def token_of(self, digest: str) -> Token | None:
        return next((token for token in self.tokens() if token.digest == digest), None)

    def put_token(self, token: Token) -> None:
        self._desk.tokens[token.id] = token

    def revoke_token(self, token_id: str, now: datetime) -> bool:
        with self._lock:
            known = self._desk.tokens.get(token_id)
            for token in self.tokens():
                if token_id in (token.id, token.parent) and token.revoked is None:
                    self._desk.tokens[token.id] = replace(token, revoked=now)
            return known is not None and known.revoked is None

    def use_token(self, token_id: str, now: datetime) -> None:
        with self._lock:
            if token_id in self._desk.tokens:
                self._desk.tokens[token_id] = replace(
                    self._desk.tokens[token_id], last_used=now
                )

    def jobs(self, limit: int = 1000) -> tuple[Job, ...]:
        ordered = sorted(
            self._desk.jobs.values(),
            key=lambda job: (job.created, job.id),
            reverse=True,
        )
        return tuple(ordered[:limit])

    def job(self, job_id: str) -> Job | None:
        return self._desk.jobs.get(job_id)

    def put_job(self, job: Job) -> None:
        self._desk.jobs[job.id] = job

    def answer(self, once: Once) -> Once | None:
        with self._lock:
            if once.key in self._desk.answers:
                return self._desk.answers[once.key]
            self._desk.answers[once.key] = once
            return None

    def keep_answer(self, once: Once) -> None:
        self._desk.answers[once.key] = once

    def drop_answer(self, key: str) -> None:
        self._desk.answers.pop(key, None)

    def drop_answers(self, before: datetime) -> None:
        with self._lock:
            for key in [
                key for key, once in self._desk.answers.items() if once.created < before
            ]:
                del self._desk.answers[key]
