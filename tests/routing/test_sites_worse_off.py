"""What becomes of a site that is worse off on its new node, whatever came meanwhile. What nodes
answered is put into the store, as their doors report it; the rest is real but for doors and zones,
which this cluster has not.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flex.errors import Busy
from flex.frame_schemas import PLACEMENT, SPREADS, texts
from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.node_answer_counts import NO_TIMES, Answers, AnswersOfSpan, span_of
from flex.model.period import Period
from flex.model.plan import Plan
from flex.model.site_moves import SiteMove, StageRun
from flex.model.wish import Pin
from flex.store import Store, open_store
from flex_api import wiring
from flex_api.night import (
    freezes,
    go_on_with_moves,
    nightly,
    plan_of_movable_sites,
    route_and_publish_plan,
    watch_moved_sites,
    worse_off_returns,
)
from flex_api.night.leases import lease
from flex_api.night.move_watch_round import WatchOfMoves, watch_in_night
from flex_api.settings.file import load
from flex_api.wiring import World
from tests.api.nights import profiles
from tests.migrated import new_database
from tests.rest.conftest import plan
from tests.routing.conftest import Held, Members

SHOP, BLOG = "shop.example", "blog.example"
# None is so large that it takes several nodes.
OTHERS = {f"s{number}.example": f"n{number % 2}" for number in range(10)}
HOME = {SHOP: "n0", BLOG: "n0", **OTHERS}
AWAY = HOME | {SHOP: "n1"}
DAY = timedelta(days=1)
COPY = """#!/bin/sh
echo "$*" >> "$0.log"
if [ -e "$0.trouble" ]; then echo "no room" >&2; exit 78; fi
"""


@dataclass(eq=False)
class Small:
    """Two nodes, whose web servers answer 500 where they fail."""

    folder: Path
    members: Members
    url: str
    stack: ExitStack
    mode: str = "auto"
    watch: str = "1h"
    failing: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)

    def begin(self) -> None:
        at = self.members.addresses
        copy = self.folder / "copy"
        copy.write_text(COPY)
        copy.chmod(0o755)
        nodes = "".join(
            f'[[node]]\nname = "{node}"\nram = "1 GiB"\naddresses = ["{at[node]}"]\n'
            for node in ("n0", "n1")
        )
        (self.folder / "flex.toml").write_text(
            f'schema = 1\n[cluster]\nname = "small"\nmode = "{self.mode}"\n{nodes}'
            f'[database]\nurl = "{self.url}"\n[safety]\nmax_moved_sites_ratio = 1.0\n'
            f'[move]\nwatch = "{self.watch}"\n[move.ready]\nport = {self.members.port}\n'
            '[[move.hook]]\nstage = "copy"\nretries = 0\n'
            f'command = ["{copy}", "{{site}}", "{{from}}", "{{to}}"]\n'
        )
        world = self.world()
        made = plan(1, "applied")
        placement = PLACEMENT.from_columns(
            {"site": sorted(HOME), "node": [HOME[site] for site in sorted(HOME)]}
        )
        world.store.propose(replace(made, state="proposed", settled=None), placement)
        world.store.settle(made, placement)
        period = Period.days_before(world.clock(), 1)
        world.store.put_profiles(period, profiles(dict.fromkeys(HOME, 1.0)), SPREADS.empty())

    def close_windows(self) -> None:
        """Changes are allowed for an hour of the day after tomorrow, and not now."""
        day = f"{datetime.now(UTC) + 2 * DAY:%a}"
        path = self.folder / "flex.toml"
        text = path.read_text()
        window = f'[safety]\nwindows = ["{day} 02:00-03:00"]\n'
        path.write_text(text.replace("[safety]\n", window))

    def world(self) -> World:
        settings = load(self.folder / "flex.toml")
        made = wiring.world(settings, lambda: datetime.now(UTC), say=self.said.append)
        return self.stack.enter_context(closing(made))

    def store(self) -> Store:
        return self.stack.enter_context(open_store(self.url))

    def answer_all(self, over: threading.Event) -> None:
        while not over.is_set():
            try:
                self._answer(self.members.asked.get(timeout=0.05))
            except queue.Empty:
                continue

    def _answer(self, held: Held) -> None:
        code = 500 if held.node in self.failing else 200
        with held.connection:
            held.connection.sendall(f"HTTP/1.1 {code} X\r\nContent-Length: 0\r\n\r\n".encode())

    def move(self, world: World, *sites: str) -> Plan:
        made = self.carried_out(world, *sites)
        go_on_with_moves.mark_moves_made(world, made)
        return made

    def carried_out(self, world: World, *sites: str) -> Plan:
        """Killed behind that."""
        for site, home in HOME.items():
            node = "n1" if site in sites else home
            world.store.put_pin(Pin(site, nodes=(node,), author="ann"))
        made = nightly.propose(world).plan
        wanted = plan_of_movable_sites.bring_and_narrow(world, made)
        done = route_and_publish_plan.carry_out(world, wanted)
        for site in HOME:
            world.store.drop_pin(site)
        return done

    def answered(self, world: World, site: str, node: str, requests: int, errors: int = 0) -> None:
        times = (requests, *NO_TIMES[1:])
        span = span_of(world.time_of_day())
        counted = Answers(requests, errors, times)
        world.store.put_answers([AnswersOfSpan(node, site, span, counted)])

    def in_force(self, world: World) -> dict[str, str]:
        _, rows = world.store.placement()
        return dict(zip(texts(rows["site"]), texts(rows["node"]), strict=True))

    def watch_of(self, world: World, site: str = SHOP) -> tuple[SiteMove, StageRun]:
        move = world.store.site_moves(site=site)[-1]
        runs = world.store.stage_runs([move.id])
        return move, next(run for run in runs if run.stage == "watch")

    def state(self, world: World, site: str = SHOP) -> str:
        return self.watch_of(world, site)[1].state


Make = Callable[..., Small]


@pytest.fixture
def make(members: Members, tmp_path: Path) -> Iterator[Make]:
    with ExitStack() as stack:

        def made(mode: str = "auto", watch: str = "1h") -> Small:
            url = new_database(tmp_path / "flex.db")
            small = Small(tmp_path, members, url, stack, mode, watch)
            small.begin()
            over = threading.Event()
            answering = threading.Thread(target=small.answer_all, args=(over,))
            answering.start()
            stack.callback(answering.join)
            stack.callback(over.set)
            return small

        yield made


@pytest.fixture
def small(make: Make) -> Small:
    return make()


def worse(small: Small, world: World, *more: str) -> None:
    """It is stored that the site is to go back, and nothing is done yet."""
    small.move(world, SHOP, *more)
    for site in (SHOP, *more):
        small.answered(world, site, "n0", 1000)
        small.answered(world, site, "n1", 60, 60)
    watch_moved_sites.look(world)
    assert small.state(world) == "undoing"


@pytest.mark.slow
def test_a_site_that_is_worse_off_goes_back_and_rests_and_it_is_told_why(small: Small) -> None:
    world = small.world()
    worse(small, world)
    WatchOfMoves(world).round()
    assert small.in_force(world) == HOME
    move, run = small.watch_of(world)
    why = "100% of 60 requests failed, and 0% of 1,000 before"
    assert (move.state, run.state, move.reason) == ("went back", "undone", why)
    assert move.rests_until
    assert move.rests_until > world.time_of_day() + 6 * DAY
    assert world.store.watched_moves() == ()
    entries = world.store.entries(limit=10_000)
    assert [e.subject for e in entries if e.action == "move.worse"] == [SHOP]
    made = world.store.plan(world.store.in_force())
    assert [(one.site, one.reason) for one in made.moves] == [(SHOP, f"goes back: {why}")]
    assert any("went back to where it was" in line for line in small.said)
    log = (small.folder / "copy.log").read_text().splitlines()
    assert log == [f"{SHOP} n0 n1", f"{SHOP} n1 n0"]
    assert list((small.folder / "reports").glob(f"{made.id}*.html"))


@pytest.mark.slow
def test_what_went_back_stays_there_in_the_next_plan_which_says_why(small: Small) -> None:
    world = small.world()
    worse(small, world)
    WatchOfMoves(world).round()
    world.store.put_pin(Pin(SHOP, nodes=("n1",), author="ann"))
    made = nightly.propose(world).plan
    assert SHOP not in {one.site for one in made.moves}
    told = " ".join([*made.notes, *map(str, made.stops), *map(str, made.holds)])
    assert "it moved to n1 and was worse off there" in told, told


@pytest.mark.slow
def test_of_several_sites_those_go_back_that_are_worse_off(small: Small) -> None:
    world = small.world()
    small.move(world, SHOP, BLOG)
    for site in (SHOP, BLOG):
        small.answered(world, site, "n0", 1000)
    small.answered(world, SHOP, "n1", 1000, 400)
    small.answered(world, BLOG, "n1", 1000, 1)
    WatchOfMoves(world).round()
    assert small.in_force(world) == HOME | {BLOG: "n1"}
    assert (small.state(world), small.state(world, BLOG)) == ("undone", "begun")
    later = replace(world, time_of_day=lambda: world.time_of_day() + timedelta(hours=1))
    watch_moved_sites.look(later)
    run = small.watch_of(world, BLOG)[1]
    assert (run.state, run.said) == ("done", "1,000 requests, 1 failed; 1,000 requests before")


@pytest.mark.slow
def test_a_site_that_fails_on_its_old_node_as_well_stays(small: Small) -> None:
    """As when the database is gone that all nodes ask."""
    world = small.world()
    worse(small, world)
    small.failing.add("n0")
    WatchOfMoves(world).round()
    assert "n0 answers 500 for it, too" in small.watch_of(world)[1].said
    assert (small.state(world), small.in_force(world)) == ("failed", AWAY)


@pytest.mark.slow
def test_a_site_whose_old_node_does_not_answer_stays(small: Small) -> None:
    world = small.world()
    worse(small, world)
    small.members.stop("n0")
    WatchOfMoves(world).round()
    assert "n0 does not answer for it either" in small.watch_of(world)[1].said
    assert (small.state(world), small.in_force(world)) == ("failed", AWAY)


def drain_source(world: World) -> None:
    world.store.order_node(NodeOrder("n0", "draining"))


def pin_to_target(world: World) -> None:
    world.store.put_pin(Pin(SHOP, nodes=("n1",), author="ann"))


def pin_off_source(world: World) -> None:
    world.store.put_pin(Pin(SHOP, not_on=("n0",), author="ann"))


def exclude(world: World) -> None:
    world.store.put_pin(Pin(SHOP, excluded=True, author="ann"))


def keep_with_another(world: World) -> None:
    world.store.put_pin(Pin(BLOG, together=(SHOP,), author="ann"))


def remove_old_copy(world: World) -> None:
    [move] = world.store.site_moves(site=SHOP)
    now = world.time_of_day()
    world.store.put_stage_run(StageRun(move.id, "clean", "files", "done", 1, now))


@pytest.mark.slow(
    "exclude-people keep FLEX away from it", "remove_old_copy-its copy on n0 was removed"
)
@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        (drain_source, "n0 takes no sites"),
        (pin_to_target, "a wish has it on other nodes than n0"),
        (pin_off_source, "a wish has it on other nodes than n0"),
        (exclude, "people keep FLEX away from it"),
        (keep_with_another, f"it is to be together with {BLOG}"),
        (remove_old_copy, "its copy on n0 was removed"),
    ],
)
def test_what_came_meanwhile_keeps_a_site_where_it_is(
    small: Small, meanwhile: Callable[[World], None], why: str
) -> None:
    world = small.world()
    worse(small, world)
    meanwhile(world)
    WatchOfMoves(small.world()).round()
    move, run = small.watch_of(world)
    assert run.state == "failed"
    assert why in run.said
    # It may go elsewhere.
    assert move.rests_until is None
    assert small.in_force(world) == AWAY


@pytest.mark.slow
def test_sites_that_are_to_be_together_go_back_together(small: Small) -> None:
    world = small.world()
    worse(small, world, BLOG)
    keep_with_another(world)
    WatchOfMoves(world).round()
    assert small.in_force(world) == HOME


@pytest.mark.slow
def test_while_changes_are_frozen_a_site_stays_and_goes_back_afterwards(small: Small) -> None:
    world = small.world()
    worse(small, world)
    freezes.freeze(world, Freeze(world.time_of_day(), author="ann"))
    watch = WatchOfMoves(world)
    for _ in range(3):
        watch.round()
    assert watch_in_night(world) == "1 site still watched"
    assert (small.state(world), small.in_force(world)) == ("undoing", AWAY)
    frozen = [line for line in small.said if "changes are frozen" in line]
    assert len(frozen) == 1
    freezes.thaw(world)
    watch.round()
    assert (small.state(world), small.in_force(world)) == ("undone", HOME)


@pytest.mark.slow
def test_a_site_that_moved_again_is_watched_no_more(small: Small) -> None:
    world = small.world()
    small.move(world, SHOP)
    small.carried_out(world)
    watch_moved_sites.look(world)
    run = small.watch_of(world)[1]
    assert (run.state, run.said) == ("failed", "the site moved again meanwhile")


@pytest.mark.slow
def test_a_site_that_somebody_led_back_by_hand_counts_as_back(small: Small) -> None:
    world = small.world()
    worse(small, world)
    pins = {site: Pin(site, nodes=("n0",), author="ann") for site in HOME}
    for pin in pins.values():
        world.store.put_pin(pin)
    made = nightly.propose(world, force={"move.rest"}).plan
    route_and_publish_plan.carry_out(world, made)
    WatchOfMoves(world).round()
    assert small.watch_of(world)[0].state == "went back"


@pytest.mark.slow
def test_its_old_copy_is_kept_until_the_watch_is_over(small: Small) -> None:
    world = small.world()
    small.move(world, SHOP)
    later = replace(world, time_of_day=lambda: world.time_of_day() + 30 * DAY)
    go_on_with_moves.go_on(later)
    assert (small.watch_of(world)[0].state, small.state(world)) == ("moved", "begun")
    watch_moved_sites.look(later)
    go_on_with_moves.go_on(later)
    # Nobody has counted by then.
    assert (small.watch_of(world)[0].state, small.state(world)) == ("done", "failed")


@pytest.mark.slow
def test_while_another_run_has_the_lease_a_site_waits_for_it(small: Small) -> None:
    world = small.world()
    worse(small, world)
    watch = WatchOfMoves(world)
    with lease(small.world(), "another run"):
        watch.round()
        assert small.state(world) == "undoing"
        with pytest.raises(Busy), lease(world, "mine"):
            pass
    watch.round()
    assert small.state(world) == "undone"


@pytest.mark.slow
def test_a_command_that_fails_on_the_way_back_leaves_the_site_where_it_is(small: Small) -> None:
    world = small.world()
    worse(small, world)
    (small.folder / "copy.trouble").write_text("")
    WatchOfMoves(world).round()
    assert small.state(world) == "failed"
    assert "copy (copy): it ended with 78" in small.watch_of(world)[1].said
    assert small.in_force(world) == AWAY


class Killed(BaseException):
    """As kill -9: nobody handles it."""


@pytest.mark.slow("settle", "apply", "bring", "plan")
@pytest.mark.parametrize("stage", ["plan", "bring", "apply", "verify", "settle"])
def test_a_run_that_is_killed_on_the_way_is_finished_by_the_next(small: Small, stage: str) -> None:
    world = small.world()
    worse(small, world)
    seen = []

    def enters(name: str) -> None:
        seen.append(name)
        if name == stage:
            raise Killed

    with pytest.raises(Killed):
        worse_off_returns.lead_back(small.world(), enters)
    assert seen[-1] == stage
    assert small.state(world) == "undoing"
    # Change windows do not hold a site where it fails.
    small.close_windows()
    WatchOfMoves(small.world()).round()
    assert small.watch_of(world)[0].state == "went back"
    assert small.in_force(world) == HOME
    assert world.store.plans(state="applying") == ()


@pytest.mark.slow
def test_a_run_that_is_killed_behind_the_way_back_is_finished_by_the_next(small: Small) -> None:
    world = small.world()
    worse(small, world)
    made = worse_off_returns.plan_back(world, worse_off_returns.sites_to_lead_back(world))
    world.store.propose(made.plan, made.placement)
    wanted = plan_of_movable_sites.bring_and_narrow(world, made.plan)
    route_and_publish_plan.carry_out(world, wanted)
    plans = len(world.store.headlines())
    WatchOfMoves(small.world()).round()
    assert small.watch_of(world)[0].state == "went back"
    assert len(world.store.headlines()) == plans


def test_moves_of_a_plan_that_another_run_finished_are_watched_once(small: Small) -> None:
    world = small.world()
    done = small.carried_out(world, SHOP)
    watch = WatchOfMoves(world)
    for _ in range(2):
        watch.round()
    go_on_with_moves.mark_moves_made(world, done)
    assert [move.site for move, _ in world.store.watched_moves()] == [SHOP]


def test_moves_of_a_plan_of_long_ago_are_not_watched(small: Small) -> None:
    world = small.world()
    small.carried_out(world, SHOP)
    later = replace(world, time_of_day=lambda: world.time_of_day() + DAY)
    WatchOfMoves(later).round()
    assert world.store.watched_moves() == ()


@pytest.mark.slow
def test_in_review_the_way_back_waits_for_a_yes_and_is_asked_for_once(make: Make) -> None:
    small = make(mode="review")
    world = small.world()
    worse(small, world)
    watch = WatchOfMoves(world)
    for _ in range(3):
        watch.round()
    [made] = world.store.plans(state="proposed")
    assert (small.state(world), small.in_force(world)) == ("undoing", AWAY)
    wanted = plan_of_movable_sites.bring_and_narrow(world, made)
    go_on_with_moves.mark_moves_made(world, route_and_publish_plan.carry_out(world, wanted))
    watch.round()
    assert small.watch_of(world)[0].state == "went back"
    assert small.in_force(world) == HOME


@pytest.mark.slow
def test_in_review_a_way_back_that_somebody_rejects_is_not_asked_for_again(make: Make) -> None:
    small = make(mode="review")
    world = small.world()
    worse(small, world)
    watch = WatchOfMoves(world)
    watch.round()
    [made] = world.store.plans(state="proposed")
    world.store.update(replace(made, state="discarded", message="no"))
    for _ in range(2):
        watch.round()
    assert small.state(world) == "failed"
    assert worse_off_returns.NOT_APPLIED in small.watch_of(world)[1].said
    assert world.store.plans(state="proposed") == ()


@pytest.mark.slow
def test_a_clock_that_was_set_back_ends_no_watch(small: Small) -> None:
    world = small.world()
    small.move(world, SHOP)
    earlier = replace(world, time_of_day=lambda: world.time_of_day() - 300 * DAY)
    watch_moved_sites.look(earlier)
    assert small.state(world) == "begun"


@pytest.mark.slow
def test_without_a_watch_nothing_is_stored_and_nothing_is_read(make: Make) -> None:
    small = make(watch="0s")
    world = small.world()
    small.move(world, SHOP)
    [move] = world.store.site_moves()
    assert "watch" not in {run.stage for run in world.store.stage_runs([move.id])}
    small.answered(world, SHOP, "n0", 1000)
    small.answered(world, SHOP, "n1", 1000, 1000)
    WatchOfMoves(world).round()
    assert small.in_force(world) == AWAY
