"""A plan that makes before it breaks, and what goes wrong on its way: finished or taken back, never
left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pandas as pd
import pytest

from flex.errors import Busy, FlexError, Frozen, OnTheWay, Refused, Unreachable
from flex.frame_schemas import PLACEMENT
from flex.model.balance import Balance
from flex.model.dns_update_journal import Journal, JournalRow
from flex.model.drains_and_freezes import Freeze
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.nightly_run import NightlyRun
from flex.model.period import Period
from flex.model.plan import Plan, Proven
from flex.model.zone_plan import Change, HintedSet, Rrset, ZonePlan
from flex.store import MemoryStore, holder
from flex.store.lease_holder import PATIENCE
from flex.zones import zone_changes
from flex.zones.decisions_in_markers import EXCLUDED
from flex.zones.marker import marker_name, marker_text
from flex.zones.records_of_partition import ZoneState
from flex.zones.what_leans_on_names import Pointed
from flex_api import wiring
from flex_api.night import (
    interruptible_wait,
    plan_undo,
    recovery,
    route_and_publish_plan,
)
from flex_api.night.leases import lease
from flex_api.settings.file import Settings
from flex_api.wiring import World
from tests.memory_publisher import MemoryPublisher

NOW = datetime(2026, 3, 2, 2, 17, tzinfo=UTC)
ZONE = "example.org."
# In the order of their waves.
SITES = ("b.example.org", "a.example.org")
OLD, NEW = "192.0.2.1", "192.0.2.2"
AWAY = Unreachable("asking", "no answer in time", advice="look at it")
NEVER = Refused("asking", "REFUSED", advice="look at it")


class Time:
    """It passes only while somebody waits."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruptible_wait, "time", Time())


class Killed(Exception):
    """What ends a run, wherever it is."""


class Server(MemoryPublisher):
    """It writes down that a step was made, and fails as it is told, or agrees late."""

    def __init__(self) -> None:
        super().__init__([ZONE], "me")
        self.to_updates: list[Exception | None] = []
        self.is_late = False
        self.denies_hints = False
        self.asked: Callable[[], object] = lambda: None

    def apply(self, *plans: ZonePlan, journal: Journal | None = None) -> None:
        if trouble := self.to_updates.pop(0) if self.to_updates else None:
            raise trouble
        if self.denies_hints and any(map(zone_changes.changed_hints, plans)):
            raise NEVER
        super().apply(*plans, journal=journal)
        if journal:
            journal.intend([JournalRow(0, ZONE, (), "done")])

    def read(
        self,
        zone: str,
        names: Sequence[str],
        also: Sequence[str] = (),
        *,
        pointed: Pointed | None = None,
        hints: Collection[HintedSet] = (),
    ) -> ZoneState:
        """Tell only the hints that are asked for: none is to follow by now."""
        found = super().read(zone, names, also, pointed=pointed, hints=hints)
        told = {one: said for one, said in found.hints.items() if one in hints}
        return replace(found, hints=told)

    def refuse_hints(self, zone: str, sets: Collection[HintedSet]) -> None:
        super().refuse_hints(zone, sets)
        if self.denies_hints:
            raise NEVER

    def verify(
        self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0
    ) -> tuple[NameServerVerdict, ...]:
        self.asked()
        if self.is_late:
            return (NameServerVerdict("ns2", len(wanted), error="no answer in time"),)
        return super().verify(zone, wanted, patience=patience)


@dataclass
class Cluster:
    """Two sites that move from n1 to n2, one after the other. What they had is not waited for: its
    TTL is 0.
    """

    ttl: int = 0
    said: list[str] = field(default_factory=list)
    hints: bool = False
    server: Server = field(default_factory=Server)
    store: MemoryStore = field(default_factory=MemoryStore)
    more: dict[str, object] = field(default_factory=dict)
    dns: dict[str, object] = field(
        default_factory=lambda: {"make_before_break": True, "waves": [0.01]}
    )

    def __post_init__(self) -> None:
        marks = [
            Rrset(marker_name(f"{site}.", ZONE), "TXT", 1, (marker_text("me"),)) for site in SITES
        ]
        given = [at(site, OLD, ttl=self.ttl) for site in SITES]
        given += [hinted(site, OLD) for site in SITES if self.hints]
        MemoryPublisher.apply(
            self.server, ZonePlan(ZONE, tuple(Change(None, one) for one in (*given, *marks)))
        )
        self.store.propose(
            plan(self.ttl, hints=self.hints),
            PLACEMENT.from_columns({"site": list(SITES), "node": ["n2"] * len(SITES)}),
        )

    @property
    def world(self) -> World:
        nodes = [
            {"name": name, "addresses": [one], "ram": "1 GiB"}
            for name, one in (("n1", OLD), ("n2", NEW))
        ]
        given = {
            "dns": {"zones": ["example.org"], "ttl": 1, **self.dns},
            "node": nodes,
            "cluster": {"name": "me"},
            **self.more,
        }
        return World(
            settings=Settings.model_validate(given),
            store=self.store,
            connect=lambda: self.server,
            clock=lambda: NOW,
            time_of_day=lambda: NOW,
            say=self.said.append,
            progress=wiring.silent,
        )

    def begin(self, *to_updates: Exception | None, is_late: bool = False) -> None:
        """As far as the name server lets it."""
        self.server.to_updates, self.server.is_late = list(to_updates), is_late
        with pytest.raises((FlexError, Killed)):
            route_and_publish_plan.carry_out(self.world, self.plan)
        self.server.is_late = False
        assert self.plan.state == "applying"

    @property
    def plan(self) -> Plan:
        return self.store.plan(plan().id)

    @property
    def homes(self) -> list[tuple[str, ...]]:
        said = self.server.read(ZONE, [f"{site}." for site in SITES]).records
        return [tuple(sorted(said["value"][said["name"] == f"{site}."])) for site in SITES]

    @property
    def told(self) -> list[str]:
        """The hints of the sites."""
        asked: list[HintedSet] = [(f"{site}.", "HTTPS") for site in SITES]
        said = self.server.read(ZONE, [f"{site}." for site in SITES], hints=asked).hints
        return [said[one][1][0].split('"')[1] for one in asked]

    @property
    def ttls(self) -> set[int]:
        return set(self.server.read(ZONE, [f"{site}." for site in SITES]).records["ttl"])


def at(site: str, *addresses: str, ttl: int = 1) -> Rrset:
    return Rrset(f"{site}.", "A", ttl, addresses)


def hinted(site: str, address: str) -> Rrset:
    return Rrset(f"{site}.", "HTTPS", 0, (f'1 . ipv4hint="{address}"',))


def plan(ttl: int = 0, *, hints: bool = False) -> Plan:
    changes = tuple(Change(at(site, OLD, ttl=ttl), at(site, NEW)) for site in SITES)
    if hints:
        changes += tuple(Change(hinted(one, OLD), hinted(one, NEW)) for one in SITES)
    return Plan(
        "20260302T021700-0123456789ab",
        NOW,
        Period.days_before(NOW, 1),
        "",
        "",
        Proven("exact", 1, proven=True),
        (),
        0,
        len(SITES),
        None,
        Balance((), 0.0),
        (),
        (ZonePlan(ZONE, changes),),
    )


ALL_OLD, ALL_NEW = [(OLD,)] * 2, [(NEW,)] * 2


def test_what_passes_leaves_a_plan_on_its_way_until_it_can_be_finished() -> None:
    here = Cluster()
    here.begin(None, AWAY)
    here.server.is_late = True
    with pytest.raises(OnTheWay, match="ns2: no answer in time"):
        recovery.finish(here.world)
    here.server.is_late, here.server.to_updates = False, [None, AWAY]
    with pytest.raises(OnTheWay):
        recovery.finish(here.world)
    assert (here.plan.state, here.homes) == ("applying", [(NEW,), (OLD,)])
    recovery.finish(here.world)
    assert (here.plan.state, here.homes) == ("applied", ALL_NEW)


def test_what_is_refused_for_good_in_between_is_taken_back() -> None:
    here = Cluster()
    here.begin(None, AWAY)
    here.server.to_updates = [NEVER]
    recovery.finish(here.world)
    assert (here.plan.state, here.homes, here.store.in_force()) == ("failed", ALL_OLD, "")


@pytest.mark.parametrize("may", [True, False])
def test_addresses_go_back_though_the_key_lost_the_right_to_change_hints(may: bool) -> None:
    here = Cluster(hints=True)
    here.begin(None, AWAY)
    here.server.denies_hints = not may
    plan_undo.take_back(here.world)
    assert (here.plan.state, here.homes) == ("failed", ALL_OLD)
    (said,) = (line for line in here.said if "put back" in line)
    if may:
        assert here.told == [OLD, OLD]
        assert said == f"{ZONE} 2 record sets put back."
    else:
        # They name the new node, too, or alone: it is well.
        assert here.told == [f"{OLD},{NEW}", OLD]
        assert said.endswith("as the plan left them: HTTPS of b.example.org.")


def test_a_plan_that_changes_hints_is_taken_back_though_none_is_to_follow_by_now() -> None:
    here = Cluster(hints=True)
    here.begin(None, AWAY)
    assert here.told == [f"{OLD},{NEW}", OLD]
    here.server.to_updates = [NEVER]
    recovery.finish(here.world)
    assert (here.plan.state, here.homes, here.told) == ("failed", ALL_OLD, [OLD] * 2)


def test_an_address_that_somebody_edited_is_named_though_its_hints_go_back() -> None:
    here = Cluster(hints=True)
    here.begin(None, AWAY)
    here.server.edit(ZONE, f"{SITES[0]}.", "A", 1, ["192.0.2.9"])
    plan_undo.take_back(here.world)
    (said,) = (line for line in here.said if "put back" in line)
    assert said.endswith(f"of others by now, and left alone: {SITES[0]}.")


@pytest.mark.parametrize("made", [1, 2, 3])
def test_where_a_node_is_not_well_every_site_is_at_its_old_one_in_whatever_wave(made: int) -> None:
    here = Cluster()
    here.begin(*[None] * made, AWAY)
    # Nobody listens there.
    here.more = {"watch": {"probes": ["tcp:9"], "timeout": "1s", "fails": 1}}
    recovery.finish(here.world)
    assert (here.plan.state, here.homes) == ("failed", ALL_OLD)
    assert any("does not answer the probes" in line for line in here.said)


def test_where_a_node_is_not_well_and_taking_back_fails_too_it_is_still_to_be_taken_back() -> None:
    here = Cluster()
    here.begin(None, AWAY)
    # Nobody listens there.
    here.more = {"watch": {"probes": ["tcp:9"], "timeout": "1s", "fails": 1}}
    here.server.to_updates = [NEVER]
    with pytest.raises(OnTheWay, match="could not be taken back: REFUSED") as left:
        recovery.finish(here.world)
    assert "flex apply --undo" in left.value.advice
    assert plan_undo.take_back(here.world) == (here.plan.id,)
    assert (here.plan.state, here.homes) == ("failed", ALL_OLD)


def test_what_was_being_taken_back_never_goes_forward_again() -> None:
    here = Cluster()
    here.begin(None, AWAY)
    here.server.to_updates = [Killed()]
    with pytest.raises(Killed):
        plan_undo.take_back(here.world)
    recovery.finish(here.world)
    assert (here.plan.state, here.plan.taking_back, here.homes) == ("failed", False, ALL_OLD)


@pytest.mark.parametrize("now", [{}, {"make_before_break": True, "waves": []}])
def test_a_plan_goes_on_as_it_began_whatever_the_settings_say_by_now(
    now: dict[str, object],
) -> None:
    here = Cluster()
    here.begin(None, AWAY)
    here.dns = now
    recovery.finish(here.world)
    assert (here.plan.state, here.homes, here.ttls) == ("applied", ALL_NEW, {1})


def test_a_ttl_that_was_lowered_is_restored_by_other_settings_too() -> None:
    here = Cluster(ttl=2)
    here.dns |= {"moving_ttl": 1, "ttl": 2}
    here.begin(is_late=True)
    assert here.ttls == {1}
    here.dns = {}
    plan_undo.take_back(here.world)
    assert (here.homes, here.ttls) == (ALL_OLD, {2})


@pytest.mark.parametrize(
    ("dead", "to_undoing", "homes"),
    [
        ("n1", None, [(NEW,), tuple(sorted((OLD, NEW)))]),
        ("n2", None, ALL_OLD),
        ("n2", NEVER, [(NEW,), tuple(sorted((OLD, NEW)))]),
    ],
)
def test_a_dead_node_is_not_brought_back_nor_kept_by_what_was_on_its_way(
    dead: str, to_undoing: Exception | None, homes: list[tuple[str, ...]]
) -> None:
    here = Cluster()
    here.begin(None, None, None, AWAY)
    here.server.to_updates = [to_undoing]
    recovery.make_way(here.world, dead)
    assert (here.plan.state, here.homes) == ("failed", homes)


def test_what_others_changed_in_between_is_left_to_them_and_the_rest_is_in_force() -> None:
    here = Cluster()
    here.begin(None, AWAY)
    here.server.edit(ZONE, f"{SITES[0]}.", "A", values=["198.51.100.1"])
    recovery.finish(here.world)
    assert (here.plan.state, here.homes) == ("failed", [("198.51.100.1",), (NEW,)])
    assert here.store.in_force() == here.plan.id


@pytest.mark.parametrize("hints", [True, False])
def test_what_a_marker_excludes_in_between_stays_and_the_rest_is_taken_back(hints: bool) -> None:
    here = Cluster(hints=hints)
    here.begin(None, AWAY)
    marker = marker_name(f"{SITES[0]}.", ZONE)
    texts = [marker_text("me"), f"{EXCLUDED} since=2026-03-02"]
    here.server.edit(ZONE, marker, "TXT", 1, texts)
    assert plan_undo.take_back(here.world) == (here.plan.id,)
    assert (here.plan.state, here.homes) == ("failed", [(OLD, NEW), (OLD,)])
    (said,) = (line for line in here.said if "put back" in line)
    left = f"excluded by markers, and left as they are: {SITES[0]}"
    assert said == f"{ZONE} 0 record sets put back; {left}."


def test_a_freeze_ends_it_between_two_waves_and_it_goes_on_when_that_is_over() -> None:
    here = Cluster()
    here.begin(None, AWAY)
    here.store.put_freeze(Freeze(NOW))
    with pytest.raises(Frozen, match="frozen"):
        recovery.finish(here.world)
    assert (here.plan.state, here.homes) == ("applying", [(NEW,), (OLD,)])
    here.store.put_freeze(None)
    recovery.finish(here.world)
    assert (here.plan.state, here.homes) == ("applied", ALL_NEW)


def test_what_was_forced_at_the_start_stops_no_wave() -> None:
    here = Cluster()
    here.store.put_freeze(Freeze(NOW))
    route_and_publish_plan.carry_out(here.world, here.plan)
    assert here.homes == ALL_NEW


def test_who_cannot_wait_breaks_in_while_servers_are_asked() -> None:
    here = Cluster()
    here.server.asked = lambda: here.store.begin(
        NightlyRun("rival", holder(), NOW), PATIENCE, here.world.time_of_day(), breaks_in=True
    )
    with pytest.raises(Busy, match="a node died meanwhile"), lease(here.world, "apply"):
        route_and_publish_plan.carry_out(here.world, here.plan)


def test_how_long_it_takes_at_least_is_said_before_it_begins() -> None:
    here = Cluster()
    route_and_publish_plan.carry_out(here.world, here.plan)
    assert here.said[0] == "Resolvers are waited for 1.0 s in all, in 2 waves."
