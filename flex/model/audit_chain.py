"""Who changed what: a log to which entries are only added, each carrying the hash of the one before
it.

Takes what was before and after a change, and who made it. Returns entries. Does not store them.

Whoever has the entries can check that none was altered, taken out or put in between. An entry that
is missing at the end is noticed by the head, which is kept apart from the entries. A change that
was made without an entry is found by comparing the entries with the database
(flex/audit_log_vs_database.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime

# What the first entry has for the hash of the one before it.
NOTHING = "0" * 64


def present_time() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Author:
    """Who asks for a change, why, and by which request. The clock says when, whatever day a plan is
    made as of.
    """

    name: str = "flex"
    reason: str = ""
    request: str = ""
    clock: Callable[[], datetime] = present_time


@dataclass(frozen=True, slots=True)
class Entry:
    """One change. `before` and `after` are JSON, of the parts that changed; "null" where there was
    nothing.
    """

    number: int
    time: datetime
    actor: str
    action: str
    subject: str
    reason: str
    request: str
    before: str
    after: str
    previous: str
    hash: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The number and the hash of the last entry, kept apart from the entries."""

    number: int = 0
    hash: str = NOTHING


# Before the first entry.
FIRST = Head()

# What things of one subject are told apart by: it is said of each, whatever of it changed.
APART = "campaign"

# The entry that tells what was there before the record began: by action, the subjects that have no
# entry of their own.
BEGIN = "audit.begin"


def entry(
    last: Head, author: Author, action: str, subject: str, before: object, after: object
) -> Entry:
    """The next entry, sealed."""
    earlier, later = differences(plain(before), plain(after))
    return seal(
        Entry(
            number=last.number + 1,
            time=author.clock(),
            actor=author.name,
            action=action,
            subject=subject,
            reason=author.reason,
            request=author.request,
            before=as_text(earlier),
            after=as_text(later),
            previous=last.hash,
        )
    )


def seal(open_: Entry) -> Entry:
    values = asdict(open_) | {"time": open_.time.astimezone(UTC).isoformat(timespec="microseconds")}
    values.pop("hash")
    return Entry(**asdict(open_) | {"hash": hashlib.sha256(as_text(values).encode()).hexdigest()})


def fault_of_chain(entries: Iterable[Entry], last: Head = FIRST) -> str:
    """What is wrong with the chain, in words; empty when nothing is. `last` is the entry before the
    first of these.
    """
    for audit_entry in entries:
        if audit_entry.number != last.number + 1:
            return (
                f"entry {last.number + 1} is missing: "
                f"after {last.number} comes {audit_entry.number}"
            )
        if audit_entry.previous != last.hash:
            return (
                f"entry {audit_entry.number} does not follow from entry {last.number}: "
                "one of them was replaced"
            )
        if seal(audit_entry).hash != audit_entry.hash:
            return f"entry {audit_entry.number} was altered: it is not what its hash says"
        last = Head(audit_entry.number, audit_entry.hash)
    return ""


def differences(before: object, after: object) -> tuple[object, object]:
    """Two mappings with only the keys whose values differ, and the keys that identify the subject
    (APART). Other values are returned as they are.
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return before, after
    names = [
        name
        for name in before.keys() | after.keys()
        if name == APART or before.get(name) != after.get(name)
    ]
    return _pick_values(names, before), _pick_values(names, after)


def _pick_values(names: Iterable[str], values: dict[str, object]) -> dict[str, object]:
    return {name: values[name] for name in names if name in values}


def plain(value: object) -> object:
    """The value as JSON has it, with times in UTC."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    return json.loads(as_text(value))


def as_text(value: object) -> str:
    return json.dumps(
        value, sort_keys=True, ensure_ascii=True, default=_plain_value, separators=(",", ":")
    )


def _plain_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return str(value)
