"""Zones that nobody wrote into the settings are found by asking the primary, and names of sites in
the settings that are no site's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


def rows(installation: Installation) -> list[dict[str, str]]:
    checks = installation.flex("-o", "json", "doctor").json["checks"]
    return [row for row in checks if row["name"] == "zones of sites"]


def test_a_zone_that_is_served_and_not_named_is_found(installation: Installation) -> None:
    assert rows(installation) == []
    zone = f'zones = ["{installation.zone}"]'
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(text.replace(zone, "zones = []"), encoding="utf-8")
    (found,) = rows(installation)
    assert found["state"] == "warn"
    assert f'zones = ["{installation.zone}"]' in found["advice"]


def test_what_is_said_of_a_site_that_is_not_there_is_named(installation: Installation) -> None:
    installation.first_night()
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    there = rows[0]["site"].upper()
    installation.settings.write_text(
        installation.settings.read_text(encoding="utf-8")
        + f"\n[[move.site]]\nname = '{there}'\n[[move.site]]\nname = 'shpo.example'\n"
        "[[move.hook]]\nstage = 'copy'\ncommand = ['/bin/true']\n"
        f"sites = ['{there}', 'shpo.example']\n",
        encoding="utf-8",
    )
    checks = installation.flex("-o", "json", "doctor").json["checks"]
    said = [row["detail"] for row in checks if row["name"] == "names of sites"]
    assert said == [
        f"{setting} names shpo.example: no site of that name is on any node"
        for setting in ("[[move.hook]] sites", "[[move.site]]")
    ]
