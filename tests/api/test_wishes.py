"""What people wish for sites and nodes, and what becomes of wishes that cannot be kept for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


def first_site(installation: Installation) -> str:
    name: str = installation.flex("-o", "json", "sites", "list").json["items"][0]["site"]
    return name


def test_a_site_is_pinned_shown_and_freed_however_its_name_is_written(installation: Installation) -> None:
    installation.night()
    site = first_site(installation)
    assert installation.flex("-o", "json", "sites", "pin", f"{site.upper()}.", "--nodes", "n2").json["site"] == site
    (shown,) = installation.flex("-o", "json", "sites", "show", f"{site.title()}.").json["items"]
    assert (shown["site"], shown["pinned_to"]) == (site, ["n2"])
    assert installation.flex("sites", "unpin", f"{site}.").code == 0
