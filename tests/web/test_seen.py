"""What pages say of sizes, of nodes, and of name servers that were asked."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from flex.checks import Answered, Check
from flex_api.known.room import room
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
    assert "Every name server said" in admin.get("/dns")


def test_days_are_left_until_the_busiest_node_has_no_hour_to_spare() -> None:
    growing = room([100.0 + at for at in range(14)], 0.5)
    assert growing is not None
    assert growing.days == 113
    falling = room([100.0 - at for at in range(14)], 0.5)
    assert falling is not None
    assert falling.days is None
    assert room([100.0] * 3, 0.5) is None
    assert room([100.0] * 14, 0.0) is None
