"""Routing of replicated sites, from the settings and the placement in force to files that HAProxy
takes.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.errors import BadSetting
from flex.model.nightly_run import NightlyRun
from flex.routing.haproxy_program import program, refusal
from flex.store import holder, open_store
from flex_api import cli
from flex_api.settings.file import load

if TYPE_CHECKING:
    from tests.api.conftest import Installation


@pytest.fixture
def shared(installation: Installation) -> str:
    """A site on two nodes."""
    return installation.once(share)


def share(installation: Installation) -> str:
    installation.first_night()
    site = str(installation.flex("-o", "json", "sites", "list").json["items"][0]["site"])
    assert installation.flex("sites", "pin", site, "--min-replicas", "2").code == 0
    installation.flex("plan", "--as-of", installation.as_of())
    assert installation.flex("apply", "--as-of", installation.as_of()).code == 0
    return site


@pytest.mark.slow
def test_a_site_on_several_nodes_is_shown_with_its_members(
    installation: Installation, shared: str
) -> None:
    said = installation.flex("-o", "json", "route", "show").json
    (row,) = (each for each in said["items"] if each["site"] == shared)
    nodes = {row["node"] for row in row["members"]}
    (placed,) = (
        each for each in installation.flex("-o", "json", "sites", "show", shared).json["items"]
    )
    assert (said["on"], row["site"], row["policy"], nodes) == (
        False,
        shared,
        "lardr",
        set(placed["nodes"]),
    )
    assert row["admitted"] == 65 + 25 - 1
    assert "on = false" in installation.flex("route", "show").out


@pytest.mark.slow
def test_a_nodes_configuration_is_written_once_and_the_one_before_is_kept(
    installation: Installation, shared: str, tmp_path: Path
) -> None:
    rows = installation.flex("-o", "json", "route", "show").json["items"]
    node = next(row["members"][1]["node"] for row in rows if row["site"] == shared)
    folder = tmp_path / "haproxy"
    extra = f'[routing]\non = true\ndirectory = "{folder}"\nsocket = "{folder}/s"\n'
    installation.extra += extra
    installation.write_settings()
    shown = installation.flex("-o", "json", "route", "config", node).json
    assert not folder.exists()
    first = installation.flex("-o", "json", "route", "config", node, "--to", str(folder)).json
    assert (first["changed"], first["files"]) == (True, shown["files"])
    assert {path.name: path.read_text() for path in folder.iterdir()} == shown["files"]
    assert (
        installation.flex("-o", "json", "route", "config", node, "--to", str(folder)).json[
            "changed"
        ]
        is False
    )
    installation.extra += f'[[routing.site]]\nname = "{shared}"\nhigh = 99\n'
    installation.write_settings()
    assert (
        installation.flex("-o", "json", "route", "config", node, "--to", str(folder)).json[
            "changed"
        ]
        is True
    )
    assert (folder / "haproxy.cfg.before").read_text() == shown["files"]["haproxy.cfg"]
    # Half of it for each of two distributors.
    assert "gt 49" in (folder / "haproxy.cfg").read_text()
    try:
        assert refusal(program(), folder) == ""
    except BadSetting:
        pytest.skip("there is no HAProxy to ask")


@pytest.mark.slow
def test_every_nodes_files_are_delivered_and_carried_once(
    installation: Installation, shared: str, tmp_path: Path
) -> None:
    carried = tmp_path / "carried"
    script = tmp_path / "carry"
    script.write_text(f'#!/bin/sh\necho "$1" >> {carried}\n')
    script.chmod(0o755)
    installation.extra += (
        f'[routing]\non = true\ndirectory = "{tmp_path}"\nsocket = "{tmp_path}/s"\n'
        f'deliver = "{tmp_path}/{{node}}/haproxy"\ndeliver_command = ["{script}", "{{node}}"]\n'
    )
    installation.write_settings()
    first = installation.flex("-o", "json", "route", "deliver").json["items"]
    assert [row["error"] for row in first] == [""] * len(first)
    assert all(row["changed"] for row in first)
    assert sorted(carried.read_text().split()) == [row["node"] for row in first]
    for row in first:
        shown = installation.flex("-o", "json", "route", "config", row["node"]).json["files"]
        assert {path.name: path.read_text() for path in Path(row["directory"]).iterdir()} == shown
    again = installation.flex("-o", "json", "route", "deliver").json["items"]
    assert not any(row["changed"] for row in again)


def test_a_node_whose_files_cannot_be_carried_does_not_keep_the_others_from_theirs(
    installation: Installation, shared: str, tmp_path: Path
) -> None:
    installation.extra += (
        f'[routing]\ndeliver = "{tmp_path}/{{node}}"\ndeliver_command = ["false"]\n'
    )
    installation.write_settings()
    said = installation.flex("-o", "json", "route", "deliver")
    assert said.code == 24
    assert (
        len([row for row in said.json["items"] if "false" in row["error"]])
        == len(said.json["items"])
        > 1
    )
    # Until it was carried once, it is tried each time.
    assert installation.flex("-o", "json", "route", "deliver").code == 24
    installation.extra = installation.extra.replace("false", "true")
    installation.write_settings()
    carried = installation.flex("-o", "json", "route", "deliver")
    assert (carried.code, {row["changed"] for row in carried.json["items"]}) == (0, {True})
    assert {
        row["changed"] for row in installation.flex("-o", "json", "route", "deliver").json["items"]
    } == {False}


@pytest.mark.slow
def test_routing_changes_ahead_of_dns(
    installation: Installation, shared: str, tmp_path: Path
) -> None:
    installation.extra += f'[routing]\non = true\ndeliver = "{tmp_path}/{{node}}"\n'
    installation.write_settings()
    (row,) = installation.flex("-o", "json", "sites", "show", shared).json["items"]
    assert (
        installation.flex(
            "sites", "pin", shared, "--nodes", row["nodes"][0], "--max-replicas", "1"
        ).code
        == 0
    )
    installation.flex("plan", "--as-of", installation.as_of())
    assert installation.flex("apply", "--as-of", installation.as_of()).code == 0
    staying, leaving = ((tmp_path / node / "haproxy.cfg").read_text() for node in row["nodes"])
    for configuration in (staying, leaving):
        assert f" disabled # {row['nodes'][1]}" in configuration
        assert f" disabled # {row['nodes'][0]}" not in configuration


def test_other_names_are_routed_as_logs_are_counted_and_odd_ones_left_out(
    installation: Installation, shared: str
) -> None:
    installation.extra += (
        f'"shop@docker" = "{shared}"\n"SHOP.Example" = "{shared}"\n"bücher.example" = "{shared}"\n'
    )
    installation.write_settings()
    said = installation.flex("-o", "json", "route", "show")
    (row,) = (each for each in said.json["items"] if each["site"] == shared)
    assert {"shop.example", "www.shop.example", "xn--bcher-kva.example", f"www.{shared}"} <= set(
        row["hosts"]
    )
    assert not any("docker" in host for host in row["hosts"])


def test_a_wanted_delay_sets_the_limit_as_the_paper_says(
    installation: Installation, shared: str
) -> None:
    installation.extra += '[routing]\nlow = 20\ndelay = "3s"\nservice_ms = 200\n'
    installation.write_settings()
    rows = installation.flex("-o", "json", "route", "show").json["items"]
    assert {(row["low"], row["high"]) for row in rows} == {(20, 35)}


def test_without_a_folder_nothing_is_delivered(installation: Installation) -> None:
    said = installation.flex("route", "deliver")
    assert said.code == 3
    assert "routing.deliver" in said.err


@pytest.mark.slow
def test_a_plan_that_comes_is_shown_before_dns_says_so(
    installation: Installation, shared: str, tmp_path: Path
) -> None:
    (row,) = installation.flex("-o", "json", "sites", "show", shared).json["items"]
    alone = ("--nodes", row["nodes"][0], "--max-replicas", "1")
    assert installation.flex("sites", "pin", shared, *alone).code == 0
    plan = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json["id"]
    (coming,) = (
        each
        for each in installation.flex("-o", "json", "route", "show", "--plan", plan).json["items"]
        if each["site"] == shared
    )
    assert {each["node"]: each["leaving"] for each in coming["members"]} == {
        node: node != row["nodes"][0] for node in row["nodes"]
    }
    now = installation.flex("-o", "json", "route", "show").json["items"]
    assert not any(each["leaving"] for one in now for each in one["members"])
    # While it is being applied, nobody routes back by what DNS said before.
    with open_store(load(installation.settings).database.url) as store:
        store.update(replace(store.plan(plan), state="applying"))
    while_applied = installation.flex("-o", "json", "route", "show").json["items"]
    assert coming in while_applied
    installation.extra += f'[routing]\non = true\ndeliver = "{tmp_path}/{{node}}"\n'
    installation.write_settings()
    configuration, gone = (
        tmp_path / row["nodes"][0] / "haproxy.cfg",
        f" disabled # {row['nodes'][1]}",
    )
    assert installation.flex("route", "deliver").code == 0
    assert gone in configuration.read_text()
    # What is taken back is routed back.
    assert installation.flex("apply", "--undo").code == 0
    assert gone not in configuration.read_text()


def test_where_no_haproxy_answers_the_live_figures_are_one_line(
    installation: Installation, shared: str
) -> None:
    installation.extra += f'[routing]\nsocket = "{installation.folder}/none"\n'
    installation.write_settings()
    said = installation.flex("route", "show", "--live")
    assert said.code == 27
    assert "none" in said.err


def test_a_node_that_is_not_there_is_refused(installation: Installation) -> None:
    said = installation.flex("route", "config", "n9")
    assert said.code == 3
    assert "n9" in said.err


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('policy = "lardrr"', "lardr"),
        ("low = 70", "limits"),
        ('listen = [":80 ssl"]', "configuration"),
        ("origin_port = 70000", "port"),
        ('deliver = "/srv/one"', "{node}"),
        ('timeout = "0s"', "a second at least"),
        ('timeout = "2d"', "a day at most"),
        ("timeout = 60", "timeout"),
        (
            '[[routing.site]]\nname = "A.example"\n[[routing.site]]\nname = "a.example"',
            "the site 'a.example' is there twice",
        ),
        (
            (
                'on = true\ndoors = "all"\n'
                '[[routing.zone]]\nname = "a.example"\npublish = "doors"\n'
                '[[routing.zone]]\nname = "A.example."\npublish = "dns"'
            ),
            "the zone 'a.example.' is there twice",
        ),
        ('on = true\ndoors = "all"\nstateful = true\ntimeout = "29s"', "30 s at least"),
    ],
)
def test_settings_that_could_not_be_written_are_refused(
    installation: Installation, setting: str, said: str
) -> None:
    installation.extra += f"[routing]\n{setting}\n"
    installation.write_settings()
    refused = installation.flex("config", "check")
    assert refused.code == 3
    assert said in refused.out + refused.err


def test_a_sites_most_popular_targets_have_several_members_by_setting(
    installation: Installation, shared: str
) -> None:
    installation.extra += (
        f'[routing]\non = true\nbypass = true\n[[routing.site]]\nname = "{shared}"\npopular = 50\n'
    )
    installation.write_settings()
    rows = installation.flex("-o", "json", "route", "show").json["items"]
    node = next(row["members"][0]["node"] for row in rows if row["site"] == shared)
    files = installation.flex("-o", "json", "route", "config", node).json["files"]
    popular = dict(line.split() for line in files["popular.map"].splitlines())
    assert 0 < len(popular) <= 50
    assert {int(members).bit_count() for members in popular.values()} == {2}
    assert f"{shared} 1;" in files["routed.map"]


@pytest.mark.slow
def test_a_node_goes_back_to_the_version_before(
    installation: Installation, shared: str, tmp_path: Path
) -> None:
    installation.extra += (
        f'[routing]\non = true\ndirectory = "{tmp_path}"\nsocket = "{tmp_path}/s"\n'
    )
    installation.write_settings()
    rows = installation.flex("-o", "json", "route", "show").json
    node, config = (rows["items"][0]["members"][0]["node"], ("-o", "json", "route", "config"))
    to = ("--to", str(tmp_path / "haproxy"))
    assert installation.flex(*config, node, *to, "--back").code == 3
    first = installation.flex(*config, node, *to).json["files"]
    assert next(row["wanted"] for row in rows["nodes"] if row["node"] == node) in first["hosts.map"]
    installation.extra += "high = 99\n"
    installation.write_settings()
    assert installation.flex(*config, node, *to).json["files"] != first
    assert installation.flex(*config, node, *to, "--back").json["files"] == first
    assert (tmp_path / "haproxy" / "haproxy.cfg").read_text() == first["haproxy.cfg"]


@pytest.mark.slow
def test_a_node_that_has_only_the_package_and_its_files_follows_them(
    installation: Installation, shared: str, tmp_path: Path
) -> None:
    """Neither settings nor a database are there; what HAProxy refuses, and what is for another
    folder, is not taken.
    """
    try:
        program()
    except BadSetting:
        pytest.skip("there is no HAProxy to ask")
    here, carried = tmp_path / "here", tmp_path / "carried"
    installation.extra += f'[routing]\non = true\ndirectory = "{here}"\nsocket = "{here}/s"\n'
    installation.write_settings()
    rows = installation.flex("-o", "json", "route", "show").json["items"]
    node = rows[0]["members"][0]["node"]
    files = installation.flex("-o", "json", "route", "config", node, "--to", str(carried)).json[
        "files"
    ]
    installation.settings.unlink()
    apply = ("-o", "json", "route", "apply", "--from", str(carried), "--no-tell")
    elsewhere = installation.flex(*apply, "--to", str(tmp_path / "other"))
    assert (elsewhere.code, str(here) in elsewhere.err) == (3, True)
    first = installation.flex(*apply, "--to", str(here)).json
    assert (first["node"], first["changed"]) == (node, True)
    assert {path.name: path.read_text() for path in here.iterdir()} == files
    assert installation.flex(*apply, "--to", str(here)).json["changed"] is False
    # Nobody listens: said in a line, and the files wait for HAProxy's start.
    untold = installation.flex(
        "route", "apply", "--from", str(carried), "--to", str(here), "--master", f"{here}/m"
    )
    assert (untold.code, f"and {here}/m" in untold.err) == (27, True)
    assert (untold.code, "nobody listens at" in untold.err, "its start" in untold.err) == (
        27,
        True,
        True,
    )
    assert {path.name: path.read_text() for path in here.iterdir()} == files


@pytest.mark.slow
def test_a_node_takes_no_other_nodes_files_unless_it_is_told_to(
    installation: Installation, shared: str, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    installation.extra += f'[routing]\non = true\ndirectory = "{here}"\n'
    installation.write_settings()
    rows = installation.flex("-o", "json", "route", "show").json["items"]
    own, other = (member["node"] for member in rows[0]["members"][:2])
    for node in (own, other):
        installation.flex("route", "config", node, "--to", str(tmp_path / node))
    apply = ("route", "apply", "--no-tell", "--to", str(here), "--from")
    assert installation.flex(*apply, str(tmp_path / own)).code == 0
    refused = installation.flex(*apply, str(tmp_path / other))
    assert (refused.code, own in refused.err, other in refused.err) == (3, True, True)
    assert f"node {own}\n" in (here / "haproxy.cfg").read_text()
    assert installation.flex(*apply, str(tmp_path / other), "--other-node").code == 0
    assert f"node {other}\n" in (here / "haproxy.cfg").read_text()


@pytest.mark.parametrize("way", ["apply", "server"])
def test_a_token_file_with_more_than_a_token_is_refused_and_not_repeated(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text("abcdef\nghijkl\n")
    address = "http://127.0.0.1:1"
    verb = (
        ["route", "apply", "--from", address, "--token-file", str(token)]
        if way == "apply"
        else ["--server", address, "--token-file", str(token), "freeze"]
    )
    assert cli.run(verb) == 3
    said = capsys.readouterr().err
    assert "more than a token" in said
    assert "abcdef" not in said
    assert "ghijkl" not in said


def test_a_server_does_not_apply_for_a_node_and_says_who_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("abc")
    server = ["--server", "http://127.0.0.1:1", "--token-file", str(tmp_path / "token")]
    assert cli.run([*server, "route", "apply", "--from", "x"]) == 3
    assert "flex route apply --from" in capsys.readouterr().err


def test_while_a_night_is_at_work_nothing_is_delivered_beside_it(
    installation: Installation, shared: str, tmp_path: Path
) -> None:
    installation.extra += f'[routing]\ndeliver = "{tmp_path}/{{node}}"\n'
    installation.write_settings()
    now = datetime.now(UTC)
    with open_store(load(installation.settings).database.url) as store:
        list(
            store.begin(
                NightlyRun("at-work", holder(), now, message="nightly"), timedelta(hours=1), now
            )
        )
    assert installation.flex("route", "deliver").code == 23
    assert list(tmp_path.glob("*/haproxy.cfg")) == []


def test_what_is_said_of_sites_and_nodes_that_are_not_there_is_named(
    installation: Installation, shared: str
) -> None:
    (row,) = installation.flex("-o", "json", "sites", "show", shared).json["items"]
    other = next(node for node in ("n1", "n2", "n3", "n4") if node not in row["nodes"])
    installation.extra += (
        f'[routing]\non = true\n[[routing.site]]\nname = "{shared}"\ndynamic = '
        f'["{row["nodes"][0]}", "{other}", "n9"]\n'
        '[[routing.site]]\nname = "shop.exmaple"\n'
    )
    installation.write_settings()
    said = installation.flex("-o", "json", "route", "show").json["misnamed"]
    assert len(said) == 3
    told = installation.flex("route", "show").out
    checked = installation.flex("doctor").out
    for wrong in (
        "n9, and there is no node",
        f"{other}, which does not serve",
        "shop.exmaple: no site",
    ):
        assert wrong in told
        assert wrong in checked
