"""What pages say of sizes, of nodes, and of name servers that were asked."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from flex.model.dns_edits_by_others import Edit
from flex.zones.last_dns_check import Answered, Check
from flex_api.facts.days_until_full import room
from flex_api.status import said_of_check
from tests.web.scriptless import Browser

if TYPE_CHECKING:
    from tests.rest.conftest import Door

LATE = datetime(2026, 3, 5, 9, tzinfo=UTC)


def drawn(page: str) -> int:
    return len(re.findall('<circle class="dot"', page))


def test_sites_of_some_sizes_are_drawn_by_themselves(admin: Browser) -> None:
    every = drawn(admin.get("/sites"))
    assert every > 1
    assert drawn(admin.get("/sites?held_from=0&sent_to=999999999999999")) == every
    assert drawn(admin.get("/sites?sent_to=1")) == 0
    assert drawn(admin.get("/sites?sent_to=evil")) == every
    assert admin.get("/sites.csv?sent_to=1").count("\n") > every


def test_a_node_shows_its_load_and_its_sites_as_pictures_with_numbers(admin: Browser) -> None:
    page = admin.get("/node?name=n1")
    assert page.count('<svg role="img"') >= 2
    assert "What it sends, by site" in page


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (Answered("ns1", 3, error="timed out"), "ns1 did not answer"),
        (Answered("ns1", 3, 7, 2, ("+ a", "- b")), "ns1 disagreed in 2 lines"),
    ],
)
def test_a_name_server_that_was_wrong_when_last_asked_is_said_on_every_page(
    door: Door, admin: Browser, said: Answered, words: str
) -> None:
    door.store.put_check(Check(LATE, door.store.in_force(), (said,)))
    for address in ("/", "/nodes", "/audit"):
        assert words in re.sub("<[^>]*>", "", admin.get(address))
    door.store.put_check(Check(LATE, door.store.in_force(), (Answered("ns1", 3, 8),)))
    assert words not in re.sub("<[^>]*>", "", admin.get("/nodes"))
    assert "All name servers are up to date" in admin.get("/dns")


ZONES = ("a.example.", "b.example.", "c.example.")


def test_a_server_of_several_zones_is_counted_and_named_once() -> None:
    right = tuple(Answered(name, 3, 7, zone=zone) for name in ("ns1", "ns2") for zone in ZONES)
    assert "2 name servers agreed" in said_of_check(Check(LATE, "p1", right), LATE)
    silent = tuple(Answered("ns3", 3, error="timed out", zone=zone) for zone in ZONES)
    wrong = tuple(Answered("ns4", 3, 7, 2, ("+ a", "- b"), zone=zone) for zone in ZONES)
    said = said_of_check(Check(LATE, "p1", (*right, *silent, *wrong)), LATE)
    assert "ns3 did not answer; ns4 disagreed in 6 lines." in said


def test_the_page_names_the_zone_of_each_answer_and_who_is_behind(
    door: Door, admin: Browser
) -> None:
    late = Answered("ns2", 3, 6, 1, ("- b",), zone="b.example.")
    answers = (
        Answered("ns1", 3, 7, zone="a.example."),
        Answered("ns1", 3, 8, zone="b.example."),
        late,
    )
    door.store.put_check(Check(LATE, door.store.in_force(), answers))
    page = re.sub("<[^>]*>", " ", admin.get("/dns"))
    rows = re.findall(r"(ns[12]) +([ab])\.example\.", page)
    assert rows == [("ns1", "a"), ("ns1", "b"), ("ns2", "b")]
    said = re.sub(" +", " ", page)
    assert "rndc refresh b.example on ns2 , which has serial 6; another server has 8" in said


def test_serials_are_not_compared_where_nobody_knows_of_which_zone_they_are(
    door: Door, admin: Browser
) -> None:
    answers = (Answered("ns1", 3, 7), Answered("ns1", 3, 6, 1, ("- b",)))
    door.store.put_check(Check(LATE, door.store.in_force(), answers))
    assert "rndc refresh" not in admin.get("/dns")


def test_days_are_left_until_the_busiest_node_has_no_hour_to_spare() -> None:
    growing = room([100.0 + at for at in range(14)], 0.5)
    assert growing is not None
    assert growing.days == 113
    falling = room([100.0 - at for at in range(14)], 0.5)
    assert falling is not None
    assert falling.days is None
    assert room([100.0] * 3, 0.5) is None
    assert room([100.0] * 14, 0.0) is None


def test_the_page_of_a_plan_says_of_a_site_that_somebody_changed_that_it_is_left_alone(
    door: Door, admin: Browser
) -> None:
    """Whatever rules would say of it besides."""
    last = door.store.plans(1)[0]
    found = Edit("s030.example.org.", ("192.0.2.11",), ("203.0.113.9",), last.created)
    door.store.update(replace(last, said=replace(last.said, edits=(found,))))
    page = admin.get(f"/plans/{last.id}?tab=kept")
    alone = page.partition("changed in DNS by somebody else, so left alone")[2]
    assert alone.index("s030.example.org") < alone.index("</table>")
    assert alone.partition("</table>")[0].count("<tr>") == 2, "the head, and one site"


def test_the_page_of_a_site_that_somebody_changed_says_all_of_it(
    door: Door, admin: Browser
) -> None:
    """Both addresses and both ways on: the middle of a long sentence is where these stand."""
    last = door.store.plans(1)[0]
    found = Edit("s030.example.org.", ("192.0.2.11",), ("203.0.113.9",), last.created)
    door.store.update(replace(last, said=replace(last.said, edits=(found,))))
    address = "/site?name=s030.example.org&part=why"
    page = admin.get(address)
    assert "(has 203.0.113.9, had 192.0.2.11); it stays theirs with" in re.sub("<[^>]*>", "", page)
