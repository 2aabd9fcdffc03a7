"""A site comes to be on several nodes, or on fewer: which commands are run, and for which node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.test_failover import homes
from tests.api.test_moves import Disks, later, other_than, pin

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


@pytest.fixture
def disks(installation: Installation) -> Disks:
    installation.first_night()
    found = Disks(installation)
    found.set_hooks(clean_after="0s")
    return found


def run_for(disks: Disks, site: str) -> list[str]:
    """Other sites may move as well, for balance."""
    return [line for line in disks.log if line.split()[1] == site]


def on(installation: Installation, site: str) -> set[str]:
    return set(homes(installation)[site])


@pytest.mark.slow
def test_each_node_that_a_site_comes_to_gets_it_and_no_node_that_has_it_is_cleaned(
    installation: Installation, disks: Disks
) -> None:
    site, home = next(iter(disks.fill().items()))
    second = other_than(home)
    pin(installation, site, f"{home},{second}")
    assert installation.run().code == 0
    assert on(installation, site) == {home, second}
    assert run_for(disks, site) == [f"copy {site} {home} {second}"]
    # It is due to be cleaned, but the site is there.
    later(installation)
    assert installation.run().code == 0
    assert run_for(disks, site) == [f"copy {site} {home} {second}"]
    assert disks.has(home, site)
    assert disks.has(second, site)
    [move] = installation.flex("-o", "json", "moves", "--site", site).json["items"]
    assert (move["state"], move["source"], move["target"]) == ("done", home, second)
    assert move["reason"] == f"its copy on {home} is left: the site is there"

    # It loses a node: nothing is brought anywhere, and nothing is removed.
    assert installation.flex("sites", "unpin", site).code == 0
    pin(installation, site, home)
    assert installation.run().code == 0
    assert on(installation, site) == {home}
    assert run_for(disks, site) == [f"copy {site} {home} {second}"]
    assert disks.has(second, site)


@pytest.mark.slow
def test_a_replica_that_goes_to_another_node_is_brought_from_where_it_was_and_cleaned_there(
    installation: Installation, disks: Disks
) -> None:
    site, home = next(iter(disks.fill().items()))
    second = other_than(home)
    third = ({"n1", "n2", "n3"} - {home, second}).pop()
    pin(installation, site, f"{home},{second}")
    assert installation.run().code == 0
    assert installation.flex("sites", "unpin", site).code == 0
    pin(installation, site, f"{home},{third}")
    assert installation.run().code == 0
    assert on(installation, site) == {home, third}
    assert f"copy {site} {second} {third}" in disks.log
    later(installation)
    assert installation.run().code == 0
    assert f"remove {site} {second}" in disks.log
    assert not disks.has(second, site)
    assert disks.has(home, site)
    assert disks.has(third, site)
