"""How much may be asked from one address, and what a flood of requests keeps from nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from flex_api.routes.problems import respond_to_error
from flex_api.web import client_address
from flex_api.web.known_hosts import hosts
from flex_api.web.latency_histogram import Timing
from flex_api.web.limits import Rate
from flex_api.web.middleware import Asking
from tests.web.scriptless import BROWSER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.rest.conftest import Door

PINS = "/api/v1/pins"
WRONG = {"Authorization": "Bearer flex_wrong"}
# Four times as often as a bucket lets anybody ask.
MANY = 40
PROXY = "192.0.2.5"
AUTH = {"trusted_proxies": ["192.0.2.0/28", "2001:db8:ffff::/48"]}


class Crowd:
    """Many callers of one application, whose clock stands still: no bucket fills again."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.app = Asking(
            door.app,
            door.app.state.house.gate,
            hosts(door.app.state.house.settings),
            Rate(5.0, lambda: 0.0),
            max_body=2**20,
            problem=respond_to_error,
            timing=Timing(),
        )

    def codes(
        self, path: str, times: int, headers: Mapping[str, str] | None = None, peer: str = PROXY
    ) -> set[int]:
        client = TestClient(
            self.app, headers=dict(headers or {}), client=(peer, 5000), follow_redirects=False
        )
        return {client.get(path).status_code for _ in range(times)}

    def signs_in(self, headers: Mapping[str, str] | None = None, peer: str = PROXY) -> int:
        client = TestClient(
            self.app, headers=dict(headers or {}), client=(peer, 5000), follow_redirects=False
        )
        return client.post("/login", data={"token": self.door.secrets["viewer"]}).status_code


@pytest.fixture
def crowd(doors: Callable[..., Door]) -> Crowd:
    return Crowd(doors(auth=AUTH))


def test_wrong_tokens_block_neither_health_nor_sign_in_nor_who_has_a_right_one(
    crowd: Crowd,
) -> None:
    assert crowd.codes(PINS, MANY, WRONG) == {401, 429}
    for path in ("/livez", "/readyz"):
        assert crowd.codes(path, MANY) == {200}
    assert crowd.codes("/login", 1) == {200}
    assert crowd.codes("/", 1, BROWSER) == {303}
    assert crowd.codes("/static/nothing.css", 1) == {404}
    assert crowd.signs_in() == 303
    right = {"Authorization": f"Bearer {crowd.door.secrets['viewer']}"}
    assert crowd.codes(PINS, 1, right) == crowd.codes("/metrics", 1, right) == {200}


def test_sign_in_has_a_bucket_of_its_own_that_others_do_not_share(crowd: Crowd) -> None:
    assert crowd.codes("/login", 30) == {200, 429}
    assert crowd.signs_in() == 429
    assert crowd.codes("/", 1, BROWSER) == {303}
    assert crowd.signs_in(peer="198.51.100.7") == 303


def test_behind_a_trusted_proxy_each_client_has_a_bucket(crowd: Crowd) -> None:
    assert crowd.codes(PINS, 30, {**WRONG, "X-Forwarded-For": "198.51.100.1"}) == {401, 429}
    assert crowd.codes(PINS, 1, {**WRONG, "X-Forwarded-For": "198.51.100.2"}) == {401}
    # The entries before the last are whatever that client sent itself.
    assert crowd.codes(PINS, 30, {**WRONG, "X-Forwarded-For": "203.0.113.9, 198.51.100.1"}) == {429}


def test_nobody_else_says_for_whom_he_asks(crowd: Crowd) -> None:
    peer = "198.51.100.7"
    assert crowd.codes(PINS, 30, {**WRONG, "X-Forwarded-For": "203.0.113.1"}, peer) == {401, 429}
    assert crowd.codes(PINS, 5, {**WRONG, "X-Forwarded-For": "203.0.113.2"}, peer) == {429}


def test_anybody_who_asks_too_often_stops_nobody_elsewhere(doors: Callable[..., Door]) -> None:
    crowd = Crowd(doors(auth={"anonymous": "viewer"}))
    assert crowd.codes(PINS, 30) == {200, 429}
    assert crowd.codes(PINS, 1, peer="198.51.100.7") == {200}


def test_an_address_is_no_word_on_who_somebody_is(doors: Callable[..., Door]) -> None:
    """The proxy's own address decides whether its word is taken, never the one that it speaks
    for.
    """
    crowd = Crowd(doors(auth={**AUTH, "proxy_header": "X-Remote-User"}))
    said = {"X-Remote-User": "anna", "X-Forwarded-For": PROXY}
    assert crowd.codes(PINS, 1, said, "198.51.100.7") == {401}
    assert crowd.codes(PINS, 1, said) == crowd.codes(PINS, 1, said, f"::ffff:{PROXY}") == {200}


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        (PROXY, [], PROXY),
        (PROXY, ["198.51.100.1"], "198.51.100.1"),
        (PROXY, ["198.51.100.1, 192.0.2.6"], "198.51.100.1"),
        (PROXY, ["203.0.113.9", "198.51.100.1 , 192.0.2.6"], "198.51.100.1"),
        (PROXY, ["192.0.2.7, 192.0.2.6"], "192.0.2.7"),
        (PROXY, ["198.51.100.1:4711"], "198.51.100.1"),
        (PROXY, ['"[2001:db8::1]:4711"'], "2001:db8::1"),
        (PROXY, ["2001:db8::1, 2001:db8:ffff::2"], "2001:db8::1"),
        (PROXY, ["::ffff:198.51.100.1"], "198.51.100.1"),
        (PROXY, ["198.51.100.1, unknown"], PROXY),
        (PROXY, ["198.51.100.1, evil', 192.0.2.6"], "192.0.2.6"),
        (PROXY, [","], PROXY),
        (f"::ffff:{PROXY}", ["198.51.100.1"], "198.51.100.1"),
        ("2001:db8:ffff::1", ["198.51.100.1"], "198.51.100.1"),
        ("198.51.100.7", ["203.0.113.1"], "198.51.100.7"),
        ("", ["203.0.113.1"], ""),
    ],
)
def test_the_client_is_the_last_address_that_a_trusted_proxy_names(
    peer: str, forwarded: list[str], client: str
) -> None:
    assert client_address.find_client_address(peer, forwarded, AUTH["trusted_proxies"]) == client


@given(st.lists(st.text(max_size=20)), st.ip_addresses())
def test_what_a_client_sends_itself_never_changes_its_address(
    sent: list[str], client: object
) -> None:
    if not client_address.is_trusted(str(client), AUTH["trusted_proxies"]):
        real = client_address.parse(str(client))
        found = client_address.find_client_address(
            PROXY, [*sent, str(client)], AUTH["trusted_proxies"]
        )
        assert client_address.parse(found) == real


def test_addresses_of_one_customer_are_one_caller() -> None:
    assert (
        client_address.bucket("2001:db8::1")
        == client_address.bucket("2001:db8::ffff:2")
        != client_address.bucket("2001:db8:0:1::1")
    )
    assert (
        client_address.bucket("::ffff:192.0.2.1")
        == client_address.bucket("192.0.2.1")
        != client_address.bucket("192.0.2.2")
    )
