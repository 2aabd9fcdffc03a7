"""The settings that docs/howto/move-whole-sites.md shows move whole sites: every command of it is
run by real nights, with rsync and MariaDB, and folders for the nodes' disks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.api.test_moves import later, other_than, pin
from tests.hooks.conftest import databases
from tests.hooks.servers import Database, program
from tests.hooks.test_database import settings_of
from tests.hooks.two_nodes import TwoNodes

if TYPE_CHECKING:
    from tests.api.conftest import Installation

__all__ = ["databases"]

pytestmark = pytest.mark.real

PAGE = Path(__file__).parents[2] / "docs/howto/move-whole-sites.md"


def of_page() -> str:
    [settings] = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(settings)


def address(node: str) -> str:
    return f"192.0.2.{node[1:]}"


class Whole:
    """A cluster whose sites have all that the page speaks of."""

    def __init__(
        self, installation: Installation, nodes: TwoNodes, bases: dict[str, Database]
    ) -> None:
        self.installation, self.nodes, self.bases = installation, nodes, bases
        self.homes: dict[str, str] = {}
        for row in installation.flex("-o", "json", "sites", "list").json["items"]:
            if len(row["nodes"]) == 1:
                self.homes[row["site"]] = row["nodes"][0]

    def settle(self, clean_after: str) -> None:
        own = of_page().replace("/etc/flex/hooks", str(self.nodes.folder / "hooks"))
        own = own.replace('clean_after = "3d"', f'clean_after = "{clean_after}"')
        # No web server answers for these nodes: test_real_faults.py has some.
        own = own.replace("check = true", "check = false")
        file = self.installation.settings
        file.write_text(file.read_text().partition("\n[move]\n")[0] + f"\n{own}")

    def fill(self, site: str) -> None:
        here = address(self.homes[site])
        at = self.nodes.at(here, "www", site)
        at.mkdir(parents=True)
        (at / "index.html").write_text(site)
        self.nodes.at(here, "vhosts", site).write_text("server")
        self.nodes.at(here, "certificates", site).write_text("certificate")
        self.nodes.at(here, "cron", site.replace(".", "_")).write_text("jobs")
        base = self.base(site)
        self.bases[here].ask(
            f"DROP DATABASE IF EXISTS `{base}`; CREATE DATABASE `{base}`;"
            f"CREATE TABLE `{base}`.orders (id INT PRIMARY KEY);"
            f"INSERT INTO `{base}`.orders VALUES (7)"
        )
        with (self.nodes.folder / "hooks/databases").open("a") as file:
            file.write(f"{site} {base}\n")

    def base(self, site: str) -> str:
        return site.replace(".", "_")

    def there(self, node: str, site: str) -> set[str]:
        """What the node has of the site."""
        at = address(node)
        found = {
            part
            for part, name in (
                ("www", f"{site}/index.html"),
                ("vhosts", site),
                ("certificates", site),
                ("cron", site.replace(".", "_")),
            )
            if self.nodes.at(at, part, name).exists()
        }
        if [self.base(site)] in self.bases[at].ask("SHOW DATABASES"):
            found.add("database")
        return found


@pytest.fixture
def whole(
    installation: Installation, databases: dict[str, Database], tmp_path: Path
) -> Iterator[Whole]:
    program("rsync", "rsync")
    installation.first_night()
    nodes = TwoNodes(tmp_path / "disks", names=(address("n1"), address("n2"))).begin()
    bases = dict(zip((address("n1"), address("n2")), databases.values(), strict=True))
    settings_of(nodes, bases, "none")
    nodes.set("web_test() { echo true; }\nweb_reload() { echo true; }\n")
    yield Whole(installation, nodes, bases)
    for base in bases.values():
        for (name,) in base.ask("SHOW DATABASES LIKE '%\\_%'"):
            if name not in ("information_schema", "performance_schema"):
                base.ask(f"DROP DATABASE `{name}`")


ALL = {"www", "vhosts", "certificates", "cron", "database"}


@pytest.mark.slow
def test_a_site_moves_whole_and_leaves_its_old_node_when_nobody_needs_it_there(
    whole: Whole,
) -> None:
    site, home = next(iter(whole.homes.items()))
    new = other_than(home)
    whole.fill(site)
    whole.settle("3d")
    pin(whole.installation, site, new)

    said = whole.installation.run()

    assert said.code == 0, said.err
    assert whole.installation.addresses(site) == [address(new)]
    assert whole.there(new, site) == ALL
    assert whole.there(home, site) == ALL - {"cron"}

    whole.settle("0s")
    later(whole.installation)
    again = whole.installation.run()

    assert again.code == 0, again.err
    assert whole.there(new, site) == ALL
    assert whole.there(home, site) == set()


@pytest.mark.slow
def test_a_site_for_which_the_last_command_fails_stays_whole_where_it_is(whole: Whole) -> None:
    site, home = next(iter(whole.homes.items()))
    new = other_than(home)
    whole.fill(site)
    whole.settle("3d")
    pin(whole.installation, site, new)
    # Brought last: its server says no.
    base = whole.base(site)
    whole.bases[address(home)].ask(
        f"CREATE VIEW `{base}`.broken AS SELECT * FROM `{base}`.orders;DROP TABLE `{base}`.orders"
    )

    said = whole.installation.run()

    assert f"{site} stays where it is: final copy (database)" in said.out + said.err
    assert whole.installation.addresses(site) == [address(home)]
    assert whole.there(home, site) == ALL
    assert whole.there(new, site) == set()


def test_every_command_of_the_page_is_one_that_comes_with_flex() -> None:
    shown = set(re.findall(r"/etc/flex/hooks/([a-z.]+)", of_page()))
    assert shown == {"files", "database", "vhost", "cron"}
    assert all((PAGE.parents[2] / "deploy/hooks" / name).exists() for name in shown)
