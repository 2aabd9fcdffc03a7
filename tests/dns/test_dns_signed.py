"""A zone that BIND signs in place: planned, applied and verified as any other, and what it says
then validates.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import dns.message
import dns.query
import dns.rdatatype
import pandas as pd
import pytest

from flex.frame_schemas import RECORDS
from flex.model.zone_plan import ZonePlan
from flex.zones.zone_changes import diff
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.server_configuration.named_conf_lines import update_policy
from flex_dns.wire.key import Key
from tests.dns.given import placed

pytestmark = pytest.mark.real

ZONE = "hosting.example."
# It takes a moment; by then it never comes.
LOOKS, LOOK_SECONDS = 6_000, 0.02
NAMES = [f"s{number}.{ZONE}" for number in range(250)]


@pytest.fixture
def signed(folder: Path, key: Key) -> Iterator[PrivateNamed]:
    clause = (
        "type primary;\ndnssec-policy default;\ninline-signing "
        f"no;\n{update_policy(ZONE, key.name)}"
    )
    with PrivateNamed(folder, [ZONE], key, clause=clause) as running:
        yield running


def wanted(address: str) -> pd.DataFrame:
    return RECORDS.make(pd.DataFrame({"name": NAMES, "type": "A", "ttl": 60, "value": address}))


def anchor(signed: PrivateNamed, path: Path) -> Path:
    """The zone's own key, for delv to trust."""
    query = dns.message.make_query(ZONE, "DNSKEY")
    for _ in range(LOOKS):
        answer = dns.query.tcp(query, "127.0.0.1", port=signed.port, timeout=60)
        if answer.answer:
            break
        time.sleep(LOOK_SECONDS)
    else:
        pytest.fail(f"the server never had keys of {ZONE}")
    flags, protocol, algorithm, *key = answer.answer[0][0].to_text().split()
    path.write_text(
        f'trust-anchors {{ "{ZONE}" static-key {flags} {protocol} {algorithm} '
        f'"{"".join(key)}"; }};\n'
    )
    return path


def delv(signed: PrivateNamed, trusted: Path, name: str) -> str:
    at = ["@127.0.0.1", "-p", str(signed.port), "-a", str(trusted), f"+root={ZONE}"]
    return subprocess.run(
        ["delv", *at, name, "A"], check=False, capture_output=True, text=True, timeout=300
    ).stdout


def test_a_signed_zone_is_changed_verified_and_validates(
    signed: PrivateNamed, tmp_path: Path
) -> None:
    target, trusted = (Rfc2136Publisher(signed.server, "flex"), anchor(signed, tmp_path / "anchor"))
    for address in ("192.0.2.1", "192.0.2.2"):
        zone_plan = diff(
            ZONE, wanted(address), target.read(ZONE, NAMES), owner="flex", ttl=60, left_alone={}
        )
        target.apply(zone_plan)
        assert all(verdict.agrees for verdict in target.verify(ZONE, wanted(address), patience=10))
        said = delv(signed, trusted, NAMES[7])
        assert "; fully validated" in said
        assert address in said


def test_a_second_apply_leaves_a_signed_zone_alone(signed: PrivateNamed, tmp_path: Path) -> None:
    anchor(signed, tmp_path / "anchor")
    target = Rfc2136Publisher(signed.server, "flex")
    zone_plan = ZonePlan(ZONE, placed(ZONE, NAMES[0], "192.0.2.1", owner="flex"))
    target.apply(zone_plan)
    target.apply(zone_plan)
    assert target.read(ZONE, NAMES).records["value"].tolist() == ["192.0.2.1"]
