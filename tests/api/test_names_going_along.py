"""On a real name server all names of a site go where it goes, and come back with it, whoever is
killed on the way and whatever others write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dns.rcode
import dns.update
import pytest

from flex_dns.wire.session import Session

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

# Seconds that a run on its way waits at least, while it is killed.
TTL = 5


def follow(installation: Installation, more: str = "") -> None:
    text = installation.settings.read_text(encoding="utf-8")
    setting = f'[dns]\nother_names = "follow"\n{more}'
    installation.settings.write_text(text.replace("[dns]\n", setting), encoding="utf-8")


def movable(installation: Installation) -> tuple[str, str, str]:
    """A site on one node, that node, and another one."""
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    site, home = next(
        (row["site"], row["nodes"][0])
        for row in sorted(rows, key=lambda row: str(row["site"]))
        if row["nodes"] in (["n1"], ["n2"])
    )
    return site, home, "n1" if home == "n2" else "n2"


@pytest.fixture
def names(installation: Installation) -> tuple[str, list[str]]:
    """A site, and its names that nobody has in DNS yet, after a night that made them."""
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace("[dns]\n", f"[dns]\nttl = {TTL}\n").replace(
            "[safety]\n", '[safety]\nplan_expiry = "3000d"\n'
        ),
        encoding="utf-8",
    )
    assert installation.run().code == 0
    site = movable(installation)[0]
    names = [f"{label}.{installation.zone[:-1]}" for label in ("static", "old-name")]
    file = installation.folder / "aliases"
    file.write_text("".join(f"{name} {site}\n" for name in names), encoding="utf-8")
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace("[ingest]\n", '[ingest]\naliases_file = "aliases"\n'), encoding="utf-8"
    )
    follow(installation)
    assert installation.run().code == 0
    for name in names:
        assert installation.addresses(name) == installation.addresses(site)
    return site, names


def write(installation: Installation, name: str, *addresses: str) -> None:
    """As somebody does who is not FLEX."""
    update = dns.update.UpdateMessage(installation.zone)
    update.replace(f"{name}.", 60, "A", *addresses)
    with Session(installation.server.server) as session:
        assert session.ask(update, "an edit").rcode() == dns.rcode.NOERROR


def at(node: str) -> list[str]:
    return [f"192.0.2.{node[1:]}"]


def places(installation: Installation, names: list[str]) -> set[tuple[str, ...]]:
    return {tuple(installation.addresses(name)) for name in names}


@pytest.mark.slow
def test_they_move_go_back_and_leave_a_dead_node_with_their_site(
    installation: Installation, names: tuple[str, list[str]]
) -> None:
    site, others = names
    _, home, other = movable(installation)
    every = [site, *others]
    assert installation.flex("verify").code == 0
    first = installation.flex("-o", "json", "plan", "list").json["items"][0]["id"]
    assert installation.flex("sites", "pin", site, "--nodes", other).code == 0
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of())
    script = installation.flex("export", "nsupdate").out
    assert all(f"update add {name}. " in script for name in every)
    # One message has all of them.
    sent = [part for part in script.split("send\n") if f"update add {site}. " in part]
    assert [all(f"add {name}. " in part for name in others) for part in sent] == [True]
    zone = installation.flex("export", "zone").out
    assert all(f"{name}. " in zone for name in every)
    moved = {move["site"] for move in made.json["moves"]}
    assert not moved & set(others)
    assert installation.flex("apply", made.json["id"]).code == 0
    assert places(installation, every) == {tuple(at(other))}
    assert installation.flex("sites", "unpin", site).code == 0
    back = installation.flex("rollback", "--to", first, "--as-of", installation.as_of())
    assert back.code == 0, back.err
    assert places(installation, every) == {tuple(at(home))}
    assert installation.flex("nodes", "down", home).code == 0
    assert len(places(installation, every)) == 1
    assert not set(at(home)) & set(installation.addresses(others[0]))
    assert installation.flex("verify").code == 0
    told = installation.flex("-o", "json", "explain", site).json["reasons"]
    assert any(all(name in reason for name in others) for reason in told)


@pytest.mark.slow
def test_one_that_somebody_changes_is_left_and_comes_back_when_it_is_asked_for(
    installation: Installation, names: tuple[str, list[str]]
) -> None:
    site, others = names
    _, _, other = movable(installation)
    theirs, ours = others
    write(installation, theirs, "203.0.113.9")
    verified = installation.flex("-o", "json", "verify")
    assert verified.json["drift"] == 1
    assert installation.flex("sites", "pin", site, "--nodes", other).code == 0
    run = installation.run()
    assert run.code == 0, run.err
    assert installation.addresses(theirs) == ["203.0.113.9"]
    assert places(installation, [site, ours]) == {tuple(at(other))}
    assert installation.flex("verify").code == 0
    made = installation.flex(
        "-o", "json", "plan", "--as-of", installation.as_of(), "--take-back", theirs
    )
    assert made.code == 0, made.err
    assert installation.flex("apply", made.json["id"]).code == 0
    assert installation.addresses(theirs) == at(other)
    assert installation.flex("verify").code == 0


@pytest.mark.torture("--undo")
@pytest.mark.slow
@pytest.mark.parametrize("way", ["--resume", "--undo"])
def test_where_a_run_is_killed_on_the_way_they_are_where_their_site_is(
    installation: Installation, names: tuple[str, list[str]], way: str
) -> None:
    site, others = names
    _, home, other = movable(installation)
    every = [site, *others]
    text = installation.settings.read_text(encoding="utf-8")
    gentle = text.replace("[dns]\n", "[dns]\nmake_before_break = true\nwaves = [0.01]\n")
    installation.settings.write_text(gentle, encoding="utf-8")
    assert installation.flex("sites", "pin", site, "--nodes", other).code == 0
    waiting = installation.process("run", "--as-of", installation.as_of())
    assert waiting.stdout is not None
    assert any("to learn of it" in line for line in waiting.stdout)
    assert places(installation, every) in ({tuple(sorted(at(home) + at(other)))}, {tuple(at(home))})
    waiting.kill()
    waiting.communicate(timeout=300)
    ended = installation.flex("apply", way)
    assert ended.code == 0, ended.err
    assert len(places(installation, every)) == 1
    if way == "--undo":
        assert places(installation, every) == {tuple(at(home))}


@pytest.mark.slow
def test_names_of_virtual_hosts_are_made_and_go_along(installation: Installation) -> None:
    installation.first_night()
    site = movable(installation)[0]
    name = f"img.{installation.zone[:-1]}"
    (installation.folder / "hosts").write_text(
        f"server {{ server_name {site} *.{site} {name}; }}\n", encoding="utf-8"
    )
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace("[ingest]\n", '[ingest]\nvhosts = ["hosts"]\n'), encoding="utf-8"
    )
    assert installation.addresses(name) == []
    follow(installation)
    assert installation.run().code == 0
    assert installation.addresses(name) == installation.addresses(site)
    doctor = installation.flex("-o", "json", "doctor").json["checks"]
    rows = {row["name"]: row for row in doctor}
    assert rows["names in files"]["state"] == "ok"
    assert "go along with them" in rows["other names"]["detail"]
