"""Wishes beside each other: what is refused names what it conflicts with, and a campaign ends
without a trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

UNTIL = ("--until", "2199-01-01T06:00Z")


@pytest.fixture
def sites(installation: Installation) -> list[str]:
    installation.first_night()
    return [row["site"] for row in installation.flex("-o", "json", "sites", "list").json["items"]]


def shown(installation: Installation, site: str) -> tuple[list[str], int, str]:
    (row,) = installation.flex("-o", "json", "sites", "show", site).json["items"]
    return row["pinned_to"], row["min_replicas"], row["pin_reason"]


def test_a_wish_with_an_end_is_put_on_top_of_one_without_and_leaves_it_as_it_was(
    installation: Installation, sites: list[str]
) -> None:
    site = sites[0]
    assert (
        installation.flex("sites", "pin", site, "--nodes", "n2", "--reason", "contract").code == 0
    )
    made = installation.flex(
        "-o", "json", "sites", "pin", site, "--min-replicas", "2", *UNTIL, "--reason", "launch"
    )
    assert made.json["campaign"] == "until-2199-01-01T0600Z"
    assert shown(installation, site) == (["n2"], 2, "launch")
    assert installation.flex("sites", "unpin", site, "--campaign", "nobody-s").code == 3
    assert installation.flex("sites", "unpin", site, "--campaign", made.json["campaign"]).code == 0
    assert shown(installation, site) == (["n2"], 1, "contract")


def test_campaigns_have_names_and_ends_and_one_is_taken_back_without_its_name(
    installation: Installation, sites: list[str]
) -> None:
    site = sites[0]
    pin = ("sites", "pin", site, "--min-replicas", "2")
    assert "no end" in installation.flex(*pin, "--campaign", "launch").err
    assert installation.flex(*pin, "--campaign", "launch", *UNTIL).code == 0
    assert installation.flex("-o", "json", "sites", "unpin", site).json["campaign"] == "launch"


def test_a_refused_wish_names_the_one_it_conflicts_with_and_who_made_it(
    installation: Installation, sites: list[str]
) -> None:
    site, other, third = sites[:3]
    assert (
        installation.flex("sites", "pin", other, "--nodes", "n1", "--reason", "contract 7").code
        == 0
    )
    assert installation.flex("sites", "pin", third, "--nodes", "n1").code == 0
    refused = installation.flex("sites", "pin", site, "--nodes", "n1", "--apart", other)
    assert refused.code == 21
    assert f"together with the wish for {other} (on n1; by " in refused.err
    assert "contract 7" in refused.err
    assert third not in refused.err
    assert f"flex sites unpin {other}" in refused.err


def test_a_campaign_is_refused_for_what_begins_while_it_lasts(
    installation: Installation, sites: list[str]
) -> None:
    site, other = sites[:2]
    assert (
        installation.flex("sites", "pin", other, "--nodes", "n1", "--since", "2150-01-01").code == 0
    )
    apart = ("sites", "pin", site, "--nodes", "n1", "--apart", other)
    assert installation.flex(*apart, "--until", "2149-01-01").code == 0
    assert installation.flex(*apart, *UNTIL).code == 21


def test_no_site_is_apart_from_itself(installation: Installation, sites: list[str]) -> None:
    refused = installation.flex("sites", "pin", sites[0], "--apart", sites[0])
    assert refused.code == 3
    assert "names the site itself" in refused.err


@pytest.mark.parametrize("reason", ["evil\x1b[31m", "two\nlines", "x" * 1001])
def test_a_reason_is_one_line_of_plain_text(
    installation: Installation, sites: list[str], reason: str
) -> None:
    assert (
        installation.flex("sites", "pin", sites[0], "--nodes", "n1", "--reason", reason).code == 3
    )
    assert installation.flex("freeze", "--reason", reason).code == 3
