"""What is exported says what would be sent; where there is a tool at hand, it is given to it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import dns.rcode
import dns.update
import dns.zone
import pandas as pd
import pytest

from flex.frame_schemas import RECORDS
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.zones.marker import marker_name, marker_text
from flex_dns.exports import EXPORTS, ZoneToExport, wanted_zone
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.update import fence
from flex_dns.update.change_messages import Claim
from flex_dns.wire.key import Key
from flex_dns.wire.session import Session
from tests.dns.conftest import Edit
from tests.dns.given import placed

OWNER = "flex-eu1"


def example(zone: str) -> ZoneToExport:
    """One name that is new, of two types, and the apex, which moved."""
    www = f"www.{zone}"
    rows = [
        (www, "A", 60, "192.0.2.1"),
        (www, "AAAA", 60, "2001:db8::1"),
        (zone, "A", 60, "192.0.2.2"),
    ]
    changes = (
        Change(None, Rrset(www, "A", 60, ("192.0.2.1",))),
        Change(None, Rrset(www, "AAAA", 60, ("2001:db8::1",))),
        Change(None, Rrset(marker_name(www, zone), "TXT", 60, (marker_text(OWNER),))),
        Change(Rrset(zone, "A", 60, ("192.0.2.1",)), Rrset(zone, "A", 60, ("192.0.2.2",))),
    )
    return wanted_zone(
        ZonePlan(zone, changes),
        RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns))),
        Claim(OWNER),
        60,
    )


@pytest.mark.real
def test_nsupdate_does_what_we_would_and_refuses_what_we_would(
    named: PrivateNamed, real: Rfc2136Publisher, zone: str, tmp_path: Path
) -> None:
    changes = example(zone).zone_plan.changes
    assert "NXRRSET" in nsupdate(named, tmp_path, example(zone)).stderr
    real.apply(ZonePlan(zone, placed(zone, zone, "192.0.2.1")))
    assert nsupdate(named, tmp_path, example(zone)).returncode == 0
    serial = real.read(zone, []).serial
    real.apply(ZonePlan(zone, changes))
    assert real.read(zone, []).serial == serial


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("www._flex.", marker_text("somebody-else")),
        ("_controller._flex.", fence.fence_text("somebody else")),
    ],
    ids=["name", "zone"],
)
def test_nsupdate_changes_nothing_of_what_is_somebody_elses_by_now(
    named: PrivateNamed,
    real: Rfc2136Publisher,
    zone: str,
    tmp_path: Path,
    edit_real: Edit,
    name: str,
    text: str,
) -> None:
    www, claim = f"www.{zone}", Claim(OWNER, "us")
    move = Change(Rrset(www, "A", 60, ("192.0.2.1",)), Rrset(www, "A", 60, ("192.0.2.2",)))
    first = wanted_zone(ZonePlan(zone, placed(zone, www, "192.0.2.1")), RECORDS.empty(), claim, 60)
    then = wanted_zone(ZonePlan(zone, (move,)), RECORDS.empty(), claim, 60)
    script = nsupdate(named, tmp_path, replace(first, is_free=True))
    assert (script.returncode, set(real.read(zone, [www]).owned)) == (0, {www})
    edit_real(name + zone, "TXT", [f'"{text}"'])
    assert "NXRRSET" in nsupdate(named, tmp_path, then).stderr
    assert real.read(zone, [www]).records["value"].tolist() == ["192.0.2.1"]


def nsupdate(
    named: PrivateNamed, folder: Path, of: ZoneToExport
) -> subprocess.CompletedProcess[str]:
    script, key = folder / "script", folder / "key"
    key.touch(mode=0o600)
    key.write_text(named.key.clause())
    script.write_text(f"server 127.0.0.1 {named.port}\n{EXPORTS['nsupdate']([of])}")
    return subprocess.run(
        ["nsupdate", "-k", str(key), str(script)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_zone_lines_are_those_of_a_zone_file() -> None:
    text = EXPORTS["zone"]([example("hosting.example.")])
    found = dns.zone.from_text(text, "hosting.example.", check_origin=False)
    assert sorted(found.to_text().splitlines()) == [
        "@ 60 IN A 192.0.2.2",
        '_flex 60 IN TXT "flex owner=flex-eu1"',
        "www 60 IN A 192.0.2.1",
        "www 60 IN AAAA 2001:db8::1",
        'www._flex 60 IN TXT "flex owner=flex-eu1"',
    ]
    assert "; - hosting.example. 60 A 192.0.2.1\n; + hosting.example. 60 A 192.0.2.2\n" in text


def test_octodns_has_names_below_the_zone_with_their_types() -> None:
    text = EXPORTS["octodns"]([example("hosting.example.")])
    assert text.startswith(
        '---\n# hosting.example.\n"":\n  - ttl: 60\n    type: A\n    values:\n      - "192.0.2.2"\n'
    )
    assert (
        '"www":\n  - ttl: 60\n    type: A\n    values:\n      - "192.0.2.1"\n  - '
        "ttl: 60\n    type: AAAA\n" in text
    )


def test_octodns_has_keys_in_the_order_that_it_enforces() -> None:
    """The natural one of names, the plain one of what is below them."""
    zone = "hosting.example."
    rows = [
        (f"{name}.{zone}", "A", 60, "192.0.2.1")
        for name in ("site10", "site2", "b.1a", "10", "2", "*.x")
    ]
    records = RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
    text = EXPORTS["octodns"]([wanted_zone(ZonePlan(zone, ()), records, Claim(OWNER), 60)])
    keys = [line.strip('":') for line in text.splitlines() if line.startswith('"')]
    assert [key for key in keys if "_flex" not in key] == [
        "2",
        "10",
        "*.x",
        "b.1a",
        "site2",
        "site10",
    ]


def test_dnscontrol_extends_the_domain() -> None:
    text = EXPORTS["dnscontrol"]([example("hosting.example.")])
    assert text == (
        'D_EXTEND("hosting.example",\n'
        '  A("@", "192.0.2.2", TTL(60)),\n'
        '  A("www", "192.0.2.1", TTL(60)),\n'
        '  AAAA("www", "2001:db8::1", TTL(60)),\n'
        '  TXT("_flex", "flex owner=flex-eu1", TTL(60)),\n'
        '  TXT("www._flex", "flex owner=flex-eu1", TTL(60))\n'
        ");\n"
    )


def test_hosts_have_addresses_and_names() -> None:
    assert EXPORTS["hosts"]([example("hosting.example.")]) == (
        "192.0.2.2 hosting.example\n192.0.2.1 www.hosting.example\n2001:db8::1 "
        "www.hosting.example\n"
    )


LEADING_AWAY = (
    ("c1.", "NS", "ns.other.example."),
    ("c1.", "DNAME", "other.example."),
    ("www.c1.", "NS", "ns.other.example."),
    ("www.c1._flex.", "CNAME", "x.other.example."),
    ("c1._flex.", "NS", "ns.other.example."),
    ("_flex.", "DNAME", "other.example."),
)
OPEN_ZONES = tuple(f"l{number}.example." for number in range(2 * len(LEADING_AWAY)))


@pytest.fixture(scope="module")
def open_named(key: Key) -> Iterator[PrivateNamed]:
    """Its key may write all types, as an operator's own may."""
    made = Path(tempfile.mkdtemp(prefix="flex-"))
    clause = f"type primary;\nallow-update {{ key {key.name}; }};\n"
    with PrivateNamed(made, OPEN_ZONES, key, clause=clause) as running:
        yield running
    shutil.rmtree(made)


@pytest.mark.real
@pytest.mark.parametrize(
    ("zone", "led", "is_new"),
    [
        (zone, led, is_new)
        for zone, (led, is_new) in zip(
            OPEN_ZONES, product(LEADING_AWAY, (True, False)), strict=True
        )
    ],
)
def test_nsupdate_writes_nothing_where_somebody_else_leads_away(
    open_named: PrivateNamed, zone: str, led: tuple[str, str, str], is_new: bool, tmp_path: Path
) -> None:
    real, (name, kind, value) = Rfc2136Publisher(open_named.server, OWNER), led
    www = f"www.c1.{zone}"
    changes: tuple[Change, ...] = placed(zone, www, "192.0.2.1")
    theirs = dns.update.UpdateMessage(zone)
    if not is_new:
        real.apply(ZonePlan(zone, changes))
        before = Rrset(www, "A", 60, ("192.0.2.1",))
        changes = (Change(before, replace(before, values=("192.0.2.2",))),)
        if kind == "CNAME":
            theirs.delete(name + zone, "TXT")
    theirs.replace(name + zone, 60, kind, value)
    with Session(open_named.server) as session:
        assert session.ask(theirs, "a foreign edit").rcode() == dns.rcode.NOERROR
    serial = real.read(zone, []).serial
    script = wanted_zone(ZonePlan(zone, changes), RECORDS.empty(), Claim(OWNER), 60)
    assert "RRSET" in nsupdate(open_named, tmp_path, script).stderr
    assert real.read(zone, []).serial == serial


@pytest.mark.real
def test_a_script_of_many_deep_names_is_sent_in_messages_that_fit(
    named: PrivateNamed, real: Rfc2136Publisher, zone: str, tmp_path: Path
) -> None:
    deep = ".".join("abcdefghij")
    names = [f"s{number}.{number}x.{deep}.{zone}" for number in range(400)]
    changes = [change for name in names for change in placed(zone, name, "192.0.2.1")]
    script = wanted_zone(ZonePlan(zone, tuple(changes)), RECORDS.empty(), Claim(OWNER), 60)
    done = nsupdate(named, tmp_path, script)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(real.read(zone, names).owned) == set(names)
