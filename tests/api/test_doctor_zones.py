"""Zones that nobody wrote into the settings are found by asking the primary."""

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
