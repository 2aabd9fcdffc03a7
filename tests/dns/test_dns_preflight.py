"""Before the first night: everything that would go wrong is found, and nothing is changed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from flex_dns.bind import update_policy
from flex_dns.key import Key, make_key
from flex_dns.named import PrivateNamed
from flex_dns.pair import pair
from flex_dns.preflight import Check, accepted, preflight
from flex_dns.rfc2136 import Rfc2136Target

pytestmark = pytest.mark.real


def states(checks: Iterable[Check]) -> dict[str, str]:
    return {check.name: check.state for check in checks}


ALL_GOOD = dict.fromkeys(
    ["TCP", "UDP", "key", "clock", "zone", "transfer", "addresses", "markers", "own name", "signing"], "ok"
)


def test_a_good_server_passes_and_stays_as_it_was(real: Rfc2136Target, zone: str) -> None:
    assert states(preflight(real.server, zone)) == ALL_GOOD
    assert real.read(zone, []).serial == 1


def test_a_key_without_rights_is_found(real: Rfc2136Target, zone: str, reader: Key) -> None:
    checks = preflight(replace(real.server, key=reader), zone)
    assert states(checks) == {**ALL_GOOD, "addresses": "fail", "markers": "fail", "own name": "warn"}
    assert "grant reader zonesub A AAAA;" in next(check.advice for check in checks if check.name == "markers")


def test_a_server_without_transfers_is_a_warning(folder: Path, key: Key) -> None:
    with PrivateNamed(folder, ["hosting.example."], key, transfers=False) as own:
        checks = preflight(own.server, "hosting.example.")
    assert states(checks) == {**ALL_GOOD, "transfer": "warn"}


def test_clocks_that_drift_are_a_warning_and_clocks_far_apart_a_failure(real: Rfc2136Target, zone: str) -> None:
    assert states(preflight(real.server, zone, lambda: time.time() + 100))["clock"] == "warn"
    far = preflight(real.server, zone, lambda: time.time() + 1000)
    assert far[-1].name == "key"
    assert "its clock is" in far[-1].detail


def test_nothing_is_checked_behind_a_closed_port(real: Rfc2136Target, zone: str, free_port: int) -> None:
    assert states(preflight(replace(real.server, port=free_port), zone)) == {"TCP": "fail"}


def test_an_unknown_key_is_found(real: Rfc2136Target, zone: str) -> None:
    checks = preflight(replace(real.server, key=make_key("stranger")), zone)
    assert states(checks) == {"TCP": "ok", "UDP": "ok", "key": "fail"}


def test_a_zone_that_is_not_served_is_found(real: Rfc2136Target) -> None:
    assert states(preflight(real.server, "unknown.example."))["zone"] == "fail"


SIGNED = "type primary;\ndnssec-policy default;\ninline-signing {};\n"


@pytest.mark.parametrize(("inline", "state"), [("no", "ok"), ("yes", "fail")])
def test_a_zone_that_is_signed_beside_itself_is_found(folder: Path, key: Key, inline: str, state: str) -> None:
    """It can serve old records for minutes after many changes at once."""
    zone = "hosting.example."
    clause = SIGNED.format(inline) + update_policy(zone, key.name)
    with PrivateNamed(folder, [zone], key, clause=clause) as own:
        checks = until_signed(own, zone)
    assert states(checks) == {**ALL_GOOD, "signing": state}
    said = next(check for check in checks if check.name == "signing")
    assert "in place" in said.detail if inline == "no" else "inline-signing no;" in said.advice


def until_signed(own: PrivateNamed, zone: str) -> tuple[Check, ...]:
    """A server signs its zone a moment after it came up."""
    while True:
        checks = preflight(own.server, zone)
        if checks[-1].detail != "the zone is not signed":
            return checks


def test_a_secondary_that_is_there_and_one_that_is_not(folder: Path, key: Key, free_port: int) -> None:
    zone = "hosting.example."
    with pair(folder, [zone], key) as (primary, secondary):
        others = (primary.server.address, secondary.server.address, ("127.0.0.1", free_port))
        checks = preflight(replace(primary.server, timeout=0.5), zone, others=others)
    assert [check.state for check in checks if check.name.startswith("server ")] == ["ok", "fail"]


def test_while_keys_change_the_one_that_the_server_knows_is_used(real: Rfc2136Target, zone: str) -> None:
    old, new = (replace(real.server, key=one) for one in (real.server.key, make_key("flex-2027")))
    assert accepted([new, old], [zone]) == old
    assert accepted([old, new], [zone]) == old
    # With none of them the first one's trouble is what is told.
    assert accepted([new, new], [zone]) == new


def test_whatever_fails_has_advice_and_shows_no_secret(real: Rfc2136Target, zone: str, free_port: int) -> None:
    for server in (replace(real.server, key=make_key("flex")), replace(real.server, port=free_port)):
        for check in preflight(server, zone):
            assert (check.state == "ok") == (not check.advice)
            assert server.key.secret not in repr(check)
