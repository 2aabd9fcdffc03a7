"""Pictures whose dots lead on, in the page and by a click."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from flex_api.pages.sites import ZOOMS
from flex_api.pictures.sites_scatter import FEW, cloud
from flex_api.report.page import TEMPLATES
from tests.rest.conftest import SITES, Door
from tests.web.browsing import CHROMIUM, Look, chromium, served, visitor
from tests.web.scriptless import Browser as Scriptless


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.mark.real
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}: apt install chromium")
def test_a_click_on_a_dot_leads_to_its_site(browser: Browser, door: Door) -> None:
    with (
        served(door.app) as address,
        visitor(browser, address, door.secrets["admin"], Look(1600, "light")) as who,
    ):
        dot = who.go("/sites").locator("#cloud circle").last
        name = dot.locator("title").text_content()
        assert name in SITES
        dot.click(force=True)
        expect(who.page.get_by_role("heading", level=1)).to_contain_text(name)
        assert who.complaints == []


def test_every_dot_leads_to_the_site_that_it_says(admin: Scriptless) -> None:
    page = unescape(admin.get("/sites"))
    dots = re.findall(r'data-to="/site\?name=([^"]+)"[^>]*><title>([^<]+)', page)
    assert {name for name, _ in dots} == set(SITES)
    assert all(name == said for name, said in dots)


@pytest.mark.parametrize("near", [False, True])
def test_a_circle_leads_to_all_of_its_sites_and_to_few_others(near: bool) -> None:
    rng = np.random.default_rng(3)
    held, sent = (np.exp(rng.normal(14, 3, 5 * FEW)).astype(np.int64) + 1 for _ in range(2))
    names = np.array([f"s{at}" for at in range(len(held))], dtype=object)
    picture = cloud("Sites", names, held, sent, (1e6, 1e6), np.array([], np.int64), near=near)
    assert picture.grouped
    for point in picture.points:
        box, its = point.box, int(point.title.split()[0])
        assert box
        around = (
            (held >= box.held_from)
            & (held <= box.held_to)
            & (sent >= box.sent_from)
            & (sent <= box.sent_to)
        )
        assert its <= around.sum() < len(held) / 3


def test_the_address_that_a_circle_leads_to_has_the_fields_of_the_page() -> None:
    every = np.arange(1, 2 * FEW)
    picture = cloud("Sites", every.astype(object), every, every, (1, 1), np.array([], np.int64))
    template = TEMPLATES.from_string(
        '{% from "parts/pictures.html" import scatter %}{{ scatter("p", picture, leads=true) }}'
    )
    address = re.findall('data-to="([^"]+)"', unescape(template.render(picture=picture)))[0]
    fields = dict(parse_qsl(urlsplit(address).query))
    assert tuple(fields) == tuple(name for name, _ in ZOOMS)
    assert all(value.isdigit() for value in fields.values())
