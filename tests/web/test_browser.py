"""In Debian's Chromium, against a real BIND: what people do with the pages, from signing in to
going back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from flex.model.wish import Pin
from flex.store import open_store
from flex_api import manage_tokens
from flex_api.app import create_app
from flex_api.manage_tokens import Caller
from flex_api.pages.frame import PAGES
from flex_api.settings import file as config
from flex_dns.private.private_named import PrivateNamed
from flex_dns.wire.key import Key
from tests.api.conftest import DAY, Installation, new
from tests.made_up_moves import fill_with_moves
from tests.rest.conftest import still
from tests.web.browsing import (
    CHROMIUM,
    Look,
    Visitor,
    axe,
    axe_of_contrast,
    chromium,
    served,
    visitor,
)
from tests.web.browsing import PICTURES as ROOT_OF_PICTURES

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}: apt install chromium"
    ),
]

WIDE, PLAIN = Look(1600, "light"), Look(360, "dark", scripts=False)
# Forms without scripts are looked at without a browser, too (tests/web/scriptless.py).
LOOKS = [WIDE, pytest.param(PLAIN, marks=pytest.mark.torture)]
# What a page asks for is asked as fast as the browser likes; how often that may be is not what
# these tests are about.
NO_LIMIT = "[api]\nrequests_per_second = 0\n"
MORNING = datetime(DAY.year, DAY.month, DAY.day, 9, tzinfo=UTC) + timedelta(days=1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def open_house(installation: Installation) -> Iterator[tuple[str, str]]:
    """A cluster with a day of logs and no plan yet, its pages, and a token that may do
    everything.
    """
    installation.mode, installation.extra = "review", NO_LIMIT
    installation.write_settings()
    found = config.load(installation.settings)
    with open_store(found.database.url) as store:
        token = manage_tokens.create(
            store, Caller("root", "admin"), "anna", "admin", datetime.now(UTC)
        )[1]
        with served(create_app(found, store, clock=lambda: MORNING, ticks=still)) as address:
            yield address, token


@pytest.fixture(scope="module")
def lived_in(
    tmp_path_factory: pytest.TempPathFactory,
    named: PrivateNamed,
    key: Key,
    free_zones: Iterator[str],
) -> Iterator[tuple[str, str, str]]:
    """After two nights and with a plan that waits, for tests that only look; with the name of a
    site.
    """
    made = new(tmp_path_factory.mktemp("lived-in"), named, key, next(free_zones), None)
    made.traffic()
    made.night(1)
    made.traffic(2)
    made.mode, made.extra = "review", NO_LIMIT
    made.write_settings()
    made.night(2)
    found = config.load(made.settings)
    later = MORNING + timedelta(days=1)
    with open_store(found.database.url) as store:
        site = str(store.placement()[1]["site"].iloc[0])
        store.put_pin(
            Pin(
                site,
                until=later + timedelta(days=9),
                reason="a launch",
                author="bob",
                campaign="launch",
            )
        )
        sites = sorted(set(store.placement()[1]["site"]))
        fill_with_moves(store, [site, *sites], store.in_force(), later)
        token = manage_tokens.create(
            store, Caller("root", "admin"), "anna", "admin", datetime.now(UTC)
        )[1]
        with served(create_app(found, store, clock=lambda: later, ticks=still)) as address:
            yield address, token, site


def led_on(who: Visitor, said: str) -> None:
    """To the end of a job, which leads to what came of it; or says why it failed."""
    over = who.page.locator("p.done, .chip.alarm:text('failed')").first
    expect(over).to_be_visible(timeout=60_000)
    assert over.inner_text().lower() == said.lower(), who.page.locator("main").inner_text()


def read_logs(who: Visitor) -> None:
    who.go("/data")
    who.page.get_by_role("button", name="Read what is new").click()
    led_on(who, "The logs are read.")


def make_plan(who: Visitor) -> None:
    who.page.get_by_role("button", name="Make a plan").click()
    led_on(who, "The plan is made.")


def apply_plan(who: Visitor, reason: str) -> None:
    for box in who.page.get_by_role("checkbox", name=re.compile("go over")).all():
        box.check()
    form = who.page.locator("form[action$='/apply']")
    form.get_by_label("Reason").fill(reason)
    form.get_by_role("button", name="Apply").click()
    led_on(who, "Applied, and checked on the name servers.")
    expect(who.page.locator("h1 .chip")).to_have_text("applied, in force")


@pytest.mark.slow
@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_a_day_with_the_pages(
    browser: Browser, open_house: tuple[str, str], installation: Installation, look: Look
) -> None:
    address, token = open_house
    with visitor(browser, address, token, look) as who:
        page = who.page
        expect(page.get_by_role("heading", level=1)).to_have_text("test")

        # Without logs there is no plan, and the page says so.
        who.go("/plans")
        page.get_by_role("button", name="Make a plan").click()
        led_on(who, "failed")
        expect(page.locator("main")).to_contain_text("what to do")
        read_logs(who)

        # The first plan: made, approved, applied, and in DNS.
        who.go("/plans")
        make_plan(who)
        who.picture("plan-waits")
        page.locator("form[action$='/approval']").get_by_label("Reason").fill("looked over")
        page.get_by_role("button", name="Approve").click()
        assert who.done() == "Approved. It can be applied now."
        apply_plan(who, "first night")
        page.locator("#moves summary").click()
        site = page.locator("#moves tbody th a").first.inner_text()
        before = installation.addresses(site)
        assert before
        who.picture("plan-applied")

        # A wish, tried out before it is kept.
        node = page.locator("#moves tbody tr").first.locator("td a").last.inner_text()
        other = next(name for name in ("n1", "n2", "n3") if name != node)
        who.go(f"/site?name={site}")
        page.get_by_label("On these nodes only").fill(other)
        page.get_by_label("Reason").first.fill("a launch")
        page.get_by_role("button", name="Show what it would do").click()
        expect(page.locator("#preview")).to_contain_text(f"{node} → {other}", timeout=60_000)
        who.picture("site-preview")
        page.get_by_role("button", name="Save").click()
        assert who.done() == "The wish holds from the next plan on."
        expect(page.locator("h1 .chip")).to_have_text("pinned")

        # The next plan keeps it.
        who.go("/plans")
        make_plan(who)
        apply_plan(who, "for the launch")
        after = installation.addresses(site)
        assert after != before

        # And the way back, which is a plan like any other.
        page.get_by_role("button", name="Make the plan back").click()
        led_on(who, "The plan that goes back is made. Review it, then apply it like any other.")
        apply_plan(who, "the launch is off")
        assert installation.addresses(site) == before

        # A node on its way out, tried out before it is done.
        who.go("/node?name=n3")
        page.get_by_role("button", name="Show what it would do").click()
        expect(page.locator("#preview")).to_contain_text("to read anew", timeout=60_000)
        who.picture("node-preview")
        page.get_by_label("Reason").fill("a new disk")
        page.get_by_role("button", name="Drain it").click()
        assert who.done() == "The node gives its sites away with the next plan."
        expect(page.locator("h1 .chip")).to_have_text("draining")

        # DNS asked itself.
        who.go("/dns")
        page.get_by_role("link", name="Ask the name servers now").click()
        expect(page.locator(".verdict")).to_contain_text(
            "All name servers are up to date", timeout=60_000
        )
        assert [one for one in who.complaints if "favicon" not in one] == []


@pytest.mark.torture("360-dark-plain")
@pytest.mark.slow
@pytest.mark.parametrize("look", [WIDE, PLAIN], ids=str)
def test_the_answer_to_what_if_follows_the_form_and_can_be_made_a_plan(
    browser: Browser, lived_in: tuple[str, str, str], look: Look
) -> None:
    address, token, _ = lived_in
    with visitor(browser, address, token, look) as who:
        page, answer = who.go("/what-if"), who.page.locator("#answer")
        slider = page.get_by_label("more nodes")
        slider.focus()
        slider.press("ArrowRight")
        if not look.scripts:
            page.get_by_role("button", name="Work it out").click()
        expect(answer.locator(".verdict")).to_contain_text("leave the worst node", timeout=60_000)
        expect(answer).to_contain_text("new1")
        expect(answer).to_contain_text("Nodes and their memory are what the settings")
        assert "more_nodes=1" in page.url
        who.picture("what-if")

        # What another number of moves would do can be done.
        who.go("/what-if?ask=now&max_moves=1")
        make = answer.get_by_role("button", name="Make it a plan")
        expect(make).to_be_visible(timeout=60_000)
        answer.get_by_label("Reason").fill("one at a time")
        make.click()
        led_on(who, "The plan is made.")
        assert [one for one in who.complaints if "favicon" not in one] == []


@pytest.mark.slow
@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_policies_are_compared_on_our_own_logs(
    browser: Browser, lived_in: tuple[str, str, str], look: Look
) -> None:
    address, token, _ = lived_in
    with visitor(browser, address, token, look) as who:
        page = who.go("/simulate")
        page.get_by_role("button", name="Run it").click()
        answer = page.locator("#answer")
        expect(answer.get_by_role("rowheader")).to_have_count(4, timeout=60_000)
        for policy in ("flex", "round_robin", "lard", "optimal"):
            expect(answer.get_by_role("rowheader", name=policy, exact=True)).to_be_visible()
        who.picture("simulated")
        assert who.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_what_is_refused_is_said_where_the_answer_would_stand(
    browser: Browser, lived_in: tuple[str, str, str], look: Look
) -> None:
    address, token, _ = lived_in
    with visitor(browser, address, token, look) as who:
        page = who.go("/what-if")
        page.get_by_label("one site", exact=True).fill("no.such.site.example")
        page.get_by_role("button", name="Work it out").click()
        said = page.get_by_role("alert")
        expect(said).to_contain_text("no.such.site.example", timeout=60_000)
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        who.picture("refused")
        if look.scripts:
            page.get_by_label("one site", exact=True).fill("")
            page.get_by_role("button", name="Work it out").click()
            expect(page.locator("#answer .verdict")).to_contain_text(
                "leave the worst node", timeout=60_000
            )
            expect(said).to_have_count(0)


# Whether any hour of a heat map can only be seen by scrolling.
CUT_OFF = (
    "[...document.querySelectorAll('.heat')].some(map => map.scrollWidth > "
    "map.parentElement.clientWidth)"
)
ADDRESSES = [path for path, _, _ in PAGES] + [
    "/login", "/sites?name=nowhere", "/api/docs", "/problems", "/dns?done=asked", "/plans?tab=kept",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("look", [WIDE, Look(360, "dark")], ids=str)
def test_every_page_can_be_read_by_everybody_and_sticks_out_nowhere(
    browser: Browser, lived_in: tuple[str, str, str], look: Look
) -> None:
    address, token, site = lived_in
    with visitor(browser, address, token, look) as who:
        wrong = {}
        for path in [
            *ADDRESSES,
            f"/site?name={site}&part=hours",
            f"/site?name={site}&part=files",
            "/node?name=n1",
        ]:
            page = who.go(path)
            who.picture(re.sub(r"\W+", "-", path).strip("-") or "overview")
            found = list(axe(page))
            # A colour does not go by the width: one look is enough for both schemes.
            if look == WIDE:
                found += [f"when dark: {one}" for one in axe_of_contrast(page, look)]
            if (pixels := who.wider_than_it_is()) > 0:
                found.append(f"it sticks out by {pixels} pixels")
            if page.evaluate(CUT_OFF):
                found.append("a heat map is cut off")
            if found:
                wrong[path] = found
        assert wrong == {}
        assert who.complaints == []


@pytest.mark.slow
def test_the_page_of_moves_refreshes_without_clearing_what_somebody_types(
    browser: Browser, lived_in: tuple[str, str, str]
) -> None:
    address, token, _ = lived_in
    with visitor(browser, address, token, WIDE) as who:
        page = who.go("/moves")
        page.get_by_label("Site", exact=True).first.press_sequentially("oak")
        # What a tool or an extension of the browser leaves at a field is not copied by a script,
        # which the policy would refuse.
        page.evaluate("document.getElementById('of-node').style.color = 'red'")
        page.evaluate("document.getElementById('live').style.color = 'red'")
        before = page.locator("#live").element_handle()
        assert before is not None
        before.wait_for_element_state("hidden")
        page.keyboard.type("-tailor")
        expect(page.locator("#of-site")).to_have_value("oak-tailor")
        assert who.complaints == []


@pytest.mark.slow
def test_pages_are_used_by_keyboard_and_printed_on_paper(
    browser: Browser, lived_in: tuple[str, str, str]
) -> None:
    address, token, site = lived_in
    with visitor(browser, address, token, WIDE) as who:
        page = who.go("/sites")
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#main")).to_be_focused()
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type(site)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text(site)

        page.emulate_media(media="print")
        page.set_viewport_size({"width": 794, "height": 1123})
        for path in ("/", "/plans", "/nodes", "/history"):
            who.go(path)
            expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
            assert who.wider_than_it_is() <= 0
        who.picture("history-on-paper")


@pytest.mark.slow
def test_a_part_of_a_page_comes_when_somebody_gets_there(
    browser: Browser, lived_in: tuple[str, str, str]
) -> None:
    address, token, site = lived_in
    with visitor(browser, address, token, WIDE) as who:
        page = who.go(f"/site?name={site}")
        page.locator("#files").scroll_into_view_if_needed()
        expect(page.locator("#files")).to_contain_text("99 % of requests", timeout=30_000)
        expect(page.locator("#hours table.heat")).to_be_visible(timeout=30_000)
        who.go("/plans")
        page.get_by_role("link", name="More or fewer moves").click()
        slider = page.get_by_label("Number of sites to move")
        expect(slider).to_be_visible(timeout=60_000)
        slider.press("End")
        expect(page.locator("[data-said]")).to_contain_text("off its fair share")
        page.locator("circle[data-point='3']").click(force=True)
        expect(slider).to_have_value("3")
        expect(page.locator("tr.chosen")).to_have_attribute("data-point", "3")
        assert who.complaints == []


def reasons_come_late(who: Visitor, site: str) -> Callable[[], None]:
    """The page of the site, on which the reasons why it is there come when that is called."""
    asked, part = list[Route](), "**part=why"

    def keep_waiting(route: Route) -> None:
        asked.append(route)

    def come() -> None:
        with who.page.expect_response(part) as answer:
            asked.pop().continue_()
        answer.value.finished()

    who.page.route(part, keep_waiting)
    with who.page.expect_request(part):
        who.go(f"/site?name={site}")
    return come


@pytest.mark.slow
def test_a_click_is_not_lost_to_a_part_of_the_page_that_comes_meanwhile(
    browser: Browser, lived_in: tuple[str, str, str]
) -> None:
    address, token, site = lived_in
    with visitor(browser, address, token, WIDE) as who:
        page = who.page
        # High enough for all of it: a browser keeps nothing where it is for who has not scrolled.
        page.set_viewport_size({"width": 1600, "height": 3000})
        come = reasons_come_late(who, site)
        button = page.get_by_role("button", name="Show what the move would do")
        page.get_by_label("To the node").fill("n2")
        before = button.bounding_box()
        button.hover()
        page.mouse.down()
        come()
        assert button.bounding_box() == before, "it has moved away from below the pointer"
        page.mouse.up()
        expect(page.locator("#tried, #refused")).to_be_visible(timeout=60_000)
        assert who.complaints == []


@pytest.mark.slow
def test_what_came_while_a_button_was_held_down_is_shown_when_it_is_let_go(
    browser: Browser, lived_in: tuple[str, str, str]
) -> None:
    address, token, site = lived_in
    with visitor(browser, address, token, WIDE) as who:
        come, waits = reasons_come_late(who, site), who.page.locator("#why .waits")
        who.page.get_by_role("button", name="Sign out").hover()
        who.page.mouse.down()
        come()
        expect(waits).to_be_visible()
        who.page.mouse.move(0, 0)
        who.page.mouse.up()
        expect(waits).to_have_count(0)
        expect(who.page.locator("#why")).to_contain_text("What is meant by")
        assert who.complaints == []


@pytest.mark.slow
def test_the_report_of_a_night_opens_from_a_file_and_is_printed_by_chromium(
    browser: Browser, installation: Installation
) -> None:
    said = installation.night(1)
    made = Path(said.json["report"])
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(made.resolve().as_uri())
    expect(page.get_by_role("heading", level=1)).to_contain_text("test")
    assert page.locator("svg[role=img]").count() >= 3
    assert asked == [made.resolve().as_uri()]
    context.close()
    printed = installation.flex("report", "--pdf").out.split()[-1]
    content = Path(printed).read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(content) > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("look", [Look(1280, "light"), Look(380, "dark")], ids=str)
def test_sites_light_up_while_a_name_is_written_and_small_ones_when_asked(
    browser: Browser, lived_in: tuple[str, str, str], look: Look
) -> None:
    address, token, site = lived_in
    with visitor(browser, address, token, look) as who:
        page = who.go("/")
        part = page.locator("#partition > figure > div .seg.lit, #partition svg .seg.lit")
        expect(part).to_have_count(0)
        page.get_by_label("Light up sites").press_sequentially(site)
        page.get_by_role("button", name="Light up").click()
        expect(page.locator("#partition [role=status]")).to_contain_text("1 site on n")
        assert part.count() > 0
        page.get_by_label("Light up sites").fill("nobody at all")
        expect(part).to_have_count(0)
        page.locator("#partition").screenshot(path=ROOT_OF_PICTURES / f"partition-{look}.png")
        assert who.complaints == []
