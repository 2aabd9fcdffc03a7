"""What becomes of a plan that was half applied, and what is said of servers that do not answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import dns.rcode
import pytest

from flex.model.dns_update_journal import JournalRow
from flex.model.plan import Plan
from flex.store import Store, open_store
from flex_api import wiring
from flex_api.settings.file import load
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.update import change_messages, message_pipeline
from flex_dns.update.change_messages import Claim

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


@pytest.fixture
def store(installation: Installation, request: pytest.FixtureRequest) -> Iterator[Store]:
    # Where a test begins is put in place before anybody opens it.
    if "begun" in request.fixturenames:
        request.getfixturevalue("begun")
    with open_store(f"sqlite:///{installation.folder}/flex.db") as opened:
        yield opened


@pytest.fixture
def begun(installation: Installation) -> Plan:
    """A plan of which a killed run made the first half, and was about to make the rest."""
    return installation.once(half_applied)


def half_applied(installation: Installation) -> Plan:
    made = installation.first_plan()["id"]
    with open_store(f"sqlite:///{installation.folder}/flex.db") as store:
        return apply_half(installation, store, made)


def apply_half(installation: Installation, store: Store, made: str) -> Plan:
    plan = replace(store.plan(made), state="applying")
    (one,) = plan.zone_plans
    half = len(one.changes) // 4 * 2
    journal = store.new_journal(plan.id)
    journal.intend(
        [
            JournalRow(0, one.zone, tuple(range(half)), "sent"),
            JournalRow(1, one.zone, tuple(range(half, len(one.changes)))),
        ]
    )
    us = controller(installation, store)
    Rfc2136Publisher(installation.server.server, "test", controller=us).apply(
        replace(one, changes=one.changes[:half])
    )
    store.update(plan)
    return plan


def controller(installation: Installation, store: Store) -> str:
    return wiring.controller(load(installation.settings), store)


def said_in_dns(installation: Installation, plan: Plan) -> int:
    return sum(
        bool(installation.addresses(change.name))
        for change in plan.zone_plans[0].changes
        if change.type == "A"
    )


@pytest.mark.slow
def test_what_was_begun_is_finished_by_its_journal(
    installation: Installation, store: Store, begun: Plan
) -> None:
    assert 0 < said_in_dns(installation, begun) < 24
    assert installation.flex("apply", "--resume").code == 0
    assert said_in_dns(installation, begun) == 24
    assert {row.state for row in store.journal(begun.id).rows()} == {"done"}
    assert installation.flex("verify").code == 0


def test_who_finishes_it_is_told_so_and_history_has_its_plan_and_stages(
    installation: Installation, begun: Plan
) -> None:
    said = installation.flex("apply", "--resume")
    assert f"Plan {begun.id} is finished, and in force." in said.out
    assert "48 record sets in 1 zone changed.\n" in said.out
    assert (
        installation.flex("plan", "show", begun.id).out.splitlines()[-2:]
        == said.out.splitlines()[-2:]
    )
    latest = installation.flex("-o", "json", "history").json["items"][0]
    assert (latest["plan"], latest["moves"]) == (begun.id, len(begun.moves))
    assert [stage["name"] for stage in latest["stages"]] == ["apply", "verify", "settle"]


@pytest.mark.slow
def test_apply_finishes_what_was_begun_before_an_older_plan_and_takes_none_that_is_outdated(
    installation: Installation, store: Store, begun: Plan
) -> None:
    older = replace(begun, id="20200101T000000-0123456789ab", state="proposed")
    store.propose(older, store.placement_of(begun.id))
    named = installation.flex("apply", older.id)
    assert (named.code, f"plan {begun.id} is half applied" in named.err) == (22, True)
    assert said_in_dns(installation, begun) < 24
    said = installation.flex("apply")
    assert (said.code, f"Plan {begun.id} is finished, and in force." in said.out) == (0, True)
    assert said_in_dns(installation, begun) == 24
    again = installation.flex("apply")
    assert (again.code, "none waits" in again.err) == (20, True)
    listed = installation.flex("-o", "json", "plan", "list").json["items"]
    assert {(row["id"], row["state"], row["outdated"]) for row in listed} == {
        (older.id, "proposed", True),
        (begun.id, "applied", False),
    }
    assert "proposed, outdated" in installation.flex("plan", "list").out


def test_what_was_begun_waits_until_changes_are_frozen_no_more(
    installation: Installation, begun: Plan
) -> None:
    before = said_in_dns(installation, begun)
    assert installation.flex("freeze").code == 0
    said = installation.flex("apply")
    assert (said.code, "it stays half applied" in said.err) == (23, True)
    assert said_in_dns(installation, begun) == before
    assert installation.flex("apply", begun.id, "--force", "freeze").code == 0


def test_what_was_begun_is_taken_back(
    installation: Installation, store: Store, begun: Plan
) -> None:
    said = installation.flex("apply", "--undo")
    assert (said.code, "record sets put back." in said.out) == (0, True)
    assert said_in_dns(installation, begun) == 0
    assert store.plan(begun.id).state == "failed"
    assert store.journal(begun.id).rows() == ()
    assert said.out.endswith(
        "Not applied as planned: taken back: "
        "DNS says what it said before, except for what others wrote.\n"
    )
    assert installation.flex("apply", "--undo").out.startswith("No plan was being applied")
    assert installation.flex("-o", "json", "apply", "--undo").out == "null\n"


@pytest.mark.parametrize("way", ["--undo", "--abandon"])
def test_what_the_killed_run_sent_is_not_made_after_its_plan_was_ended(
    installation: Installation, store: Store, begun: Plan, way: str
) -> None:
    """The name server gets to it only then: as one that had stopped for a while."""
    made = begun.zone_plans[0]
    claim = Claim("test", controller(installation, store))
    late = list(
        change_messages.messages(made.zone, made.changes[len(made.changes) // 4 * 2 :], claim=claim)
    )
    assert installation.flex("apply", way).code == 0
    before = said_in_dns(installation, begun)
    answers = [
        answer
        for _, answer in message_pipeline.deliver(
            installation.server.server, late, time.time, lambda _: None
        )
    ]
    assert set(answers) == {dns.rcode.NXRRSET}
    assert said_in_dns(installation, begun) == before


@pytest.mark.parametrize(
    "said_twice", [("--undo", "--resume"), ("--abandon", "--by-hand"), ("2026", "--resume")]
)
def test_who_says_two_things_at_once_is_refused(
    installation: Installation, said_twice: tuple[str, ...]
) -> None:
    said = installation.flex("apply", *said_twice)
    assert (said.code, said.out) == (2, "")


def test_who_makes_a_plan_finishes_nothing_in_dns(installation: Installation, begun: Plan) -> None:
    before = said_in_dns(installation, begun)
    for verb in ("plan", "rollback"):
        said = installation.flex(verb, "--as-of", installation.as_of())
        assert (said.code, f"plan {begun.id} is half applied" in said.err) == (22, True), said.err
    assert said_in_dns(installation, begun) == before


@pytest.mark.slow
def test_while_changes_are_frozen_what_was_begun_stays_as_it_is(
    installation: Installation, begun: Plan
) -> None:
    before = said_in_dns(installation, begun)
    assert installation.flex("freeze").code == 0
    said = installation.run()
    assert (said.code, f"Plan {begun.id} is half applied, and was not finished" in said.out) == (
        23,
        True,
    )
    assert said_in_dns(installation, begun) == before
    installation.flex("thaw")
    installation.first_night()
    assert said_in_dns(installation, begun) == 24


def test_what_others_wrote_meanwhile_is_not_taken_back(
    installation: Installation, begun: Plan
) -> None:
    from tests.api.test_night import change

    name = begun.zone_plans[0].changes[0].name
    change(installation, name.rstrip("."), "198.51.100.9")
    said = installation.flex("apply", "--undo")
    assert said.code == 0
    assert f"left alone: {name.rstrip('.')}.\n" in said.out
    assert installation.addresses(name) == ["198.51.100.9"]
    assert said_in_dns(installation, begun) == 1


def test_a_server_that_does_not_answer_is_no_drift(
    installation: Installation, free_port: int
) -> None:
    installation.first_night()
    text = installation.settings.read_text(encoding="utf-8")
    both = f'verify = ["127.0.0.1:{installation.server.port}", "127.0.0.1:{free_port}"]'
    installation.settings.write_text(text.replace("[dns]\n", f"[dns]\n{both}\n"), encoding="utf-8")
    said = installation.flex("-o", "json", "verify")
    assert said.code == 30
    assert [(server["agrees"], server["zone"]) for server in said.json["servers"]] == [
        (True, installation.zone),
        (False, installation.zone),
    ]


@pytest.mark.parametrize("verb", [("run",), ("plan",), ("apply",)], ids=lambda words: words[0])
def test_a_rule_that_there_is_not_is_refused_before_anything_begins(
    installation: Installation, verb: tuple[str, ...]
) -> None:
    installation.first_plan()
    runs = installation.flex("-o", "json", "history").json["items"]
    said = installation.flex(*verb, "--force", "safety.typo")
    assert (said.code, "safety.typo" in said.err) == (3, True)
    assert installation.flex("-o", "json", "history").json["items"] == runs
