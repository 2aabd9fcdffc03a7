"""A night's control part: everything but reading logs and waiting for name servers, in a process of
its own.

`python -m bench.api.control FOLDER SCALE` prints what took how long, and the most memory that it
had, as JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeVar

from bench.api import given
from flex.frame_schemas import SPREADS
from flex.model.period import Period
from flex.zones import records_of_partition, zone_changes
from flex_api import wiring
from flex_api.facts import earlier_nights
from flex_api.night import nightly, route_and_publish_plan
from flex_api.night.leases import lease
from flex_api.report import write_reports
from tests.memory_publisher import MemoryPublisher

T = TypeVar("T")


def night(folder: Path, size: given.Size) -> dict[str, float]:
    """Seconds of each stage, their sum, the processor's part of it, and MiB."""
    settings = given.installation(folder, size)
    target = MemoryPublisher([given.ZONE], settings.owner)
    world = replace(wiring.world(settings, lambda: size.now), connect=lambda: target)
    _publish(world, target)
    profiles = given.profiles_of(size, size.nights)
    seconds: dict[str, float] = {}
    begun = process_time()

    def timed(name: str, work: Callable[[], T]) -> T:
        started = perf_counter()
        result = work()
        seconds[f"{name}_seconds"] = perf_counter() - started
        print(f"{name}: {seconds[f'{name}_seconds']:.1f} s", flush=True)
        return result

    period = Period.days_before(size.now, 1)
    with lease(world, "bench") as held:
        timed("profile", lambda: world.store.put_profiles(period, profiles, SPREADS.empty()))
        timed("gates", lambda: earlier_nights.guard(world, period))
        made = timed("plan", lambda: nightly.propose(world))
        held.concerns(made.plan)
        applied = timed("apply", lambda: route_and_publish_plan.carry_out(world, made.plan))
    timed("report", lambda: write_reports.write(world, applied))
    timed("tidy", lambda: world.store.drop_profiles(given.FIRST + timedelta(days=2)))
    status = Path("/proc/self/status").read_text()
    said = re.search(r"VmHWM:\s+(\d+)", status)
    assert said, "the kernel always says it"
    peak = int(said[1]) / 1024
    cpu = process_time() - begun
    return {
        "control_part_s": sum(seconds.values()),
        "control_cpu_s": cpu,
        "peak_mib": peak,
        **seconds,
        "moves": len(made.plan.moves),
    }


def _publish(world: wiring.World, target: MemoryPublisher) -> None:
    """The partition in force as the name server has it after all those nights."""
    _, placement = world.store.placement()
    wanted = records_of_partition.records(placement, world.nodes, world.settings.dns.ttl)
    state = target.read(given.ZONE, [])
    first = zone_changes.diff(
        given.ZONE, wanted, state, owner=world.settings.owner, ttl=300, left_alone={}
    )
    target.apply(first)


if __name__ == "__main__":
    print(json.dumps(night(Path(sys.argv[1]), given.Size().scale(float(sys.argv[2])))))
