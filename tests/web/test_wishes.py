"""The page of a site shows every wish for it, its form holds what is wished, and each can be
changed or taken back.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import TYPE_CHECKING

from flex.model.wish import Pin
from tests.rest.conftest import NOW
from tests.web.scriptless import SITE, Browser

if TYPE_CHECKING:
    from tests.rest.conftest import Door

NAME = "s000.example.org"
LAUNCH = Pin(
    NAME,
    nodes=("n2",),
    since=NOW.replace(second=0, microsecond=0) - timedelta(days=1),
    until=NOW.replace(second=0, microsecond=0) + timedelta(days=3),
    reason="the launch of a book",
    author="bob",
    campaign="launch",
)
STANDING = Pin(
    NAME,
    not_on=("n3",),
    min_replicas=1,
    max_replicas=2,
    apart=("s001.example.org",),
    weight=1.5,
    reason="it is loud",
    author="eve",
)


def fields(page: str) -> dict[str, str]:
    """What a browser would send if somebody pressed `Save` at once."""
    (form,) = re.findall(r'<form method="post" action="/site/pin">.*?</form>', page, re.DOTALL)
    found = {}
    for tag in re.findall("<input [^>]*>", form):
        name, value = (re.search(f'{key}="([^"]*)"', tag) for key in ("name", "value"))
        if name and ('type="checkbox"' not in tag or " checked" in tag):
            found[name[1]] = unescape(value[1]) if value else ""
    return {name: value for name, value in found.items() if name != "proof"} | {"do": "keep"}


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", "", page))


def test_a_campaign_alone_is_shown_with_its_name_and_end_and_can_be_taken_back(
    door: Door, admin: Browser
) -> None:
    door.store.drop_pin(NAME)
    door.store.put_pin(LAUNCH)
    page = admin.get(SITE)
    said = words(page)
    assert "Campaign launch holds now" in said
    assert "On n2." in said
    assert re.search("By bob, began .*, ends .*: the launch of a book", said)
    shown = fields(page)
    assert (shown["campaign"], shown["nodes"], shown["reason"]) == (
        "launch",
        "n2",
        "the launch of a book",
    )
    assert shown["until"] == f"{LAUNCH.until:%Y-%m-%dT%H:%M}"
    tag = shown["etag"]
    admin.send("/site/unpin", name=NAME, campaign="launch", etag=tag)
    assert door.store.pin(NAME, "launch") is None
    assert "Pin this site" in admin.get(SITE)


def test_a_wish_says_whether_it_holds_or_the_next_plan_carries_it_out(
    door: Door, admin: Browser
) -> None:
    day = timedelta(days=1)
    for begins, ends, chip in (
        (day / 2, 3 * day, "with the next plan"),
        (day / 3, day / 2, "with the next plan"),
        (2 * day, 3 * day, "not yet"),
        (-day, day, "holds now"),
        (-2 * day, -day, "over"),
    ):
        wish = replace(LAUNCH, since=NOW + begins, until=NOW + ends)
        door.store.put_pin(wish)
        assert f"Campaign launch {chip} " in words(admin.get(SITE))


def test_a_form_that_is_sent_as_it_came_changes_nothing_but_its_author(
    door: Door, admin: Browser
) -> None:
    for pin in (STANDING, LAUNCH):
        door.store.put_pin(pin)
        admin.send("/site/pin", 200, **fields(admin.get(f"{SITE}&of={pin.campaign}")))
        kept = door.store.pin(NAME, pin.campaign)
        assert kept
        assert replace(kept, author=pin.author) == pin
        door.store.drop_pin(NAME, pin.campaign)


def test_of_two_wishes_each_can_be_changed_and_taken_back_and_the_other_stays(
    door: Door, admin: Browser
) -> None:
    door.store.put_pin(STANDING)
    door.store.put_pin(LAUNCH)
    page = admin.get(SITE)
    assert "The permanent wish holds now" in words(page)
    assert "Campaign launch holds now" in words(page)
    assert fields(page)["campaign"] == ""
    changed = fields(admin.get(f"{SITE}&of=launch")) | {"nodes": "n1"}
    admin.send("/site/pin", 200, **changed)
    launch = door.store.pin(NAME, "launch")
    assert launch
    assert launch.nodes == ("n1",)
    assert door.store.pin(NAME) == STANDING
    admin.send("/site/unpin", name=NAME, campaign="", etag=fields(admin.get(f"{SITE}&of="))["etag"])
    assert (door.store.pin(NAME), door.store.pin(NAME, "launch")) == (None, launch)


def test_under_another_name_it_is_a_wish_more(door: Door, admin: Browser) -> None:
    door.store.put_pin(STANDING)
    admin.send("/site/pin", 200, **fields(admin.get(SITE)))
    more = fields(admin.get(SITE)) | {"campaign": "fair", "until": f"{LAUNCH.until:%Y-%m-%dT%H:%M}"}
    admin.send("/site/pin", 200, **more)
    assert door.store.pin(NAME, "fair")
    standing = door.store.pin(NAME)
    assert standing
    assert standing.until is None
    assert "the field campaign" in words(
        admin.send("/site/pin", 422, **more | {"campaign": "a fair"})
    )


def test_what_would_come_of_a_wish_is_asked_of_all_of_it(door: Door, admin: Browser) -> None:
    door.store.put_pin(STANDING)
    page = admin.send("/site/pin", 200, **fields(admin.get(SITE)) | {"do": "preview"})
    shown = fields(page)
    assert (shown["not_on"], shown["max_replicas"], shown["weight"]) == ("n3", "2", "1.5")


def test_what_needs_somebody_comes_before_the_charts(admin: Browser) -> None:
    page = admin.get("/")
    assert page.count('id="you"') == 1
    assert page.index('id="you"') < page.index('id="balance"')
