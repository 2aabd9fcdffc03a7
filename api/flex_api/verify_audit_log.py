"""Whether the audit log is whole: the command line and the REST API both ask this.

Takes a store. Returns how many entries are intact, and the last hash. Does not hold the log in
memory: it reads a thousand entries at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain as joined

from flex import audit_log_vs_database
from flex.audit_log_vs_database import Parts, Record, Thing
from flex.errors import NotWhole
from flex.model import audit_chain as chain
from flex.model.audit_chain import Entry, Head
from flex.store import Store

# So many differences are told, a line each.
TOLD = 20


def verify_record(store: Store, last: str = "") -> Head:
    """The last entry's number and hash. Raises NotWhole, saying where, for a record that is not
    whole.

    `last` is a hash that somebody noted before. Others may write meanwhile: what is there is looked
    at between the two heads, so that all that was changed since the first has its entry by the time
    these are read.
    """
    before = store.audit_head()
    present = there(store)
    newest, record = Head(), Record()
    missed = ({before.hash} - {chain.NOTHING}) | ({last} - {""})
    for entries in _pieces(store):
        if broken := chain.fault_of_chain(entries, newest):
            raise altered_error(broken)
        newest = Head(entries[-1].number, entries[-1].hash)
        missed -= {entry.hash for entry in entries}
        for entry in entries:
            record.hear(entry)
    _refuse_missing(before, newest, store.audit_head(), missed, last)
    if wrong := record.differences(present, before.number):
        raise altered_error(_list_differences(wrong))
    return newest


def _list_differences(differences: Sequence[str]) -> str:
    more = [f"and {len(differences) - TOLD} more"] if len(differences) > TOLD else []
    return "\n  ".join([*differences[:TOLD], *more])


def _refuse_missing(before: Head, newest: Head, after: Head, missed: set[str], last: str) -> None:
    if newest.number < before.number:
        raise altered_error(
            f"{before.number - newest.number} entries are missing at the end: there "
            f"were {before.number}"
        )
    if before.hash in missed or newest.number > after.number:
        raise altered_error(
            "its end is not what was written last: entries were replaced or added past FLEX"
        )
    if last in missed:
        raise altered_error(
            f"no entry has the hash {last}: it, and what came after, was taken out or replaced"
        )


def there(store: Store) -> Iterable[tuple[Thing, Parts]]:
    """What cannot be there without an entry, nor otherwise than its entries say. A plan is kept
    with its figures beside it, so that it comes twice.
    """
    plans, base, freeze = store.headlines(), store.in_force(), store.freeze()
    return joined(
        map(audit_log_vs_database.describe_pin, store.pins()),
        map(audit_log_vs_database.describe_order, store.node_orders()),
        map(audit_log_vs_database.describe_node, store.own_nodes()),
        map(audit_log_vs_database.describe_token, store.tokens()),
        map(audit_log_vs_database.describe_headline, plans),
        [audit_log_vs_database.describe_plan(store.plan(plan.id)) for plan in plans],
        [audit_log_vs_database.describe_base(base)] if base else [],
        [audit_log_vs_database.describe_freeze(freeze)] if freeze else [],
    )


def _pieces(store: Store) -> Iterator[tuple[Entry, ...]]:
    after = 0
    while entries := store.entries(after):
        yield entries
        after = entries[-1].number


def altered_error(answer: str) -> NotWhole:
    return NotWhole(
        "checking the audit log",
        answer,
        advice="somebody changed the database past FLEX: compare it with a backup",
    )
