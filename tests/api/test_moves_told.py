"""What was brought for a night's sites, and what stayed and why, is in its report and its mail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.api.test_moves import Disks, disks, other_than, pin

if TYPE_CHECKING:
    from tests.api.conftest import Installation

__all__ = ["disks"]

pytestmark = pytest.mark.real


@pytest.mark.slow
def test_the_report_names_what_was_brought_and_what_stayed_in_every_form(
    installation: Installation, disks: Disks
) -> None:
    """Also what a plan was replaced for."""
    (good, good_home), (bad, bad_home) = list(disks.fill().items())[:2]
    pin(installation, good, other_than(good_home))
    pin(installation, bad, other_than(bad_home))
    disks.trouble(bad, 1)
    night = installation.night()
    assert night.code == 0, night.err
    plan = night.json["plan"]["id"]

    told = json.loads(installation.flex("report", plan, "--format", "json").out)
    states = {row["site"]: row["state"] for row in told["brought"]}
    assert (states[good], states[bad]) == ("moved", "stayed")
    (why,) = [row["reason"] for row in told["brought"] if row["site"] == bad]
    assert "it ended with 1" in why
    assert "no room left on" not in why

    text = installation.flex("report", plan, "--format", "md").out
    assert "## What was brought to new nodes" in text
    assert f"| {bad} |" in text
    assert "it ended with 1" in text
    assert "no room left on" not in text
    assert "copy (files) done in" in text

    path = installation.folder / "report.html"
    assert installation.flex("report", plan, "--to", str(path)).code == 0
    page = path.read_text(encoding="utf-8")
    assert "What was brought to new nodes" in page
    assert "it ended with 1" in page
    assert "no room left on" not in page


def test_a_report_of_a_night_without_commands_says_nothing_of_them(
    installation: Installation,
) -> None:
    installation.first_night()
    assert "What was brought" not in installation.flex("report", "--format", "md").out
