"""Processes that write to a store without end, to be killed in the middle. Run by
test_store_survives.py.

    writer.py URL ROWS

For each line it is given, a new process goes on where the one before it was killed: it says its
process number first, and then each number it has done. The line says before which of its
statements, commits included, the process kills itself; 0 is never. Number n is one reading of a
log, up to byte n, and one plan that puts every site on node n. When the process has ended, "ended"
is said.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import NoReturn

from sqlalchemy import Engine, event

from flex.frame_schemas import PLACEMENT
from flex.model.balance import Balance
from flex.model.log_reading import Segment, Stream
from flex.model.nightly_run import NightlyRun
from flex.model.period import Period
from flex.model.plan import Plan, Proven
from flex.store import Store, holder
from flex.store.database_by_url import Database

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def stream(number: int) -> Stream:
    return Stream("web", "head", 4, number, f"tail{number}", "/var/log/access.log")


def write(store: Store, number: int, rows: int) -> None:
    segment = Segment(
        f"{number:09}", "web", "n1", "", "combined", number - 1, number, 0, 0, 0, 0, ()
    )
    assert store.record(segment, stream(number), stream(number - 1) if number else None)
    sites = [f"s{row:06}.example.org" for row in range(rows)]
    placement = PLACEMENT.from_columns({"site": sites, "node": [f"n{number}"] * rows})
    created = EPOCH + number * timedelta(seconds=1)
    period, proven = Period.days_before(created, 1), Proven("exact", 0, True)
    # Not always the plan before: the process that made it may have died before it was in force.
    base = store.in_force()
    plan = Plan(
        f"{number:09}",
        created,
        period,
        base,
        "",
        proven,
        (),
        0,
        rows,
        None,
        Balance((), 0.0),
        (),
        (),
    )
    store.propose(plan, placement)
    store.settle(replace(plan, state="applied", settled=created), placement)


def die_before(engine: Engine, statement: int) -> None:
    """As kill -9 does: no handler, no rollback, no goodbye."""
    left = count(statement, -1)

    def die_at_last(*_: object) -> None:
        if next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(engine, "before_cursor_execute", die_at_last)
    event.listen(engine, "commit", die_at_last)


def say(what: object) -> None:
    """The whole line at once, also where Python does not buffer: a kill must not leave half of
    one.
    """
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def write_on(url: str, rows: int, statement: int) -> NoReturn:
    database = Database(url)
    store = Store(database)
    begun = datetime.now(UTC)
    run = NightlyRun(f"{begun.isoformat()}-{holder()}", holder(), begun)
    store.begin(run, timedelta(hours=1), begun)
    die_before(database.engine, statement)
    done = [each.offset for each in store.streams_of(["web"])]
    # As a night does: who holds the lease puts its plans in force, and nobody else.
    with store.holding(run.id):
        for number in count(max(done, default=-1) + 1):
            write(store, number, rows)
            say(number)
    raise AssertionError("there is always a next number")


def main() -> None:
    for line in sys.stdin:
        # A fork, because to start afresh takes longer than all that is tested. Nothing is open yet.
        pid = os.fork()
        if not pid:
            say(os.getpid())
            write_on(sys.argv[1], int(sys.argv[2]), int(line))
        _, status = os.waitpid(pid, 0)
        # Who asks waits for the numbers that are done: without a kill there may never be one.
        assert os.WIFSIGNALED(status), "it failed by itself; what it said is above"
        say("ended")


if __name__ == "__main__":
    main()
