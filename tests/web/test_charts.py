"""Pictures that are zoomed into and pointed at, where there are scripts; and as they stand in the
page elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.rest.conftest import SITES, Door
from tests.web.browsing import CHROMIUM, Look, Visitor, chromium, served, visitor
from tests.web.scriptless import Browser as Scriptless

WIDE = Look(1600, "light")
TOOLS, BELOW = 88, 22


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def seen(browser: Browser, door: Door) -> Iterator[Visitor]:
    with served(door.app) as address, visitor(browser, address, door.secrets["admin"], WIDE) as who:
        yield who
        assert who.complaints == []


def middle_of_a_dot(page: Page) -> tuple[float, float]:
    found = page.evaluate(
        "(() => { const dots = [...document.querySelectorAll('.chart path[fill-opacity]')];"
        " const one = dots[0].getBoundingClientRect(); return [one.x + one.width / "
        "2, one.y + one.height / 2]; })()"
    )
    return found[0], found[1]


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}: apt install chromium")
def test_a_dot_says_its_site_and_what_is_zoomed_into_can_be_drawn_by_itself(seen: Visitor) -> None:
    page = seen.go("/sites")
    picture = page.locator(".chart svg")
    picture.wait_for()
    x, y = middle_of_a_dot(page)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    page.locator(".chart text", has_text=re.compile(r"s\d{3}\.example\.org|sites")).first.wait_for()
    box = picture.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] - TOOLS, box["y"] + BELOW)
    for part, then in ((0.3, page.mouse.down), (0.5, None), (0.7, page.mouse.up)):
        page.mouse.move(box["x"] + part * box["width"], box["y"] + part * box["height"])
        if then:
            then()
    expect(page.locator("#held_to")).not_to_have_value("")
    low, high = (int(page.locator(f"#held_{end}").input_value()) for end in ("from", "to"))
    assert 0 <= low < high
    page.get_by_role("button", name="Draw only these").click()
    assert f"held_from={low}" in page.url
    page.locator(".chart svg").wait_for()


@pytest.mark.real
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}: apt install chromium")
def test_on_paper_the_picture_is_that_of_the_page(seen: Visitor) -> None:
    page = seen.go("/sites")
    page.locator(".chart svg").wait_for()
    page.emulate_media(media="print")
    expect(page.locator(".chart")).to_be_hidden()
    box = page.locator("svg.behind").bounding_box()
    assert box
    assert box["width"] > 400
    assert box["height"] == 380


def test_only_pages_with_such_pictures_load_the_library(admin: Scriptless) -> None:
    assert "echarts" in admin.get("/sites")
    assert "echarts" in admin.get("/history")
    for other in ("/", "/nodes", "/dns", "/data", "/plans", "/settings"):
        assert "echarts" not in admin.get(other)


@pytest.mark.slow
def test_marks_and_axes_say_the_numbers_that_they_stand_for(admin: Scriptless) -> None:
    """What a script reads from the picture is what the table says."""
    page = unescape(admin.get("/sites"))
    low, high = map(float, re.findall(r'data-across="([^ "]+) ([^"]+)"', page)[0])
    first = re.search(r'<circle class="dot" cx="([\d.]+)%"[^>]*><title>([^<]+)</title>', page)
    assert first
    held = 10 ** (low + (high - low) * float(first[1]) / 100)
    row = json.loads(admin.client.get(f"/api/v1/sites/{first[2]}").text)
    assert first[2] in SITES
    assert held == pytest.approx(row["working_set_bytes"], rel=0.02)
