"""What is somebody else's by now is left to him, whoever asks: a name by its marker, a zone by its
controller.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import dns.query
import dns.update
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


@pytest.fixture
def moving(installation: Installation) -> tuple[Installation, str, list[str]]:
    """A plan that waits, one of the sites that it moves, and where that is now."""
    installation.mode = "review"
    return installation, *installation.once(move_by_a_wish)


def move_by_a_wish(installation: Installation) -> tuple[str, list[str]]:
    installation.first_night()
    installation.write_settings()
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    site, home = next((row["site"], row["nodes"][0]) for row in rows if len(row["nodes"]) == 1)
    other = next(node for node in ("n1", "n2") if node != home)
    assert installation.flex("sites", "pin", site, "--nodes", other).code == 0
    assert installation.flex("plan", "--as-of", installation.as_of()).code == 0
    return site, installation.addresses(site)


def edit(installation: Installation, name: str, kind: str, value: str = "") -> None:
    update = dns.update.UpdateMessage(installation.zone, keyring=installation.server.key.signer())
    update.replace(name, 60, kind, value) if value else update.delete(name, kind)
    assert dns.query.tcp(update, "127.0.0.1", port=installation.server.port).rcode() == 0


def marker(installation: Installation, site: str) -> str:
    return f"{site}.".removesuffix(installation.zone) + f"_flex.{installation.zone}"


@pytest.mark.slow("another")
@pytest.mark.parametrize("owner", ["somebody-else", ""], ids=["another", "none"])
def test_a_name_that_is_not_ours_any_more_is_not_moved_and_is_named(
    moving: tuple[Installation, str, list[str]], owner: str
) -> None:
    installation, site, before = moving
    edit(installation, marker(installation, site), "TXT", f'"flex owner={owner}"' if owner else "")
    checked = installation.flex("verify")
    assert checked.code == 32
    assert marker(installation, site) in checked.out
    refused = installation.flex("apply", "--as-of", installation.as_of())
    assert refused.code == 30
    assert f"{site}. A" in refused.err
    assert "marker" in refused.err
    assert installation.addresses(site) == before


@pytest.mark.slow
def test_what_still_leads_to_a_dead_node_is_named(installation: Installation) -> None:
    installation.first_night()
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    theirs, excluded, *ours = (row["site"] for row in rows if row["nodes"] == ["n1"])
    edit(installation, marker(installation, theirs), "TXT", '"flex owner=somebody-else"')
    assert installation.flex("sites", "exclude", excluded).code == 0
    said = installation.flex("-o", "json", "nodes", "down", "n1")
    assert said.code == 33, said.err
    left = {row["name"]: row["reason"] for row in said.json["left"]}
    assert set(left) == {f"{theirs}.", f"{excluded}."}
    assert "somebody-else" in left[f"{theirs}."]
    assert all("192.0.2.1" not in installation.addresses(site) for site in ours)
    assert [installation.addresses(site) for site in (theirs, excluded)] == [
        ["192.0.2.1"],
        ["192.0.2.1"],
    ]
    again = installation.flex("nodes", "down", "n1")
    assert (again.code, f"leads to the dead node still: {theirs}." in again.out) == (33, True)


@pytest.mark.slow
def test_another_controller_is_kept_out_until_it_takes_the_zone_over_on_purpose(
    moving: tuple[Installation, str, list[str]],
) -> None:
    installation, site, before = moving
    (ours,) = installation.flex("-o", "json", "dns", "holders").json["items"]
    assert ours["ours"]
    edit(
        installation,
        f"_controller._flex.{installation.zone}",
        "TXT",
        '"flex controller=the other one"',
    )
    assert installation.flex("apply", "--as-of", installation.as_of()).code == 30
    assert installation.addresses(site) == before
    assert "the other one" in installation.flex("dns", "holders").out
    assert installation.flex("dns", "takeover", "--from", "nobody").code == 3
    taken = installation.flex(
        "dns", "takeover", "--from", "the other one", "--reason", "its machine is gone"
    )
    assert taken.code == 0, taken.err
    assert "this one" in taken.out
    assert "its machine is gone" in installation.flex("-o", "json", "audit").out
    assert installation.flex("apply", "--as-of", installation.as_of()).code == 0
    (now,) = installation.flex("-o", "json", "dns", "holders").json["items"]
    assert now == ours


def test_a_controller_that_moves_to_another_folder_is_the_same_one(
    installation: Installation,
) -> None:
    """A copy on another machine is not; that is what its /etc/machine-id is for."""
    installation.first_night()
    shutil.move(installation.folder / "flex.db", installation.folder / "moved.db")
    text = installation.settings.read_text(encoding="utf-8")
    database = f'schema = 1\n[database]\nurl = "sqlite:///{installation.folder}/moved.db"\n'
    installation.settings.write_text(text.replace("schema = 1\n", database, 1), encoding="utf-8")
    (still,) = installation.flex("-o", "json", "dns", "holders").json["items"]
    assert still["ours"]


def nsupdate(
    installation: Installation, folder: Path, script: str
) -> subprocess.CompletedProcess[str]:
    (folder / "script").write_text(
        f"server 127.0.0.1 {installation.server.port}\n{script}", encoding="ascii"
    )
    command = ["nsupdate", "-k", str(installation.folder / "flex.key"), str(folder / "script")]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("what", ["marker", "controller"])
def test_a_script_that_was_exported_changes_nothing_of_others_either(
    moving: tuple[Installation, str, list[str]], tmp_path: Path, what: str
) -> None:
    installation, site, before = moving
    script = installation.flex("export", "nsupdate").out
    names = {
        "marker": marker(installation, site),
        "controller": f"_controller._flex.{installation.zone}",
    }
    edit(
        installation,
        names[what],
        "TXT",
        f'"flex {"owner" if what == "marker" else what}=somebody-else"',
    )
    assert "NXRRSET" in nsupdate(installation, tmp_path, script).stderr
    assert installation.addresses(site) == before
    if what == "controller":
        assert installation.flex("export", "nsupdate").code == 30


@pytest.mark.slow
def test_a_plan_that_was_applied_by_hand_is_in_force_once_every_server_says_it(
    installation: Installation, tmp_path: Path
) -> None:
    installation.mode = "review"
    installation.write_settings()
    installation.night()
    script = installation.flex("export", "nsupdate").out
    early = installation.flex("apply", "--by-hand", "--as-of", installation.as_of())
    assert (early.code, "the partition in force stays" in early.err) == (30, True)
    assert nsupdate(installation, tmp_path, script).returncode == 0
    serial = installation.serial()
    assert installation.flex("apply", "--by-hand", "--as-of", installation.as_of()).code == 0
    assert installation.flex("verify").code == 0
    assert installation.serial() == serial
    assert "prereq nxrrset _controller" not in installation.flex("export", "nsupdate").out


@pytest.mark.slow
def test_a_plan_is_exported_with_its_ttl_whatever_the_settings_say_by_now(
    installation: Installation,
) -> None:
    installation.read_logs()
    assert installation.flex("plan", "--as-of", installation.as_of()).code == 0
    before = [installation.flex("export", form).out for form in ("zone", "octodns", "nsupdate")]
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(text.replace("[dns]\n", "[dns]\nttl = 77\n"), encoding="utf-8")
    assert [
        installation.flex("export", form).out for form in ("zone", "octodns", "nsupdate")
    ] == before
    assert "77" not in before[0]


@pytest.mark.slow
def test_a_zones_lines_are_in_a_file_of_their_own(
    installation: Installation, tmp_path: Path
) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    two = text.replace(
        f'zones = ["{installation.zone}"]', f'zones = ["{installation.zone}", "z0.example."]'
    )
    installation.settings.write_text(two, encoding="utf-8")
    installation.read_logs()
    assert installation.flex("plan", "--as-of", installation.as_of()).code == 0
    refused = installation.flex("export", "zone")
    assert (refused.code, "--to DIR" in refused.err) == (3, True)
    alone = installation.flex("export", "zone", "--zone", installation.zone).out
    assert alone.startswith(f"; {installation.zone}\n")
    assert "; z0.example." not in alone
    assert installation.flex("export", "zone", "--to", str(tmp_path / "out")).code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        [f"{installation.zone}zone", "z0.example.zone"]
    )
    assert (tmp_path / "out" / f"{installation.zone}zone").read_text() == alone
    assert installation.flex("export", "zone", "--zone", "nobodys.example").code == 3
