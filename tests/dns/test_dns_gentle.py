"""A site that moves is on both nodes before it leaves the old one, wherever a run is killed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import pytest

from flex.errors import PartlyApplied, Stale, Unwell
from flex.model.dns_update_journal import JournalRow
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.ports import Publisher
from flex.zones import waves as rollout
from flex.zones import zone_changes
from flex_dns.make_before_break import Coming, GentlePublisher, Hooks
from tests.dns.conftest import Edit
from tests.dns.given import placed
from tests.dns.journal_in_memory import MemoryJournal
from tests.memory_publisher import MemoryPublisher

OLD, NEW = ("192.0.2.1",), ("192.0.2.2",)
BOTH = (*OLD, *NEW)


class Killed(Exception):
    """What ends a run while it waits."""


@dataclass
class Watched:
    """A gentle target that says what the zone said while it waited, and does something
    meanwhile.
    """

    target: Publisher
    zone: str
    meanwhile: Callable[[], None] = lambda: None
    ttl: int = 0
    seen: list[tuple[float, list[str]]] = field(default_factory=list)

    def apply(self, made: ZonePlan, journal: MemoryJournal | None = None) -> None:
        GentlePublisher(self.target, self._wait, ttl=self.ttl).apply(made, journal=journal)

    def _wait(self, seconds: float) -> None:
        self.seen.append((seconds, addresses(self.target, self.zone)))
        self.meanwhile()


def addresses(target: Publisher, zone: str) -> list[str]:
    return sorted(target.read(zone, [f"www.{zone}"]).records["value"])


def move(zone: str, *after: str) -> ZonePlan:
    www = Rrset(f"www.{zone}", "A", 60, OLD)
    return ZonePlan(zone, (Change(www, Rrset(www.name, "A", 60, after)),))


@pytest.fixture
def home(target: Publisher, zone: str) -> str:
    """A zone in which the site is on its old node."""
    target.apply(ZonePlan(zone, placed(zone, f"www.{zone}", *OLD)))
    return zone


def test_a_move_waits_a_ttl_with_both_nodes_in_dns(target: Publisher, home: str) -> None:
    watched = Watched(target, home)
    watched.apply(move(home, *NEW))
    assert watched.seen == [(60.0, list(BOTH))]
    assert addresses(target, home) == list(NEW)


def test_what_only_comes_or_only_goes_waits_for_nothing(target: Publisher, home: str) -> None:
    watched = Watched(target, home)
    watched.apply(ZonePlan(home, placed(home, f"new.{home}", *NEW)))
    watched.apply(move(home, *BOTH))
    both = Rrset(f"www.{home}", "A", 60, BOTH)
    watched.apply(ZonePlan(home, (Change(both, Rrset(both.name, "A", 60, NEW)),)))
    assert (watched.seen, addresses(target, home)) == ([], list(NEW))


def killed_in_between(target: Publisher, zone: str, journal: MemoryJournal) -> None:
    def kill() -> None:
        raise Killed

    with pytest.raises(Killed):
        Watched(target, zone, kill).apply(move(zone, *NEW), journal)
    assert addresses(target, zone) == list(BOTH)


def test_a_run_that_was_killed_while_it_waited_waits_again_and_takes_the_old_node_away(
    target: Publisher, home: str
) -> None:
    journal, again = MemoryJournal(), Watched(target, home)
    killed_in_between(target, home, journal)
    again.apply(move(home, *NEW), journal)
    assert (again.seen, addresses(target, home)) == ([(60.0, list(BOTH))], list(NEW))
    assert {row.state for row in journal.rows()} <= {"done", "refused"}


def test_a_run_that_was_killed_while_it_waited_is_taken_back(target: Publisher, home: str) -> None:
    killed_in_between(target, home, MemoryJournal())
    made = move(home, *NEW)
    target.apply(zone_changes.undoing(made, target.read(home, zone_changes.changed_names(made))))
    assert addresses(target, home) == list(OLD)


def test_what_somebody_writes_while_it_waits_stays(
    target: Publisher, home: str, edit: Edit
) -> None:
    watched = Watched(target, home, lambda: edit(f"www.{home}", "A", ["198.51.100.1"]))
    with pytest.raises(PartlyApplied):
        watched.apply(move(home, *NEW))
    assert addresses(target, home) == ["198.51.100.1"]


def test_a_plan_that_is_outdated_is_refused_before_anything_is_added(
    target: Publisher, home: str, edit: Edit
) -> None:
    edit(f"www.{home}", "A", ["198.51.100.1"])
    watched = Watched(target, home)
    with pytest.raises(Stale):
        watched.apply(move(home, *NEW))
    assert (watched.seen, addresses(target, home)) == ([], ["198.51.100.1"])


def ttls(target: Publisher, zone: str) -> set[int]:
    return set(target.read(zone, [f"www.{zone}"]).records["ttl"])


def test_a_ttl_is_lowered_one_old_ttl_ahead_and_restored_by_the_last_step(
    target: Publisher, home: str
) -> None:
    on_the_way: list[set[int]] = []
    watched = Watched(target, home, lambda: on_the_way.append(ttls(target, home)), ttl=5)
    watched.apply(move(home, *NEW))
    assert watched.seen == [(60.0, list(OLD)), (5.0, list(BOTH))]
    assert on_the_way == [{5}, {5}]
    assert (addresses(target, home), ttls(target, home)) == (list(NEW), {60})


@pytest.mark.parametrize("waits", [1, 2])
@pytest.mark.parametrize("goes_on", [True, False])
def test_wherever_it_was_killed_it_goes_on_or_back_with_the_ttl_that_was(
    target: Publisher, home: str, waits: int, goes_on: bool
) -> None:
    def kill() -> None:
        if len(watched.seen) == waits:
            raise Killed

    journal, watched = MemoryJournal(), Watched(target, home, kill, ttl=5)
    with pytest.raises(Killed):
        watched.apply(move(home, *NEW), journal)
    made = move(home, *NEW)
    if goes_on:
        again = Watched(target, home, ttl=5)
        again.apply(made, begun(journal, home))
        # Resolvers may still have what there was before the plan, and for as long.
        assert again.seen[0] == (60.0, list(OLD if waits == 1 else BOTH))
    else:
        target.apply(
            zone_changes.undoing(made, target.read(home, zone_changes.changed_names(made)), 5)
        )
    assert (addresses(target, home), ttls(target, home)) == (list(NEW if goes_on else OLD), {60})


SITES = 20
SHARES = (0.05, 0.2)


@dataclass
class InWaves:
    """Twenty sites that move in waves of one, four and all others; `events` is what happened, in
    order.
    """

    target: Publisher
    zone: str
    sick_at: int = -1
    killed_at: int = -1
    meanwhile: Callable[[int], None] = lambda _: None
    # Entered each time that servers are asked whether they say what a step wrote.
    idle: Callable[[], AbstractContextManager[object]] = nullcontext
    events: list[str] = field(default_factory=list)
    # For how long each run said that it would wait, and in how many waves.
    foretold: list[tuple[float, int]] = field(default_factory=list)

    @property
    def made(self) -> ZonePlan:
        sites = [f"s{number}.{self.zone}" for number in range(SITES)]
        return ZonePlan(
            self.zone,
            tuple(Change(Rrset(name, "A", 60, OLD), Rrset(name, "A", 60, NEW)) for name in sites),
        )

    def apply(self, journal: MemoryJournal | None = None) -> None:
        told = self.foretold
        hooks = Hooks(lambda *one: told.append(one), self._warm, self._well, self.idle)
        gentle = GentlePublisher(self.target, self._wait, shares=SHARES, hooks=hooks)
        gentle.apply(self.made, journal=journal)

    def take_back(self) -> None:
        self.target.apply(
            zone_changes.undoing(
                self.made, self.target.read(self.zone, zone_changes.changed_names(self.made))
            )
        )

    @property
    def homes(self) -> tuple[int, int, int]:
        """How many sites are on the old node alone, on both, on the new one alone."""
        found = (
            self.target.read(self.zone, zone_changes.changed_names(self.made))
            .records.groupby("name")["value"]
            .apply(tuple)
        )
        said = [tuple(sorted(values)) for values in found]
        return said.count(OLD), said.count(BOTH), said.count(NEW)

    def _wait(self, _: float) -> None:
        waits = len([event for event in self.events if event.startswith("wait")])
        if self.killed_at == waits:
            raise Killed
        self.meanwhile(waits)
        self.events.append(f"wait {self.homes}")

    def _warm(self, coming: Coming, wave: int, waves: int) -> None:
        addresses = {address for each in coming.values() for address in each}
        self.events.append(f"warm {len(coming)} at {addresses}, {wave} of {waves} {self.homes}")

    def _well(self, addresses: Collection[str]) -> None:
        assert set(addresses) == set(NEW)
        asked = len([event for event in self.events if event == "well?"])
        if asked == self.sick_at:
            raise Unwell("", "n2 does not answer", kept="", advice="")
        self.events.append("well?")


@pytest.fixture
def many(target: Publisher, zone: str) -> InWaves:
    target.apply(
        ZonePlan(
            zone, tuple(one for n in range(SITES) for one in placed(zone, f"s{n}.{zone}", *OLD))
        )
    )
    return InWaves(target, zone)


def test_sites_move_in_waves_and_each_begins_when_the_one_before_is_over_and_well(
    many: InWaves,
) -> None:
    many.apply()
    assert many.events == [
        "well?", "warm 1 at {'192.0.2.2'}, 1 of 3 (20, 0, 0)", "wait (19, 1, 0)",
        "well?", "wait (19, 0, 1)",
        "well?", "warm 4 at {'192.0.2.2'}, 2 of 3 (19, 0, 1)", "wait (15, 4, 1)",
        "well?", "wait (15, 0, 5)",
        "well?", "warm 15 at {'192.0.2.2'}, 3 of 3 (15, 0, 5)", "wait (0, 15, 5)",
        "well?",
    ]  # fmt: skip
    assert many.homes == (0, 0, 20)


@pytest.mark.parametrize("sick_at", range(6))
def test_a_node_that_is_not_well_ends_it_and_all_of_it_can_be_taken_back(
    many: InWaves, sick_at: int
) -> None:
    many.sick_at = sick_at
    with pytest.raises(Unwell):
        many.apply()
    assert (
        many.homes
        == [(20, 0, 0), (19, 1, 0), (19, 0, 1), (15, 4, 1), (15, 0, 5), (0, 15, 5)][sick_at]
    )
    many.take_back()
    assert many.homes == (20, 0, 0)


@pytest.mark.parametrize("killed_at", range(5))
@pytest.mark.parametrize("goes_on", [True, False])
def test_killed_in_any_wave_it_goes_on_or_back(
    many: InWaves, killed_at: int, goes_on: bool
) -> None:
    journal, many.killed_at = MemoryJournal(), killed_at
    with pytest.raises(Killed):
        many.apply(journal)
    many.killed_at = -1
    if goes_on:
        many.events.clear()
        many.apply(begun(journal, many.zone))
        waits = len([event for event in many.events if event.startswith("wait")])
        assert many.foretold == [(300.0, 3), (60.0 * waits, 3 - (killed_at + 1) // 2)]
    else:
        many.take_back()
    assert many.homes == ((0, 0, 20) if goes_on else (20, 0, 0))


def test_a_record_of_the_last_wave_that_somebody_changed_is_found_before_the_first(
    many: InWaves, edit: Edit
) -> None:
    for number in range(SITES):
        edit(f"s{number}.{many.zone}", "A", ["198.51.100.1"])
    with pytest.raises(Stale):
        many.apply()
    assert many.events == []


FOREIGN = "198.51.100.1"


@pytest.mark.parametrize("at", range(5))
def test_a_name_that_somebody_changes_on_the_way_is_left_to_him_and_all_others_move(
    many: InWaves, edit: Edit, at: int
) -> None:
    wave_of, journal = rollout.waves([many.made], SHARES), MemoryJournal()
    theirs = max(zone_changes.changed_names(many.made), key=lambda name: wave_of[name])
    many.meanwhile = lambda waits: edit(theirs, "A", [FOREIGN]) if waits == at else None
    with pytest.raises(PartlyApplied, match=f"1 names are no longer .*{theirs}.*{FOREIGN}"):
        many.apply(journal)
    assert (many.homes, addresses_at(many, theirs)) == ((0, 0, SITES - 1), [FOREIGN])
    if not isinstance(many.target, MemoryPublisher):
        # All that was made is written down, also what was sent again without the one name.
        done = [len(row.changes) for row in journal.rows() if row.state == "done"]
        assert sum(done) == 2 * (SITES - 1) + (at == 4)
    many.meanwhile, waited = (lambda _: None), len(many.events)
    with pytest.raises(PartlyApplied, match=theirs):
        many.apply(begun(journal, many.zone))
    assert len(many.events) == waited


@pytest.mark.parametrize("address", [FOREIGN, *OLD])
def test_a_name_changed_or_set_back_before_servers_agree_is_left_and_all_others_move(
    many: InWaves, edit: Edit, address: str
) -> None:
    wave_of = rollout.waves([many.made], SHARES)
    theirs = min(zone_changes.changed_names(many.made), key=lambda name: wave_of[name])
    edits = iter([lambda: edit(theirs, "A", [address])])

    def idle() -> AbstractContextManager[object]:
        return nullcontext(next(edits, lambda: None)())

    many.idle = idle
    with pytest.raises(PartlyApplied, match=f"1 names are no longer .*{theirs}"):
        many.apply()
    assert (many.homes[2], addresses_at(many, theirs)) == (SITES - 1, [address])


@pytest.mark.parametrize("killed_at", range(5))
def test_killed_in_any_wave_it_goes_on_without_what_somebody_changed_since(
    many: InWaves, edit: Edit, killed_at: int
) -> None:
    theirs, journal, many.killed_at = f"s0.{many.zone}", MemoryJournal(), killed_at
    with pytest.raises(Killed):
        many.apply(journal)
    edit(theirs, "A", [FOREIGN])
    many.killed_at = -1
    with pytest.raises(PartlyApplied, match=theirs):
        many.apply(begun(journal, many.zone))
    assert (many.homes, addresses_at(many, theirs)) == ((0, 0, SITES - 1), [FOREIGN])


def addresses_at(many: InWaves, name: str) -> list[str]:
    return list(many.target.read(many.zone, [name]).records["value"])


def begun(journal: MemoryJournal, zone: str) -> MemoryJournal:
    """The double sends no messages, and so keeps no journal that would say that it was begun."""
    if not journal.rows():
        journal.intend([JournalRow(0, zone, (0,), "done")])
    return journal


def test_what_moves_without_dns_is_in_the_same_waves_and_waits_for_nobody(
    target: Publisher, home: str
) -> None:
    """Names of others, or of no zone at all, that doors alone lead."""
    beside = {f"{number}.elsewhere.": {f"192.0.2.1{number}"} for number in range(9)}
    coming: list[set[str]] = []
    well: list[set[str]] = []
    waits: list[float] = []
    hooks = Hooks(
        ahead=lambda names, *_: coming.append(set(names)),
        well=lambda addresses: well.append(set(addresses)),
    )
    gentle = GentlePublisher(target, waits.append, shares=(0.1, 0.5), hooks=hooks, beside=beside)
    gentle.apply()
    assert [len(names) for names in coming] == [1, 5, 3]
    assert set().union(*coming) == set(beside)
    # Nodes of earlier waves are asked again.
    nodes = [set().union(*map(beside.__getitem__, names)) for names in coming]
    assert well == [nodes[0], nodes[0] | nodes[1], nodes[0] | nodes[1] | nodes[2]]
    assert sum(waits) == 0.0
    coming.clear()
    gentle.apply(move(home, *NEW))
    assert [len(names) for names in coming] == [1, 5, 4]
    assert set().union(*coming) == {*beside, f"www.{home}"}
    # One TTL for the one name that is in DNS, and one more before the wave behind it.
    is_last = f"www.{home}" in coming[-1]
    assert sum(waits) == (60.0 if is_last else 120.0)
    assert addresses(target, home) == list(NEW)
