"""Before the first night: everything that would go wrong is found, and nothing is changed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from flex.frame_schemas import RECORDS
from flex_dns.preflight import PreflightResult
from flex_dns.preflight.primary_check import ExpectedOfPrimary, choose_key, preflight
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.server_configuration.named_conf_lines import update_policy
from flex_dns.wire.key import Key, make_key
from tests.primary_and_secondary import pair

pytestmark = pytest.mark.real


def states(checks: Iterable[PreflightResult]) -> dict[str, str]:
    return {check.name: check.state for check in checks}


# It takes a moment; by then it never comes.
LOOKS, LOOK_SECONDS = 6_000, 0.02
ALL_GOOD = dict.fromkeys(
    [
        *("TCP", "UDP", "key", "clock", "zone", "transfer"),
        *("addresses", "markers", "limits of the key", "own name", "signing"),
    ],
    "ok",
)


def test_a_good_server_passes_and_stays_as_it_was(real: Rfc2136Publisher, zone: str) -> None:
    assert states(preflight(real.server, zone, wanted=ExpectedOfPrimary(own_name=True))) == ALL_GOOD
    assert real.read(zone, []).serial == 1


def test_a_key_without_rights_is_found(real: Rfc2136Publisher, zone: str, reader: Key) -> None:
    checks = preflight(replace(real.server, key=reader), zone)
    assert states(checks) == {**ALL_GOOD, "addresses": "fail", "markers": "fail"}
    assert "grant reader zonesub A AAAA;" in next(
        check.advice for check in checks if check.name == "markers"
    )


def test_a_server_without_transfers_is_a_warning(folder: Path, key: Key) -> None:
    with PrivateNamed(folder, ["hosting.example."], key, transfers=False) as own:
        checks = preflight(own.server, "hosting.example.")
    assert states(checks) == {**ALL_GOOD, "transfer": "warn"}


def test_clocks_that_drift_are_a_warning_and_clocks_far_apart_a_failure(
    real: Rfc2136Publisher, zone: str
) -> None:
    assert states(preflight(real.server, zone, lambda: time.time() + 100))["clock"] == "warn"
    far = preflight(real.server, zone, lambda: time.time() + 1000)
    assert far[-1].name == "key"
    assert "its clock is" in far[-1].detail


def test_nothing_is_checked_behind_a_closed_port(
    real: Rfc2136Publisher, zone: str, free_port: int
) -> None:
    assert states(preflight(replace(real.server, port=free_port), zone)) == {"TCP": "fail"}


def test_an_unknown_key_is_found(real: Rfc2136Publisher, zone: str) -> None:
    checks = preflight(replace(real.server, key=make_key("stranger")), zone)
    assert states(checks) == {"TCP": "ok", "UDP": "ok", "key": "fail"}


def test_a_zone_that_is_not_served_is_found(real: Rfc2136Publisher) -> None:
    assert states(preflight(real.server, "unknown.example."))["zone"] == "fail"


SIGNED = "type primary;\ndnssec-policy default;\ninline-signing {};\n"


@pytest.mark.parametrize(("inline", "state"), [("no", "ok"), ("yes", "fail")])
def test_a_zone_that_is_signed_beside_itself_is_found(
    folder: Path, key: Key, inline: str, state: str
) -> None:
    """It can serve old records for minutes after many changes at once."""
    zone = "hosting.example."
    clause = SIGNED.format(inline) + update_policy(zone, key.name)
    with PrivateNamed(folder, [zone], key, clause=clause) as own:
        checks = until_signed(own, zone)
    assert states(checks) == {**ALL_GOOD, "signing": state}
    said = next(check for check in checks if check.name == "signing")
    assert "in place" in said.detail if inline == "no" else "inline-signing no;" in said.advice


def until_signed(own: PrivateNamed, zone: str) -> tuple[PreflightResult, ...]:
    """A server signs its zone a moment after it came up."""
    for _ in range(LOOKS):
        checks = preflight(own.server, zone)
        if checks[-1].detail != "the zone is not signed":
            return checks
        time.sleep(LOOK_SECONDS)
    return pytest.fail(f"the server never signed {zone}")


def test_a_secondary_that_is_there_and_one_that_is_not(
    folder: Path, key: Key, free_port: int
) -> None:
    zone = "hosting.example."
    with pair(folder, [zone], key) as (primary, secondary):
        others = (primary.server.address, secondary.server.address, ("127.0.0.1", free_port))
        checks = preflight(
            replace(primary.server, timeout=5), zone, wanted=ExpectedOfPrimary(others)
        )
    assert [check.state for check in checks if check.name.startswith("server ")] == ["ok", "fail"]


@pytest.mark.slow
@pytest.mark.parametrize("hints", [False, True])
def test_a_key_that_can_do_more_than_it_needs_is_found_by_trying(
    folder: Path, key: Key, hints: bool
) -> None:
    """Nothing is changed by it: what is taken away is not there."""
    zone, lines = (
        "hosting.example.",
        "@ NS dns.hosting.example.\ndns A 127.0.0.1\n@ A 192.0.2.7\n",
    )
    wide = f"type primary;\nupdate-policy {{ grant {key.name} zonesub ANY; }};\n"
    with PrivateNamed(folder / "wide", [zone], key, records={zone: lines}, clause=wide) as own:
        server = replace(own.server, hints=hints)
        found = {check.name: check for check in preflight(server, zone)}
        target = Rfc2136Publisher(own.server, "flex")
        assert (target.read(zone, []).serial, found["own name"].state) == (1, "fail")
        limits = found["limits of the key"]
        for said in (
            f"NS of {zone}",
            f"MX of {zone}",
            "CNAME of any name",
            f"A of dns.{zone}",
            f"AAAA of ns1.{zone}",
            f"SVCB of dns.{zone}" if hints else "HTTPS of any name",
        ):
            assert said in limits.detail
    mended = f"type primary;\n{limits.advice.partition(chr(10))[2]}"
    with PrivateNamed(folder / "mended", [zone], key, records={zone: lines}, clause=mended) as own:
        server = replace(own.server, hints=hints)
        states_of = states(preflight(server, zone))
        assert (states_of["limits of the key"], states_of["own name"]) == ("ok", "ok")
        called_so = {
            check.name: check
            for check in preflight(server, zone, wanted=ExpectedOfPrimary(own_name=True))
        }
        assert called_so["own name"].state == "fail"
        assert "take `deny" in called_so["own name"].advice


NOBODY_THERE = "@ NS ns2\nns2 A 127.0.0.9\n"


def test_a_name_server_of_the_zone_that_does_not_answer_or_is_not_asked_is_told(
    folder: Path, key: Key
) -> None:
    zone = "hosting.example."
    with PrivateNamed(folder, [zone], key, records={zone: NOBODY_THERE}) as own:
        server = replace(own.server, timeout=5)
        silent = {check.name: check for check in preflight(server, zone)}[f"name server ns2.{zone}"]
        assert (silent.state, "dns.verify_ns = false" in silent.advice) == ("warn", True)
        named = ExpectedOfPrimary(verified=[server.address])
        unasked = {check.name: check for check in preflight(server, zone, wanted=named)}[
            f"name server ns2.{zone}"
        ]
        assert (unasked.state, f"127.0.0.9:{own.port}" in unasked.advice) == ("warn", True)


def test_every_name_server_of_the_zone_is_verified_where_none_are_named(
    folder: Path, key: Key
) -> None:
    zone = "hosting.example."
    wanted = RECORDS.make(
        pd.DataFrame([(f"ns2.{zone}", "A", 60, "127.0.0.9")], columns=list(RECORDS.columns))
    )
    with PrivateNamed(folder, [zone], key, records={zone: NOBODY_THERE}) as own:
        target = Rfc2136Publisher(replace(own.server, timeout=5), "flex", verify_ns=True)
        here, there = target.verify(zone, wanted)
        assert (here.agrees, here.server) == (True, f"127.0.0.1:{own.port}")
        assert (there.agrees, there.server) == (False, f"127.0.0.9:{own.port}")
        assert "127.0.0.9" in there.error
        (alone,) = replace(target, verify_ns=False).verify(zone, wanted)
        assert alone.agrees


def test_a_secondary_that_the_zone_names_is_asked_too(folder: Path, key: Key) -> None:
    """Both at one port, as name servers are."""
    zone = "hosting.example."
    lines = {zone: "@ NS ns2\nns2 A 127.0.0.2\nwww A 192.0.2.1\n"}
    behind = {zone: "@ NS ns2\nns2 A 127.0.0.2\nwww A 192.0.2.9\n"}
    wanted = RECORDS.make(
        pd.DataFrame([(f"www.{zone}", "A", 60, "192.0.2.1")], columns=list(RECORDS.columns))
    )
    with (
        PrivateNamed(folder / "1", [zone], key, records=lines) as one,
        PrivateNamed(folder / "2", [zone], key, records=behind) as other,
        passing_on(("127.0.0.2", one.port), other.server.address),
    ):
        here, there = Rfc2136Publisher(one.server, "flex", verify_ns=True).verify(zone, wanted)
    assert (here.agrees, there.agrees, there.error) == (True, False, "")
    assert [change.name for change in there.wrong] == [f"www.{zone}"]


@contextmanager
def passing_on(at: tuple[str, int], to: tuple[str, int]) -> Iterator[None]:
    """Questions by UDP at one address, answered from another."""
    with (
        socket.socket(type=socket.SOCK_DGRAM) as asked,
        socket.socket(type=socket.SOCK_DGRAM) as answering,
    ):
        asked.bind(at)
        answering.connect(to)
        thread = threading.Thread(target=_pass_on, args=(asked, answering))
        thread.start()
        try:
            yield
        finally:
            with socket.socket(type=socket.SOCK_DGRAM) as ending:
                ending.sendto(b"", at)
            thread.join()


def _pass_on(asked: socket.socket, answering: socket.socket) -> None:
    while True:
        question, peer = asked.recvfrom(4096)
        if not question:
            return
        answering.send(question)
        asked.sendto(answering.recv(65535), peer)


def test_while_keys_change_the_one_that_the_server_knows_is_used(
    real: Rfc2136Publisher, zone: str
) -> None:
    old, new = (replace(real.server, key=one) for one in (real.server.key, make_key("flex-2027")))
    assert choose_key([new, old], [zone]) == old
    assert choose_key([old, new], [zone]) == old
    # With none of them the first one's trouble is what is told.
    assert choose_key([new, new], [zone]) == new


def test_whatever_fails_has_advice_and_shows_no_secret(
    real: Rfc2136Publisher, zone: str, free_port: int
) -> None:
    for server in (
        replace(real.server, key=make_key("flex")),
        replace(real.server, port=free_port),
    ):
        for check in preflight(server, zone):
            assert (check.state == "ok") == (not check.advice)
            assert server.key.secret not in repr(check)
