"""The client and `flex --server`, against a server on loopback."""

from __future__ import annotations

import inspect
import json
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flex.errors import (
    Away,
    BadInput,
    BadSetting,
    Denied,
    Held,
    NoData,
    Overtaken,
    Unauthenticated,
    Unknown,
)
from flex_api import cli
from flex_api.client import Client, client
from flex_api.client_http import error_of
from flex_api.schemas.rest_bodies import ApplyGiven, DrainGiven, PlanGiven
from flex_api.schemas.sites_and_wishes import PinGiven
from tests.rest.test_rest_contract import named, routes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.rest.conftest import Door

SITE = "s030.example.org"


@pytest.fixture
def door(doors: Callable[..., Door]) -> Door:
    """Answers wait for no long search: a client waits for one minute, and with the Python loops on
    a busy machine a search takes as long.
    """
    return doors(solver={"engine": "local"})


@pytest.fixture
def ours(door: Door, address: str) -> Client:
    return client(address, door.secrets["admin"])


def test_lists_are_read_to_their_end(ours: Client) -> None:
    assert len(list(ours.sites())) == 40
    assert [row.node for row in ours.nodes()] == ["n1", "n2", "n3"]
    assert {pin.author for pin in ours.pins(author="anna")} == {"anna"}
    assert len(list(ours.plans())) == 3


def test_a_wish_is_made_changed_and_taken_back(ours: Client) -> None:
    made = ours.put_pin(SITE, PinGiven(nodes=("n1",), reason="launch"))
    assert (made.nodes, made.author) == (["n1"], "token:admin")
    _, tag = ours.pin(SITE)
    ours.put_pin(SITE, PinGiven(nodes=("n2",)), tag)
    with pytest.raises(Overtaken):
        ours.drop_pin(SITE, tag)
    ours.drop_pin(SITE, ours.pin(SITE)[1])
    with pytest.raises(Unknown):
        ours.pin(SITE)


def test_settings_of_the_server_that_cannot_be_used_end_the_client_as_they_end_the_verb_there() -> (
    None
):
    error = error_of({"code": "settings", "asked": "ingest.sites_file", "answer": "it is a folder"})
    assert (type(error), error.exit_code, error.slug) == (BadSetting, 3, "validation")


def test_the_errors_of_the_server_are_those_of_the_same_verb_there(
    door: Door, address: str, ours: Client
) -> None:
    with pytest.raises(Unauthenticated):
        client(address, "flex_wrong").site(SITE)
    with pytest.raises(Denied) as denied:
        client(address, door.secrets["viewer"]).make_plan(PlanGiven())
    assert "operator" in denied.value.advice
    waiting = next(row for row in ours.plans() if row.state == "proposed")
    plan, _ = ours.plan(waiting.id)
    with pytest.raises(Held) as held:
        ours.apply(plan.id, plan.digest, ApplyGiven())
    assert [stop.rule for stop in held.value.stops] == ["safety.max_moved_sites"]


def test_a_job_is_followed_to_its_end(ours: Client) -> None:
    job = ours.make_plan(PlanGiven())
    with pytest.raises(NoData):
        ours.follow(job)
    assert ours.job(job.id).state == "failed"


def test_a_server_that_is_away_is_said_to_be(free_port: int) -> None:
    with pytest.raises(Away) as away:
        client(f"http://127.0.0.1:{free_port}", "flex_x").freeze()
    assert away.value.kept == "nothing was sent"


@pytest.mark.parametrize(
    ("method", "kept"), [("GET", "nothing was changed"), ("POST", "may or may not")]
)
def test_an_answer_that_does_not_come_says_what_may_have_been_done(method: str, kept: str) -> None:
    """It takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ours = replace(client(f"http://127.0.0.1:{silent.getsockname()[1]}", "flex_x"), timeout=0.3)
        with pytest.raises(Away) as away:
            ours.send(method, "/plans", None, {})
    assert kept in away.value.kept


@pytest.mark.parametrize(
    "server", ["flex.example.net", "ftp://flex", "http://", "http://a:b@flex", "file:///etc"]
)
def test_an_address_that_is_none_is_refused(server: str) -> None:
    with pytest.raises(BadInput):
        client(server, "flex_x")


def test_a_drain_is_ordered_by_the_client(ours: Client) -> None:
    changed = ours.drain("n3", DrainGiven(), ours.node("n3")[1])
    assert changed.node.state == "draining"
    assert ours.undrain("n3", ours.node("n3")[1]).node.state == "active"


def flex(address: str, token: Path, capture: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What `flex --server` prints as JSON. Any: what JSON holds."""
    capture.readouterr()
    code = cli.run(["--server", address, "--token-file", str(token), "-o", "json", *arguments])
    said = capture.readouterr()
    assert code == 0, said.err
    return json.loads(said.out)


@pytest.mark.slow
def test_the_command_line_asks_a_server(
    door: Door, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text(door.secrets["admin"] + "\n", encoding="utf-8")

    def ask(*arguments: str) -> Any:
        return flex(address, token, capsys, *arguments)

    assert len(ask("sites", "list")["items"]) == 40
    assert ask("sites", "show", SITE)["items"][0]["site"] == SITE
    assert ask("sites", "pin", SITE, "--nodes", "n1", "--reason", "launch")["pinned"]
    assert ask("sites", "pin", SITE, "--nodes", "n2")["nodes"] == ["n2"]
    assert not ask("sites", "unpin", SITE)["pinned"]
    assert ask("nodes", "drain", "n3")["items"][2]["state"] == "draining"
    assert ask("nodes", "undrain", "n3")["items"][2]["state"] == "active"
    assert ask("sites", "pin", SITE, "--nodes", "n1", "--reason", "file")["pinned"]
    assert ask("freeze", "--reason", "file")["frozen"]
    held = tmp_path / "wishes.toml"
    held.write_text('schema = 1\n[[node]]\nnode = "n3"\nstate = "draining"\n')
    assert ask("wishes", "apply", str(held))["carried_out"] >= 3
    decided = ask("wishes", "export")
    assert (decided["wish"], decided["freeze"]) == ([], None)
    assert [one["node"] for one in decided["node"]] == ["n3"]
    assert ask("wishes", "diff", str(held))["items"] == []
    assert ask("nodes", "undrain", "n3")["items"][2]["state"] == "active"
    waiting = ask("plan", "list")["items"][0]["id"]
    assert ask("plan", "show", waiting)["id"] == ask("plan", "show")["id"] == waiting
    assert ask("approve", waiting)["state"] == "proposed"
    assert ask("freeze", "--reason", "sale")["frozen"]
    assert not ask("thaw")["frozen"]
    assert len(ask("history")["items"]) == 3
    assert ask("plan", "discard", waiting)["state"] == "discarded"


@pytest.mark.slow
def test_whatever_the_api_can_do_the_command_line_can_ask_a_server_for(
    door: Door, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text(door.secrets["admin"] + "\n", encoding="utf-8")

    def ask(*arguments: str) -> Any:
        return flex(address, token, capsys, *arguments)

    assert ask("sites", "exclude", SITE, "--reason", "moved away")["excluded"]
    assert not ask("sites", "unpin", SITE)["pinned"]
    added = ask("nodes", "add", "n4", "--addresses", "192.0.2.14", "--ram", "1 GiB")
    assert [row["node"] for row in added["items"]] == ["n1", "n2", "n3", "n4"]
    assert ask("nodes", "set", "n4", "--capacity", "2")["items"][3]["capacity_ratio"] == 2
    assert len(ask("nodes", "remove", "n4")["items"]) == 3
    assert ask("explain", SITE)["site"] == SITE
    # The server has no sample of accesses to replay, and says so; the frontier needs none.
    assert (
        cli.run(["--server", address, "--token-file", str(token), "whatif", "--times", f"{SITE}=3"])
        == 20
    )
    assert ask("plan", "frontier")["items"]
    first, second = (one.id for one in door.store.headlines()[1:])
    assert ask("plan", "diff", first, first)["items"] == []
    assert [row["site"][:4] for row in ask("plan", "diff", first, second)["items"]] == [
        "s000",
        "s001",
        "s002",
        "s003",
    ]
    made = ask("token", "create", "laptop", "--role", "viewer")
    assert made["secret"].startswith("flex_")
    assert made["token"]["id"] in [row["id"] for row in ask("token", "list")["items"]]
    assert ask("token", "revoke", made["token"]["id"])["token"]["revoked"]
    assert ask("audit", "--action", "token", "--limit", "1")["items"][0]["action"] == "token.revoke"
    assert ask("audit", "verify")["entries"] == door.store.last_number()
    assert ask("report", "--format", "json")["cluster"] == "shared-eu1"


@pytest.mark.slow
def test_a_dry_run_of_the_server_says_what_the_next_plan_would_do_and_changes_nothing(
    door: Door, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token, noted = tmp_path / "token", door.store.last_number()
    token.write_text(door.secrets["admin"] + "\n", encoding="utf-8")
    tried: list[tuple[str, ...]] = [
        ("sites", "pin", SITE, "--nodes", "n2"),
        ("sites", "exclude", SITE),
        ("sites", "unpin", "s001.example.org"),
        ("nodes", "drain", "n3"),
        ("nodes", "undrain", "n3"),
        ("nodes", "up", "n3"),
        ("nodes", "down", "n3"),
        ("nodes", "set", "n3", "--capacity", "2"),
        ("nodes", "add", "n4", "--addresses", "192.0.2.14", "--ram", "1 GiB"),
    ]
    for verb in tried:
        assert flex(address, token, capsys, *verb, "--dry-run")["preview"]["moves"] >= 0, verb
    assert (
        cli.run(
            [
                "--server",
                address,
                "--token-file",
                str(token),
                "sites",
                "pin",
                SITE,
                "--nodes",
                "n2",
                "--dry-run",
            ]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "would be pinned to n2" in said
    assert "worst node" in said
    assert door.store.last_number() == noted


class Noting(Client):
    """Asks nobody, and says what it would have asked."""

    def send(self, method: str, path: str, *_: object) -> tuple[bytes, str]:
        raise Away(method, path.partition("?")[0], kept="nothing was asked", advice="ask")


def asked_for(name: str) -> str:
    """The request that a method of the client begins with."""
    method = getattr(Noting("http://nowhere", ""), name)
    given = [
        "x" if one.annotation == "str" else PlanGiven()
        for one in inspect.signature(method).parameters.values()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    ]
    with pytest.raises(Away) as away:
        list(method(*given))
    return f"{away.value.asked} /api/v1{away.value.answer}"


def test_the_client_reaches_whatever_the_api_has() -> None:
    methods = [
        name
        for name in vars(Client)
        if not name.startswith("_") and inspect.isfunction(getattr(Client, name))
    ]
    asked = {asked_for(name) for name in methods if name != "follow"}
    # A client follows a job by itself; the others it asks for where it is told so. Nodes follow
    # orders for doors with a reader of their own, and report by it.
    besides = {
        "/nodes/{node}/doors",
        "/nodes/{node}/strays",
        "/nodes/{node}/answers",
        "/events",
        "/campaigns/{campaign}",
        "/plans/{plan}/frontier",
        "/reports/latest",
    }
    for route in routes():
        pattern = re.compile(re.sub(r"\{[a-z]+\}", "[^/]+", named(route)))
        assert any(map(pattern.fullmatch, asked)) or route.path.endswith(tuple(besides)), named(
            route
        )


def test_a_report_of_the_server_goes_where_it_is_wanted(
    door: Door, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token, page = tmp_path / "token", tmp_path / "page.html"
    token.write_text(door.secrets["viewer"], encoding="utf-8")
    asked = ["--server", address, "--token-file", str(token), "report"]
    assert cli.run([*asked, "--to", str(page)]) == 0
    assert "<!doctype html>" in page.read_text(encoding="utf-8").lower()
    capsys.readouterr()
    assert cli.run([*asked, "--format", "md"]) == 0
    assert "## Moves" in capsys.readouterr().out


def test_a_refusal_of_the_server_is_an_exit_code(
    door: Door, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text(door.secrets["viewer"], encoding="utf-8")
    assert cli.run(["--server", address, "--token-file", str(token), "freeze"]) == 26
    assert "operator" in capsys.readouterr().err
    assert cli.run(["--server", address, "freeze"]) == 3
    assert cli.run(["--server", address, "--token-file", str(token), "db", "upgrade"]) == 2
