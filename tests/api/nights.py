"""A cluster of four nodes and sixty sites in memory, whose nights go by on a simulated clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flex.errors import NoData
from flex.frame_schemas import PROFILES, SPREADS
from flex.model.audit_chain import fault_of_chain
from flex.model.period import Period
from flex.model.plan import Plan
from flex.store import MemoryStore
from flex_api import wiring
from flex_api.facts import earlier_nights, verify_dns_answers
from flex_api.night import nightly, route_and_publish_plan
from flex_api.settings import file as config
from flex_api.wiring import World
from tests.memory_publisher import MemoryPublisher

ZONE = "hosting.example."
FIRST = datetime(2026, 3, 2, 2, 17, tzinfo=UTC)
DAY = timedelta(days=1)
SITES = tuple(f"s{number:02}.{ZONE.rstrip('.')}" for number in range(60))
NODES = ("n1", "n2", "n3", "n4")


@dataclass
class Cluster:
    """Four nodes and sixty sites; `tonight` is when it is."""

    world: World
    clock: list[datetime]
    moved: Counter[str] = field(default_factory=Counter)

    @property
    def now(self) -> datetime:
        return self.clock[0]

    def night(self, loads: Mapping[str, float]) -> Plan:
        """A day of these loads, then a night that applies what its rules allow."""
        self.clock[0] += DAY
        before, rows = self.world.store.placement()
        self.learn(loads)
        made = nightly.propose(self.world).plan
        assert made.breaches == ()
        applied = route_and_publish_plan.carry_out(self.world, made)
        served = set(rows["site"])
        self.moved.update(
            move.site for move in applied.moves if move.target and move.site in served
        )
        self.check(applied)
        self.check_moves(applied, rows)
        assert (applied.measured.plan if applied.measured else "") == before, (
            "each prediction is compared"
        )
        return applied

    def learn(self, loads: Mapping[str, float]) -> None:
        self.world.store.put_profiles(
            Period.days_before(self.now, 1), profiles(loads), SPREADS.empty()
        )

    def silent_night(self) -> None:
        """A day of which no log arrived: the partition in force stays, and so does DNS."""
        self.clock[0] += DAY
        base, before = self.world.store.placement()
        with pytest.raises(NoData):
            nightly.learn(self.world)
        assert self.world.store.in_force() == base
        assert all(verdict.agrees for verdict in verify_dns_answers.verify(self.world).verdicts)
        assert self.world.store.placement()[1].equals(before)

    def check(self, plan: Plan) -> None:
        """What has to be true after every night: DNS says what is in force, every site has a node,
        none is closed, the worst node is no worse, and the record of all that was done is whole.
        """
        base, placement = self.world.store.placement()
        assert base == plan.id
        assert set(placement["site"]) == set(SITES)
        assert not placement.duplicated().any()
        assert all(verdict.agrees for verdict in plan.verdicts)
        down = {node.name for node in self.world.nodes if node.state == "down"}
        assert not down & set(placement["node"])
        assert (
            plan.before is None
            or not plan.moves
            or wished(plan)
            or plan.after.worst <= plan.before.worst
        )
        assert fault_of_chain(self.world.store.entries(limit=100_000)) == ""

    def check_moves(self, plan: Plan, before: pd.DataFrame) -> None:
        """What moved is just what the plan said, and each move says why."""
        _, after = self.world.store.placement()
        then, now = (set(rows.itertuples(index=False, name=None)) for rows in (before, after))
        assert now - then == {(move.site, move.target) for move in plan.moves if move.target}
        assert then - now == {(move.site, move.source) for move in plan.moves if move.source}
        assert all(move.reason for move in plan.moves)

    def nodes_of(self, site: str) -> set[str]:
        _, placement = self.world.store.placement()
        return set(placement["node"][placement["site"] == site])

    def on(self, node: str) -> int:
        _, placement = self.world.store.placement()
        return int((placement["node"] == node).sum())


def wished(plan: Plan) -> bool:
    """Whether somebody asked for some of its moves, whatever they do to balance."""
    return any(
        word in move.reason
        for move in plan.moves
        for word in ("pinned", "wished", "drained", "enough")
    )


def resting(cluster: Cluster) -> Mapping[str, str]:
    return earlier_nights.guard(cluster.world, Period.days_before(cluster.now, 1)).staying


def profiles(loads: Mapping[str, float]) -> pd.DataFrame:
    numbers = [max(int(loads[site] * 1_000_000), 1) for site in sorted(loads)]
    return PROFILES.from_columns(
        {name: sorted(loads) if name == "site" else numbers for name in PROFILES.columns}
    )


def four_nodes(tmp_path: Path) -> Cluster:
    nodes = "".join(
        f'[[node]]\nname = "{name}"\naddresses = ["192.0.2.{number}"]\nram = "1 GiB"\n'
        for number, name in enumerate(NODES, start=1)
    )
    path = tmp_path / "flex.toml"
    path.write_text(
        f'schema = 1\n{nodes}[cluster]\nmode = "auto"\n[dns]\nkey_file = '
        f'"none.key"\nzones = ["{ZONE}"]\n'
        '[safety]\ntrigger_imbalance = 0.1\n[solver]\ntolerance = 0.05\nengine = "local"\n',
        encoding="utf-8",
    )
    settings, clock = config.load(path), [FIRST]
    target = MemoryPublisher([ZONE], settings.owner)
    made = World(
        settings=settings,
        store=MemoryStore(),
        connect=lambda: target,
        clock=lambda: clock[0],
        time_of_day=lambda: clock[0],
        say=wiring.silent,
        progress=wiring.silent,
    )
    return Cluster(made, clock)


def loads(seed: int, *, drift: float = 0.05) -> dict[str, float]:
    """Few sites have most of the load; each day a little else."""
    dice = np.random.default_rng(seed)
    return {site: 10 / (number + 5) * dice.lognormal(0, drift) for number, site in enumerate(SITES)}
