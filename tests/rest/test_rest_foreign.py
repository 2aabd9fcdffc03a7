"""A page of another site changes nothing, also for callers who bring nothing secret: anybody, and a
proxy's people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.web.scriptless import BROWSER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.rest.conftest import Door

FREEZE = "/api/v1/freeze"
DRAIN = "/node/drain"
FORMS = (
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "Text/Plain;a=b",
)
# What a browser says of a page that is not ours, each by itself: over plain http there is no
# `Sec-Fetch-Site`.
FOREIGN = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://testserver"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://testserver:81"},
    {"Origin": "null"},
    {"Referer": "http://evil.example/page?at=http://testserver/"},
    {"Referer": "http://[evil"},
)
OURS = (
    {"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"},
    {"Origin": "http://testserver"},
    {"Referer": "http://testserver/node?name=n1"},
)
# Who comes in without anything that a foreign page could not make a browser send.
CALLERS: dict[str, dict[str, object]] = {
    **{role: {"auth": {"anonymous": role}} for role in ("viewer", "operator", "admin")},
    "proxy": {
        "auth": {
            "proxy_header": "X-Remote-User",
            "trusted_proxies": ["198.51.100.7"],
            "proxy_role": "admin",
        }
    },
}


@pytest.fixture(scope="module", params=CALLERS)
def unproven(request: pytest.FixtureRequest, doors: Callable[..., Door]) -> Door:
    return doors(**CALLERS[request.param])


def changed(door: Door) -> list[object]:
    """Everything that the requests below would leave behind."""
    return [
        door.store.freeze(),
        door.store.node_orders(),
        [one.state for one in door.store.headlines()],
    ]


@pytest.mark.parametrize("kind", FORMS)
def test_a_form_of_another_site_or_of_nobody_changes_nothing(unproven: Door, kind: str) -> None:
    client = unproven.open(headers={"X-Remote-User": "anna", **BROWSER, "Content-Type": kind})
    waiting, before = unproven.store.headlines()[0].id, changed(unproven)
    fields = "name=n1&reason=mine&etag=*&csrf=" + "0" * 64
    for address in (
        DRAIN,
        "/settings/freeze",
        f"/plans/{waiting}/discard",
        "/plans",
        "/api/v1/plans",
    ):
        for said in (*FOREIGN, {}):
            answer = client.post(address, content=fields, headers=said)
            assert answer.status_code == 403, (address, said, answer.text[-500:])
    assert changed(unproven) == before


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_no_method_lets_another_sites_page_in(unproven: Door, method: str) -> None:
    client = unproven.open(headers={"X-Remote-User": "anna", "If-Match": "*"})
    before = changed(unproven)
    for address in (FREEZE, "/api/v1/plans", "/api/v1/nodes/n1", "/api/v1/nodes/n1/drain"):
        for said in FOREIGN:
            answer = client.request(method, address, json={"reason": "mine"}, headers=said)
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), (
                address,
                said,
                answer.text,
            )
    assert changed(unproven) == before


@pytest.mark.parametrize("said", OURS, ids=str)
def test_our_own_pages_change_what_anybody_may(
    doors: Callable[..., Door], said: dict[str, str]
) -> None:
    door = doors(auth={"anonymous": "operator"})
    answer = door.open(headers={**BROWSER, **said}).post(
        "/settings/freeze", data={"etag": "*", "reason": "a fair"}
    )
    assert answer.status_code == 200
    assert door.store.freeze() is not None


def test_a_program_without_a_token_changes_what_anybody_may(doors: Callable[..., Door]) -> None:
    door = doors(auth={"anonymous": "operator"})
    assert door.open(headers={"If-Match": "*"}).put(FREEZE, json={}).status_code == 200


def test_a_token_is_enough_wherever_the_request_is_from(doors: Callable[..., Door]) -> None:
    """No page of another site knows it, and no browser adds it by itself."""
    door = doors(auth={"anonymous": "operator"})
    answer = door.open(
        "operator", headers={"If-Match": "*", "Origin": "https://tools.example"}
    ).put(FREEZE, json={})
    assert answer.status_code == 200
