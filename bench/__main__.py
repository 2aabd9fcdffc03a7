"""`python -m bench [NAME]...`: measure one bench, several, or all; show the figures and keep them.

A new bench is a module with a `measure() -> Figures` and a line in BENCHES.
"""

from __future__ import annotations

import os
import signal
import sys

from bench import house, locality, loops, promises, sim, startup, web
from bench.api import speed as api
from bench.dns import speed as dns
from bench.figures import Measure, keep, show
from bench.ingest import small, speed
from bench.moving import pause, readiness, torn_moves
from bench.routing import doors, flips_in_traffic, one_writer
from bench.routing import speed as routing
from bench.solver import days, moves, reassignment

BENCHES: dict[str, Measure] = {
    "api": api.measure,
    "dns": dns.measure,
    "doors": doors.measure,
    "doors-traffic": flips_in_traffic.measure,
    "one-writer": one_writer.measure,
    "house": house.measure,
    "ingest": speed.measure,
    "ingest-small": small.measure,
    "moves-pause": pause.measure,
    "moves-torn": torn_moves.measure,
    "locality": locality.measure,
    "loops": loops.measure,
    "promises": promises.measure,
    "ready": readiness.measure,
    "routing": routing.measure,
    "sim": sim.measure,
    "solver": moves.measure,
    "solver-days": days.measure,
    "solver-quick": moves.quick,
    "solver-roadef": reassignment.measure,
    "startup": startup.measure,
    "web": web.measure,
}


def main(wanted: list[str]) -> int:
    if unknown := [name for name in wanted if name not in BENCHES]:
        sys.stderr.write(
            f"there is no bench {', '.join(unknown)}; there are {', '.join(BENCHES)}\n"
        )
        return 2
    # Who ends a bench ends it as an error would, and with it the servers that it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    for name in wanted or BENCHES:
        figures = BENCHES[name]()
        show(name, figures)
        print(f"kept in {os.path.relpath(keep(name, figures))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
