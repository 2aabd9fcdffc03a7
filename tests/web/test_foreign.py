"""A page of another site, in a real browser: whatever it sends to FLEX, nothing is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

pytest.importorskip("playwright")
from tests.web.browsing import CHROMIUM, chromium, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser
    from starlette.requests import Request

    from tests.rest.conftest import Door

pytestmark = pytest.mark.skipif(
    not CHROMIUM.exists(), reason="there is no Chromium to look at pages with"
)

KINDS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
FORM = """<form method="post" action="{to}/node/drain" enctype="{kind}">
<input name="name" value="n1"><input name="etag" value="*"><input name="reason" value="mine"></form>
<button onclick="document.forms[0].submit()">Prizes</button>"""
SENT = """async ([to, body]) => {
  const how = {method: "POST", mode: "no-cors", credentials: "include", body}
  try { return (await fetch(to, how)).type }
  catch (error) { return "failed" }
}"""


async def evil(request: Request) -> HTMLResponse:
    return HTMLResponse(
        FORM.format(to=request.query_params["to"], kind=request.query_params.get("kind", ""))
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.mark.slow(
    "application/x-www-form-urlencoded-localhost",
    "multipart/form-data-127.0.0.1",
    "multipart/form-data-localhost",
    "text/plain-127.0.0.1",
)
# 127.0.0.1 and localhost are two sites, two ports of 127.0.0.1 are two origins of one.
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_form_of_another_page_drains_no_node(
    browser: Browser, doors: Callable[..., Door], host: str, kind: str
) -> None:
    door = doors(auth={"anonymous": "admin"})
    with served(door.app) as flex, served(Starlette(routes=[Route("/", evil)])) as other:
        page = browser.new_context().new_page()
        page.goto(f"{other.replace('127.0.0.1', host)}/?to={flex}&kind={kind}")
        with page.expect_navigation() as led:
            page.get_by_role("button", name="Prizes").click()
        assert led.value.status == 403
        for body in ("name=n1&etag=*", "{}"):
            page.goto(f"{other.replace('127.0.0.1', host)}/?to={flex}")
            page.evaluate(SENT, [f"{flex}/node/drain", body])
        page.context.close()
    assert door.store.node_orders() == ()


def test_the_page_of_flex_itself_drains_a_node_for_anybody(
    browser: Browser, doors: Callable[..., Door]
) -> None:
    door = doors(auth={"anonymous": "operator"})
    with served(door.app) as flex:
        page = browser.new_context().new_page()
        page.goto(f"{flex}/settings")
        form = page.locator('form[action="/settings/freeze"]')
        form.locator('[name="reason"]').fill("a fair")
        form.get_by_role("button").click()
        page.wait_for_load_state()
        page.context.close()
    assert door.store.freeze() is not None
