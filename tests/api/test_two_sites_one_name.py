"""While two sites claim one name nothing changes that can wait, and a dead node is led around all
the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.test_names_going_along import follow, movable, places

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


def settled(installation: Installation) -> tuple[str, str, str]:
    """A site with an alias that goes along, the alias, and another site."""
    site, home, _ = movable(installation)
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    other = next(
        str(row["site"]) for row in rows if row["site"] != site and home not in row["nodes"]
    )
    name = f"static.{installation.zone[:-1]}"
    (installation.folder / "aliases").write_text(f"{name} {site}\n", encoding="utf-8")
    text = installation.settings.read_text(encoding="utf-8")
    text = text.replace("[safety]\n", '[safety]\nplan_expiry = "3000d"\n')
    files = '[ingest]\naliases_file = "aliases"\nvhosts = ["hosts*"]\n'
    installation.settings.write_text(text.replace("[ingest]\n", files), encoding="utf-8")
    follow(installation)
    assert installation.run().code == 0
    assert installation.addresses(name) == installation.addresses(site)
    return site, name, other


def contest(installation: Installation, name: str, other: str) -> None:
    """The virtual host of another site has it, too."""
    (installation.folder / "hosts").write_text(
        f"server {{ server_name {other} {name}; }}\n", encoding="utf-8"
    )


def test_a_night_a_plan_and_a_move_end_with_one_error_and_change_nothing(
    installation: Installation,
) -> None:
    installation.first_night()
    site, name, other = settled(installation)
    waiting = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json["id"]
    contest(installation, name, other)
    serial = installation.serial()
    for asked in (
        ("apply", waiting),
        ("rollback",),
        ("run", "--as-of", installation.as_of()),
        ("plan", "--as-of", installation.as_of()),
        ("ingest",),
        ("move", site, "--to", "n3"),
    ):
        found = installation.flex(*asked)
        assert found.code != 0, asked
        assert f"the name '{name}'" in found.err, asked
        assert f"of {site} (" in found.err
        assert f"of {other} (" in found.err
        assert "aliases, line 1" in found.err
        assert "hosts, line 1" in found.err
        assert "correct that place" in found.err
        assert "Traceback" not in found.err
    assert installation.serial() == serial
    check = installation.flex("config", "check")
    assert check.code != 0
    assert f"the name '{name}'" in check.out + check.err
    (row,) = (
        row
        for row in installation.flex("-o", "json", "doctor").json["checks"]
        if row["name"] == "names in files"
    )
    assert row["state"] == "fail"
    assert name in row["detail"]
    (installation.folder / "hosts").unlink()
    assert installation.run().code == 0


@pytest.mark.slow("unreadable-it is new", "contested-it knows them", "unreadable-it knows them")
@pytest.mark.parametrize("knows", [True, False], ids=["it knows them", "it is new"])
@pytest.mark.parametrize("fault", ["contested", "unreadable"])
def test_a_dead_node_is_led_around_with_all_names_as_they_were(
    installation: Installation, fault: str, knows: bool
) -> None:
    """Also by a process that never read these names when nothing was wrong with them."""
    installation.first_night()
    site, name, other = settled(installation)
    home = installation.addresses(site)
    if fault == "contested":
        contest(installation, name, other)
    else:
        (installation.folder / "aliases").write_bytes(b"\xff\n")
    node = f"n{home[0].rpartition('.')[2]}"
    if knows:
        down = installation.flex("nodes", "down", node)
        assert down.code == 0, down.err
    else:
        process = installation.process("nodes", "down", node)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    assert len(places(installation, [site, name])) == 1
    assert installation.addresses(name) != home
