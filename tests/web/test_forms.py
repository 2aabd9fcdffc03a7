"""Forms that are refused come again: with what was typed, and with what is wrong at its field."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from flex.errors import NoData
from flex.model.jobs import Job
from flex.model.limits_and_approvals import Stop
from flex.store import holder
from flex_api.routes.problems import describe
from tests.rest.conftest import NOW
from tests.web.scriptless import SITE, Browser

if TYPE_CHECKING:
    from tests.rest.conftest import Door


def test_a_rule_in_the_way_is_named_with_limit_and_actual_and_a_box_to_go_over_it(
    door: Door, admin: Browser
) -> None:
    waiting = door.store.headlines()[0]
    page = admin.get(f"/plans/{waiting.id}")
    assert '<input type="checkbox" name="force" value="safety.max_moved_sites">' in page
    refused = admin.send(
        f"/plans/{waiting.id}/apply", status=422, digest=waiting.digest, back=f"/plans/{waiting.id}"
    )
    assert "A rule or a missing approval stopped it" in refused
    assert '<p id="refused"' in refused
    assert '<input type="checkbox" name="force" value="safety.max_moved_sites">' in refused


WRONG = {
    "/site/pin": (
        SITE,
        {"name": "s000.example.org", "nodes": "n2", "until": "evil", "reason": "a launch"},
        "until",
    ),
    "/node/drain": (
        "/node?name=n1",
        {"name": "n1", "deadline": "soon", "reason": "a disk"},
        "deadline",
    ),
    "/settings/freeze": ("/settings", {"until": "evil", "reason": "a fair"}, "until"),
    "/settings/tokens": (
        "/settings",
        {"name": "what ever", "role": "approver", "reason": "for CI"},
        "name",
    ),
}


@pytest.mark.parametrize("action", WRONG)
def test_a_refused_form_comes_again_with_what_was_typed_and_says_which_field_is_wrong(
    admin: Browser, action: str
) -> None:
    back, typed, wrong = WRONG[action]
    page = admin.send(action, 422, back=back, **typed)
    assert "Not done:" in page
    form = re.search(f'<form method="post" action="{action}">.*?</form>', page, re.DOTALL)
    assert form
    assert re.search(f'name="{wrong}" value="{typed[wrong]}" aria-invalid="true"', form[0])
    assert f'value="{typed["reason"]}"' in form[0]
    assert all(
        f'value="{typed[name]}"' in form[0] or f">{typed[name]}<" in form[0] for name in typed
    )


def test_what_somebody_else_changed_meanwhile_comes_again_with_what_was_typed(
    door: Door, admin: Browser
) -> None:
    back = f"{SITE}&done=unpinned"
    page = admin.send(
        "/site/pin",
        412,
        name="s000.example.org",
        etag='"of before"',
        nodes="n2",
        reason="a launch",
        back=back,
    )
    assert "somebody changed it since" in page or "it is not there any more" in page
    assert 'name="nodes" value="n2"' in page
    assert "The wish is taken back." not in page


def test_a_wish_that_cannot_be_tried_out_is_said_at_its_form(door: Door, admin: Browser) -> None:
    answer = admin.client.get(f"{SITE}&part=preview&nodes=nowhere&min_replicas=1&reason=a+launch")
    assert answer.status_code in (404, 409, 422)
    assert "Not done:" in answer.text
    assert 'name="nodes" value="nowhere"' in answer.text


def test_nobody_is_led_to_another_site_by_what_is_refused(admin: Browser) -> None:
    for elsewhere in (
        "//evil.example/",
        "https://evil.example/",
        "/no-such-page",
        "/settings/freeze",
    ):
        page = admin.send("/settings/freeze", 422, until="evil", back=elsewhere)
        assert "it holds" in page or "no date and time" in page


@pytest.mark.parametrize(
    "address", ["/what-if?without=n1", "/what-if?ask=now&more=1", "/simulate?policy=flex"]
)
def test_a_question_that_no_page_knows_is_not_answered_as_if_it_had_not_been_asked(
    admin: Browser, address: str
) -> None:
    answer = admin.client.get(address)
    assert answer.status_code == 422
    assert "leave it out" in answer.text


def test_a_plan_that_the_logs_stopped_can_be_made_all_the_same_by_whoever_says_why(
    door: Door, admin: Browser
) -> None:
    stops = [
        Stop("profile.max_age", "36 h", "48 h", f"n{number}: the newest line is too old")
        for number in (1, 2)
    ]
    error = NoData(
        "profiles", "the logs are too old", kept="nothing", advice="see /data", stops=stops
    )
    told = describe(error, "/plans")
    door.store.put_job(
        Job("stopped", "plan", "anna", holder(), NOW, "failed", problem=told, ended=NOW)
    )
    page = admin.get("/jobs/stopped")
    form = re.search(r'<form method="post" action="/plans">.*?</form>', page, re.DOTALL)
    assert form
    assert re.findall(r'name="force" value="([^"]*)"', form[0]) == ["profile.max_age"]
    assert re.search(r'name="reason"[^>]* required', form[0])
    assert 'name="force"' not in Browser(door, "viewer").get("/jobs/stopped")


def test_whether_the_record_of_changes_is_whole_is_looked_at_where_somebody_asks(
    door: Door, admin: Browser
) -> None:
    assert "The record is whole" not in admin.get("/audit")
    assert f"The record is whole: {door.store.audit_head().number:,} entries" in admin.get(
        "/audit?verify=now"
    )


def test_browsers_find_the_picture_of_the_page_by_the_name_they_ask_for(door: Door) -> None:
    answer = door.open().get("/favicon.ico")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
