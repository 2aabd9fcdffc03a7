"""Under four eyes whoever caused what a plan does counts as its author, and is never the only one
to agree to it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
import pytest

from flex.errors import Held
from flex.model.audit_chain import Author
from flex.model.drains_and_freezes import NodeOrder
from flex.model.limits_and_approvals import Approval
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.store import MemoryStore
from flex_api import wiring
from flex_api.cli.common import author
from flex_api.night import (
    may_plan_be_applied,
    nightly,
    plan_approvals,
    plan_orders_by_hand,
    plan_reasons,
)
from flex_api.settings import file as config
from flex_api.wiring import World

if TYPE_CHECKING:
    from flex.planning.propose_plan import Proposal
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


@pytest.fixture
def waiting(installation: Installation) -> Installation:
    """Every plan waits for approval of somebody else than who caused it; a first one is in
    force.
    """
    installation.first_night()
    installation.mode, installation.extra = "review", ""
    installation.write_settings()
    text = installation.settings.read_text().replace("[safety]", "[safety]\nfour_eyes = true")
    installation.settings.write_text(
        text.replace("trigger_imbalance = 0.2", "trigger_imbalance = 0.9")
    )
    return installation


def world(installation: Installation) -> World:
    found = config.load(installation.settings)
    planned = datetime(2026, 3, 3, 2, 40, tzinfo=UTC)
    return wiring.world(found, lambda: planned)


def as_one(found: World, name: str) -> World:
    return replace(found, store=found.store.in_the_name_of(Author(name)))


def yes(found: World, plan: Plan, name: str) -> Plan:
    return plan_approvals.approve(found, plan.id, Approval("approve", name, found.clock()))


def pin(found: World, name: str, *, at: int = 0) -> str:
    _, placement = found.store.placement()
    site = sorted(set(placement["site"]))[at]
    on = set(placement.loc[placement["site"] == site, "node"])
    node = next(node.name for node in found.nodes if node.name not in on)
    as_one(found, name).store.put_pin(Pin(site, (node,), author=name))
    return str(site)


@pytest.mark.parametrize("wish", ["apart", "together"])
def test_who_wished_a_site_beside_another_or_not_caused_the_moves_of_both(wish: str) -> None:
    wished = Pin("a.example", author="anna", **{wish: ("b.example",)})  # type: ignore[arg-type]
    found = SimpleNamespace(
        store=MemoryStore(), pins_of_next_plan=[wished, Pin("c.example", author="bert")]
    )
    moved = pd.DataFrame({"site": ["b.example"], "node": ["n2"]})
    made = SimpleNamespace(placement=moved)
    assert plan_reasons.wishers(cast("World", found), cast("Proposal", made)) == ("anna",)


@pytest.mark.slow
def test_who_runs_the_night_by_hand_does_not_approve_its_plan_alone(waiting: Installation) -> None:
    found = world(waiting)
    pin(found, "anna")
    night = waiting.night()
    assert (night.code, night.json["plan"]["author"]) == (22, author())
    assert night.json["plan"]["wishers"] == ["anna"]
    mine = waiting.flex("approve", night.json["plan"]["id"], "--as-of", waiting.as_of())
    assert mine.code == 0, "anna's part may be looked at by another"
    assert waiting.flex("apply", night.json["plan"]["id"], "--as-of", waiting.as_of()).code == 22
    plan = found.store.plan(night.json["plan"]["id"])
    yes(found, plan, "bert")
    assert waiting.flex("apply", plan.id, "--as-of", waiting.as_of()).code == 0


@pytest.mark.slow
def test_a_plan_of_a_run_by_hand_without_wishes_takes_somebody_else(
    installation: Installation,
) -> None:
    installation.mode = "review"
    installation.write_settings()
    text = installation.settings.read_text().replace("[safety]", "[safety]\nfour_eyes = true")
    installation.settings.write_text(text)
    night = installation.night()
    alone = installation.flex("approve", night.json["plan"]["id"], "--as-of", installation.as_of())
    assert (night.code, alone.code) == (22, 22), alone.err
    assert f"{author()} made it" in alone.err


@pytest.mark.slow
def test_a_night_by_hand_applies_nothing_before_somebody_else_has_agreed(
    waiting: Installation,
) -> None:
    automatic(waiting)
    found = world(waiting)
    site, before = pin(found, author()), waiting.serial()
    night = waiting.night()
    made = night.json["plan"]["id"]
    assert (night.code, waiting.serial()) == (22, before), night.err
    assert f"nobody but {author()} has approved it" in night.out
    assert f"`flex approve {made}`, by somebody else" in night.out
    again = waiting.flex("apply", made, "--as-of", waiting.as_of())
    assert (again.code, waiting.serial()) == (22, before)
    yes(found, found.store.plan(made), "bert")
    done = waiting.flex("apply", made, "--as-of", waiting.as_of())
    assert (done.code, waiting.serial() > before) == (0, True), (done.err, site)


@pytest.mark.slow
def test_who_forces_a_rule_in_a_night_by_hand_waits_for_somebody_else_too(
    waiting: Installation,
) -> None:
    automatic(waiting)
    pin(world(waiting), "anna")
    before = waiting.serial()
    night = waiting.night(1, "--force", "safety.max_moved_sites")
    assert (night.code, waiting.serial()) == (22, before), night.err
    assert f"nobody but {author()} and anna has approved it" in night.out


@pytest.mark.slow
def test_the_night_of_a_timer_applies_what_people_wished(waiting: Installation) -> None:
    automatic(waiting)
    pin(world(waiting), "anna")
    before = waiting.serial()
    done = by_timer(waiting)
    assert (done.returncode, waiting.serial() > before) == (0, True), done.stderr


@pytest.mark.slow
def test_the_plan_of_a_timer_is_of_those_who_wished_it(waiting: Installation) -> None:
    found = world(waiting)
    pin(found, "anna")
    done = by_timer(waiting)
    said: Any = json.loads(done.stdout)["plan"]
    assert (done.returncode, said["author"], said["wishers"]) == (22, "", ["anna"])


def automatic(installation: Installation) -> None:
    text = installation.settings.read_text()
    installation.settings.write_text(text.replace('mode = "review"', 'mode = "auto"'))


def by_timer(waiting: Installation) -> subprocess.CompletedProcess[str]:
    """A night that systemd starts."""
    command = [
        sys.executable,
        "-c",
        "from flex_api.cli import main; main()",
        "--config",
        str(waiting.settings),
    ]
    script = 'SYSTEMD_EXEC_PID=$$ exec "$@"'
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", *command, "-o", "json", "run", "--as-of", waiting.as_of()],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_wish_that_a_night_keeps_takes_a_yes_of_somebody_else(waiting: Installation) -> None:
    found = world(waiting)
    pin(found, "anna")
    plan = nightly.propose(found).plan
    assert (plan.author, plan.wishers) == ("", ("anna",))
    with pytest.raises(Held, match="anna asked for what it does"):
        yes(found, plan, "anna")
    assert "nobody but anna" in plan_approvals.lacks(found, plan)
    # Also where her yes is there already.
    mine = replace(plan, approvals=(Approval("approve", "anna", found.clock()),))
    found.store.update(mine)
    assert "nobody but anna" in plan_approvals.lacks(found, mine)
    with pytest.raises(Held, match="four_eyes"):
        may_plan_be_applied.refuse_forbidden(found, plan.id)
    assert plan_approvals.lacks(found, yes(found, plan, "bert")) == ""


@pytest.mark.slow
def test_of_two_who_asked_for_a_part_each_neither_is_the_only_one_to_agree(
    waiting: Installation,
) -> None:
    found = world(waiting)
    pin(found, "anna")
    pin(found, "bert", at=1)
    plan = nightly.propose(found).plan
    assert plan.wishers == ("anna", "bert")
    one = yes(found, plan, "anna")
    assert "nobody but anna" in plan_approvals.lacks(found, one)
    with pytest.raises(Held, match="four_eyes"):
        may_plan_be_applied.refuse_forbidden(found, plan.id)
    assert plan_approvals.lacks(found, yes(found, one, "bert")) == ""
    third = nightly.propose(found).plan
    assert plan_approvals.lacks(found, yes(found, third, "carla")) == ""


@pytest.mark.slow
def test_a_wish_that_was_taken_back_has_an_author_too(waiting: Installation) -> None:
    found = world(waiting)
    site = pin(found, "anna")
    first = nightly.propose(found).plan
    plan_orders_by_hand.apply(found, yes(found, first, "bert").id)
    later = replace(found, clock=lambda: first.created + timedelta(minutes=10))
    as_one(later, "carla").store.drop_pin(site)
    back = nightly.go_back(later, first.base, author="dora").plan
    assert (back.author, back.wishers) == ("dora", ("carla",))


@pytest.mark.slow
def test_who_drains_a_node_counts_until_it_is_empty_and_the_watch_is_nobody(
    waiting: Installation,
) -> None:
    found = world(waiting)
    node = found.nodes[0].name
    as_one(found, "anna").store.order_node(
        NodeOrder(node, "draining", found.clock(), author="anna")
    )
    drained = nightly.propose(found).plan
    assert {move.source for move in drained.moves} == {node}
    assert drained.wishers == ("anna",)
    found.store.order_node(NodeOrder(node, "down", found.clock()))
    assert nightly.propose(found).plan.wishers == ("anna",), (
        "it was Anna's wish, whatever the watch saw since"
    )


def test_a_wish_that_changes_nothing_has_no_part_in_a_plan(waiting: Installation) -> None:
    found = world(waiting)
    _, placement = found.store.placement()
    row = placement.iloc[0]
    as_one(found, "anna").store.put_pin(Pin(str(row["site"]), (str(row["node"]),), author="anna"))
    pin(found, "bert", at=3)
    assert nightly.propose(found).plan.wishers == ("bert",)


def test_a_plan_that_was_stored_before_wishes_had_authors_goes_by_its_own(
    waiting: Installation,
) -> None:
    found = world(waiting)
    plan = nightly.propose(found, author="anna").plan
    found.store.update(replace(plan, wishers=()))
    with pytest.raises(Held, match="anna made it"):
        yes(found, plan, "anna")
