"""A dead node that could not be taken out of DNS is tried again until it is out, whatever failed,
whoever goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import dns.query
import dns.update
import pytest

from flex.errors import DnsError, FlexError, PartlyApplied, Refused, Unreachable
from flex.model.dns_update_journal import JournalRow
from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.retry_schedule import MOST
from flex.site_names_in_words import FEW
from flex.zones.marker import marker_name
from flex_api import wiring
from flex_api.night import (
    dead_nodes_first,
    failover,
    failover_attempts,
    pending_failovers,
)
from flex_api.night.health_watch import HealthWatch
from flex_api.night.leases import lease
from flex_api.night.record_stages import Steps
from flex_api.settings import file as settings
from flex_api.wiring import World

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

WATCHED = "[watch]\nprobes = ['tcp:80']\nmax_down = 0.5\n"
SECOND = timedelta(seconds=1)


def away(asked: str) -> FlexError:
    return Unreachable(asked, "no answer in time", advice="look after it")


def refused(asked: str) -> FlexError:
    return Refused(asked, "REFUSED", advice="look after the key")


def partly(asked: str) -> FlexError:
    return PartlyApplied(
        asked, "the connection broke", kept="some of it is in DNS", advice="look after it"
    )


@dataclass
class Failing:
    """A target whose questions of one kind go wrong, as many as are `left`; before they are asked,
    or behind. Any: it passes on whatever it is asked.
    """

    real: Any
    verb: str = ""
    left: int = 0
    error: Callable[[str], FlexError] = away
    is_behind: bool = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = getattr(self.real, name)

        def passed_on(*given: Any, **how: Any) -> Any:
            fails = name == self.verb and self.left > 0
            self.left -= fails
            answer = None if fails and not self.is_behind else found(*given, **how)
            if fails:
                raise self.error(name)
            return answer

        return passed_on


@dataclass
class Desk:
    """A cluster with a partition in force, of which nobody answers for n1; its clock goes on as
    tests say.
    """

    installation: Installation
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    said: list[str] = field(default_factory=list)
    target: Failing | None = None

    def world(self) -> World:
        here = wiring.world(
            settings.load(self.installation.settings), lambda: self.now, say=self.said.append
        )
        failing = self.target = self.target or Failing(here.publisher)
        failing.real = here.publisher

        def connect() -> Any:
            return failing

        return replace(here, connect=connect, time_of_day=lambda: self.now)

    def fails(self, verb: str, left: int = 1, **how: Any) -> Failing:
        self.target = Failing(None, verb, left=left, **how)
        return self.target

    def watch(self, dead: Sequence[str] = ("n1",)) -> HealthWatch:
        return HealthWatch(
            self.world(), lambda nodes: {node.name: [node.name not in dead] for node in nodes}
        )

    def rounds(self, watch: HealthWatch, count: int, pause: timedelta = MOST) -> None:
        for _ in range(count):
            self.now += pause
            watch.round()

    def on(self) -> set[str]:
        items = self.installation.flex("-o", "json", "sites", "list").json["items"]
        return {node for row in items for node in row["nodes"]}

    def is_out(self) -> bool:
        """On paper, and of every name in DNS."""
        items = self.installation.flex("-o", "json", "sites", "list").json["items"]
        in_dns = {address for row in items for address in self.installation.addresses(row["site"])}
        return (
            "n1" not in self.on()
            and "192.0.2.1" not in in_dns
            and self.installation.flex("verify").code == 0
        )

    def attempts(self) -> int:
        found = failover_attempts.last(self.world(), "n1")
        return found.count if found else 0

    def plans(self) -> list[str]:
        return [
            row["id"] for row in self.installation.flex("-o", "json", "plan", "list").json["items"]
        ]


@pytest.fixture
def desk(installation: Installation) -> Desk:
    installation.mode, installation.extra = "auto", WATCHED
    installation.write_settings()
    installation.first_night()
    return Desk(installation)


def mode(desk: Desk, mode: str, safety: str = "") -> None:
    desk.installation.mode = mode
    desk.installation.write_settings()
    text = desk.installation.settings.read_text(encoding="utf-8").replace(
        "[safety]\n", f"[safety]\n{safety}"
    )
    desk.installation.settings.write_text(text, encoding="utf-8")


def down(desk: Desk) -> NodeOrder:
    return NodeOrder("n1", "down", given=desk.now, author="anna")


POINTS: dict[str, tuple[str, dict[str, Any]]] = {
    "the zone cannot be read": ("read", {}),
    "nothing of the update is made": ("apply", {}),
    "the server refuses the update": ("apply", {"error": refused}),
    "some of the update is made": ("apply", {"error": partly}),
    "all of it is made and the answer is lost": ("apply", {"error": partly, "is_behind": True}),
}


@pytest.mark.slow(
    "nothing of the update is made",
    "some of the update is made",
    "the server refuses the update",
    "the zone cannot be read",
)
@pytest.mark.parametrize("point", POINTS)
def test_a_dead_node_is_tried_again_until_it_is_out(desk: Desk, point: str) -> None:
    verb, how = POINTS[point]
    failing = desk.fails(verb, 3, **how)
    watch = desk.watch()
    desk.rounds(watch, 3)
    assert desk.attempts() == 1, desk.said
    assert "n1" in desk.on()
    desk.rounds(watch, 6)
    assert failing.left < 3
    assert desk.is_out(), desk.said
    assert desk.attempts() == 0
    serial, runs = desk.installation.serial(), len(desk.world().store.runs())
    desk.rounds(watch, 3)
    assert (desk.installation.serial(), len(desk.world().store.runs())) == (serial, runs)


def test_it_is_tried_again_soon_and_then_after_growing_pauses(desk: Desk) -> None:
    desk.fails("read", 100)
    watch = desk.watch()
    desk.rounds(watch, 3)
    tried = [desk.attempts()]
    for _ in range(12):
        desk.rounds(watch, 1, 10 * SECOND)
        tried.append(desk.attempts())
    assert tried == [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4]


@pytest.mark.slow
def test_a_watch_that_is_started_again_goes_on_where_the_one_before_was(desk: Desk) -> None:
    desk.fails("read", 2)
    desk.rounds(desk.watch(), 3)
    assert "n1" in desk.on()
    # One that has not seen the node die.
    desk.rounds(desk.watch(dead=()), 2)
    assert desk.is_out()


def test_where_the_name_server_is_away_no_attempt_makes_a_run_or_a_plan(desk: Desk) -> None:
    desk.fails("read", 100)
    watch = desk.watch()
    desk.rounds(watch, 3)
    runs, plans = len(desk.world().store.runs()), desk.plans()
    desk.rounds(watch, 10)
    assert (len(desk.world().store.runs()), desk.plans()) == (runs, plans)


@pytest.mark.slow
def test_where_it_refuses_each_attempt_is_the_same_plan(desk: Desk) -> None:
    desk.fails("apply", 100, error=refused)
    watch = desk.watch()
    desk.rounds(watch, 3)
    plans = desk.plans()
    desk.rounds(watch, 5)
    assert desk.plans() == plans


@pytest.mark.slow
def test_what_a_person_ordered_is_finished_also_where_people_decide(desk: Desk) -> None:
    mode(desk, "review")
    desk.fails("read", 1)
    here = desk.world()
    with pytest.raises(DnsError), lease(here, "node n1 down"):
        failover.take_down(here, down(desk))
    desk.rounds(desk.watch(dead=()), 1)
    assert desk.is_out()
    (order,) = here.store.node_orders()
    assert (order.author, order.state) == ("anna", "down")


@pytest.mark.parametrize("who", ["the watch", "a night"])
def test_who_brings_a_node_back_meanwhile_is_not_overruled_by_an_order_read_before(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    desk.fails("read", 1)
    here = desk.world()
    with pytest.raises(DnsError), lease(here, "node n1 down"):
        failover.take_down(here, down(desk))
    orders, before = pending_failovers.orders_to_retry, desk.on()

    def read(world: World) -> tuple[NodeOrder, ...]:
        found = orders(world)
        assert desk.installation.flex("nodes", "up", "n1").code == 0
        return found

    monkeypatch.setattr(pending_failovers, "orders_to_retry", read)
    if who == "the watch":
        desk.rounds(desk.watch(dead=()), 1)
    else:
        with lease(here, "a night") as held:
            assert dead_nodes_first.cleared(here, Steps(here, held.run))
    (order,) = here.store.node_orders()
    assert order.state == "active"
    assert desk.on() == before
    assert not [line for line in desk.said if "out of DNS" in line]


def test_only_sites_that_are_in_dns_still_are_counted(desk: Desk) -> None:
    desk.fails("apply", 1, error=partly)
    here = desk.world()
    with pytest.raises(PartlyApplied), lease(here, "node n1 down"):
        failover.take_down(here, down(desk))
    (half,) = here.store.plans(state="applying")
    count = len({move.site for move in half.moves})
    assert still_in_dns(desk) == count
    journal = here.store.new_journal(half.id)
    journal.intend(
        [
            JournalRow(place, zone_plan.zone, (place,))
            for zone_plan in half.zone_plans
            for place in range(len(zone_plan.changes))
        ]
    )
    journal.became([0], "done")
    assert still_in_dns(desk) == count - 1


def still_in_dns(desk: Desk) -> int:
    (row,) = desk.installation.flex("-o", "json", "nodes", "list").json["dead"]
    assert f"and {row['sites']} site" in desk.installation.flex("nodes", "list").out
    return int(row["sites"])


@pytest.mark.slow
def test_it_is_tried_again_also_where_nobody_probes_nodes(desk: Desk) -> None:
    desk.fails("read", 2)
    here = desk.world()
    with pytest.raises(DnsError), lease(here, "node n1 down"):
        failover.take_down(here, down(desk))
    desk.rounds(HealthWatch(here, None), 3)
    assert desk.is_out()
    assert all(node.state == "active" for node in here.nodes if node.name != "n1")


def failed_by_hand(desk: Desk) -> None:
    """The name server was away when somebody took the node down, and nobody watches."""
    text = desk.installation.settings.read_text(encoding="utf-8")
    port = f"port = {desk.installation.server.port}\n"
    desk.installation.settings.write_text(text.replace(port, "port = 9\n"), encoding="utf-8")
    assert desk.installation.flex("nodes", "down", "n1").code == 30
    desk.installation.settings.write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["auto", "review"])
def test_the_next_night_finishes_it_whatever_its_limits(desk: Desk, how: str) -> None:
    mode(desk, how, "max_moved_sites = 0\nmax_inflow_per_node = 0\n")
    failed_by_hand(desk)
    said = desk.installation.flex("nodes", "list").out
    assert "n1 is down" in " ".join(said.split())
    assert desk.installation.night(1).code in {0, 22}
    assert desk.is_out()


@pytest.mark.slow
def test_a_night_without_the_logs_of_the_dead_node_takes_it_out_all_the_same(desk: Desk) -> None:
    failed_by_hand(desk)
    # No log of the days since has come from any node.
    assert desk.installation.night(20).code == 20
    assert desk.is_out()


@pytest.mark.slow
def test_a_night_that_cannot_finish_it_says_so_and_reads_its_logs(desk: Desk) -> None:
    failed_by_hand(desk)
    text = desk.installation.settings.read_text(encoding="utf-8")
    port = f"port = {desk.installation.server.port}\n"
    desk.installation.settings.write_text(text.replace(port, "port = 9\n"), encoding="utf-8")
    assert desk.installation.night(1).code in {30, 31}
    desk.installation.settings.write_text(text, encoding="utf-8")
    run = next(
        run
        for run in desk.world().store.runs()
        if run.exit_code and run.message.startswith("nightly")
    )
    assert "ingest" in {stage.name for stage in run.stages}
    assert desk.attempts() == 3


@pytest.mark.slow
def test_a_freeze_that_came_later_holds_it_back_and_one_that_was_there_does_not(desk: Desk) -> None:
    desk.fails("read", 1)
    here = desk.world()
    with pytest.raises(DnsError), lease(here, "node n1 down"):
        failover.take_down(here, down(desk))
    here.store.put_freeze(Freeze(desk.now + SECOND))
    watch = desk.watch(dead=())
    desk.rounds(watch, 2)
    assert "n1" in desk.on()
    assert desk.said == ["n1 is down and still in DNS, and changes are frozen."]
    here.store.put_freeze(Freeze(down(desk).given or desk.now))
    here.store.order_node(down(desk))
    desk.rounds(watch, 1)
    assert desk.is_out()


def test_who_takes_the_node_back_ends_it(desk: Desk) -> None:
    desk.fails("read", 100)
    watch = desk.watch()
    desk.rounds(watch, 4)
    assert desk.attempts() == 2
    assert desk.installation.flex("nodes", "up", "n1").code == 0
    assert desk.attempts() == 0
    desk.rounds(desk.watch(dead=()), 2)
    assert "n1" in desk.on()


def test_what_is_not_ours_to_change_is_named_and_not_tried_for_ever(desk: Desk) -> None:
    items = desk.installation.flex("-o", "json", "sites", "list").json["items"]
    theirs = [row["site"] for row in items if row["nodes"] == ["n1"]]
    update = dns.update.UpdateMessage(
        desk.installation.zone, keyring=desk.installation.server.key.signer()
    )
    for site in theirs:
        update.delete(marker_name(f"{site}.", desk.installation.zone), "TXT")
    dns.query.tcp(update, "127.0.0.1", port=desk.installation.server.port)
    watch = desk.watch()
    desk.rounds(watch, 3)
    runs = len(desk.world().store.runs())
    desk.rounds(watch, 4)
    assert desk.installation.addresses(theirs[0]) == ["192.0.2.1"]
    assert (len(desk.world().store.runs()), desk.attempts()) == (runs, 0)
    (told,) = (line for line in desk.said if "on n1 still:" in line)
    assert any(f"{site}." in told for site in theirs)
    assert ("`flex nodes down n1` lists all" in told) == (len(theirs) > FEW)
