"""A command is killed before each of its steps, alone or with all that it began; the next run of it
ends well, and all is as if nothing had been killed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hooks.test_database import Bases, Shop, settings_of
from tests.hooks.two_nodes import NOT_NOW, SITE, TwoNodes

pytestmark = pytest.mark.real

# Read by bash before a script: counts what it is about to do, and kills it at one of these steps.
KILLS = """
set -T
flex_step=0
trap 'if [ $((++flex_step)) = "$FLEX_KILLED_AT" ]; then kill -9 -- "$FLEX_KILLED$$"; fi' DEBUG
"""
# All of them would take minutes: every run of the tests looks at some others.
EVERY = int(os.environ.get("EVERY", "9"))


@dataclass
class Killed:
    nodes: TwoNodes
    kills: Path

    def try_everywhere(
        self, begin: Callable[[], None], ends: Callable[[], None], hook: str, *words: str
    ) -> int:
        """How often it was killed. `ends` looks whether all is well after the next whole run."""
        at = 1 + os.getpid() % EVERY
        times = 0
        while True:
            begin()
            # Alone, or with its whole group.
            whose = "-" if times % 2 else ""
            environment = {
                "BASH_ENV": str(self.kills),
                "FLEX_KILLED_AT": str(at),
                "FLEX_KILLED": whose,
            }
            done = self.nodes.run(hook, *words, environment=environment)
            if done.returncode != -9:
                assert done.returncode == 0, done.stderr
                return times
            ends()
            times += 1
            at += EVERY


@pytest.fixture
def killed(mounted: TwoNodes) -> Killed:
    kills = mounted.folder / "kills"
    kills.write_text(KILLS)
    return Killed(mounted, kills)


def test_files_killed_anywhere_are_brought_by_the_next_run(killed: Killed) -> None:
    nodes = killed.nodes
    root = nodes.at("n1", "www", SITE)
    root.mkdir()
    numbers = iter(range(1000))

    def change() -> None:
        (root / f"{next(numbers)}").write_text("bread")
        for file in sorted(root.iterdir())[:-2]:
            file.unlink()

    def is_whole() -> None:
        nodes.ends(0, "files", "copy", SITE, "n1", "n2")
        assert nodes.site("n2") == nodes.site("n1")

    assert killed.try_everywhere(change, is_whole, "files", "copy", SITE, "n1", "n2") > 2


def test_a_removal_killed_anywhere_is_ended_by_the_next_run(killed: Killed) -> None:
    nodes = killed.nodes
    (nodes.at("n1", "www", SITE) / "deep").mkdir(parents=True)

    def begin() -> None:
        (nodes.at("n2", "www", SITE) / "deep").mkdir(parents=True, exist_ok=True)

    def is_gone() -> None:
        nodes.ends(0, "files", "remove", SITE, "n2", "n1")
        assert not nodes.at("n2", "www", SITE).exists()
        assert [*nodes.at("n1", "www", SITE).iterdir()]

    assert killed.try_everywhere(begin, is_gone, "files", "remove", SITE, "n2", "n1") > 2


@pytest.mark.parametrize("verb", ["copy", "off", "on"])
def test_jobs_killed_anywhere_are_at_one_node_at_most(killed: Killed, verb: str) -> None:
    nodes = killed.nodes
    words = {"copy": ("n1", "n2"), "off": ("n1",), "on": ("n2",)}[verb]
    before = {"copy": ("n1", ""), "off": ("n1", ""), "on": ("n2", ".off")}[verb]

    def begin() -> None:
        for node in ("n1", "n2"):
            for file in nodes.at(node, "cron").iterdir():
                file.unlink()
        nodes.at(before[0], f"cron/shop_example{before[1]}").write_text("jobs")

    def is_well() -> None:
        on = [one for one in ("n1", "n2") if nodes.at(one, "cron/shop_example").exists()]
        assert len(on) < 2
        nodes.ends(0, "cron", verb, SITE, *words)
        there = {
            node: sorted(file.name for file in nodes.at(node, "cron").iterdir())
            for node in ("n1", "n2")
        }
        assert (
            there
            == {
                "copy": {"n1": ["shop_example"], "n2": ["shop_example.off"]},
                "off": {"n1": ["shop_example.off"], "n2": []},
                "on": {"n1": [], "n2": ["shop_example"]},
            }[verb]
        )

    assert killed.try_everywhere(begin, is_well, "cron", verb, SITE, *words) > 1


@pytest.mark.slow
def test_a_database_killed_anywhere_is_brought_by_the_next_run(
    killed: Killed, databases: Bases
) -> None:
    settings_of(killed.nodes, databases, "shop")
    shop = Shop(killed.nodes, databases, "shop")
    shop.fill()

    def change() -> None:
        shop.use("n1", "INSERT INTO orders (kind) VALUES (1)")

    def is_whole() -> None:
        shop.nodes.ends(0, "database", "final", SITE, "n1", "n2")
        assert shop.content("n2") == shop.content("n1")

    words = ("database", "final", SITE, "n1", "n2")
    assert killed.try_everywhere(change, is_whole, *words) > 3


@pytest.mark.slow
def test_what_changed_in_a_large_database_is_brought_whole_or_not_at_all(
    killed: Killed, databases: Bases
) -> None:
    settings_of(killed.nodes, databases, "shop")
    killed.nodes.set("is_large() { true; }\n")
    shop = Shop(killed.nodes, databases, "shop")
    shop.fill()

    def begin() -> None:
        shop.nodes.ends(0, "database", "load", SITE, "n1", "n2")
        shop.use("n1", "INSERT INTO orders (kind) VALUES (1), (1)")

    def is_whole() -> None:
        again = shop.nodes.run("database", "final", SITE, "n1", "n2")
        assert again.returncode in (0, NOT_NOW), again.stderr
        if again.returncode == 0:
            assert shop.content("n2") == shop.content("n1")

    words = ("database", "final", SITE, "n1", "n2")
    assert killed.try_everywhere(begin, is_whole, *words) > 3
