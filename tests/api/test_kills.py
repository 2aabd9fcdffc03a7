"""kill -9 at the boundaries of a night's stages, and at any time: the next run says so, and brings
all to its end.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, text

from flex.store import migrate, open_store

if TYPE_CHECKING:
    from tests.api.conftest import Installation
    from tests.postgresql import Cluster

pytestmark = pytest.mark.real

MORTAL = Path(__file__).with_name("mortal.py")
STAGES = (
    "ingest",
    "profile",
    "tidy",
    "finish",
    "plan",
    "gate",
    "apply",
    "verify",
    "settle",
    "report",
    "notify",
)
BOUNDARIES = range(4 * len(STAGES))
ROUNDS = int(os.environ.get("ROUNDS", "200"))


def dies_at(installation: Installation, number: int) -> None:
    command = [
        sys.executable,
        str(MORTAL),
        str(installation.settings),
        installation.as_of(),
        str(number),
    ]
    assert subprocess.run(command, check=False, capture_output=True, timeout=300).returncode == -9


def converges(installation: Installation, url: str) -> str:
    """The next run takes over, ends well, and the one after has nothing to do; nothing is half
    recorded. What the next one said.
    """
    again = installation.run()
    assert again.code == 0, again.err
    serial = installation.serial()
    placed = {
        row["site"]: row["nodes"]
        for row in installation.flex("-o", "json", "sites", "list").json["items"]
    }
    assert len(placed) == 24
    for site, nodes in placed.items():
        assert installation.addresses(site) == [f"192.0.2.{node[1]}" for node in nodes]
    last = installation.night()
    assert (last.code, last.json["plan"]["moves"], installation.serial()) == (0, [], serial)
    with open_store(url) as store:
        assert all(run.ended for run in store.runs(1000))
        assert {plan.state for plan in store.plans(1000)} <= {
            "proposed",
            "applied",
            "failed",
            "discarded",
        }
        base, placement = store.placement()
        assert (store.plan(base).state, len(set(placement["site"]))) == ("applied", 24)
    sound(url)
    return again.out


def sound(url: str) -> None:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            assert connection.scalar(text("PRAGMA integrity_check")) == "ok"
        orphans = "SELECT count(*) FROM placements WHERE cycle NOT IN (SELECT id FROM cycles)"
        assert connection.scalar(text(orphans)) == 0
        assert connection.scalar(text("SELECT run FROM lease")) is None
    engine.dispose()


def on_sqlite(installation: Installation) -> str:
    return f"sqlite:///{installation.folder}/flex.db"


def on_postgresql(installation: Installation, cluster: Cluster) -> str:
    url = cluster.new_database()
    migrate.upgrade(url)
    installation.extra = f'[database]\nurl = "{url}"\n'
    installation.write_settings()
    return url


@pytest.mark.slow
def test_the_next_run_says_where_the_one_before_was_killed(installation: Installation) -> None:
    dies_at(installation, 4 * STAGES.index("plan") + 1)
    said = installation.run()
    assert "was interrupted at plan" in said.out
    (lost,) = (run for run in open_store(on_sqlite(installation)).runs() if run.exit_code == 137)
    assert lost.message.startswith("interrupted at plan")


# The others, on both databases, are tried by test_at_every_boundary.
@pytest.mark.slow("apply")
@pytest.mark.parametrize("stage", ["apply", "settle"])
def test_a_run_killed_behind_the_beginning_of_a_stage_is_finished_by_the_next(
    installation: Installation, stage: str
) -> None:
    dies_at(installation, 4 * STAGES.index(stage) + 1)
    said = converges(installation, on_sqlite(installation))
    assert f"was interrupted at {stage}" in said


@pytest.mark.slow
def test_so_it_is_on_postgresql(installation: Installation, cluster: Cluster) -> None:
    url = on_postgresql(installation, cluster)
    dies_at(installation, 4 * STAGES.index("settle") + 1)
    converges(installation, url)


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("number", BOUNDARIES)
def test_at_every_boundary(
    installation: Installation, cluster: Cluster, kind: str, number: int
) -> None:
    url = on_sqlite(installation) if kind == "sqlite" else on_postgresql(installation, cluster)
    dies_at(installation, number)
    converges(installation, url)


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_at_any_time(installation: Installation, cluster: Cluster, kind: str) -> None:
    url = on_sqlite(installation) if kind == "sqlite" else on_postgresql(installation, cluster)
    moments = random.Random(kind)
    for number in range(ROUNDS):
        process = installation.process("run", "--as-of", installation.as_of())
        try:
            process.communicate(timeout=moments.uniform(0.5, 4.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate(timeout=300)
        if number % 20 == 19 or number == ROUNDS - 1:
            converges(installation, url)
