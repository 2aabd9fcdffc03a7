"""Which names in the logs are sites: a visitor can send any name, and most of them are none of
ours.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from flex.errors import BadSetting
from flex.frame_schemas import PROFILES
from flex_api import which_names_are_sites


def profiles(*sites: str) -> pd.DataFrame:
    rows = [(site, 10, 5, 3, 2, 1, 10) for site in sites]
    return PROFILES.make(pd.DataFrame(rows, columns=PROFILES.earlier))


@pytest.mark.parametrize("name", ["a.example", "www.a-b.example.org", "xn--bcher-kva.example"])
def test_a_host_name_is_a_site_where_there_is_no_list(name: str) -> None:
    kept, strangers = which_names_are_sites.only(profiles(name), None)
    assert (list(kept["site"]), strangers) == ([name], 0)


@pytest.mark.parametrize(
    "name",
    [
        "(unknown)",
        "localhost",
        "_flex.example",
        "a_b.example",
        "*.example",
        "-a.example",
        "a..example",
        "%3cb%3e.example",
        "a" * 64 + ".b",
    ],
)
def test_what_can_be_no_host_name_is_counted_and_left_out(name: str) -> None:
    kept, strangers = which_names_are_sites.only(profiles(name, "a.example"), None)
    assert (list(kept["site"]), strangers) == (["a.example"], 1)


def test_errors_alone_make_no_site_where_there_is_no_list() -> None:
    found = profiles("a.example", "invented.example")
    found.loc[found["site"] == "invented.example", ["targets", "working_set"]] = 0
    kept, strangers = which_names_are_sites.only(found, None)
    assert (list(kept["site"]), strangers) == (["a.example"], 1)


def test_a_list_decides_and_a_listed_site_without_visitors_is_there() -> None:
    kept, strangers = which_names_are_sites.only(
        profiles("a.example", "evil.example"), ("a.example", "quiet.example")
    )
    assert list(kept["site"]) == ["a.example", "quiet.example"]
    assert kept["access_bytes"].tolist() == [10, 0]
    assert strangers == 1


def test_a_list_has_comments_and_is_read_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "sites"
    path.write_text("# ours\nB.example.\n\na.example  # new\na.example\n", encoding="utf-8")
    assert which_names_are_sites.read_site_list(path) == ("a.example", "b.example")


def test_a_list_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="sites_file"):
        which_names_are_sites.read_site_list(tmp_path / "none")


def test_a_listed_name_beyond_ascii_is_the_one_that_dns_has(tmp_path: Path) -> None:
    path = tmp_path / "sites"
    path.write_text("Bücher.example\nxn--bcher-kva.example\n", encoding="utf-8")
    assert which_names_are_sites.read_site_list(path) == ("xn--bcher-kva.example",)


@pytest.mark.parametrize("name", ["straße.example", "ü..example", "ü" * 64 + ".example"])
def test_a_listed_name_that_dns_cannot_have_or_has_in_two_ways_is_refused(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "sites"
    path.write_text(name, encoding="utf-8")
    with pytest.raises(BadSetting) as caught:
        which_names_are_sites.read_site_list(path)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("S000.Hosting.Example.", "s000.hosting.example"),
        (" a.example ", "a.example"),
        ("BÜCHER.example.", "xn--bcher-kva.example"),
        ("/Shop/", "/Shop/"),
    ],
)
def test_a_site_is_known_however_a_person_writes_it(written: str, name: str) -> None:
    assert which_names_are_sites.site_name(written) == name
