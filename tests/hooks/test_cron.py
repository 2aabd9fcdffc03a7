"""The jobs of a site are switched on at one node, or at none, and never at two."""

from __future__ import annotations

import pytest

from tests.hooks.two_nodes import SITE, TwoNodes

pytestmark = pytest.mark.real

JOBS = "*/5 * * * * shop php cron.php\n"


def on(nodes: TwoNodes) -> list[str]:
    """The nodes whose cron reads the file: it reads no name with a dot."""
    return [node for node in ("n1", "n2") if nodes.at(node, "cron/shop_example").exists()]


def kept(nodes: TwoNodes, node: str) -> list[str]:
    return sorted(file.name for file in nodes.at(node, "cron").iterdir())


@pytest.fixture
def with_jobs(nodes: TwoNodes) -> TwoNodes:
    nodes.at("n1", "cron/shop_example").write_text(JOBS)
    return nodes


@pytest.mark.slow("ssh")
def test_jobs_move_and_are_never_at_two_nodes(with_jobs: TwoNodes) -> None:
    nodes = with_jobs
    for words, where in (
        (("copy", SITE, "n1", "n2"), ["n1"]),
        (("off", SITE, "n1"), []),
        (("copy", SITE, "n1", "n2"), []),
        (("on", SITE, "n2"), ["n2"]),
        (("remove", SITE, "n1"), ["n2"]),
    ):
        # Each may be run again.
        for _ in range(2):
            nodes.ends(0, "cron", *words)
            assert on(nodes) == where, words
    assert nodes.at("n2", "cron/shop_example").read_text() == JOBS
    assert kept(nodes, "n1") == []
    assert kept(nodes, "n2") == ["shop_example"]


def test_a_site_that_stays_has_its_jobs_again(with_jobs: TwoNodes) -> None:
    nodes = with_jobs
    nodes.ends(0, "cron", "copy", SITE, "n1", "n2")
    nodes.ends(0, "cron", "off", SITE, "n1")
    nodes.ends(0, "cron", "on", SITE, "n1")
    nodes.ends(0, "cron", "remove", SITE, "n2")
    assert on(nodes) == ["n1"]
    assert (kept(nodes, "n1"), kept(nodes, "n2")) == (["shop_example"], [])


def test_a_site_without_jobs_leaves_none_of_an_earlier_time(nodes: TwoNodes) -> None:
    nodes.at("n2", "cron/shop_example").write_text(JOBS)
    for words in (("copy", SITE, "n1", "n2"), ("off", SITE, "n1"), ("on", SITE, "n2")):
        nodes.ends(0, "cron", *words)
    assert on(nodes) == []


@pytest.mark.slow("ssh")
def test_jobs_that_were_changed_meanwhile_are_brought_as_they_are(with_jobs: TwoNodes) -> None:
    nodes = with_jobs
    nodes.ends(0, "cron", "copy", SITE, "n1", "n2")
    nodes.at("n1", "cron/shop_example").write_text(JOBS.replace("5", "6"))
    nodes.ends(0, "cron", "off", SITE, "n1")
    nodes.ends(0, "cron", "copy", SITE, "n1", "n2")
    nodes.ends(0, "cron", "on", SITE, "n2")
    assert nodes.at("n2", "cron/shop_example").read_text() == JOBS.replace("5", "6")
