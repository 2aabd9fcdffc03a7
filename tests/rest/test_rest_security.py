"""Who comes in, what stays outside, and what nobody ever reads again: secrets."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from flex.model.roles_and_tokens import ROLES, digest_of
from flex_api.routes.problems import respond_to_error
from flex_api.web.known_hosts import hosts
from flex_api.web.latency_histogram import Timing
from flex_api.web.limits import Rate
from flex_api.web.middleware import Asking
from tests.effort import grows_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.rest.conftest import Door

TOKENS = "/api/v1/tokens"
FREEZE = "/api/v1/freeze"


def test_a_token_is_shown_once_and_kept_as_a_hash(door: Door) -> None:
    made = door.open("admin").post(TOKENS, json={"name": "grafana"}).json()
    assert re.fullmatch(r"flex_[0-9a-f]{64}", made["secret"])
    kept = door.store.token_of(digest_of(made["secret"]))
    assert kept is not None
    assert made["secret"] not in repr(kept)
    every = (
        door.open("admin").get(TOKENS, params={"limit": 1000}).text
        + door.open("viewer").get("/api/v1/audit").text
    )
    assert made["secret"] not in every
    assert digest_of(made["secret"]) not in every


def test_nobody_gives_or_takes_a_role_above_his_own(door: Door) -> None:
    for role in ROLES[:3]:
        assert door.open(role).post(TOKENS, json={"name": "x", "role": "admin"}).status_code == 403


def test_a_revoked_token_opens_nothing_at_once(door: Door) -> None:
    made = door.open("admin").post(TOKENS, json={"name": "x", "role": "operator"}).json()
    mine = {"Authorization": f"Bearer {made['secret']}"}
    assert door.open(headers=mine).get("/api/v1/pins").status_code == 200
    assert door.open("admin").delete(f"{TOKENS}/{made['id']}").status_code == 204
    assert door.open(headers=mine).get("/api/v1/pins").status_code == 401
    assert door.open("admin").delete(f"{TOKENS}/{made['id']}").status_code == 404


def test_a_token_that_has_expired_opens_nothing(door: Door) -> None:
    token = door.store.token_of(digest_of(door.secrets["viewer"]))
    assert token is not None
    late = replace(
        token, id="late", digest=digest_of("late"), expires=token.created - timedelta(days=1)
    )
    door.store.put_token(late)
    assert (
        door.open(headers={"Authorization": "Bearer late"}).get("/api/v1/pins").status_code == 401
    )


def test_the_last_use_of_a_token_is_known(door: Door) -> None:
    door.open("viewer").get("/api/v1/pins")
    rows = door.open("admin").get(TOKENS, params={"role": "viewer"}).json()["items"]
    assert [row["last_used"] is not None for row in rows] == [True]


def signed_in(door: Door) -> dict[str, str]:
    """The cookie of a session, as a browser sends it."""
    answer = door.open().post(
        "/login", data={"token": door.secrets["operator"]}, follow_redirects=False
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    said = answer.headers["set-cookie"]
    assert "HttpOnly" in said
    assert "SameSite=strict" in said
    return {"Cookie": said.partition(";")[0]}


def test_a_browser_signs_in_with_a_token_and_out_again(door: Door) -> None:
    assert door.open().get("/", follow_redirects=False).headers["location"] == "/login"
    session = signed_in(door)
    assert door.open(headers=session).get("/").status_code == 200
    assert door.open(headers=session).get("/api/v1/pins").status_code == 200
    door.open(headers=session).post("/logout", follow_redirects=False)
    assert door.open(headers=session).get("/api/v1/pins").status_code == 401


def test_the_wrong_token_signs_nobody_in(door: Door) -> None:
    answer = door.open().post("/login", data={"token": "flex_wrong"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_a_session_ends_with_the_token_that_opened_it(door: Door) -> None:
    session = signed_in(door)
    token = door.store.token_of(digest_of(door.secrets["operator"]))
    assert token is not None
    door.open("admin").delete(f"{TOKENS}/{token.id}")
    assert door.open(headers=session).get("/api/v1/pins").status_code == 401


def test_another_sites_page_changes_nothing_in_a_session(door: Door) -> None:
    session = signed_in(door)
    for headers in ({}, {"X-CSRF-Token": "0" * 64}):
        answer = door.open(headers=session).put(
            FREEZE, json={}, headers={"If-Match": "*", **headers}
        )
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert door.store.freeze() is None
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert (
        door.open()
        .post("/login", data={"token": door.secrets["viewer"]}, headers=foreign)
        .status_code
        == 403
    )


def test_a_page_of_ours_changes_what_its_session_may(door: Door) -> None:
    from flex_api.web.caller_identity import csrf_of

    session = signed_in(door)
    proof = csrf_of(session["Cookie"].partition("=")[2])
    answer = door.open(headers=session).put(
        FREEZE, json={}, headers={"If-Match": "*", "X-CSRF-Token": proof}
    )
    assert answer.status_code == 200


@pytest.fixture
def behind_proxy(doors: Callable[..., Door]) -> Door:
    auth = {
        "proxy_header": "X-Remote-User",
        "trusted_proxies": ["192.0.2.0/28"],
        "users": {"anna": "admin"},
    }
    return doors(auth=auth, api={"requests_per_second": 0, "hosts": ["flex.example"]})


def test_a_proxy_is_believed_only_from_its_own_address(behind_proxy: Door) -> None:
    anna = {"X-Remote-User": "anna"}
    assert behind_proxy.open(peer="192.0.2.5", headers=anna).get(TOKENS).status_code == 200
    assert (
        behind_proxy.open(peer="192.0.2.5", headers={"X-Remote-User": "bert"})
        .get(TOKENS)
        .status_code
        == 403
    )
    for peer in ("198.51.100.7", "192.0.2.16", "nowhere"):
        assert behind_proxy.open(peer=peer, headers=anna).get(TOKENS).status_code == 401


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({}, 200),
        ({"Origin": "http://testserver"}, 200),
        ({"Origin": "http://flex.example", "X-Forwarded-Host": "flex.example"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://testserver", "Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_another_sites_page_changes_nothing_for_who_a_proxy_signed_in(
    behind_proxy: Door, said: dict[str, str], status: int
) -> None:
    anna = behind_proxy.open(
        peer="192.0.2.5", headers={"X-Remote-User": "anna", "If-Match": "*", **said}
    )
    assert anna.put(FREEZE, json={}).status_code == status


def test_a_proxys_word_is_not_taken_where_no_header_is_set(door: Door) -> None:
    assert (
        door.open(peer="127.0.0.1", headers={"X-Remote-User": "anna"}).get(TOKENS).status_code
        == 401
    )


def test_another_sites_page_changes_nothing_behind_a_proxy(behind_proxy: Door) -> None:
    anna = {"X-Remote-User": "anna", "Sec-Fetch-Site": "cross-site", "If-Match": "*"}
    assert behind_proxy.open(peer="192.0.2.5", headers=anna).put(FREEZE, json={}).status_code == 403


def test_nobody_approves_his_own_plan_where_four_eyes_are_asked_for(
    doors: Callable[..., Door],
) -> None:
    door = doors(safety={"four_eyes": True})
    waiting = door.store.plans(1)[0]
    door.store.update(replace(waiting, author="token:approver"))
    address = f"/api/v1/plans/{waiting.id}/approval"
    own = door.open("approver").post(address, json={"decision": "approve"})
    assert (own.status_code, own.json()["code"]) == (422, "unsafe-plan")
    assert door.open("admin").post(address, json={"decision": "approve"}).status_code == 201


def test_under_four_eyes_nobody_goes_over_a_rule_that_nobody_else_agreed_to(
    doors: Callable[..., Door],
) -> None:
    door = doors(safety={"four_eyes": True})
    made = door.store.plans(1)[0]
    door.store.update(replace(made, author="token:admin"))
    address, rule = f"/api/v1/plans/{made.id}", "safety.max_moved_sites"
    assert (
        door.open("approver").post(f"{address}/approval", json={"decision": "approve"}).status_code
        == 201
    )
    seen = {"If-Match": f'"{made.digest}"'}
    alone = door.open("admin").post(f"{address}/apply", json={"force": [rule]}, headers=seen)
    assert (alone.status_code, rule in alone.json()["detail"]) == (422, True)
    assert "four_eyes" in alone.json()["detail"]
    yes = {"decision": "approve", "force": [rule]}
    agreed = door.open("approver").post(f"{address}/approval", json=yes)
    assert [one["force"] for one in agreed.json()["approvals"]] == [[rule]]
    applied = door.open("admin").post(f"{address}/apply", json={"force": [rule]}, headers=seen)
    assert applied.status_code == 202


def test_a_yes_is_to_the_plan_that_was_looked_at(door: Door) -> None:
    made = door.store.plans(1)[0]
    address = f"/api/v1/plans/{made.id}/approval"
    for decision in ("approve", "reject"):
        other = door.open("approver").post(
            address, json={"decision": decision}, headers={"If-Match": '"0000"'}
        )
        assert (other.status_code, other.json()["code"]) == (412, "precondition-failed")
    assert door.store.plan(made.id) == made
    seen = {"If-Match": f'"{made.digest}"'}
    assert (
        door.open("approver").post(address, json={"decision": "approve"}, headers=seen).status_code
        == 201
    )


@pytest.mark.parametrize(
    "said",
    [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}],
    ids=str,
)
def test_another_sites_page_signs_nobody_in_or_out(door: Door, said: dict[str, str]) -> None:
    for way in ("/login", "/logout"):
        assert (
            door.open(headers=said).post(way, data={"token": door.secrets["viewer"]}).status_code
            == 403
        )


def test_our_own_page_signs_in_over_plain_http(door: Door) -> None:
    ours = {"Origin": "http://testserver"}
    assert door.open(headers=ours).post("/login", data={"token": "none"}).status_code == 401


def test_a_token_that_somebody_made_is_no_second_person_beside_him(
    doors: Callable[..., Door],
) -> None:
    door = doors(safety={"four_eyes": True})
    waiting = door.store.plans(1)[0]
    door.store.update(replace(waiting, author="token:admin"))
    tokens, address = "/api/v1/tokens", f"/api/v1/plans/{waiting.id}/approval"
    made = door.open("admin").post(tokens, json={"name": "other", "role": "admin"}).json()["secret"]
    other = door.open(headers={"Authorization": f"Bearer {made}"})
    again = other.post(tokens, json={"name": "third", "role": "approver"}).json()["secret"]
    for secret in (made, again):
        same = door.open(headers={"Authorization": f"Bearer {secret}"}).post(
            address, json={"decision": "approve"}
        )
        assert (same.status_code, "one person with token:admin" in same.json()["detail"]) == (
            422,
            True,
        )
    assert door.open("approver").post(address, json={"decision": "approve"}).status_code == 201


def test_nobody_has_a_plan_made_by_a_token_of_his_and_approves_it(
    doors: Callable[..., Door],
) -> None:
    door = doors(safety={"four_eyes": True})
    waiting = door.store.plans(1)[0]
    door.open("admin").post("/api/v1/tokens", json={"name": "planner", "role": "operator"})
    door.store.update(replace(waiting, author="token:planner"))
    address = f"/api/v1/plans/{waiting.id}/approval"
    assert door.open("admin").post(address, json={"decision": "approve"}).status_code == 422
    assert door.open("approver").post(address, json={"decision": "approve"}).status_code == 201


def test_a_body_that_is_too_large_is_refused_with_or_without_a_length(door: Door) -> None:
    large = b'{"reason": "' + b"x" * 2**20 + b'"}'
    client = door.open("operator")
    for content in (large, iter([large[: 2**19], large[2**19 :]])):
        answer = client.put(
            FREEZE, content=content, headers={"If-Match": "*", "Content-Type": "application/json"}
        )
        assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
    assert door.store.freeze() is None


def test_each_token_may_ask_so_often_and_no_more(doors: Callable[..., Door]) -> None:
    door = doors(api={"requests_per_second": 5})
    viewer = door.open("viewer")
    codes = [viewer.get("/api/v1/freeze").status_code for _ in range(60)]
    assert codes == [200] * 10 + [429] * 50
    assert door.open("operator").get("/api/v1/freeze").status_code == 200


def test_a_bucket_fills_again_with_time() -> None:
    moment = [0.0]
    rate = Rate(2.0, lambda: moment[0])
    assert [rate.take("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    moment[0] = 0.5
    assert [rate.take("a"), rate.take("a") > 0, rate.take("b")] == [0, True, 0]


def test_a_request_is_counted_before_what_was_sent_is_looked_through(door: Door) -> None:
    """By a clock that stands still: on a busy machine the bucket would fill again meanwhile."""
    still, house = Rate(5.0, lambda: 0.0), door.app.state.house
    gate, ours = house.gate, hosts(house.settings)
    limited = Asking(
        door.app, gate, ours, still, max_body=2**20, problem=respond_to_error, timing=Timing()
    )
    stranger = TestClient(limited)
    codes = [stranger.get("/api/v1/freeze?a=1&a=2").status_code for _ in range(30)]
    assert codes == [422] * 10 + [429] * 20


def test_a_request_of_a_great_many_parameters_is_looked_through_at_once(door: Door) -> None:
    client = door.open()

    def ask(number: int) -> None:
        query = "&".join(map(str, range(number)))
        answer = client.get(f"/api/v1/freeze?{query}&7")
        assert (answer.status_code, "'7'" in answer.text) == (422, True)

    assert grows_with(ask, 12_000)


@pytest.mark.slow
def test_no_answer_lets_a_page_run_scripts_or_be_framed(door: Door) -> None:
    for address in ("/", "/login", "/api/docs", "/api/v1/pins", "/nothing"):
        policy = door.open().get(address).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "frame-ancestors 'none'" in policy
