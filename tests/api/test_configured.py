"""What `flex config named` and `flex config knot` print is what the servers take: FLEX can do its
work, and no more.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import dns.message
import dns.rcode
import dns.rdatatype
import dns.update
import pytest

from flex.errors import Refused
from flex.model.zone_plan import ZonePlan
from flex.store import migrate
from flex_api import cli, first_files
from flex_dns.private.find_named import SYSTEM_PATH
from flex_dns.private.private_named import LOOPBACK, PrivateNamed, free_port, zone_file
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.server_configuration.named_conf_lines import PRIMARY_OPTIONS
from flex_dns.wire.key import make_key, read_key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from tests import knotd
from tests.dns.given import placed

if TYPE_CHECKING:
    from tests.api.conftest import Said

    Flex = Callable[..., Said]

OUTER, INNER, OWN = "hosting.example.", "sub.hosting.example.", "own.example."
ZONES = (OUTER, INNER, OWN)
# In the zone of its own, which is not the one that it serves.
SERVER_ABOVE = f"dns7.{OUTER}"
CLOSED = 1
no_knot = pytest.mark.skipif(
    not (knotd.found("knotd") and knotd.found("knotc")), reason="Knot DNS is not installed"
)


def settings(folder: Path, port: int, more: str = "") -> None:
    """Zones within zones, and a site that is called as its zone is."""
    zones = ", ".join(f'"{zone}"' for zone in ZONES)
    (folder / "sites").write_text(f"a.{OUTER}\n{OWN}\n", encoding="utf-8")
    (folder / "flex.toml").write_text(
        '[[node]]\nname = "n1"\naddresses = ["192.0.2.1"]\nram = "1 '
        'GiB"\n[ingest]\nsites_file = "sites"\n'
        f'[dns]\nserver = "{LOOPBACK}"\nport = {port}\nkey_file = '
        '"flex.key"\ntransfer_key_file = "reader.key"\n'
        f'timeout = "2s"\nzones = [{zones}]\n{more}',
        encoding="utf-8",
    )


@pytest.fixture
def folder(open_folder: Path) -> Path:
    for name in ("flex", "reader", "other"):
        path = open_folder / f"{name}.key"
        path.touch(mode=0o600)
        path.write_text(make_key(f"flex-{name}").clause(), encoding="utf-8")
    settings(open_folder, CLOSED)
    migrate.upgrade(f"sqlite:///{open_folder}/flex.db")
    return open_folder


@pytest.fixture
def flex(folder: Path, capsys: pytest.CaptureFixture[str]) -> Flex:
    from tests.api.conftest import Said

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        code = cli.run(["--config", str(folder / "flex.toml"), *arguments])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run


def server(folder: Path, port: int) -> Server:
    return Server(
        LOOPBACK, port, read_key(folder / "flex.key"), 5.0, read_key(folder / "reader.key")
    )


def zone_files(folder: Path, ending: str) -> None:
    folder.mkdir(exist_ok=True)
    above = f"{SERVER_ABOVE.removesuffix(f'.{OUTER}')} A {LOOPBACK}\nsub NS {SERVER_ABOVE}"
    for zone, more in ((OUTER, above), (INNER, f"@ NS {SERVER_ABOVE}"), (OWN, "")):
        (folder / f"{zone}{ending}").write_text(zone_file(zone, more), encoding="utf-8")


# A zone, and a change in it by itself.
NEEDED = (
    (OUTER, f"new.{OUTER}", "A", "192.0.2.9"),
    (OUTER, f"new.{OUTER}", "AAAA", "2001:db8::9"),
    (OUTER, f"new._flex.{OUTER}", "TXT", "flex owner=test"),
    (INNER, f"new.{INNER}", "A", "192.0.2.9"),
    (OWN, OWN, "A", "192.0.2.9"),
    (OWN, f"_flex.{OWN}", "TXT", "flex owner=test"),
)
UNNEEDED = (
    (OUTER, OUTER, "A", "192.0.2.9"),
    (OUTER, OUTER, "TXT", "v=spf1 -all"),
    (OUTER, OUTER, "NS", "ns.example."),
    (OUTER, f"ns1.{OUTER}", "A", "192.0.2.9"),
    (OUTER, SERVER_ABOVE, "A", "192.0.2.9"),
    (OUTER, INNER, "A", "192.0.2.9"),
    (OUTER, f"in.{INNER}", "A", "192.0.2.9"),
    (OUTER, f"new.{OUTER}", "TXT", "v=spf1 -all"),
    (OUTER, f"new.{OUTER}", "CNAME", "a.example."),
    (OUTER, f"new.{OUTER}", "MX", "10 a.example."),
    (OUTER, f"new.{OUTER}", "NS", "a.example."),
    (INNER, INNER, "AAAA", "2001:db8::9"),
    (OWN, OWN, "MX", "10 a.example."),
    (OWN, f"ns1.{OWN}", "AAAA", "2001:db8::9"),
)


def may(server: Server, zone: str, name: str, kind: str, value: str) -> bool:
    update = dns.update.UpdateMessage(zone)
    update.add(name, 60, kind, value if kind != "TXT" else f'"{value}"')
    with Session(server) as session:
        try:
            return session.ask(update, "one change").rcode() == dns.rcode.NOERROR
        except Refused:
            # Knot DNS says that it does not know the key.
            return False


def does_just_what_it_must(server: Server) -> None:
    for zone, name in ((OUTER, f"site.{OUTER}"), (INNER, f"site.{INNER}"), (OWN, f"site.{OWN}")):
        target = Rfc2136Publisher(server, "test", verify_ns=False)
        target.apply(ZonePlan(zone, placed(zone, name, "192.0.2.7", owner="test")))
        assert target.read(zone, [name]).owned == {name}
    reader = Server(server.host, server.port, server.reader or server.key)
    assert [change for change in NEEDED if not may(server, *change)] == []
    assert [change for change in UNNEEDED if may(server, *change)] == []
    assert [change for change in (*NEEDED, *UNNEEDED) if may(reader, *change)] == []


def states(doctor: Said) -> set[tuple[str, str]]:
    """What it says of zones and their rights, where that is not good."""
    of_zones = [row for row in doctor.json["checks"] if row["name"].split()[0] in ZONES]
    assert len(of_zones) > 3 * 8, of_zones
    return {
        (row["name"].split(" ", 1)[1], row["state"]) for row in of_zones if row["state"] != "ok"
    }


@pytest.mark.slow
@pytest.mark.real
def test_bind_takes_what_is_printed_and_lets_flex_do_just_what_it_must(
    folder: Path, flex: Flex
) -> None:
    zone_files(folder / "data", "db")
    for name in ("flex", "reader"):
        shutil.copy(folder / f"{name}.key", folder / "data" / f"flex-{name}.key")
    # Told nothing by a primary that is not there yet, it denies the usual names: this one has
    # another.
    settings(folder, CLOSED)
    assert SERVER_ABOVE not in flex("config", "named").out
    first = printed(flex, folder)
    with PrivateNamed(
        folder / "data", [], make_key("beside"), beside=first, options=PRIMARY_OPTIONS
    ) as named:
        settings(folder, named.port)
        second = printed(flex, folder)
        assert SERVER_ABOVE in second
        assert flex("-o", "json", "config", "named").json["items"][0]["asked"] == list(ZONES)
        port = named.port
    with PrivateNamed(
        folder / "data", [], make_key("beside"), beside=second, options=PRIMARY_OPTIONS, port=port
    ) as named:
        checkconf = shutil.which("named-checkconf") or shutil.which(
            "named-checkconf", path=SYSTEM_PATH
        )
        if checkconf:
            subprocess.run([checkconf, str(named.directory / "named.conf")], check=True)
        does_just_what_it_must(server(folder, port))
        assert states(flex("-o", "json", "doctor")) == set()


def printed(flex: Flex, folder: Path) -> str:
    text: str = flex("config", "named").out
    for name in ("flex", "reader"):
        assert read_key(folder / f"{name}.key").secret not in text
    return text.replace("/etc/bind/", f"{folder}/data/").replace(
        "/var/lib/bind/", f"{folder}/data/"
    )


@pytest.mark.slow
@no_knot
@pytest.mark.real
def test_knot_takes_what_is_printed_and_lets_flex_do_just_what_it_must(
    folder: Path, flex: Flex
) -> None:
    zone_files(folder / "data", "zone")
    with free_port() as port:
        settings(folder, port)
        first = knotd.written(folder / "data", port, flex("config", "knot").out)
        assert knotd.checked(first).returncode != 0, "a secret is missing"
        with knotd.running(knotd.written(folder / "data", port, filled(flex, folder))):
            second = filled(flex, folder)
        assert SERVER_ABOVE in second
        path = knotd.written(folder / "data", port, second)
        assert knotd.checked(path).returncode == 0
        with knotd.running(path):
            does_just_what_it_must(server(folder, port))
            assert ("limits of the key", "warn") in states(flex("-o", "json", "doctor"))
            assert {state for _, state in states(flex("-o", "json", "doctor"))} == {"warn"}


def filled(flex: Flex, folder: Path) -> str:
    text: str = flex("config", "knot").out
    for name in ("flex", "reader"):
        secret = read_key(folder / f"{name}.key").secret
        assert secret not in text
        text = text.replace(f"FILL-IN-THE-SECRET-OF {folder / name}.key", secret)
    return text


SECOND = (
    '[[dns.primary]]\nserver = "2001:db8::53"\nkey_file = "other.key"\nverify = '
    '["192.0.2.54:5353"]\n'
    'zones = ["second.example", "deep.in.sub.hosting.example"]\n'
)


@pytest.mark.slow
def test_each_primary_gets_its_own_zones_and_keys(folder: Path, flex: Flex) -> None:
    settings(folder, CLOSED, SECOND)
    one, two = flex("-o", "json", "config", "named").json["items"]
    assert (one["zones"], two["zones"]) == (
        list(ZONES),
        ["second.example.", "deep.in.sub.hosting.example."],
    )
    assert "flex-other" not in one["text"]
    assert "flex-flex" not in two["text"]
    # Names in it are changed at the other primary, and a zone within a zone within a zone is told
    # once.
    outer, inner = (
        one["text"].split(f'zone "{zone}"')[1].split("\n};")[0] for zone in (OUTER, INNER)
    )
    assert "deny flex-flex subdomain sub.hosting.example. ANY;" in outer
    assert "deep.in" not in outer
    assert "deny flex-flex subdomain deep.in.sub.hosting.example. ANY;" in inner
    # Without a key of its own for that the one that changes zones reads them.
    assert "allow-transfer { key flex-other; };" in two["text"]
    assert "server 2001:db8::53 { tcp-only yes; };" in two["text"]
    said = flex("config", "named").out
    assert said.index("// For the name server 127.0.0.1:1 alone") < said.index(
        "// For the name server [2001:db8::53]:53"
    )
    knot = flex("-o", "json", "config", "knot").json["items"][1]["text"]
    assert "address: 192.0.2.54@5353" in knot
    assert "notify: [ flex-follower-1 ]" in knot


def test_one_zone_alone_can_be_printed_and_one_that_is_not_in_the_settings_cannot(
    folder: Path, flex: Flex
) -> None:
    settings(folder, CLOSED, SECOND)
    (only,) = flex("-o", "json", "config", "named", "--zone", "Sub.Hosting.Example").json["items"]
    assert only["zones"] == [INNER]
    assert f'zone "{OUTER}"' not in only["text"]
    refused = flex("config", "knot", "--zone", "other.example")
    assert refused.code == 3
    assert "hosting.example." in refused.err


def test_two_keys_have_the_rights_while_one_takes_the_place_of_the_other(
    folder: Path, flex: Flex
) -> None:
    with (folder / "flex.key").open("a", encoding="utf-8") as file:
        file.write(make_key("flex-next").clause())
    text = flex("config", "named", "--zone", OUTER).out
    for key in ("flex-flex", "flex-next"):
        assert f"grant {key} zonesub A AAAA;" in text
    assert text.count("include ") == 2
    assert "key: [ flex-flex, flex-next ]" in flex("config", "knot").out


def test_without_a_zone_or_a_key_it_says_what_is_missing(folder: Path, flex: Flex) -> None:
    path = folder / "flex.toml"
    whole = path.read_text(encoding="utf-8")
    path.write_text(
        whole.replace('key_file = "flex.key"\ntransfer_', "transfer_"), encoding="utf-8"
    )
    assert "key_file" in flex("config", "named").err
    path.write_text(whole.partition("[dns]")[0], encoding="utf-8")
    said = flex("config", "named")
    assert (said.code, "dns.zones" in said.err) == (3, True)


def test_what_init_writes_is_what_is_printed_for_the_zone_in_it(folder: Path, flex: Flex) -> None:
    made = folder / "made"
    first_files.write(made)
    for name in ("flex.key", "flex-transfer.key"):
        (made / name).replace(folder / name)
    text = (
        f'[dns]\nport = {CLOSED}\nkey_file = "flex.key"\ntransfer_key_file = "flex-transfer.key"\n'
    )
    (folder / "flex.toml").write_text(f'{text}zones = ["{first_files.ZONE}"]\n', encoding="utf-8")
    written = (made / "named.conf.flex").read_text(encoding="utf-8")
    assert written.partition("// In options")[2] in flex("config", "named").out
