"""A session of a browser ends with the token it was opened with, whatever ends that."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from sqlalchemy import update

from flex.model.jobs import Job
from flex.model.roles_and_tokens import Role, Token, digest_of
from flex.store import MemoryStore, holder
from flex.store.schema import tokens
from flex_api.settings.api import Auth
from flex_api.web.caller_identity import COOKIE, TRUST, AskedOfGate, Gate
from tests.web.scriptless import BROWSER

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from tests.rest.conftest import Door

NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)
PINS = "/api/v1/pins"


def made(door: Door, role: Role = "operator", expires: datetime | None = None) -> tuple[str, str]:
    """A token's id and secret."""
    given = {"name": "anna", "role": role, **({"expires": expires.isoformat()} if expires else {})}
    answer = door.open("admin").post("/api/v1/tokens", json=given).json()
    return answer["id"], answer["secret"]


def signed_in(door: Door, secret: str) -> tuple[TestClient, str]:
    """A browser with its session, and what it was told of the cookie."""
    answer = door.open().post("/login", data={"token": secret}, follow_redirects=False)
    said = answer.headers["set-cookie"]
    return door.open(headers={"Cookie": said.partition(";")[0]}), said


def put(door: Door, token_id: str, **changed: object) -> None:
    """What the database says of the token from now on."""
    assert isinstance(door.store, MemoryStore)
    with door.store._database.writing() as connection:
        connection.execute(update(tokens).where(tokens.c.id == token_id).values(changed))
    door.app.state.house.gate.forget()


def test_a_session_lasts_no_longer_than_its_token(door: Door) -> None:
    # Not the time at which the file was read: on a slow machine that was hours ago.
    ends = datetime.now(UTC) + HOUR
    _, secret = made(door, expires=ends)
    _, said = signed_in(door, secret)
    age = re.search(r"Max-Age=(\d+)", said)
    assert age is not None
    assert 0 < int(age[1]) <= HOUR.total_seconds()
    session = door.store.token_of(digest_of(said.partition("=")[2].partition(";")[0]))
    assert session is not None
    assert session.expires == ends


@pytest.mark.parametrize(
    "ended", [{"expires": NOW - HOUR}, {"revoked": NOW}], ids=["expired", "revoked"]
)
def test_a_session_ends_when_its_token_does(door: Door, ended: dict[str, datetime]) -> None:
    token, secret = made(door)
    browser, _ = signed_in(door, secret)
    assert browser.get(PINS).status_code == 200
    put(door, token, **ended)
    assert browser.get(PINS).status_code == 401
    assert browser.get("/", headers=BROWSER, follow_redirects=False).headers["location"] == "/login"


def test_a_session_may_no_more_than_its_token_may_now(door: Door) -> None:
    token, secret = made(door, "admin")
    browser, _ = signed_in(door, secret)
    assert browser.get("/api/v1/tokens").status_code == 200
    put(door, token, role="viewer")
    assert browser.get("/api/v1/tokens").status_code == 403
    assert browser.get(PINS).status_code == 200


def test_a_session_whose_token_is_gone_opens_nothing() -> None:
    store = MemoryStore()
    store.put_token(
        Token("s1", "anna", "admin", digest_of("session"), "root", NOW, NOW + HOUR, parent="gone")
    )
    asked = AskedOfGate("GET", "192.0.2.1", {"cookie": f"{COOKIE}=session"})
    assert Gate(Auth(), store).caller(asked, NOW) is None


def test_a_session_goes_on_no_further_by_the_clock_than_its_token() -> None:
    """Also one that was opened before sessions ended with their tokens."""
    store, asked = (MemoryStore(), AskedOfGate("GET", "192.0.2.1", {"cookie": f"{COOKIE}=session"}))
    store.put_token(Token("t1", "anna", "admin", digest_of("token"), "root", NOW, NOW + HOUR))
    store.put_token(
        Token(
            "s1", "anna", "admin", digest_of("session"), "root", NOW, NOW + 12 * HOUR, parent="t1"
        )
    )
    gate = Gate(Auth(), store)
    assert gate.caller(asked, NOW) is not None
    assert gate.caller(asked, NOW + HOUR) is None


def test_a_session_ends_whose_token_another_process_revoked() -> None:
    """What this one remembers of it holds for a moment."""
    store, moment = MemoryStore(), [0.0]
    store.put_token(Token("t1", "anna", "admin", digest_of("token"), "root", NOW))
    session = Token("s1", "anna", "admin", digest_of("session"), "root", NOW)
    store.put_token(replace(session, parent="t1"))
    asked = AskedOfGate("GET", "192.0.2.1", {"cookie": f"{COOKIE}=session"})
    gate = Gate(Auth(), store, lambda: moment[0])
    assert gate.caller(asked, NOW) is not None
    store.revoke_token("t1", NOW)
    moment[0] = TRUST * 1.01
    assert gate.caller(asked, NOW) is None


def test_a_stream_ends_when_the_token_of_who_listens_does(door: Door, address: str) -> None:
    token, secret = made(door)
    door.store.put_job(Job("live", "plan", "anna", holder(), NOW, "running"))
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request(
        "GET", "/api/v1/jobs/live/events", headers={"Authorization": f"Bearer {secret}"}
    )
    stream = connection.getresponse()
    assert stream.readline() == b"event: progress\n"
    put(door, token, revoked=NOW)
    assert b"event: end" not in stream.read()
    connection.close()


def test_a_stream_of_a_job_that_gets_on_ends_with_its_token_too(door: Door, address: str) -> None:
    token, secret = made(door)
    job = Job("live", "plan", "anna", holder(), NOW, "running", size=10**9)
    door.store.put_job(job)
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request(
        "GET", "/api/v1/jobs/live/events", headers={"Authorization": f"Bearer {secret}"}
    )
    stream, got_on = connection.getresponse(), 0
    while line := stream.readline():
        if line != b"event: progress\n":
            continue
        got_on += 1
        door.store.put_job(replace(job, done=got_on))
        if got_on == 2:
            put(door, token, revoked=NOW)
        assert got_on < 5, "who has no token any more hears of the job"
    assert got_on >= 2
    connection.close()
