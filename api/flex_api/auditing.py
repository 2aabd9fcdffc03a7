"""Whether the record of changes is whole: what the command line and the REST API both ask.

In goes a store, out comes how many entries hold and the last hash. Entries are read a thousand at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from flex import audit as chain
from flex.audit import BEGIN, Entry, Head
from flex.errors import NotWhole
from flex.ports import Store


def verified(store: Store, last: str = "") -> Head:
    """The last entry's number and hash. Raises NotWhole, saying where, for a record that is not whole.

    `last` is a hash that somebody noted before. Others may write meanwhile: what is there is looked at first, so that
    each of it has its entry by the time these are read.
    """
    there, before = _there(store), store.audit_head()
    newest, told = Head(), dict[str, set[str]]()
    missed = ({before.hash} - {chain.NOTHING}) | ({last} - {""})
    for entries in _pieces(store):
        if broken := chain.broken(entries, newest):
            raise altered(broken)
        newest = Head(entries[-1].number, entries[-1].hash)
        missed -= {entry.hash for entry in entries}
        _hear(told, entries)
    _refuse_missing(before, newest, store.audit_head(), missed, last)
    if found := chain.untold(there, told):
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise altered(f"{found[0]}{more}")
    return newest


def _refuse_missing(before: Head, newest: Head, after: Head, missed: set[str], last: str) -> None:
    if newest.number < before.number:
        raise altered(f"{before.number - newest.number} entries are missing at the end: there were {before.number}")
    if before.hash in missed or newest.number > after.number:
        raise altered("its end is not what was written last: entries were replaced or added past FLEX")
    if last in missed:
        raise altered(f"no entry has the hash {last}: it, and what came after, was taken out or replaced")


def _there(store: Store) -> dict[str, set[str]]:
    """What cannot be there without an entry, by the action that makes it."""
    plans = store.headlines()
    return {
        "node.order": {order.node for order in store.node_orders()},
        "node.put": {node.name for node in store.own_nodes()},
        "pin.put": {pin.site for pin in store.pins()},
        "plan.propose": {plan.id for plan in plans},
        "plan.settle": {plan.id for plan in plans if plan.state == "applied"},
        "token.create": {token.id for token in store.tokens()},
    }


def _hear(told: dict[str, set[str]], entries: tuple[Entry, ...]) -> None:
    for entry in entries:
        told.setdefault(entry.action, set()).add(entry.subject)
        if entry.action == BEGIN:
            for action, subjects in json.loads(entry.after).items():
                told.setdefault(action, set()).update(subjects)


def _pieces(store: Store) -> Iterator[tuple[Entry, ...]]:
    after = 0
    while found := store.entries(after):
        yield found
        after = found[-1].number


def altered(answer: str) -> NotWhole:
    return NotWhole(
        "checking the audit log",
        answer,
        kept="nothing was changed",
        advice="somebody changed the database past FLEX: compare it with a backup",
    )
