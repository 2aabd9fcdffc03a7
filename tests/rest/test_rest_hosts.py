"""The server answers for the hosts by which people reach it, and for no other: a browser that a
stranger's name leads to it names that host.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from starlette.datastructures import Headers
from starlette.routing import Route

from flex.errors import Misdirected
from flex.model.roles_and_tokens import ROLES
from flex_api.app import ROUTES
from flex_api.web.known_hosts import hosts
from tests.rest.conftest import settings

if TYPE_CHECKING:
    from tests.rest.conftest import Door

pytestmark = pytest.mark.real

FREEZE = "/api/v1/freeze"
NAMED = {
    "api": {"hosts": ["Flex.Example.net", "192.0.2.80"], "listen": "here.example:8080"},
    "notify": {"base_url": "https://seiten.bücher.example:8443/flex"},
}


@pytest.mark.parametrize(
    ("said", "own", "is_ours"),
    [
        ("evil.example", "127.0.0.1", False),
        ("evil.example:8080", "127.0.0.1", False),
        ("localhost.evil.example", "127.0.0.1", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("127.0.0.1@evil.example", "127.0.0.1", False),
        ("192.0.2.9", "192.0.2.8", False),
        ("[2001:db8::9]:8080", "2001:db8::8", False),
        ("localhost,evil.example", "127.0.0.1", False),
        ("evil.example:127.0.0.1", "127.0.0.1", False),
        ("127.0.0.1%.evil.example", "127.0.0.1", False),
        ("[::1].evil.example", "127.0.0.1", False),
        ("localhost:evil.example", "127.0.0.1", False),
        ("localhost:x@evil.example", "127.0.0.1", False),
        ("flex.example.net", "127.0.0.1", True),
        ("flex.EXAMPLE.net.:443", "127.0.0.1", True),
        ("192.0.2.80", "127.0.0.1", True),
        ("here.example", "127.0.0.1", True),
        ("seiten.xn--bcher-kva.example", "127.0.0.1", True),
        ("localhost:8080", "192.0.2.8", True),
        ("127.0.0.1", "192.0.2.8", True),
        ("[::1]:8080", "192.0.2.8", True),
        ("192.0.2.8:8080", "192.0.2.8", True),
        ("192.0.2.8", "::ffff:192.0.2.8", True),
        ("[2001:DB8:0::8]:8080", "2001:db8::8", True),
        ("[fe80::1]", "fe80::1%eth0", True),
        (socket.gethostname(), "192.0.2.8", True),
    ],
)
def test_it_answers_for_hosts_that_settings_name_and_for_itself(
    said: str, own: str, *, is_ours: bool
) -> None:
    known = hosts(settings(**NAMED))
    for headers in (
        [(b"host", said.encode())],
        [(b"host", b"localhost"), (b"x-forwarded-host", said.encode())],
        [(b"host", b"localhost"), (b"x-forwarded-host", b"localhost, " + said.encode())],
        [(b"host", b"localhost"), (b"host", said.encode())],
    ):
        asked = Headers(raw=headers)
        if is_ours:
            known.refuse_others(asked, own)
        else:
            with pytest.raises(Misdirected):
                known.refuse_others(asked, own)


def test_who_names_no_host_is_no_browser() -> None:
    hosts(settings()).refuse_others(Headers(), "127.0.0.1")


def test_asked_for_another_host_no_route_answers_whoever_asks(door: Door) -> None:
    asked = 0
    strangers = [door.open(role, {"Host": "evil.example"}) for role in (None, *ROLES)]
    for route in chain.from_iterable(resource.router.routes for resource in ROUTES):
        assert isinstance(route, Route)
        address = re.sub(r"\{[^}]*\}", "x", route.path)
        for method in route.methods or ():
            for stranger in strangers:
                told = stranger.request(method, address)
                assert told.status_code == 421, (method, address)
                asked += 1
    assert asked > 100
    assert told.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("said", ["evil.example", "evil.example:8080"])
def test_a_name_that_leads_here_changes_nothing_where_anybody_may(
    doors: Callable[..., Door], said: str
) -> None:
    """As a browser asks whose page is of a name that leads to this address by now."""
    door = doors(auth={"anonymous": "operator"})
    page = {"Host": said, "Origin": f"http://{said}", "Sec-Fetch-Site": "same-origin"}
    told = door.open(headers=page | {"If-Match": "*"}).put(FREEZE, json={})
    assert (told.status_code, told.json()["code"]) == (421, "misdirected")
    assert "api.hosts" in told.json()["next_step"]
    assert door.store.freeze() is None


def test_a_browser_gets_a_page_that_says_so(door: Door) -> None:
    page = door.open(headers={"Host": "evil.example", "Accept": "text/html"}).get("/")
    assert page.status_code == 421
    assert "does not answer for that host" in page.text
