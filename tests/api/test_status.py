"""How the cluster is, as `flex status` says it, and words that people type for other verbs."""

from __future__ import annotations

import io
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from flex.errors import Unverified
from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.nightly_run import NIGHTLY, NightlyRun
from flex.store import holder
from flex_api import cli, status
from flex_api.cli.verb_groups import MEANT
from flex_api.in_words import results_in_terminal
from flex_api.night import nightly
from tests.api.nights import SITES, Cluster, four_nodes
from tests.api.test_here_and_there import verbs

EVEN = {site: 10 / (number + 5) for number, site in enumerate(SITES)}
VERBS = dict(verbs(cli.application()))


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return four_nodes(tmp_path)


def told(cluster: Cluster) -> list[str]:
    console = Console(file=io.StringIO(), width=10_000)
    results_in_terminal.status(
        console, status.status(status.sight(cluster.world)), cluster.world.time_of_day()
    )
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_before_the_first_night_it_says_how_to_begin(cluster: Cluster) -> None:
    where, nodes, last, *rest = told(cluster)
    assert where.endswith(": no partition is in force; `flex plan` makes the first")
    assert nodes == "Nodes: 4 active"
    assert last == "Last run: none yet; `flex run` is the nightly one"
    assert rest == ["Nothing is known to be wrong, and nothing waits for somebody."]


def test_after_a_night_it_says_what_is_in_force(cluster: Cluster) -> None:
    plan = cluster.night(EVEN)
    where, *_, rest = told(cluster)
    assert f": {len(SITES)} sites in force since " in where
    output = status.status(status.sight(cluster.world))
    assert (output.partition, output.worst_ratio) == (plan.id, plan.after.worst)
    assert {node.node: node.sites for node in output.nodes} == {
        name: cluster.on(name) for name in ("n1", "n2", "n3", "n4")
    }
    assert rest == "Nothing is known to be wrong, and nothing waits for somebody."


def test_what_is_wrong_or_waits_comes_with_the_verb_that_leads_on(cluster: Cluster) -> None:
    cluster.night(EVEN)
    store, now = cluster.world.store, cluster.world.time_of_day()
    on = {node: cluster.on(node) for node in ("n1", "n2")}
    store.order_node(NodeOrder("n1", "draining", given=now))
    store.order_node(NodeOrder("n2", "down", given=now))
    store.put_freeze(Freeze(now, author="anna", reason="moving house"))
    run = NightlyRun("r", "host", now, message=f"{NIGHTLY}: no log is new")
    store.begin(run, timedelta(minutes=5), now)
    store.end(replace(run, ended=now, exit_code=20))
    cluster.clock[0] += timedelta(days=1)
    cluster.learn(
        {site: load * (1 + number % 3) for number, (site, load) in enumerate(EVEN.items())}
    )
    waiting = nightly.propose(cluster.world).plan
    _, nodes, last, *rest = told(cluster)
    draining, down = (f"{node} ({sites} sites)" for node, sites in on.items())
    assert nodes == f"Nodes: 2 active; draining: {draining}; down: {down}"
    assert "ended with 20" in last
    commands = [line.rpartition("`flex ")[2].rstrip("`") for line in rest]
    assert commands == ["thaw", "nodes down n2", "history", f"plan show {waiting.id}"]
    assert [line[0] for line in rest] == ["!", "!", "!", "-"]


def test_a_run_whose_changes_are_not_seen_everywhere_leads_to_a_look_and_to_no_other_run(
    cluster: Cluster,
) -> None:
    """All of its plan is applied: another run would do nothing about it."""
    now = cluster.world.time_of_day()
    run = NightlyRun("r", "host", now, message=f"{NIGHTLY}: ns2 is late")
    cluster.world.store.begin(run, timedelta(minutes=5), now)
    cluster.world.store.end(replace(run, ended=now, exit_code=Unverified.exit_code))
    *_, said = told(cluster)
    assert said.startswith("! What the last run applied was not seen everywhere. ")
    assert said.endswith(": `flex verify`")


def test_a_run_that_was_killed_is_told_of(cluster: Cluster) -> None:
    now = cluster.world.time_of_day()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        run = NightlyRun("r", holder(process.pid), now, message=NIGHTLY)
    cluster.world.store.begin(run, timedelta(minutes=5), now)
    *_, last, said = told(cluster)
    assert last.endswith("not ended: nightly")
    assert said.startswith("! The last run, begun 0.0 s ago, was killed. ")
    assert said.endswith(": `flex run`")


@pytest.mark.parametrize(("word", "verb"), MEANT.items())
def test_a_word_of_other_tools_leads_to_the_verb(
    word: str, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert word not in VERBS
    assert verb in VERBS
    assert cli.run([word, "a.example"]) == 2
    assert f"It is: flex {verb}" in " ".join(capsys.readouterr().err.split())
