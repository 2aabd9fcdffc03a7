"""Logs that cannot be trusted: what is said of them, and that nothing is planned from them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.frame_schemas import PLACEMENT
from flex.model.log_reading import Stream
from flex.store import MemoryStore
from flex_api.facts import logs_good_enough
from flex_api.settings.file import Settings
from tests.core.test_quality import DAY, NOW, PERIOD, WHOLE_DAY, segment
from tests.store.test_store_contract_plans import plan

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


def broken(installation: Installation, node: str = "n2", lines: int = 3_000) -> None:
    """A night on which nothing of what a node logs is understood."""
    source = (
        f'[[ingest.source]]\nglob = "{installation.folder}/broken.log"\nnode = '
        f'"{node}"\nformat = "vhost_combined"\n'
    )
    (installation.folder / "broken.log").write_bytes(b"half of a line\n" * lines)
    with (installation.folder / "sources").open("a", encoding="utf-8") as file:
        file.write(source)
    installation.write_settings()


def test_logs_that_are_bad_keep_the_old_partition_until_the_rule_is_forced(
    installation: Installation,
) -> None:
    installation.first_night()

    def in_force() -> object:
        return installation.serial(), installation.flex("-o", "json", "sites", "list").out

    before = in_force()
    broken(installation)
    refused = installation.night()
    assert refused.code == 20
    assert in_force() == before
    for word in ("n2", "no_fields", "the limit is 5.0 %", "--force profile.max_malformed"):
        assert word in refused.err
    other = installation.night(1, "--force", "profile.max_age")
    assert (other.code, in_force()) == (20, before)
    # Who goes over one rule goes over no other.
    older = installation.night(5, "--force", "profile.max_malformed")
    assert (older.code, "--force profile.max_age" in older.err) == (20, True)
    assert installation.night(1, "--force", "profile.max_malformed").code == 0


def test_a_rule_that_there_is_not_is_named(installation: Installation) -> None:
    said = installation.flex("plan", "--force", "max_age")
    assert said.code == 3
    assert "profile.max_age" in said.err


def test_what_is_known_of_each_source_is_shown(installation: Installation) -> None:
    installation.read_logs()
    data = installation.flex("-o", "json", "data", "--as-of", installation.as_of()).json
    assert {row["state"] for row in data["nodes"]} == {"ok"}
    assert all(row["coverage_ratio"] == 1 and row["hours_heard"] > 20 for row in data["nodes"])
    assert {row["node"] for row in data["sources"]} == {"n1", "n2", "n3"}
    told = installation.flex("data", "--as-of", installation.as_of(5))
    assert "profile.max_age" in told.out
    assert (
        installation.flex("data", "--as-of", installation.as_of(5), "--detailed-exitcode").code
        == 20
    )
    assert "counts of n1" in installation.flex("doctor").out


@pytest.mark.parametrize(("away", "state"), [(True, "ok"), (False, "bad")])
def test_hours_without_a_site_are_no_fault_of_a_node_that_has_sites_again(
    away: bool, state: str
) -> None:
    store = MemoryStore()
    hours = dict.fromkeys(list(WHOLE_DAY)[:7], 60)
    for one in (segment(hours, "n1"), segment(WHOLE_DAY, "n2")):
        store.record(one, Stream(one.source, one.source, 1, 1, "", ""), None)
    base = ""
    # It had none from seven o'clock to midnight.
    for id_, settled, nodes in (
        ("first", DAY - timedelta(days=1), ["n1", "n2"]),
        ("second", DAY + timedelta(hours=7), ["n2", "n2"] if away else ["n1", "n2"]),
        ("third", DAY + timedelta(hours=24), ["n1", "n2"]),
    ):
        placed = PLACEMENT.from_columns({"site": ["a", "b"], "node": nodes})
        made = replace(plan(id_, base=base), state="applied", settled=settled)
        store.propose(replace(made, state="proposed"), placed)
        store.settle(made, placed)
        base = id_
    sources = [{"glob": f"/{name}/*", "node": name} for name in ("n1", "n2")]
    settings = Settings.model_validate(
        {
            "node": [
                {"name": name, "addresses": [f"192.0.2.{number}"], "ram": "1 GiB"}
                for number, name in enumerate(("n1", "n2"), start=1)
            ],
            "ingest": {"source": sources},
        }
    )
    found = logs_good_enough.judge(settings, store, PERIOD, NOW)
    assert {one.name: one.state for one in found.nodes} == {"n1": state, "n2": "ok"}


@pytest.mark.slow
def test_the_report_says_what_is_wrong_with_logs(installation: Installation) -> None:
    broken(installation, lines=200)
    said = installation.night(1, "--force", "profile.max_malformed")
    page = Path(said.json["report"]).read_text(encoding="utf-8")
    assert "Logs by source" in page
    assert "no_fields" in page
    assert "half of a line" in page


def test_files_that_the_last_reading_could_not_use_are_shown_with_what_to_do_until_they_are_mended(
    installation: Installation,
) -> None:
    broken(installation)
    strange = installation.folder / "strange"
    with (installation.folder / "sources").open("a", encoding="utf-8") as file:
        file.write(
            f'[[ingest.source]]\nglob = "{installation.folder}/none/*"\nnode = '
            '"n2"\nsite = "none.example"\n'
        )
        file.write(
            f'[[ingest.source]]\nglob = "{strange}"\nnode = "n2"\nsite = "strange.example"\n'
        )
    installation.write_settings()
    strange.write_bytes(b"no log at all\n")
    installation.flex("ingest")
    told = installation.flex("data").out
    assert "not read: n2:none.example" in told
    assert f"not read: n2:strange.example: {strange}: unknown format" in told
    strange.write_bytes(b"")
    installation.flex("ingest")
    unread = installation.flex("-o", "json", "data").json["unread"]
    assert [(row["source"], row["outcome"]) for row in unread] == [
        ("n2:none.example", "nothing matches")
    ]
    assert "glob" in unread[0]["next_step"]


def test_counts_of_a_source_that_has_another_name_now_are_told(installation: Installation) -> None:
    installation.read_logs()
    log = installation.folder / "moved.log"
    yesterday = datetime.now(UTC) - timedelta(days=1)
    log.write_text(
        f'192.0.2.1 - - [{yesterday:%d/%b/%Y:%T} +0000] "GET / HTTP/1.1" 200 100 "-" "-"\n'
    )
    installation.flex("ingest", str(log), "--node", "n1", "--site", "old.example")
    rows = installation.flex("-o", "json", "doctor").json["checks"]
    assert [row["state"] for row in rows if row["name"] == "counts of n1:old.example"] == ["warn"]


def test_a_link_that_leads_nowhere_is_no_reason_to_stop_looking(installation: Installation) -> None:
    (installation.folder / "logs").mkdir(exist_ok=True)
    link = installation.folder / "loop.log"
    link.symlink_to(link)
    with (installation.folder / "sources").open("a", encoding="utf-8") as file:
        file.write(f'[[ingest.source]]\nglob = "{link}"\nnode = "n1"\nsite = "loop.example"\n')
    installation.write_settings()
    said = installation.flex("-o", "json", "doctor")
    assert said.code in {0, 3}
    assert "logs of n1" in [row["name"] for row in said.json["checks"]]


def test_sources_that_match_the_same_file_are_told_apart_from_those_that_share_a_glob_by_names(
    installation: Installation,
) -> None:
    log = installation.folder / "both.log"
    log.touch()
    linked = installation.folder / "linked"
    linked.symlink_to(installation.folder)
    with (installation.folder / "sources").open("a", encoding="utf-8") as file:
        file.write(f'[[ingest.source]]\nglob = "{log}"\nnode = "n1"\nsite = "one.example"\n')
        file.write(
            f'[[ingest.source]]\nglob = "{linked}/both*"\nnode = "n2"\nsite = "two.example"\n'
        )
        file.write(
            f'[[ingest.source]]\nglob = "{log}"\nnode = "n3"\nsite_pattern = '
            "'(?P<site>.+)[.]never'\n"
        )
    installation.write_settings()
    rows = installation.flex("-o", "json", "doctor").json["checks"]
    told = [(row["name"], row["state"]) for row in rows if f"{linked}/both.log" in row["detail"]]
    assert told == [("logs of n1:one.example and n2:two.example", "warn")]


@pytest.mark.slow
def test_counts_that_are_damaged_are_named_with_the_way_out(installation: Installation) -> None:
    installation.read_logs()
    damaged = max(
        (installation.folder / "partials").glob("*.files.parquet"),
        key=lambda path: path.stat().st_size,
    )
    damaged.write_bytes(b"PAR1 no more")
    refused = installation.night()
    assert refused.code == 20
    assert f"flex data --set-aside {damaged}" in refused.err
    assert "Traceback" not in refused.err
    assert installation.flex("data", "--set-aside", "nothing.txt").code == 3
    assert (
        installation.flex("data", "--set-aside", str(damaged), "--as-of", installation.as_of()).code
        == 0
    )
    assert damaged.with_name(f"{damaged.name}.damaged").read_bytes() == b"PAR1 no more"
    installation.first_night()
