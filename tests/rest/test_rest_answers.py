"""What single answers promise: no figure that nobody knows, no words of the framework, nothing
recorded for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from flex.model.name_server_verdict import NameServerVerdict
from flex.model.zone_plan import Change, Rrset
from flex.ports import PublisherAround
from flex_api.web.limits import too_many

if TYPE_CHECKING:
    from tests.rest.conftest import Door

ANY = {"If-Match": "*"}


@dataclass(frozen=True, slots=True)
class Silent(PublisherAround):
    """Name servers of which none answers when it is asked what it says."""

    def verify(
        self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0
    ) -> tuple[NameServerVerdict, ...]:
        told = self.publisher.verify(zone, wanted, patience=patience)
        return tuple(replace(one, checked=0, error="no answer within 5 s") for one in told)


@pytest.fixture(scope="module")
def reading(doors: Callable[[], Door]) -> Door:
    """One for all that change nothing."""
    return doors()


def test_where_no_name_server_answers_nobody_knows_what_differs(door: Door) -> None:
    said = door.open("viewer").get("/api/v1/dns/drift").json()
    assert (said["drift"], said["items"][0]["error"]) == (0, "")
    door.target = Silent(door.target)
    said = door.open("viewer").get("/api/v1/dns/drift").json()
    assert (said["drift"], said["items"][0]["error"]) == (None, "no answer within 5 s")


class Late(Silent):
    """A second server has not heard of the last change."""

    def verify(
        self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0
    ) -> tuple[NameServerVerdict, ...]:
        (told,) = self.publisher.verify(zone, wanted, patience=patience)
        gone = Change(Rrset(f"s.{zone}", "A", 60, ("192.0.2.1",)), None)
        return told, replace(
            told, server="192.0.2.99", serial=(told.serial or 0) - 1, wrong=(gone,)
        )


def test_the_servers_that_are_behind_are_named_with_what_to_do(door: Door) -> None:
    assert door.open("viewer").get("/api/v1/dns/drift").json()["behind"] == []
    door.target = Late(door.target)
    said = door.open("viewer").get("/api/v1/dns/drift").json()
    (behind,) = said["behind"]
    assert (behind["server"], behind["zone"]) == ("192.0.2.99", "example.org.")
    assert behind["latest_serial"] == behind["serial"] + 1
    assert "`flex verify`" in behind["next_step"]
    assert "run `rndc refresh example.org` on 192.0.2.99" in behind["next_step"]


def test_a_site_that_is_not_there_is_refused_alike_everywhere(reading: Door) -> None:
    answers = [
        reading.open("viewer").get(f"/api/v1/{of}/no.such").json() for of in ("sites", "routing")
    ]
    assert answers[0]["detail"] == answers[1]["detail"]
    assert "(40 sites are)" in answers[1]["detail"]


@pytest.mark.parametrize("address", ["999.1.1.1", "224.0.0.1"])
def test_an_address_that_is_none_is_refused_in_our_words(reading: Door, address: str) -> None:
    admin = reading.open("admin")
    given = {"addresses": [address]}
    for answer in (
        admin.patch("/api/v1/nodes/n1", json=given, headers=ANY),
        admin.post("/api/v1/nodes", json={"name": "n9", "ram_bytes": 2**30, **given}),
    ):
        assert answer.status_code == 422
        assert address in answer.json()["detail"]
        for foreign in ("validation error", "NodeSection", "type=", "pydantic", "Value error"):
            assert foreign not in answer.text


@pytest.mark.slow
def test_a_node_that_was_only_checked_is_nowhere(reading: Door) -> None:
    given = {"name": "n9", "addresses": ["192.0.2.99"], "ram_bytes": 2**30}
    answer = reading.open("admin").post("/api/v1/nodes?dry_run=true", json=given)
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    assert reading.open("admin").get("/api/v1/nodes/n9").status_code == 404


def test_part_of_a_sites_name_is_found_however_it_is_written(reading: Door) -> None:
    viewer = reading.open("viewer")
    small, large = (
        viewer.get("/api/v1/sites", params={"name": part}).json()["items"]
        for part in ("s01", "S01")
    )
    assert small == large != []


def test_a_plan_that_is_not_there_is_called_a_plan(reading: Door) -> None:
    assert reading.open("viewer").get("/api/v1/plans/nope").json()["asked"] == "the plan 'nope'"


def test_a_badge_for_nobody_is_no_page_to_sign_in_at(reading: Door) -> None:
    answer = reading.open().get("/badge.svg", follow_redirects=False)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_what_is_so_already_is_not_recorded_again(door: Door) -> None:
    operator, noted = door.open("operator"), door.store.last_number()
    for way in ("drain", "down"):
        answer = operator.delete(f"/api/v1/nodes/n1/{way}", headers=ANY)
        assert (answer.status_code, "already" in answer.json()["notes"][0]) == (200, True)
    assert operator.delete("/api/v1/freeze", headers=ANY).status_code == 204
    assert door.store.last_number() == noted


def test_a_dead_node_is_taken_out_without_reading_it_first_and_not_where_it_was_changed_since(
    door: Door,
) -> None:
    approver, path = door.open("approver"), "/api/v1/nodes/n3/down?dry_run=true"
    read = approver.get("/api/v1/nodes/n3").headers["etag"]
    assert [
        approver.put(path, json={}, headers=said).status_code for said in ({}, {"If-Match": read})
    ] == [200, 200]
    refused = approver.put(path, json={}, headers={"If-Match": '"of-yesterday"'})
    assert (refused.status_code, refused.json()["code"]) == (412, "precondition-failed")


@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, "malformed"),
        (b"\xff", "application/json", 400, "malformed"),
        (b'{"until": nope}', "application/json", 400, "malformed"),
        (b"{}", "text/plain", 415, "unsupported-media"),
        (b"{}", "", 415, "unsupported-media"),
        (b"[]", "application/json", 422, "validation"),
    ],
)
def test_a_body_that_cannot_be_read_is_told_apart_from_one_that_cannot_be_used(
    reading: Door, content: bytes, kind: str, status: int, code: str
) -> None:
    headers = {**ANY, **({"Content-Type": kind} if kind else {})}
    answer = reading.open("operator").put("/api/v1/freeze", content=content, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    ("accepted", "kind"),
    [
        ("", "text/html"),
        ("*/*", "text/html"),
        ("application/json", "application/json"),
        ("application/*", "application/json"),
        ("image/png, text/markdown;q=0.5", "text/markdown"),
    ],
)
def test_a_report_comes_in_the_form_that_is_accepted_and_says_that_there_are_others(
    reading: Door, accepted: str, kind: str
) -> None:
    client = reading.open("viewer", {"Accept": accepted})
    answer = client.get("/api/v1/reports/latest")
    assert (answer.status_code, answer.headers["vary"]) == (200, "Accept")
    assert answer.headers["content-type"].partition(";")[0] == kind
    plan = client.get(f"/api/v1/plans/{reading.store.headlines()[0].id}")
    assert (plan.status_code, plan.headers["vary"]) == (200, "Accept")


@pytest.mark.parametrize("of", ["reports/latest", "plans/{plan}"])
def test_a_form_that_there_is_not_is_refused(reading: Door, of: str) -> None:
    address = f"/api/v1/{of}".format(plan=reading.store.headlines()[0].id)
    answer = reading.open("viewer", {"Accept": "image/png"}).get(address)
    assert (answer.status_code, answer.json()["code"]) == (406, "not-acceptable")


def test_all_below_the_current_partition_is_that_in_force(door: Door) -> None:
    client = door.open("viewer")
    by_id = client.get(f"/api/v1/partitions/{door.store.in_force()}/placement").json()
    assert client.get("/api/v1/partitions/current/placement").json() == by_id
    assert client.get("/api/v1/partitions/current/difference").json()["items"] == []


@pytest.mark.parametrize("address", ["/livez?verbose", "/readyz?verbose", "/readyz?verbose=1"])
def test_probes_may_be_written_with_verbose_and_nothing_else(door: Door, address: str) -> None:
    assert door.open().get(address).status_code == 200
    assert door.open().get(f"{address}&exclude=store").status_code == 422


def test_a_freeze_is_new_where_nothing_is_frozen(door: Door) -> None:
    client, new = door.open("operator"), {"If-None-Match": "*"}
    assert client.put("/api/v1/freeze", json={"reason": "a fair"}, headers=new).status_code == 200
    assert client.put("/api/v1/freeze", json={"reason": "again"}, headers=new).status_code == 412


@pytest.mark.parametrize("name", ["node", "name"])
def test_a_node_is_made_by_the_name_that_is_read(door: Door, name: str) -> None:
    given = {"addresses": ["192.0.2.99"], "ram_bytes": 2**30}
    made = door.open("admin").post("/api/v1/nodes", json={name: "n9", **given})
    assert (made.status_code, made.json()["node"]["node"]) == (201, "n9")
    assert (
        door.open("admin")
        .post("/api/v1/nodes", json={"node": "n8", "name": "n7", **given})
        .status_code
        == 422
    )


@pytest.mark.slow
def test_what_is_no_page_loads_nothing_and_pages_take_no_style_but_their_own(door: Door) -> None:
    client = door.open("admin")
    for address in ("/api/v1/sites", "/livez", "/api/v1/nowhere", "/metrics"):
        assert (
            client.get(address)
            .headers["content-security-policy"]
            .startswith("default-src 'none'; base-uri 'none'")
        )
    for address in ("/", "/api/docs", "/login", "/problems", "/api/v1/reports/latest"):
        assert "unsafe-inline" not in client.get(address).headers["content-security-policy"]


def test_too_much_and_too_often_name_their_rule(door: Door) -> None:
    large = door.open("admin").post("/api/v1/nodes", content=b" " * (2**20 * 20)).json()
    assert (large["rule"], large["limit"].split()[1], large["actual"]) == (
        "api.max_body",
        "bytes",
        f"{2**20 * 20} bytes",
    )
    often = too_many(0.25, 4)
    assert (often.stops[0].rule, often.stops[0].limit) == (
        "api.requests_per_second",
        "4 in a second",
    )
