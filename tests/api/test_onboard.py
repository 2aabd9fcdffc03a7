"""`flex onboard`: from a machine's files to a plan on paper, and no site is said to be movable that
is not.
"""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dns.message
import dns.rrset
import jsonschema
import pytest

from flex.errors import BadInput, BadSetting, NoData
from flex.store import open_store
from flex_api import cli
from flex_api.onboarding.onboard import MOST_QUESTIONS, Wanted, onboard
from flex_api.schemas.onboard_output import OnboardOutput
from flex_api.settings import file as config
from flex_dns.private.private_named import LOOPBACK, PrivateNamed
from flex_dns.wire.key import Key, make_key
from tests.api.test_assess import combined, line
from tests.panel_trees import EVERY, PANELS, SECRET, Hosted, put, some_sites

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 3, 3, 2, tzinfo=UTC)
DAY = datetime(2026, 3, 2, tzinfo=UTC)
ZONE, STALE = "hosting.example.", "stale.example."
N1, N2, STRANGER = "192.0.2.11", "192.0.2.12", "203.0.113.9"
# What every site of the zone has, but for those named below.
BOTH = (0, 5, 6, 7, 8, 9)
RECORDS = "".join(
    f"s{n} A {N1}\ns{n} A {N2}\nwww.s{n} CNAME s{n}\nmail.s{n} A {N1}\n" for n in BOTH
)
# s1 has the mail, s2 is elsewhere, s3 half, s4 an alias, s10 is delegated, s11 has no record.
RECORDS += (
    f"@ MX 10 s1\ns1 A {N1}\ns2 A {STRANGER}\ns3 A {N1}\ns3 A {STRANGER}\n"
    f"s4 CNAME www.elsewhere.example.\ns10 NS ns.elsewhere.example.\nwww.s9.extra A {STRANGER}\n"
)
WAYS = {
    **{f"s{n}.hosting.example": "dns" for n in (*BOTH, 11)},
    "s1.hosting.example": "doors",
    **{f"s{n}.hosting.example": "nothing" for n in (2, 3, 4, 10)},
    "customer.example": "nothing",
    "shop.stale.example": "nothing",
    "half.stale.example": "nothing",
}
SITES = [
    *some_sites(12),
    Hosted("customer.example", "c", ("www.customer.example",)),
    Hosted("shop.stale.example", "s", ("www.shop.stale.example",)),
    Hosted("half.stale.example", "h", ("www.half.stale.example",)),
]


@dataclass(frozen=True, slots=True)
class Servers:
    """`world` is asked as visitors ask: it has the zone, and another idea of who serves the stale
    one.
    """

    primary: PrivateNamed
    world: PrivateNamed
    reader: Path
    no_reader: Path

    @property
    def options(self) -> dict[str, str]:
        return {
            "primary": f"{LOOPBACK}:{self.primary.port}",
            "resolver": f"{LOOPBACK}:{self.world.port}",
            "key_file": str(self.reader),
        }


def key_file(folder: Path, key: Key) -> Path:
    path = folder / f"{key.name}.key"
    path.touch(mode=0o600)
    path.write_text(key.clause(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    folder = Path(tempfile.mkdtemp(prefix="flex-onboard-"))
    folder.chmod(0o755)
    key, reader = make_key("flex"), make_key("reader")
    stale = f"shop A {N1}\nhalf A {N1}\n"
    # The world has it from somebody else: another name server, other addresses.
    elsewhere = f"shop A {STRANGER}\nhalf A {N1}\nhalf A {STRANGER}\n"
    with (
        PrivateNamed(
            folder / "primary",
            [ZONE, STALE],
            key,
            records={ZONE: RECORDS, STALE: stale},
            readers=[reader],
            apart=True,
        ) as primary,
        PrivateNamed(
            folder / "world", [ZONE, STALE], key, records={ZONE: RECORDS, STALE: elsewhere}
        ) as world,
    ):
        yield Servers(primary, world, key_file(folder, reader), key_file(folder, key))
    shutil.rmtree(folder, ignore_errors=True)


class FakeWorld:
    """A resolver that says what a test wants, for what no real server can be made to say here."""

    def __init__(self, *answers: str) -> None:
        self._answers = answers
        self._socket = socket.socket(type=socket.SOCK_DGRAM)
        self._socket.bind((LOOPBACK, 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"{LOOPBACK}:{self._socket.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._socket.sendto(b"end", self._socket.getsockname())
        self._thread.join(60)
        self._socket.close()

    def _serve(self) -> None:
        while (received := self._socket.recvfrom(65535))[0] != b"end":
            asked = dns.message.from_wire(received[0])
            answer = dns.message.make_response(asked)
            for text in self._answers:
                name, ttl, kind, data = text.split(" ")
                rrset = dns.rrset.from_text(name, int(ttl), "IN", kind, data)
                if (rrset.name, rrset.rdtype) == (asked.question[0].name, asked.question[0].rdtype):
                    answer.answer.append(rrset)
            self._socket.sendto(answer.to_wire(), received[1])


def wanted(folder: Path, servers: Servers, **changes: Any) -> Wanted:
    """Any: fields of Wanted of several types."""
    asked: dict[str, Any] = {
        "folder": folder / "settings",
        "tree": folder / "n1",
        "nodes": (f"n1={N1}", f"n2={N2}"),
        "ram": "1 GiB",
        "logs": str(folder / "{node}"),
        **servers.options,
    }
    return Wanted(**(asked | changes))


def found(asked: Wanted) -> OnboardOutput:
    return onboard(asked, NOW, None, lambda _: None)


def ways(output: OnboardOutput) -> dict[str, str]:
    return {one.site: one.way for one in output.sites}


def why(output: OnboardOutput, site: str) -> str:
    return next(one.why for one in output.sites if one.site == site)


def write_logs(panel: str, folder: Path, sites: Sequence[Hosted]) -> None:
    """Two nodes whose logs are a day long; every site has as many requests on each."""
    for node in ("n1", "n2"):
        for site, log in EVERY[panel](folder / node, sites).items():
            with log.open("a", encoding="utf-8") as file:
                for number in range(192):
                    at = DAY + timedelta(minutes=7.5 * number)
                    path = f"/f{number % 5}.png"
                    file.write(line(site, path, at) if panel == "Apache" else combined(path, at))


@pytest.mark.slow("DirectAdmin", "Apache", "HestiaCP", "nginx", "cPanel", "ISPConfig")
@pytest.mark.parametrize("panel", EVERY)
def test_from_the_files_of_a_panel_to_a_plan_on_paper_that_moves_only_what_can_move(
    panel: str, tmp_path: Path, servers: Servers, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs(panel, tmp_path, SITES)
    output = found(wanted(tmp_path, servers))
    assert ways(output) == WAYS
    # ISPConfig has a link to the log of today.
    each = 1 if panel == "Apache" else len(SITES) * (2 if panel in ("ISPConfig", "cPanel") else 1)
    assert output.log_files == 2 * each
    assert SECRET not in output.model_dump_json()
    settings = tmp_path / "settings/flex.toml"
    assert [Path(path) for path in output.written] == [
        settings,
        settings.with_name("sites"),
        settings.with_name("aliases"),
    ]
    here = ["--config", str(settings)]
    assert cli.run([*here, "db", "upgrade"]) == 0
    capsys.readouterr()
    assert cli.run([*here, "-o", "json", "run", "--as-of", "2026-03-03T02:00"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["exit_code"] == 0
    assert cli.run([*here, "-o", "json", "data", "--as-of", "2026-03-03T02:00"]) == 0
    data = json.loads(capsys.readouterr().out)
    # No line is lost and none counts twice, whatever links and other files lie there.
    counted = [one["lines"]["counted"] for one in data["sources"]]
    assert counted == [192 * len(SITES)] * 2
    assert not data["unread"]
    plan = Plan(here)
    movable = {site for site, way in WAYS.items() if way == "dns"}
    assert plan.moved <= movable
    assert plan.moved


@dataclass(frozen=True, slots=True)
class Plan:
    """What the plan of those settings would change in DNS."""

    here: list[str]

    @property
    def moved(self) -> set[str]:
        """The sites whose addresses change, also by another name."""
        settings = config.load(Path(self.here[1]))
        with closing(open_store(settings.database.url)) as store:
            (plan,) = store.plans(10)
            names = {
                change.name.rstrip(".")
                for one in plan.zone_plans
                for change in one.changes
                if change.type in ("A", "AAAA") and change.before
            }
        return {name.removeprefix("www.") for name in names}


@pytest.mark.parametrize(
    ("site", "words"),
    [
        ("s1.hosting.example", "take along mail for hosting.example"),
        ("s2.hosting.example", f"leads to {STRANGER}, no node's"),
        ("s3.hosting.example", f"leads to {STRANGER}, no node's"),
        ("s4.hosting.example", "CNAME to www.elsewhere.example."),
        ("s10.hosting.example", "delegated"),
        ("customer.example", "in no zone of this primary"),
        ("shop.stale.example", f"the world is led to {STRANGER}"),
        ("half.stale.example", f"the world is led to {N1}, {STRANGER}"),
    ],
)
def test_it_says_why_dns_cannot_move_a_site(
    site: str, words: str, tmp_path: Path, servers: Servers
) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", SITES)
    assert words in why(found(wanted(tmp_path, servers, dry_run=True)), site)


def test_a_zone_that_the_world_asks_of_others_moves_nothing_and_is_not_in_the_settings(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", some_sites(1))
    said = ["hosting.example. 60 NS ns.new.example.", f"s0.hosting.example. 60 A {N1}"]
    with FakeWorld(*said) as world:
        output = found(wanted(tmp_path, servers, resolver=world))
    assert ways(output) == {"s0.hosting.example": "doors"}
    assert "is asked of ns.new.example, not of this primary" in why(output, "s0.hosting.example")
    assert "zones = []" in (tmp_path / "settings/flex.toml").read_text()


@pytest.mark.slow
def test_where_nobody_can_ask_the_world_nothing_is_called_movable(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", some_sites(6))
    with socket.socket(type=socket.SOCK_DGRAM) as closed:
        closed.bind((LOOPBACK, 0))
        nobody = f"{LOOPBACK}:{closed.getsockname()[1]}"
        output = found(wanted(tmp_path, servers, resolver=nobody))
    assert set(ways(output).values()) == {"nothing"}
    assert "nobody could tell" in why(output, "s0.hosting.example")


def test_a_key_that_may_not_transfer_moves_nothing_as_nobody_knows_what_leans_on_it(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", some_sites(1))
    output = found(wanted(tmp_path, servers, key_file=str(servers.no_reader), dry_run=True))
    assert ways(output) == {"s0.hosting.example": "doors"}
    assert "what nobody knows" in why(output, "s0.hosting.example")


def test_without_primary_or_key_the_settings_are_good_for_plans_on_paper(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", some_sites(2))
    output = found(wanted(tmp_path, servers, primary="", key_file=None))
    assert set(ways(output).values()) == {"doors"}
    assert any("no primary" in one for one in output.remarks)
    assert not config.load(tmp_path / "settings/flex.toml").dns.every_zone


def test_nodes_are_found_by_the_addresses_that_sites_have(tmp_path: Path, servers: Servers) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", some_sites(9))
    output = found(wanted(tmp_path, servers, nodes=None, dry_run=True))
    addresses = {address for node in output.nodes for address in node.addresses}
    assert {N1, N2} <= addresses


def test_at_most_five_questions_are_asked_and_enter_takes_what_was_found(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", some_sites(9))
    asked: list[str] = []

    def enter(question: str, otherwise: str) -> str:
        asked.append(question)
        return otherwise

    blank = dict.fromkeys(("nodes", "ram", "logs", "primary", "key_file"))
    output = onboard(wanted(tmp_path, servers, **blank), NOW, enter, lambda _: None)
    assert len(asked) == output.questions <= MOST_QUESTIONS
    assert output.primary


def test_nothing_is_written_in_a_dry_run_and_nothing_but_the_settings_otherwise(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["Plesk"](tmp_path / "n1", some_sites(3))
    before = sorted(tmp_path.rglob("*"))
    assert not found(wanted(tmp_path, servers, dry_run=True)).written
    assert sorted(tmp_path.rglob("*")) == before
    output = found(wanted(tmp_path, servers))
    written = {tmp_path / "settings", *map(Path, output.written)}
    assert set(tmp_path.rglob("*")) - set(before) == written


def test_settings_that_are_there_stay_unless_somebody_says_otherwise(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["Plesk"](tmp_path / "n1", some_sites(3))
    put(tmp_path, "/settings/sites", "mine.example\n")
    with pytest.raises(BadInput, match="sites is there already"):
        found(wanted(tmp_path, servers))
    assert (tmp_path / "settings/sites").read_text() == "mine.example\n"
    assert not (tmp_path / "settings/flex.toml").exists()
    found(wanted(tmp_path, servers, is_replaced=True))
    assert "mine" not in (tmp_path / "settings/sites").read_text()


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["Plesk"](tmp_path / "n1", some_sites(3))
    kept = put(tmp_path, "/kept", "kept\n")
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings/sites").symlink_to(kept)
    found(wanted(tmp_path, servers, is_replaced=True))
    assert kept.read_text() == "kept\n"


def test_no_logs_at_all_still_give_settings_that_can_be_used(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["Plesk"](tmp_path / "n1", some_sites(3))
    for log in tmp_path.rglob("*_log"):
        log.unlink()
    output = found(wanted(tmp_path, servers))
    assert output.log_files == 0
    assert any("no log of n1 is there yet" in one for one in output.remarks)
    assert len(config.load(tmp_path / "settings/flex.toml").ingest.source) == 2


def test_where_nothing_is_hosted_one_line_says_so(tmp_path: Path, servers: Servers) -> None:
    with pytest.raises(NoData, match="no virtual host and no panel") as refused:
        found(wanted(tmp_path, servers))
    assert "--vhosts" in refused.value.advice
    assert not (tmp_path / "settings").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": ("n1=",)}, "no address"),
        ({"nodes": (f"n1={N1}", f"n1={N2}")}, "one name"),
        ({"nodes": (f"n1={N1}", f"n2={N1}")}, "two nodes have the address"),
        ({"nodes": ("nobody.hosting.example",)}, "no address"),
        ({"nodes": ("a b=192.0.2.1",)}, "name"),
        ({"nodes": ("n1=0.0.0.0",)}, "no address that visitors could reach"),
        ({"ram": "much"}, "wanted a size"),
        ({"ram": "1 KB"}, "wanted a size"),
        ({"key_file": "/nowhere/key"}, "such file"),
    ],
)
def test_an_answer_that_cannot_be_is_one_clear_error_and_nothing_is_written(
    changes: dict[str, Any], words: str, tmp_path: Path, servers: Servers
) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", some_sites(2))
    with pytest.raises((BadInput, BadSetting)) as refused:
        found(wanted(tmp_path, servers, **changes))
    assert words in str(refused.value)
    assert not (tmp_path / "settings").exists()


def test_a_name_server_that_does_not_answer_leaves_an_answer_without_dns(
    tmp_path: Path, servers: Servers
) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", some_sites(2))
    with socket.socket() as closed:
        closed.bind((LOOPBACK, 0))
        nobody = f"{LOOPBACK}:{closed.getsockname()[1]}"
        output = found(wanted(tmp_path, servers, primary=nobody))
    assert any("DNS was not read" in one for one in output.remarks)
    assert ways(output)["s0.hosting.example"] == "doors"


def test_programs_and_people_are_told_the_same(
    tmp_path: Path, servers: Servers, capsys: pytest.CaptureFixture[str]
) -> None:
    EVERY["HestiaCP"](tmp_path / "n1", SITES)
    options = [
        "onboard",
        str(tmp_path / "settings"),
        f"--tree={tmp_path / 'n1'}",
        f"--node=n1={N1}",
        f"--node=n2={N2}",
        "--dry-run",
        *(f"--{name.replace('_', '-')}={value}" for name, value in servers.options.items()),
    ]
    assert cli.run(["-o", "json", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    schema = json.loads((ROOT / "docs/schemas/onboard.json").read_text())
    jsonschema.validate(said, schema)
    assert cli.run([*options, "--every-site"]) == 0
    text = capsys.readouterr().out
    assert f"{said['by_dns']} sites DNS can move" in text
    assert all(one["site"] in text for one in said["sites"])
    assert "Nothing was written" in text


def test_every_panel_has_a_fixture() -> None:
    from flex_logs_ingest.panels.read_hosting import PANELS as READERS

    assert set(PANELS) == set(READERS)
