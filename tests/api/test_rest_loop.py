"""The loop over the REST API, on a private BIND: logs read, a plan made, approved and applied, and
gone back from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from flex.model.audit_chain import fault_of_chain
from flex.store import open_store
from flex_api.app import create_app
from flex_api.settings import file as config
from tests.rest.conftest import still

if TYPE_CHECKING:
    from tests.api.conftest import Installation

NIGHT = datetime(2026, 3, 3, 2, 17, tzinfo=UTC)


@contextmanager
def api(installation: Installation) -> Iterator[TestClient]:
    """As of the night after the logs, a second later each time somebody looks at the clock."""
    secret = installation.flex("token", "create", "tests", "--role", "admin").out.strip()
    settings = config.load(installation.settings)
    settings = settings.model_copy(
        update={"api": settings.api.model_copy(update={"requests_per_second": 0})}
    )
    moments = iter(NIGHT + timedelta(seconds=number) for number in range(100_000))
    with open_store(settings.database.url) as store:
        app = create_app(settings, store, clock=lambda: next(moments), ticks=still)
        yield TestClient(app, headers={"Authorization": f"Bearer {secret}"})


def done(client: TestClient, address: str, **more: Any) -> str:
    """What a job came to, told by its events. Any: what a request may have besides."""
    asked = client.post(address, **{"json": {}, **more})
    assert asked.status_code == 202, asked.text
    said = client.get(f"{asked.headers['location']}/events").text.strip().split("\n\n")[-1]
    job = json.loads(said.partition("data: ")[2])
    assert job["state"] == "done", job
    return str(job["result"])


@pytest.mark.slow
@pytest.mark.real
def test_a_plan_is_made_approved_applied_and_taken_back(installation: Installation) -> None:
    installation.extra = (
        "[safety]\nmax_new_sites = 100\n"
        if "[safety]" not in installation.settings.read_text()
        else ""
    )
    with api(installation) as client:
        done(client, "/api/v1/ingests")
        assert client.get("/api/v1/ingests").json()["items"]
        plan = client.get(done(client, "/api/v1/plans")).json()
        assert plan["moves"]
        assert plan["zones"][0]["changes"]
        address = f"/api/v1/plans/{plan['id']}"
        assert client.post(f"{address}/approval", json={"decision": "approve"}).status_code == 201
        rules = [breach["rule"] for breach in plan["breaches"]]
        digest = {"If-Match": f'"{plan["digest"]}"'}
        done(
            client,
            f"{address}/apply",
            json={"force": rules, "reason": "first night"},
            headers=digest,
        )
        assert client.get("/api/v1/partitions/current").json()["id"] == plan["id"]
        assert installation.addresses(plan["moves"][0]["site"])
        assert client.get("/api/v1/dns/drift").json()["drift"] == 0
        assert client.get(f"{address}/frontier").status_code == 409
        assert client.post("/api/v1/whatif", json={"more_nodes": 1}).json()["after"]["nodes"]
        assert "flex_plan_moves" in client.get("/metrics").text
        assert plan["id"] in client.get(address, headers={"Accept": "text/markdown"}).text
        assert client.get("/api/v1/reports/latest").headers["content-type"].startswith("text/html")
    said = installation.flex("audit", "verify")
    assert said.code == 0, said.err
    actors = {
        entry["actor"]
        for entry in json.loads(installation.flex("-o", "json", "audit").out)["items"]
    }
    assert "token:tests" in actors
    with open_store(config.load(installation.settings).database.url) as store:
        assert fault_of_chain(store.entries(limit=10_000)) == ""


def test_tokens_are_made_listed_and_revoked_on_the_command_line(empty: Installation) -> None:
    made = json.loads(
        empty.flex("-o", "json", "token", "create", "grafana", "--expires", "2099-01-01").out
    )
    listed = empty.flex("token", "list").out
    assert made["token"]["id"] in listed
    assert made["secret"] not in listed
    assert empty.flex("token", "create", "x", "--role", "king").code == 3
    assert empty.flex("token", "revoke", made["token"]["id"], "--reason", "lost").code == 0
    assert empty.flex("token", "revoke", made["token"]["id"]).code == 3
    first = json.loads(empty.flex("-o", "json", "audit", "--action", "token").out)["items"][0]
    assert (first["action"], first["reason"]) == ("token.revoke", "lost")


def test_what_the_command_line_changes_is_in_the_record(empty: Installation) -> None:
    empty.flex("freeze", "--reason", "sale")
    entry = json.loads(empty.flex("-o", "json", "audit").out)["items"][0]
    assert (entry["action"], entry["before"]) == ("freeze", None)
    last = json.loads(empty.flex("-o", "json", "audit", "verify").out)["last"]
    assert empty.flex("audit", "verify", "--last", last).code == 0
    assert empty.flex("audit", "verify", "--last", "0" * 64).code == 25
