"""A process that asks a store for what only one may have. Run by test_store_races.py.

    rival.py NAME

Each line it is given is an order: `open URL`, `begin R`, `end R`, `record R`. It answers yes or no.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

from flex.errors import Busy
from flex.model.log_reading import Segment, Stream
from flex.model.nightly_run import NightlyRun
from flex.store import Store, holder, open_store

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def begin(store: Store, name: str, number: str) -> bool:
    try:
        store.begin(NightlyRun(f"{number}-{name}", holder(), NOW), timedelta(hours=1), NOW)
    except Busy:
        return False
    return True


def end(store: Store, name: str, number: str) -> bool:
    store.end(NightlyRun(f"{number}-{name}", holder(), NOW, NOW, 0))
    return True


def record(store: Store, _name: str, number: str) -> bool:
    segment = Segment(number, "web", "n1", "", "combined", 0, 1, 0, 0, 0, 0, ())
    return store.record(segment, Stream("web", number, 1, 1, "", ""), None)


ORDERS = {"begin": begin, "end": end, "record": record}


def main() -> None:
    (name,) = sys.argv[1:]
    store: Store | None = None
    for line in sys.stdin:
        order, what = line.split()
        if order == "open":
            store = open_store(what)
            answer = True
        else:
            assert store is not None, "a store is opened first"
            answer = ORDERS[order](store, name, what)
        print("yes" if answer else "no", flush=True)


if __name__ == "__main__":
    main()
