"""FLEX among others: a provider's zone that customers point into, a name server that keeps less
than it was given, and somebody who goes on changing names while a plan is sent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import dns.message
import dns.query
import dns.rcode
import dns.update
import pandas as pd
import pytest

from flex.errors import PartlyApplied, Stale
from flex.frame_schemas import RECORDS
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.zones import zone_changes
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key
from flex_dns.wire.session import Session
from tests.dns.given import OWNER, many, placed

pytestmark = pytest.mark.real

# A plan meets at most three foreign names, and each for one round.
ROUNDS = 100
OURS, THEIRS = "sites.hosting.example.", "customer.example."
SITE = f"c17.{OURS}"


def test_a_customers_alias_follows_the_site_and_the_customers_zone_stays_as_it_was(
    folder: Path, key: Key
) -> None:
    with PrivateNamed(
        folder, [OURS, THEIRS], key, records={THEIRS: f"www 86400 CNAME {SITE}\n"}
    ) as named:
        target = Rfc2136Publisher(named.server, OWNER)
        before = target.read(THEIRS, []).serial
        target.apply(ZonePlan(OURS, placed(OURS, SITE, "192.0.2.1")))
        assert _seen(named, f"www.{THEIRS}") == ["192.0.2.1"]
        home = Rrset(SITE, "A", 60, ("192.0.2.1",))
        target.apply(ZonePlan(OURS, (Change(home, replace(home, values=("192.0.2.2",))),)))
        assert _seen(named, f"www.{THEIRS}") == ["192.0.2.2"]
        assert target.read(THEIRS, []).serial == before


def test_addresses_that_a_name_server_drops_and_calls_success_are_found(
    folder: Path, key: Key
) -> None:
    limits = f"grant {key.name} zonesub A(3) AAAA; grant {key.name} subdomain _flex.{OURS} TXT;"
    clause = f"type primary;\nupdate-policy {{ {limits} }};\n"
    with PrivateNamed(folder, [OURS], key, clause=clause) as named:
        target = Rfc2136Publisher(named.server, OWNER)
        wanted = [f"192.0.2.{number}" for number in range(1, 5)]
        target.apply(ZonePlan(OURS, placed(OURS, SITE, *wanted)))
        (verdict,) = target.verify(OURS, _records({SITE: wanted}))
        (wrong,) = verdict.wrong
        assert not verdict.agrees
        assert wrong.before
        assert (len(wrong.before.values), wrong.name) == (3, SITE)


def test_a_loop_that_changes_one_name_in_a_hundred_keeps_them_and_we_get_all_others(
    named: PrivateNamed, real: Rfc2136Publisher, zone: str
) -> None:
    names = [f"s{number}.{zone}" for number in range(300)]
    real.apply(many(zone, 300))
    theirs = names[50::100]
    with _changing(named, zone, theirs):
        assert any(not _planned(real, zone, names, theirs) for _ in range(ROUNDS)), (
            "each plan met foreign edits"
        )
    found = real.read(zone, names).records.set_index("name")["value"]
    assert all(found[name] == "192.0.2.2" for name in names if name not in theirs)
    assert all(found[name].startswith("198.51.100.") for name in theirs)


def _planned(target: Rfc2136Publisher, zone: str, names: list[str], theirs: list[str]) -> bool:
    """Plan from what is there and apply it; whether it is to be done again. Names that others
    changed are theirs.
    """
    state = target.read(zone, names)
    changed = state.records[~state.records["value"].isin(["192.0.2.1", "192.0.2.2"])]["name"]
    wanted = _records({name: ["192.0.2.2"] for name in names})
    made = zone_changes.diff(
        zone,
        wanted,
        state,
        owner=OWNER,
        ttl=60,
        left_alone=dict.fromkeys(changed, "not as we left it"),
    )
    try:
        target.apply(made)
    except (Stale, PartlyApplied):
        return True
    return set(changed) != set(theirs)


@contextmanager
def _changing(named: PrivateNamed, zone: str, names: list[str]) -> Iterator[None]:
    """Somebody gives these names other addresses, round and round."""
    ended = threading.Event()

    def change() -> None:
        with Session(named.server) as session:
            turn = 0
            while not ended.is_set():
                turn = turn % 250 + 1
                for name in names:
                    update = dns.update.UpdateMessage(zone)
                    update.replace(name, 60, "A", f"198.51.100.{turn}")
                    assert session.ask(update, "a foreign edit").rcode() == dns.rcode.NOERROR

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _records(values: dict[str, list[str]]) -> pd.DataFrame:
    rows = [(name, "A", 60, value) for name, of_name in values.items() for value in of_name]
    return RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))


def _seen(named: PrivateNamed, name: str) -> list[str]:
    """The addresses a resolver would find, which follows aliases from one zone into another."""
    answer = dns.query.udp(dns.message.make_query(name, "A"), "127.0.0.1", 5, named.port)
    alias = [str(rrset[0]) for rrset in answer.answer if rrset.rdtype.name == "CNAME"]
    if alias:
        return _seen(named, alias[0])
    return [str(value) for rrset in answer.answer for value in rrset]
