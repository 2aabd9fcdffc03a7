"""What a person has done in the night with `flex --server`: an interrupted run is ended, a
partition is gone back from, and a change is tried before it is made.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.store import open_store
from tests.api.served import Ask, served
from tests.api.test_applying import half_applied, said_in_dns
from tests.api.test_others import nsupdate
from tests.api.test_takeover import OTHER, held_by

if TYPE_CHECKING:
    from flex.model.plan import Plan
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real
# Behind whatever the tests ask as of that night.
LATER = datetime(2026, 3, 3, 4, tzinfo=UTC)
# What becomes of a plan that was half applied, and how many of its 24 sites DNS has then.
ENDS = {
    "--resume": ("applied", range(24, 25)),
    "--undo": ("failed", range(1)),
    "--abandon": ("failed", range(1, 24)),
}


@pytest.fixture
def begun(installation: Installation) -> Plan:
    return installation.once(half_applied)


@pytest.fixture
def there(installation: Installation, request: pytest.FixtureRequest) -> Iterator[Ask]:
    """As of that night, a second later each time somebody looks at the clock."""
    if "begun" in request.fixturenames:
        request.getfixturevalue("begun")
    moments = (LATER + timedelta(seconds=number) for number in range(100_000))
    with served(installation, clock=lambda: next(moments)) as ask:
        yield ask


@pytest.mark.slow("--resume", "--abandon")
@pytest.mark.parametrize("way", ENDS)
def test_what_was_begun_is_ended(
    installation: Installation, begun: Plan, there: Ask, way: str
) -> None:
    state, in_dns = ENDS[way]
    said = there("-o", "json", "apply", way, "--reason", "the night shift")
    assert said.code == 0, said.err
    assert (said.json["id"], said.json["state"]) == (begun.id, state)
    assert said_in_dns(installation, begun) in in_dns
    shown = installation.flex("-o", "json", "plan", "show", begun.id).json
    # The server's clock is that of the night; by this machine's the plan is old.
    assert shown | {"in_the_way": []} == said.json | {"in_the_way": []}
    entries = installation.flex("-o", "json", "audit", "--limit", "100").json["items"]
    ours = [one for one in entries if one["actor"] == "token:admin"]
    assert {one["reason"] for one in ours} == {"the night shift"}
    again = there("-o", "json", "apply", way)
    assert (again.code, again.out) == (0, "null\n")


def test_who_may_not_apply_plans_ends_none(installation: Installation, begun: Plan) -> None:
    with served(installation, "operator") as there:
        assert there("apply", "--undo").code == 26
    assert 0 < said_in_dns(installation, begun) < 24


@pytest.mark.slow
def test_what_was_begun_is_finished_by_an_order_for_that_plan(
    installation: Installation, begun: Plan, there: Ask
) -> None:
    assert installation.flex("freeze").code == 0
    said = there("apply")
    assert (said.code, "it stays half applied" in said.err) == (23, True)
    assert there("apply", begun.id, "--force", "freeze").code == 0
    assert said_in_dns(installation, begun) == 24


@pytest.mark.slow
def test_a_partition_is_gone_back_from(installation: Installation, there: Ask) -> None:
    """The plan is made and applied, as on the machine itself."""
    installation.first_night()
    site = installation.flex("-o", "json", "sites", "list").json["items"][0]["site"]
    before = installation.addresses(site)
    first = installation.flex("-o", "json", "plan", "list").json["items"][0]["id"]
    assert installation.flex("sites", "pin", site, "--min-replicas", "3").code == 0
    assert there("plan").code == 0
    assert there("apply").code == 0
    assert len(installation.addresses(site)) == 3
    tried = there("-o", "json", "rollback", "--dry-run").json
    assert (tried["state"], tried["base"] != first) == ("discarded", True)
    refused = there("rollback")
    assert (refused.code, "plan.wishes" in refused.err) == (22, True)
    assert len(installation.addresses(site)) == 3
    wrong = there("rollback", "--force", "plan.wish")
    assert (wrong.code, "there is no such rule" in wrong.err) == (3, True)
    said = there("-o", "json", "rollback", "--force", "plan.wishes")
    assert (said.code, said.json["state"]) == (0, "applied")
    assert installation.addresses(site) == before
    assert installation.flex("verify").code == 0


@pytest.mark.slow
def test_a_plan_that_is_in_dns_already_is_accepted(
    installation: Installation, tmp_path: Path
) -> None:
    installation.mode = "review"
    installation.write_settings()
    installation.night()
    script = installation.flex("export", "nsupdate").out
    moments = (LATER + timedelta(seconds=number) for number in range(100_000))
    with served(installation, clock=lambda: next(moments)) as there:
        early = there("apply", "--by-hand")
        assert (early.code, "the partition in force stays" in early.err) == (30, True)
        assert nsupdate(installation, tmp_path, script).returncode == 0
        serial = installation.serial()
        assert there("-o", "json", "apply", "--by-hand").json["state"] == "applied"
    assert installation.flex("verify").code == 0
    assert installation.serial() == serial


@pytest.mark.slow
def test_what_is_only_tried_changes_nothing(installation: Installation, there: Ask) -> None:
    plan = installation.first_plan()["id"]
    with open_store(f"sqlite:///{installation.folder}/flex.db") as store:
        noted = store.last_number()
        assert there("-o", "json", "freeze", "--dry-run").json["frozen"]
        assert there("thaw", "--dry-run").out == "Nothing was frozen.\n"
        tried = there("-o", "json", "plan", "discard", plan, "--dry-run").json
        assert tried["state"] == "discarded"
        assert store.plan(plan).state == "proposed"
        assert store.last_number() == noted
        assert store.freeze() is None
    assert installation.flex("freeze", "--reason", "sale").code == 0
    tried = there("-o", "json", "thaw", "--dry-run").json
    assert (tried["frozen"], tried["reason"]) == (False, "sale")
    assert "changes are frozen" in there("apply", plan).err


def test_a_plan_is_exported_to_files_as_on_the_machine_itself(
    installation: Installation, tmp_path: Path
) -> None:
    installation.first_night()
    with served(installation, "viewer") as there:
        for ask, folder in ((installation.flex, "here"), (there, "there")):
            assert ask("export", "zone", "--to", str(tmp_path / folder)).code == 0
    (here,), (away,) = (list((tmp_path / folder).iterdir()) for folder in ("here", "there"))
    assert here.name == away.name == "home.example.zone"
    assert here.read_text() == away.read_text() != ""


@pytest.mark.slow
def test_the_zones_of_a_controller_that_is_gone_become_the_server_s(
    installation: Installation, there: Ask
) -> None:
    installation.first_night()
    held_by(installation, OTHER)
    said = there("-o", "json", "dns", "holders").json["items"]
    assert [(row["controller"], row["ours"]) for row in said] == [(OTHER, False)]
    asked = ("dns", "takeover", "--from", OTHER, "--reason", "its machine is gone")
    taken = there("-o", "json", *asked)
    assert (taken.code, taken.json["items"][0]["ours"]) == (0, True)
    entry = installation.flex("-o", "json", "audit", "--limit", "1").json["items"][0]
    assert (entry["actor"], entry["reason"]) == ("token:admin", "its machine is gone")
    assert there(*asked).code != 0


@pytest.mark.slow
def test_logs_that_the_server_cannot_read_end_the_verb_as_they_do_here(
    installation: Installation,
) -> None:
    sources = tomllib.loads((installation.folder / "sources").read_text())
    glob = sources["ingest"]["source"][0]["glob"]
    bad = Path(glob.replace("*", "torn"))
    bad.symlink_to(installation.folder / "nowhere")
    with served(installation) as ask:
        there = ask("-o", "json", "ingest")
        again = ask("-o", "json", "ingest")
    assert (there.code, there.json["state"]) == (3, "done"), "the others are counted"
    error = json.loads(there.err)
    assert "1 file could not be read" in error["answer"]
    assert bad.name in error["answer"]
    here = installation.flex("-o", "json", "ingest")
    assert (again.code, here.code) == (3, 3)
    assert json.loads(again.err) == json.loads(here.err)
    bad.unlink()
    with served(installation) as ask:
        assert ask("ingest").code == 0
