"""Nights on a simulated clock, one after the other: what a cluster goes through in a week, and a load that swings."""

from __future__ import annotations

import dataclasses
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from flex import decide
from flex.audit import broken
from flex.decide import COOLDOWN
from flex.domain import Cycle, Period, Pin
from flex.errors import NoData
from flex.orders import NodeOrder
from flex.store import MemoryStore
from flex.tables import PROFILES, SPREADS
from flex_api import wiring
from flex_api.known import present, recent, verifying
from flex_api.night import applying, bulletin, failover, nightly
from flex_api.report.content import ReportData
from flex_api.report.formats import FORMATS
from flex_api.settings import file as config
from flex_api.told import text
from flex_api.wiring import World
from flex_api.wishes import explaining, pinning, tonight
from flex_dns.memory import MemoryTarget

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

    def night(self, loads: Mapping[str, float]) -> Cycle:
        """A day of these loads, then a night that applies what its rules allow."""
        self.clock[0] += DAY
        before, rows = self.world.store.placement()
        self.learn(loads)
        made = nightly.propose(self.world).cycle
        assert made.breaches == ()
        applied = applying.carry_out(self.world, made)
        served = set(rows["site"])
        self.moved.update(move.site for move in applied.moves if move.target and move.site in served)
        self.check(applied)
        self.check_moves(applied, rows)
        assert (applied.measured.cycle if applied.measured else "") == before, "each prediction is compared"
        return applied

    def learn(self, loads: Mapping[str, float]) -> None:
        self.world.store.put_profiles(Period.days_before(self.now, 1), profiles(loads), SPREADS.empty())

    def silent_night(self) -> None:
        """A day of which no log arrived: the partition in force stays, and so does DNS."""
        self.clock[0] += DAY
        base, before = self.world.store.placement()
        with pytest.raises(NoData):
            nightly.learn(self.world)
        assert self.world.store.in_force() == base
        assert all(verdict.agrees for verdict in verifying.verify(self.world).verdicts)
        assert self.world.store.placement()[1].equals(before)

    def check(self, cycle: Cycle) -> None:
        """What has to be true after every night: DNS says what is in force, every site has a node, none is closed,
        the worst node is no worse, and the record of all that was done is whole.
        """
        base, placement = self.world.store.placement()
        assert base == cycle.id
        assert set(placement["site"]) == set(SITES)
        assert not placement.duplicated().any()
        assert all(verdict.agrees for verdict in cycle.verdicts)
        down = {node.name for node in self.world.nodes if node.state == "down"}
        assert not down & set(placement["node"])
        assert cycle.before is None or not cycle.moves or wished(cycle) or cycle.after.worst <= cycle.before.worst
        assert broken(self.world.store.entries(limit=100_000)) == ""

    def check_moves(self, cycle: Cycle, before: pd.DataFrame) -> None:
        """What moved is just what the plan said, and each move says why."""
        _, after = self.world.store.placement()
        then, now = (set(rows.itertuples(index=False, name=None)) for rows in (before, after))
        assert now - then == {(move.site, move.target) for move in cycle.moves if move.target}
        assert then - now == {(move.site, move.source) for move in cycle.moves if move.source}
        assert all(move.reason for move in cycle.moves)

    def nodes_of(self, site: str) -> set[str]:
        _, placement = self.world.store.placement()
        return set(placement["node"][placement["site"] == site])

    def on(self, node: str) -> int:
        _, placement = self.world.store.placement()
        return int((placement["node"] == node).sum())


def wished(cycle: Cycle) -> bool:
    """Whether somebody asked for some of its moves, whatever they do to balance."""
    return any(word in move.reason for move in cycle.moves for word in ("pinned", "wished", "drained", "enough"))


def resting(cluster: Cluster) -> Mapping[str, str]:
    return recent.guard(cluster.world, Period.days_before(cluster.now, 1)).staying


def profiles(loads: Mapping[str, float]) -> pd.DataFrame:
    numbers = [max(int(loads[site] * 1_000_000), 1) for site in sorted(loads)]
    return PROFILES.from_columns({name: sorted(loads) if name == "site" else numbers for name in PROFILES.columns})


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    nodes = "".join(
        f'[[node]]\nname = "{name}"\naddresses = ["192.0.2.{number}"]\nram = "1 GiB"\n'
        for number, name in enumerate(NODES, start=1)
    )
    path = tmp_path / "flex.toml"
    path.write_text(
        f'schema = 1\n{nodes}[cluster]\nmode = "auto"\n[dns]\nkey_file = "none.key"\nzones = ["{ZONE}"]\n'
        '[safety]\ntrigger_imbalance = 0.1\n[solver]\ntolerance = 0.05\nengine = "local"\n',
        encoding="utf-8",
    )
    settings, clock = config.load(path), [FIRST]
    target = MemoryTarget([ZONE], settings.owner)
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


def test_a_week_with_drift_a_surge_a_campaign_a_drained_and_a_dead_node(cluster: Cluster) -> None:
    world, campaign = cluster.world, SITES[7]
    first = cluster.night(loads(0))
    assert {move.source for move in first.moves} == {None}
    begins, ends = cluster.now + timedelta(hours=12), cluster.now + timedelta(hours=60)
    pinning.pin(world, Pin(campaign, min_replicas=3, since=begins, until=ends, reason="sale", author="anna"))

    campaigning = cluster.night(loads(1))
    assert len(cluster.nodes_of(campaign)) == 3
    assert {move.reason for move in campaigning.moves if move.site == campaign} == {
        "one more replica: 3 in all, as wished until 5 March 2026, 14:17 UTC"
    }
    assert campaigning.measured is not None
    assert campaigning.measured.cycle == first.id
    assert campaigning.measured.error < 0.1

    cluster.silent_night()
    surged = cluster.night({**loads(2), SITES[20]: 4.0})
    assert any(SITES[20] in note for note in surged.notes), "it is named"

    cluster.night(loads(3))
    assert len(cluster.nodes_of(campaign)) == 1, "the campaign has ended by itself"

    world.store.order_node(NodeOrder("n3", "draining", cluster.now, cluster.now + 4 * DAY, "new disks"))
    for seed in (4, 5, 6):
        before = cluster.on("n3")
        drained = cluster.night(loads(seed))
        assert {move.reason for move in drained.moves if move.source == "n3"} <= {"n3 is drained"}
        assert cluster.on("n3") < before or not before
    assert cluster.on("n3") == 0

    cluster.clock[0] += timedelta(hours=5)
    others = {site: cluster.nodes_of(site) for site in SITES if "n4" not in cluster.nodes_of(site)}
    assert failover.take_down(world, NodeOrder("n4", "down", given=world.clock())) is not None
    assert cluster.on("n4") == 0
    assert all(cluster.nodes_of(site) == nodes for site, nodes in others.items())

    last = cluster.night(loads(7))
    assert last.state == "applied"
    assert max(cluster.moved.values()) <= 2
    errors = [one.measured.error for one in world.store.cycles(100) if one.measured]
    # All but the first night, and the plan that took the dead node out.
    assert (len(errors), max(errors) < 0.5) == (len(world.store.cycles(100)) - 2, True)


def test_a_night_without_new_profiles_moves_nothing(cluster: Cluster) -> None:
    cluster.night(loads(0))
    _, before = cluster.world.store.placement()
    cluster.clock[0] += DAY
    made = nightly.propose(cluster.world).cycle
    assert (made.moves, made.changes) == ((), 0)
    assert cluster.world.store.placement()[1].equals(before)


EVEN = {site: 10 / (number + 5) for number, site in enumerate(SITES)}
SWINGS: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "one half and the other": (
        {site: 6.0 if number % 2 else 1.0 for number, site in enumerate(SITES)},
        {site: 1.0 if number % 2 else 6.0 for number, site in enumerate(SITES)},
    ),
    # Without rules against it, this one moves sites fourteen times.
    "one site": ({**EVEN, SITES[30]: 6.0}, EVEN),
}


@pytest.mark.parametrize(
    ("swing", "length"),
    [
        ("one half and the other", 1),
        pytest.param("one half and the other", 5, marks=pytest.mark.torture),
        ("one site", 1),
    ],
)
def test_a_load_that_swings_for_thirty_nights_moves_no_site_more_than_twice(
    cluster: Cluster, swing: str, length: int
) -> None:
    for night in range(30):
        cluster.night(SWINGS[swing][(night // length) % 2])
    assert max(cluster.moved.values(), default=0) <= 2


# One site that asks for 0.9 of a node, and for a quarter of one.
LARGE, SMALL = ({**dict.fromkeys(SITES, 1.0), SITES[0]: load} for load in (17.0, 4.0))
RHYTHMS = {"every other night": "HL", "every third night": "HLL", "at weekends": "LLLLLHH", "on workdays": "HHHHHLL"}


@pytest.mark.parametrize(
    "rhythm",
    [
        pytest.param(rhythm, id=name, marks=[] if name == "every third night" else pytest.mark.torture)
        for name, rhythm in RHYTHMS.items()
    ],
)
def test_a_large_site_that_swings_for_thirty_nights_gets_and_loses_no_replica_more_than_twice(
    cluster: Cluster, rhythm: str
) -> None:
    for night in range(31):
        cluster.night(LARGE if rhythm[night % len(rhythm)] == "H" else SMALL)
    assert max(cluster.moved.values(), default=0) <= 2


def test_a_growth_that_lasts_gets_its_replica_in_the_first_night_and_keeps_it(cluster: Cluster) -> None:
    for _ in range(2):
        cluster.night(SMALL)
    first = cluster.nodes_of(SITES[0])
    cluster.night(LARGE)
    grown = cluster.nodes_of(SITES[0])
    assert (len(first), len(grown), first < grown) == (1, 2, True)
    for _ in range(5):
        cluster.night(LARGE)
        assert cluster.nodes_of(SITES[0]) == grown


def test_a_site_that_stays_small_for_the_cooldown_goes_back_to_the_node_it_had(cluster: Cluster) -> None:
    cluster.night(SMALL)
    first = cluster.nodes_of(SITES[0])
    cluster.night(LARGE)
    assert resting(cluster)[SITES[0]].startswith("moved ")
    kept = [cluster.night(SMALL) for _ in range(2)]
    assert len(cluster.nodes_of(SITES[0])) == 2
    said = "sites keep as many nodes as they needed lately: s00.hosting.example (2 nodes)"
    assert all(any(said in stop.said for stop in one.stops if stop.rule == COOLDOWN) for one in kept)
    why = "keeps 2 nodes: it needed as many lately; safety.site_cooldown is 3 d 0 h"
    assert why in explaining.explained(cluster.world, SITES[0]).reasons
    cluster.night(SMALL)
    assert cluster.nodes_of(SITES[0]) == first
    assert resting(cluster)[SITES[0]].startswith("gave a node up ")


def test_a_drained_node_loses_the_replica_that_rests_there_and_no_other_one_moves(cluster: Cluster) -> None:
    cluster.night(SMALL)
    cluster.night(LARGE)
    gone, stays = sorted(cluster.nodes_of(SITES[0]))
    cluster.world.store.order_node(NodeOrder(gone, "draining", cluster.now, cluster.now + DAY, "new disks"))
    cluster.night(SMALL)
    now = cluster.nodes_of(SITES[0])
    assert (gone in now, stays in now, len(now)) == (False, True, 2)


def test_each_rule_that_keeps_a_site_where_it_is_is_said(cluster: Cluster) -> None:
    cluster.night(loads(0))
    first = cluster.night({**loads(1), SITES[0]: 3.5})
    assert first.moves
    second = cluster.night({**loads(2), SITES[1]: 3.5})
    rules = {stop.rule for stop in second.stops}
    assert "safety.site_cooldown" in rules
    assert not {move.site for move in first.moves} & {move.site for move in second.moves}


EVERYWHERE = [f"192.0.2.{number}" for number in range(1, 5)]


@pytest.fixture
def adopted(cluster: Cluster) -> Cluster:
    """Every site was on all nodes, as round robin has it, and is on as many as it needs since the first night."""
    world = cluster.world
    adopting = world.settings.dns.model_copy(update={"adopt": True})
    cluster.world = dataclasses.replace(world, settings=world.settings.model_copy(update={"dns": adopting}))
    target = cluster.world.target
    assert isinstance(target, MemoryTarget)
    for site in SITES:
        target.edit(ZONE, f"{site}.", "A", 300, EVERYWHERE)
    cluster.learn(EVEN)
    made = nightly.propose(cluster.world).cycle
    assert {move.target for move in made.moves} == {None}
    assert made.stops == ()
    applying.apply(cluster.world, made.id, force=[breach.rule for breach in made.breaches])
    return cluster


def test_after_adoption_no_site_rests_and_what_is_needed_moves_in_the_next_night(adopted: Cluster) -> None:
    assert resting(adopted) == {}
    done = adopted.night({**EVEN, SITES[20]: 4.0})
    assert any(move.target for move in done.moves)
    assert done.stops == ()


def test_what_rests_says_until_when_and_by_which_rule_and_that_rule_is_the_one_that_binds(cluster: Cluster) -> None:
    """Every site moved last night, so that nothing that is wrong tonight can be mended."""
    cluster.night(EVEN)
    shift = dict(zip(NODES, [*NODES[1:], NODES[0]], strict=True))
    for site in SITES:
        cluster.world.store.put_pin(Pin(site, tuple(shift[node] for node in cluster.nodes_of(site))))
    moved = nightly.propose(cluster.world, decide.LIFTED).cycle
    moved = applying.apply(cluster.world, moved.id, force=[breach.rule for breach in moved.breaches])
    assert moved.settled is not None
    for site in SITES:
        cluster.world.store.drop_pin(site)
    cluster.clock[0] += DAY
    cluster.learn({**EVEN, SITES[0]: 3.5})
    made = nightly.propose(cluster.world).cycle
    assert (made.moves, [stop.rule for stop in made.stops]) == ((), [COOLDOWN])
    rest = made.stops[0]
    assert rest.until == moved.settled + 3 * DAY
    site = rest.sites[0]
    told = next(why for why in explaining.explained(cluster.world, site).reasons if why.startswith("stays on"))
    ends = "until Friday 6 March, 02:17 UTC: safety.site_cooldown is 3 d 0 h"
    assert f"moved 1 d 0 h ago, rests {ends} (past it: flex plan --force safety.site_cooldown)" in told
    assert not nightly.propose(cluster.world, [decide.MARGIN]).cycle.moves
    assert site in {move.site for move in nightly.propose(cluster.world, [COOLDOWN]).cycle.moves}


def test_a_dead_node_that_is_well_again_gets_its_sites_back_the_same_night(cluster: Cluster) -> None:
    """Also what an ordinary night took off it."""
    cluster.night(loads(0))
    cluster.world.store.order_node(NodeOrder("n4", "down", given=cluster.now))
    cluster.night(loads(0))
    assert cluster.on("n4") == 0
    assert resting(cluster) == {}
    cluster.world.store.order_node(NodeOrder("n4", "active", given=cluster.now))
    said = tonight.told(cluster.world, "n4")
    back = cluster.night(loads(0))
    come = sum(move.target == "n4" for move in back.moves)
    assert said == [f"{come} sites with the next plan come to n4"]
    assert cluster.on("n4") == come > 0
    assert back.after.worst <= 0.05


def test_who_drains_a_node_hears_how_many_sites_leave_it_tonight_and_how_to_hurry(cluster: Cluster) -> None:
    cluster.night(loads(0))
    there = cluster.on("n4")
    cluster.world = limited(cluster.world, 4)
    order = NodeOrder("n4", "draining", cluster.now)
    cluster.world.store.order_node(order)
    (said,) = tonight.told(cluster.world, "n4")
    leave = f"4 sites with the next plan, {there - 4} later, leave n4 (safety.max_moved_sites is 4)"
    assert said == f"{leave}; `flex nodes drain n4 --deadline TIME` to hurry"
    cluster.world.store.order_node(dataclasses.replace(order, deadline=cluster.now + DAY / 2))
    assert tonight.told(cluster.world, "n4") == [f"{there} sites with the next plan leave n4"]
    cluster.world.store.order_node(order)
    gone = cluster.night(loads(0))
    assert (cluster.on("n4"), len(gone.put_off)) == (there - 4, there - 4)
    assert {move.reason for move in gone.put_off} == {
        "n4 is drained; put off to a later night: safety.max_moved_sites is 4"
    }


ENDS = ("until tomorrow noon", "since tonight")


@pytest.mark.parametrize("when", ENDS)
def test_a_campaign_for_which_tomorrow_is_too_late_goes_before_a_drain_that_takes_all_moves_of_a_night(
    cluster: Cluster, when: str
) -> None:
    cluster.night(loads(0))
    world, site = cluster.world, SITES[59]
    world.store.order_node(NodeOrder("n1", "draining", cluster.now))
    world = cluster.world = limited(world, 3)
    now = cluster.now + DAY
    wanted = next(node for node in ("n2", "n3", "n4") if node not in cluster.nodes_of(site))
    late = Pin(site, (wanted,), since=now - timedelta(hours=1)) if when == ENDS[1] else Pin(site, (wanted,))
    ends = dataclasses.replace(late, until=now + timedelta(hours=10)) if when == ENDS[0] else late
    world.store.put_pin(dataclasses.replace(ends, campaign="sale"))
    done = cluster.night(loads(0))
    assert len({move.site for move in done.moves}) == 3
    assert cluster.nodes_of(site) == {wanted}


def test_a_wish_that_a_drain_leaves_to_a_later_night_is_named_with_the_reason_wherever_the_plan_is_told(
    cluster: Cluster,
) -> None:
    cluster.night(loads(0))
    site = SITES[59]
    cluster.world.store.order_node(NodeOrder("n1", "draining", cluster.now))
    world = cluster.world = limited(cluster.world, 3)
    wanted = next(node for node in ("n2", "n3", "n4") if node not in cluster.nodes_of(site))
    world.store.put_pin(Pin(site, (wanted,), reason="launch"))
    done = cluster.night(loads(0))
    put_off = next(move for move in done.put_off if move.site == site)
    limit = "put off to a later night: safety.max_moved_sites is 3"
    assert put_off.reason == f"pinned to {wanted}; {limit}"
    here = next(iter(cluster.nodes_of(site)))
    told = f"{here} -> {wanted}, later: pinned to {wanted}; {limit}"
    assert told in explaining.explained(world, site).reasons
    mail = bulletin.of_night("test", done, "", 0, "", "")
    assert mail is not None
    assert f"{site}  {here} -> {wanted}  pinned to {wanted}; {limit}" in mail.text
    output = present.plan_output(done)
    assert put_off.reason in {move.reason for move in output.put_off}
    shown = io.StringIO()
    text.plan(Console(file=shown, width=200), output)
    assert f"pinned to {wanted}; {limit}" in shown.getvalue()
    data = ReportData("test", cluster.now, 0.05, output, (), None, {})
    assert all(f"pinned to {wanted}; {limit}" in FORMATS[form](data) for form in ("json", "md", "html"))


def limited(world: World, most: int) -> World:
    safety = world.settings.safety.model_copy(update={"max_moved_sites": most})
    return dataclasses.replace(world, settings=world.settings.model_copy(update={"safety": safety}))


def test_what_left_a_drained_node_rests_until_the_node_is_back(cluster: Cluster) -> None:
    cluster.night(loads(0))
    order = NodeOrder("n4", "draining", cluster.now, cluster.now + DAY, "new disks")
    cluster.world.store.order_node(order)
    gone = cluster.night(loads(0))
    assert set(resting(cluster)) == {move.site for move in gone.moves if move.source == "n4"}
    cluster.world.store.order_node(dataclasses.replace(order, state="active", deadline=None))
    assert resting(cluster) == {}
    cluster.night(loads(0))
    assert cluster.on("n4") > 0
