"""Client and name server are killed anywhere while somebody else writes: nothing is lost and
nothing overwritten.

Each plan moves names of ours, brings new ones and takes some over. Somebody else edits names of
ours meanwhile, also AAAA alone, puts a marker at them, and takes names of the other two kinds
before we come, by whatever type of record.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dns.rcode
import dns.update
import pandas as pd
import pytest

from flex.errors import DnsError, PartlyApplied
from flex.frame_schemas import PLACEMENT, RECORDS
from flex.model.balance import Balance, NodeLoad
from flex.model.period import Period
from flex.model.plan import Plan, Proven
from flex.model.zone_plan import ZonePlan
from flex.store import Store, migrate, open_store
from flex.zones import zone_changes
from flex.zones.marker import marker_name, marker_text
from flex.zones.records_of_partition import ZoneState, sets_by_name
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key
from flex_dns.wire.session import Session

pytestmark = pytest.mark.real

ZONE = "hosting.example."
NAMES = [f"s{number}.{ZONE}" for number in range(9000)]
THEIRS = 6
# So many of each kind in each round.
NEW, ADOPTED = 90, 90
FORMER = "203.0.113.1"
# Mostly, kills wait until the first message may have left, and then so many seconds at most: plans
# take longer.
SENDING, LONGEST = 0.999, 0.3
ROUNDS = int(os.environ.get("ROUNDS", "100"))


@dataclass(frozen=True)
class Act:
    """One record set that somebody writes. Who `takes` a name does it only where it carries no
    marker yet, and what was there goes.
    """

    name: str
    kind: str
    value: str
    takes: bool = False

    def update(self) -> dns.update.UpdateMessage:
        made = dns.update.UpdateMessage(ZONE)
        if self.takes:
            made.absent(marker_name(self.name, ZONE))
            made.delete(self.name)
        name = marker_name(self.name, ZONE) if self.kind == "TXT" else self.name
        made.replace(name, 60, self.kind, self.value)
        return made


def acts(rng: random.Random, number: int) -> list[Act]:
    address, six = f"198.51.100.{number % 250 + 1}", f"2001:db8:9::{number % 250 + 1:x}"
    marker = f'"{marker_text("somebody-else")}"'
    of_types = [("A", address), ("AAAA", six), ("CNAME", "www.example.org."), ("TXT", marker)]
    names = rng.sample(NAMES, 2 * THEIRS + 1)
    edits = [Act(name, "A", address) for name in names[:THEIRS]]
    edits += [Act(name, "AAAA", six) for name in names[THEIRS:-1]]
    edits.append(Act(names[-1], "TXT", marker))
    for some in (new(number), adopted(number)):
        for name, (kind, value) in zip(rng.sample(some, len(of_types)), of_types, strict=True):
            edits.append(Act(name, kind, value, takes=True))
    rng.shuffle(edits)
    return edits


def new(number: int) -> list[str]:
    """In the plan they stand all over between those that are ours."""
    return [f"s{at * 100}n{number}.{ZONE}" for at in range(NEW)]


def adopted(number: int) -> list[str]:
    """The first half of them stays where it is, the others move when they become ours."""
    return [f"s{at * 100}o{number}.{ZONE}" for at in range(ADOPTED)]


@dataclass
class Stranger:
    """Somebody else with the right to write: what of it was acknowledged, and of which names nobody
    knows.
    """

    server: PrivateNamed
    todo: list[Act]
    wrote: list[Act] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)

    def write(self) -> None:
        for act in self.todo:
            self.unsure.add(act.name)
            with suppress(DnsError), Session(replace(self.server.server, timeout=1.0)) as session:
                rcode = session.ask(act.update(), "a foreign edit").rcode()
                if rcode == dns.rcode.NOERROR:
                    self.wrote.append(act)
                self.unsure.discard(act.name)
            time.sleep(0.01)


@dataclass
class Yard:
    named: PrivateNamed
    url: str
    key_file: Path
    store: Store
    rng: random.Random

    @property
    def target(self) -> Rfc2136Publisher:
        return Rfc2136Publisher(replace(self.named.server, timeout=2.0), "flex", patience=20)

    def said(self, number: int) -> ZoneState:
        return self.target.read(ZONE, [*NAMES, *new(number), *adopted(number)])

    def prepare(self, number: int) -> None:
        """Names with an address and no marker."""
        update = dns.update.UpdateMessage(ZONE)
        for name in adopted(number):
            update.replace(name, 60, "A", FORMER)
        with Session(self.named.server) as session:
            assert session.ask(update, "names to be adopted").rcode() == dns.rcode.NOERROR

    def propose(self, number: int) -> Plan:
        """Every name of ours goes from what it says to this round's address; others become ours."""
        self.prepare(number)
        after, state = f"192.0.2.{number % 250 + 1}", self.said(number)
        stays = set(adopted(number)[: ADOPTED // 2])
        names = [
            name for name in (*NAMES, *new(number), *adopted(number)) if name not in state.blocked
        ]
        rows = [(name, "A", 60, FORMER if name in stays else after) for name in names]
        # What somebody wrote beside our addresses is no matter of the plan's.
        have = sets_by_name(state.records)
        rows += [
            (name, kind, 60, values[0])
            for (name, kind), (_, values) in have.items()
            if kind == "AAAA"
        ]
        table = RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
        made = zone_changes.diff(ZONE, table, state, owner="flex", ttl=60, left_alone=state.blocked)
        # With the zone's serial it is not read again before the first message, and the server alone
        # sees to it.
        made = replace(made, serial=made.serial * self.rng.randrange(2))
        return self._kept(number, made)

    def _kept(self, number: int, plan_of_zone: ZonePlan) -> Plan:
        now = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=number)
        balance = Balance((NodeLoad("n1", 100.0, 100.0, 2),), 0.0)
        quality, day = Proven("none", 0, True), Period.days_before(now, 1)
        made = Plan(
            f"round-{number:04}-",
            now,
            day,
            "",
            "",
            quality,
            (),
            0,
            0,
            None,
            balance,
            (),
            (plan_of_zone,),
        )
        self.store.propose(made, PLACEMENT.empty())
        return made

    def client(self, plan: Plan) -> subprocess.Popen[str]:
        script = Path(__file__).with_name("client.py")
        command = [
            sys.executable,
            str(script),
            self.url,
            str(self.named.port),
            str(self.key_file),
            plan.id,
        ]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def yard(folder: Path, key: Key) -> Iterator[Yard]:
    ours = f'60 TXT "{marker_text("flex")}"'
    lines = "".join(
        f"{name} 60 A 192.0.2.250\n{marker_name(name, ZONE)} {ours}\n" for name in NAMES
    )
    url = f"sqlite:///{folder}/flex.db"
    migrate.upgrade(url)
    key_file = folder / "key"
    key_file.touch(mode=0o600)
    key_file.write_text(key.clause())
    # Somebody else writes what our own policy would not let anybody write.
    clause = f"type primary;\nallow-update {{ key {key.name}; }};\n"
    # It is started again many times: a long journal takes it longer than we wait.
    options = "notify no;\nmax-journal-size 8m;"
    with (
        PrivateNamed(
            folder / "named", [ZONE], key, records={ZONE: lines}, clause=clause, options=options
        ) as named,
        open_store(url) as store,
    ):
        yield Yard(named, url, key_file, store, random.Random(5))


def one_round(yard: Yard, number: int) -> str:
    """What was killed, and when; asserts that the round ends in a state that is right and said."""
    plan = yard.propose(number)
    (made,) = plan.zone_plans
    stranger = Stranger(yard.named, acts(yard.rng, number))
    client = yard.client(plan)
    assert client.stdout is not None
    assert client.stdout.readline() == "go\n"
    writing = threading.Thread(target=stranger.write)
    # Whoever is there before the first message has the plan refused whole; mostly, it is on its way
    # by then.
    while yard.rng.random() < SENDING and not states(yard, plan)["sent"] and client.poll() is None:
        time.sleep(0.001)
    writing.start()
    time.sleep(yard.rng.uniform(0, LONGEST))
    victim = yard.rng.choice(["client", "named", "both"])
    if victim != "named":
        client.kill()
    if victim != "client":
        yard.named.kill()
        yard.named.start()
    client.communicate(timeout=300)
    writing.join()
    share = share_made(yard, made, number)
    finish(yard, plan)
    check(yard, plan, made, stranger, number)
    return f"{victim} {'in the middle' if 0.02 < share < 0.98 else 'early or late'}"


def share_made(yard: Yard, made: ZonePlan, number: int) -> float:
    said = addresses(yard.said(number))
    wanted = [
        (change.name, change.after.values)
        for change in made.changes
        if change.after and change.type == "A"
    ]
    return sum(said.get((name, "A")) == values for name, values in wanted) / max(len(wanted), 1)


def addresses(state: ZoneState) -> dict[tuple[str, str], tuple[str, ...]]:
    return {question: values for question, (_, values) in sets_by_name(state.records).items()}


def finish(yard: Yard, plan: Plan) -> None:
    """As `flex apply --resume` does, by the journal."""
    for _ in range(5):
        try:
            yard.target.apply(*plan.zone_plans, journal=yard.store.journal(plan.id))
            break
        except (PartlyApplied, DnsError):
            if not {"planned", "sent"} & states(yard, plan).keys():
                break


def states(yard: Yard, plan: Plan) -> Counter[str]:
    return Counter(row.state for row in yard.store.journal(plan.id).rows())


def check(yard: Yard, plan: Plan, made: ZonePlan, stranger: Stranger, number: int) -> None:
    assert not {"planned", "sent"} & states(yard, plan).keys()
    state = yard.said(number)
    said = addresses(state)
    for act in stranger.wrote:
        check_theirs(act, state, said)
    touched = {
        act.name for act in stranger.wrote if act.takes or act.kind != "AAAA"
    } | stranger.unsure
    ours = [change for change in made.changes if change.type == "A" and change.name not in touched]
    wanted = {change.name: change.after.values for change in ours if change.after}
    before = {change.name: change.before.values if change.before else None for change in ours}
    whole = all(said.get((name, "A")) == values for name, values in wanted.items())
    # A plan that somebody overtook before its first message was refused whole: then nothing of it
    # is there.
    untouched = all(said.get((name, "A")) == values for name, values in before.items())
    assert whole or untouched
    for row in yard.store.journal(plan.id).rows():
        if row.state == "done":
            names = {made.changes[place].name for place in row.changes} & wanted.keys()
            assert all(said[name, "A"] == wanted[name] for name in names), (
                "what was acknowledged is lost"
            )


def check_theirs(
    act: Act, state: ZoneState, said: Mapping[tuple[str, str], tuple[str, ...]]
) -> None:
    """It is as they wrote it; what they took is not ours, and has nothing else."""
    if act.kind in ("A", "AAAA"):
        assert said[act.name, act.kind] == (act.value,), (
            f"what somebody else wrote at {act.name} was overwritten"
        )
    else:
        reason = "has a CNAME to" if act.kind == "CNAME" else "another owner"
        assert reason in state.blocked[act.name], (
            f"what somebody else wrote at {act.name} was overwritten"
        )
    if act.takes:
        assert act.name not in state.owned, (
            f"{act.name} was taken by somebody else, by {act.kind}, and became ours"
        )
        others = {kind for name, kind in said if name == act.name} - {act.kind}
        assert not others, f"{act.name} was taken by somebody else, by {act.kind}, and got {others}"


@pytest.mark.slow
def test_a_round_of_kills_ends_in_a_state_that_is_right(yard: Yard) -> None:
    one_round(yard, 0)


@pytest.mark.torture
def test_a_hundred_rounds_of_kills_end_in_a_state_that_is_right(yard: Yard) -> None:
    victims = Counter(one_round(yard, number) for number in range(ROUNDS))
    middle = sum(count for name, count in victims.items() if name.endswith("middle"))
    assert middle >= ROUNDS // 5, victims
