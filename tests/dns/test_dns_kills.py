"""Client and name server are killed anywhere while somebody else writes: nothing is lost and nothing overwritten."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dns.rcode
import dns.update
import pytest

from flex.domain import Balance, Change, Cycle, NodeLoad, Period, Plan, Proven, Rrset
from flex.errors import DnsError, PartlyApplied
from flex.marker import marker_name, marker_text
from flex.store import SqlStore, migrate, open_store
from flex.tables import PLACEMENT
from flex_dns.key import Key
from flex_dns.named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Target
from flex_dns.session import Session

pytestmark = pytest.mark.real

ZONE = "hosting.example."
NAMES = [f"s{number}.{ZONE}" for number in range(9000)]
THEIRS = 6
# Mostly, kills wait until the first message may have left, and then so many seconds at most: plans take longer.
SENDING, LONGEST = 0.999, 0.3
ROUNDS = int(os.environ.get("ROUNDS", "100"))


@dataclass
class Stranger:
    """Somebody else with the right to write, who makes addresses of his own: what of it was acknowledged."""

    server: PrivateNamed
    names: list[str]
    round: int
    wrote: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)

    def write(self) -> None:
        for number, name in enumerate(self.names):
            address = f"198.51.100.{(self.round * THEIRS + number) % 250 + 1}"
            update = dns.update.UpdateMessage(ZONE)
            update.replace(name, 60, "A", address)
            self.unsure.add(name)
            with suppress(DnsError), Session(replace(self.server.server, timeout=1.0)) as session:
                if session.ask(update, "a foreign edit").rcode() == dns.rcode.NOERROR:
                    self.wrote[name] = address
                    self.unsure.discard(name)
            time.sleep(0.02)


@dataclass
class Yard:
    named: PrivateNamed
    url: str
    key_file: Path
    store: SqlStore
    rng: random.Random

    @property
    def target(self) -> Rfc2136Target:
        return Rfc2136Target(replace(self.named.server, timeout=2.0), "flex", patience=20)

    def said(self) -> dict[str, str]:
        return dict(
            zip(*[self.target.read(ZONE, NAMES).records[column].tolist() for column in ("name", "value")], strict=True)
        )

    def propose(self, number: int) -> Cycle:
        """Every name goes from what it says to this round's address."""
        after = f"192.0.2.{number % 250 + 1}"
        changes = tuple(
            Change(Rrset(name, "A", 60, (value,)), Rrset(name, "A", 60, (after,)))
            for name, value in self.said().items()
            if value != after
        )
        now = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=number)
        balance = Balance((NodeLoad("n1", 100.0, 100.0, 2),), 0.0)
        quality, day = Proven("none", 0, True), Period.days_before(now, 1)
        made = Cycle(
            f"round-{number:04}-", now, day, "", "", quality, (), 0, 0, None, balance, (), (Plan(ZONE, changes),)
        )
        self.store.propose(made, PLACEMENT.empty())
        return made

    def client(self, cycle: Cycle) -> subprocess.Popen[str]:
        script = Path(__file__).with_name("client.py")
        command = [sys.executable, str(script), self.url, str(self.named.port), str(self.key_file), cycle.id]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def yard(folder: Path, key: Key) -> Iterator[Yard]:
    ours = f'60 TXT "{marker_text("flex")}"'
    lines = "".join(f"{name} 60 A 192.0.2.250\n{marker_name(name, ZONE)} {ours}\n" for name in NAMES)
    url = f"sqlite:///{folder}/flex.db"
    migrate.upgrade(url)
    key_file = folder / "key"
    key_file.touch(mode=0o600)
    key_file.write_text(key.clause())
    with PrivateNamed(folder / "named", [ZONE], key, records={ZONE: lines}) as named, open_store(url) as store:
        yield Yard(named, url, key_file, store, random.Random(5))


def one_round(yard: Yard, number: int) -> str:
    """What was killed, and when; asserts that the round ends in a state that is right and said."""
    cycle = yard.propose(number)
    (plan,) = cycle.plans
    stranger = Stranger(yard.named, yard.rng.sample(NAMES, THEIRS), number)
    client = yard.client(cycle)
    assert client.stdout is not None
    assert client.stdout.readline() == "go\n"
    writing = threading.Thread(target=stranger.write)
    # Whoever is there before the first message has the plan refused whole; mostly, it is on its way by then.
    while yard.rng.random() < SENDING and not states(yard, cycle)["sent"] and client.poll() is None:
        time.sleep(0.001)
    writing.start()
    time.sleep(yard.rng.uniform(0, LONGEST))
    victim = yard.rng.choice(["client", "named", "both"])
    if victim != "named":
        client.kill()
    if victim != "client":
        yard.named.kill()
        yard.named.start()
    client.communicate(timeout=60)
    writing.join()
    made = share_made(yard, plan)
    finish(yard, cycle)
    check(yard, cycle, plan, stranger)
    return f"{victim} {'in the middle' if 0.02 < made < 0.98 else 'early or late'}"


def share_made(yard: Yard, plan: Plan) -> float:
    said = yard.said()
    wanted = [(change.name, change.after.values[0]) for change in plan.changes if change.after]
    return sum(said[name] == value for name, value in wanted) / max(len(wanted), 1)


def finish(yard: Yard, cycle: Cycle) -> None:
    """As `flex apply --resume` does, by the journal."""
    for _ in range(5):
        try:
            yard.target.apply(*cycle.plans, journal=yard.store.journal(cycle.id))
            break
        except (PartlyApplied, DnsError):
            if not {"planned", "sent"} & states(yard, cycle).keys():
                break


def states(yard: Yard, cycle: Cycle) -> Counter[str]:
    return Counter(row.state for row in yard.store.journal(cycle.id).rows())


def check(yard: Yard, cycle: Cycle, plan: Plan, stranger: Stranger) -> None:
    assert not {"planned", "sent"} & states(yard, cycle).keys()
    said = yard.said()
    wanted = {change.name: change.after.values[0] for change in plan.changes if change.after}
    before = {change.name: change.before.values[0] for change in plan.changes if change.before}
    for name, address in stranger.wrote.items():
        assert said[name] == address, f"what somebody else wrote at {name} was overwritten"
    others = set(NAMES) - set(stranger.wrote) - stranger.unsure
    whole = all(said[name] == wanted.get(name, said[name]) for name in others)
    # A plan that somebody overtook before its first message was refused whole: then nothing of it is there.
    untouched = all(said[name] == before.get(name, said[name]) for name in others)
    assert whole or untouched
    for row in yard.store.journal(cycle.id).rows():
        if row.state == "done":
            names = {plan.changes[place].name for place in row.changes} & others
            assert all(said[name] == wanted[name] for name in names), "what was acknowledged is lost"


def test_a_few_rounds_of_kills_end_in_a_state_that_is_right(yard: Yard) -> None:
    for number in range(2):
        one_round(yard, number)


@pytest.mark.torture
def test_a_hundred_rounds_of_kills_end_in_a_state_that_is_right(yard: Yard) -> None:
    victims = Counter(one_round(yard, number) for number in range(ROUNDS))
    middle = sum(count for name, count in victims.items() if name.endswith("middle"))
    assert middle >= ROUNDS // 5, victims
