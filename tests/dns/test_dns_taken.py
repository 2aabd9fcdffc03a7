"""What somebody took between a plan and its application stays theirs, whatever type of record they
took it with.

Every way to apply a plan is tried with every kind of change and every kind of edit. The server lets
its key write all types, as an operator's own key may.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import dns.rcode
import dns.update
import pandas as pd
import pytest

from flex.errors import PartlyApplied, Stale
from flex.frame_schemas import RECORDS
from flex.model.zone_plan import ZonePlan
from flex.ports import Publisher
from flex.zones import zone_changes
from flex.zones.marker import marker_name, marker_text
from flex_dns.exports import EXPORTS, wanted_zone
from flex_dns.make_before_break import GentlePublisher
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.several_primaries import SeveralPublishers
from flex_dns.update.change_messages import Claim
from flex_dns.wire.key import Key
from flex_dns.wire.session import Session
from tests.dns.conftest import held
from tests.memory_publisher import MemoryPublisher
from tests.thorough import third_quick

OWNER = "flex-eu1"
OLD, NEW, THEIRS = "192.0.2.1", "192.0.2.2", "198.51.100.9"
OLD_SIX, NEW_SIX, THEIR_SIX = "2001:db8::1", "2001:db8::2", "2001:db8:9::9"
TTL = 60

# By its kind, what a name has when the plan is made, whether it is ours by then, and what it is to
# have.
Held = dict[str, list[str]]
KINDS: dict[str, tuple[Held, bool, Held]] = {
    "new": ({}, False, {"A": [NEW]}),
    "new, both families": ({}, False, {"A": [NEW], "AAAA": [NEW_SIX]}),
    "new, AAAA alone": ({}, False, {"AAAA": [NEW_SIX]}),
    "adopted in place": ({"A": [OLD]}, False, {"A": [OLD]}),
    "adopted in place, both families": (
        {"A": [OLD], "AAAA": [OLD_SIX]},
        False,
        {"A": [OLD], "AAAA": [OLD_SIX]},
    ),
    "adopted and moved": ({"A": [OLD]}, False, {"A": [NEW]}),
    "adopted, a replica added": ({"A": [OLD]}, False, {"A": [OLD, NEW]}),
    "adopted, a replica taken away": ({"A": [OLD, NEW]}, False, {"A": [OLD]}),
    "moved": ({"A": [OLD]}, True, {"A": [NEW]}),
    "a replica added": ({"A": [OLD]}, True, {"A": [OLD, NEW]}),
    "a replica taken away": ({"A": [OLD, NEW]}, True, {"A": [OLD]}),
}
# By what somebody does meanwhile, the sets that hold other values from then on.
EDITS: dict[str, Held] = {
    "A": {"A": [THEIRS]},
    "AAAA": {"AAAA": [THEIR_SIX]},
    "our very A": {"A": [NEW]},
    "one more A": {"A": [OLD, THEIRS]},
    "away": {"A": [], "AAAA": []},
    "CNAME": {"A": [], "AAAA": [], "CNAME": ["www.example.org."]},
    "NS": {"NS": ["ns.example.org."]},
    "marker": {"TXT": [marker_text("flex-us1")]},
    "MX": {"MX": ["10 mx.example.org."]},
}
WAYS = ("memory", "plain", "late", "gentle", "gentle with a TTL", "several", "nsupdate")
ZONES = tuple(f"t{number}.example." for number in range(len(WAYS) * len(KINDS) * len(EDITS) + 40))


@pytest.fixture(scope="module")
def open_named(key: Key) -> Iterator[PrivateNamed]:
    made = Path(tempfile.mkdtemp(prefix="flex-"))
    clause = f"type primary;\nallow-update {{ key {key.name}; }};\n"
    with PrivateNamed(made, ZONES, key, clause=clause) as running:
        yield running
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def free_zones() -> Iterator[str]:
    return iter(ZONES)


@dataclass
class Site:
    """One name in a zone of its own, and a way to apply plans to it."""

    way: str
    zone: str
    target: Publisher
    named: PrivateNamed | None
    folder: Path

    @property
    def name(self) -> str:
        return f"www.{self.zone}"

    def edit(self, sets: Held) -> None:
        """One after the other, as an alias does not go beside an address."""
        for kind, values in sets.items():
            name = marker_name(self.name, self.zone) if kind == "TXT" else self.name
            if isinstance(self.target, MemoryPublisher):
                self.target.edit(self.zone, name, kind, TTL, values)
            else:
                self._send(name, kind, [f'"{one}"' for one in values] if kind == "TXT" else values)

    def _send(self, name: str, kind: str, values: Sequence[str]) -> None:
        assert self.named is not None
        update = dns.update.UpdateMessage(self.zone)
        update.replace(name, TTL, kind, *values) if values else update.delete(name, kind)
        with Session(self.named.server) as session:
            assert session.ask(update, "a foreign edit").rcode() == dns.rcode.NOERROR

    def planned(self, want: Held) -> ZonePlan:
        rows = [(self.name, kind, TTL, value) for kind, values in want.items() for value in values]
        table = RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
        state = self.target.read(self.zone, [self.name])
        return zone_changes.diff(self.zone, table, state, owner=OWNER, ttl=TTL, left_alone={})

    def apply(self, made: ZonePlan) -> None:
        if self.way == "nsupdate":
            self._nsupdate(made)
        elif self.way.startswith("gentle"):
            GentlePublisher(self.target, lambda _: None, ttl=5 if "TTL" in self.way else 0).apply(
                made
            )
        elif self.way == "several":
            assert isinstance(self.target, Rfc2136Publisher)
            SeveralPublishers({self.zone: self.target}).apply(made)
        elif self.way == "late":
            # As if it were edited between the last look and the message: the server itself has to
            # refuse it.
            self.target.apply(replace(made, serial=self.target.read(self.zone, []).serial))
        else:
            self.target.apply(made)

    def _nsupdate(self, made: ZonePlan) -> None:
        assert self.named is not None
        script, key = self.folder / "script", self.folder / "key"
        key.touch(mode=0o600)
        key.write_text(self.named.key.clause())
        text = EXPORTS["nsupdate"]([wanted_zone(made, RECORDS.empty(), Claim(OWNER), TTL)])
        script.write_text(f"server 127.0.0.1 {self.named.port}\n{text}")
        done = subprocess.run(
            ["nsupdate", "-k", str(key), str(script)],
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            assert "RRSET" in done.stderr, done.stderr
            raise Stale("", done.stderr, kept="", advice="")

    def says(self) -> tuple[Held, list[str]]:
        """Its addresses, and its marker."""
        state = self.target.read(self.zone, [self.name])
        found: Held = {}
        for kind, value in zip(state.records["type"], state.records["value"], strict=True):
            found.setdefault(kind, []).append(value)
        return found, sorted(state.owned)


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Site]:
    def made(way: str) -> Site:
        if way == "memory":
            return Site(way, ZONES[0], MemoryPublisher([ZONES[0]], OWNER), None, tmp_path)
        named: PrivateNamed = request.getfixturevalue("open_named")
        zone = next(request.getfixturevalue("free_zones"))
        return Site(way, zone, Rfc2136Publisher(named.server, OWNER, patience=3), named, tmp_path)

    return made


def begun(site: Site, kind: str) -> ZonePlan:
    """The plan for a name of this kind, with the name as it was when the plan was made."""
    had, is_ours, want = KINDS[kind]
    site.edit(had)
    if is_ours:
        site.edit({"TXT": [marker_text(OWNER)]})
    return site.planned(want)


def is_a_case(kind: str, edit: str) -> bool:
    """It changes something, and is not what the plan was to do to a name of ours. What such a name
    has behind a delegation nobody sees any more.
    """
    had, is_ours, want = KINDS[kind]
    if is_ours and (edit == "NS" or EDITS[edit] == want):
        return False
    return any(had.get(kind_of, []) != values for kind_of, values in EDITS[edit].items())


def is_theirs(kind: str, edit: str) -> bool:
    """Whether the edit takes the name, or what the plan changes of it."""
    _, is_ours, _ = KINDS[kind]
    return edit != "MX" and not (is_ours and edit == "AAAA")


CASES = [each for each in product(KINDS, EDITS, WAYS) if is_a_case(*each[:2])]


@pytest.mark.real
@pytest.mark.parametrize("case", third_quick(CASES), ids="-".join)
def test_what_somebody_took_before_we_came_stays_theirs(
    site: Callable[[str], Site], case: tuple[str, str, str]
) -> None:
    kind, edit, way = case
    here = site(way)
    made = begun(here, kind)
    assert made.changes
    here.edit(EDITS[edit])
    was = here.says()
    if is_theirs(kind, edit):
        with pytest.raises((Stale, PartlyApplied)):
            here.apply(made)
        assert here.says() == was
    else:
        here.apply(made)
        _, _, want = KINDS[kind]
        left = {"AAAA": [THEIR_SIX]} if edit == "AAAA" else {}
        assert here.says() == (want | left, [here.name])
        if edit == "MX":
            there = held(here.target, here.named, here.zone, here.name, "MX")
            assert there == EDITS["MX"]["MX"]
