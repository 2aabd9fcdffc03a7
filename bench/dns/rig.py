"""What the DNS bench runs on: a primary and a secondary BIND on loopback, set up as `flex init`
says, and plans.

Takes sizes. Returns servers, plans that replace every record set of a zone, and the same changes as
nsupdate reads them. Does not measure anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from flex.frame_schemas import PLACEMENT, RECORDS
from flex.model.balance import Balance
from flex.model.period import Period
from flex.model.plan import Plan, Proven
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.store import migrate, open_store
from flex.store.dns_journal_store import SqlJournal
from flex.zones.marker import marker_text
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.update.change_messages import Claim
from flex_dns.wire.key import make_key
from tests.primary_and_secondary import pair

# named's threads for each core, as `flex init` advises.
THREADS_A_CORE = 2
OWNER = "bench"
CLAIM = Claim(OWNER)
TTL = 60
OLD = "192.0.2.1"
ZONE = "big.example."


@dataclass(slots=True)
class Rig:
    """One zone of `size` names, each with one address. Every plan replaces them all by the next
    address.
    """

    primary: PrivateNamed
    secondary: PrivateNamed
    folder: Path
    size: int
    address: int = 1

    @property
    def target(self) -> Rfc2136Publisher:
        return Rfc2136Publisher(
            self.primary.server, OWNER, (self.primary.server.address, self.secondary.server.address)
        )

    @property
    def names(self) -> list[str]:
        return [f"site-{number}.{ZONE}" for number in range(self.size)]

    def next_zone_plan(self, count: int = 0) -> ZonePlan:
        """From the address that all have to the next one; `count` names only, where it is given."""
        before, after = f"192.0.2.{self.address}", f"192.0.2.{self.address % 250 + 1}"
        self.address = self.address % 250 + 1
        names = self.names[: count or self.size]
        return ZonePlan(ZONE, tuple(_replacement(name, before, after) for name in names))

    def wanted_records(self) -> pd.DataFrame:
        """What the zone should hold after the last plan."""
        columns = {"name": self.names, "type": "A", "ttl": TTL, "value": f"192.0.2.{self.address}"}
        return RECORDS.make(pd.DataFrame(columns))

    def script(self, zone_plan: ZonePlan, per_message: int) -> Path:
        """The plan as nsupdate reads it, without prerequisites."""
        changes = zone_plan.changes
        groups = [
            changes[first : first + per_message] for first in range(0, len(changes), per_message)
        ]
        return self.script_of([ZonePlan(zone_plan.zone, group) for group in groups])

    def script_of(self, messages: Sequence[ZonePlan]) -> Path:
        path = self.folder / "script"
        with path.open("w", encoding="ascii") as file:
            file.write(f"server 127.0.0.1 {self.primary.port}\n")
            for message in messages:
                file.write(f"zone {message.zone}\n")
                for change in message.changes:
                    assert change.after is not None, "replacements only"
                    file.write(f"update delete {change.name} {change.type}\n")
                    file.write(
                        f"update add {change.name} {TTL} {change.type} {change.after.values[0]}\n"
                    )
                file.write("send\n")
        return path

    @property
    def key_file(self) -> Path:
        return self.folder / "key"

    def journal(self) -> SqlJournal:
        """A fresh one, in a database on disk."""
        url = f"sqlite:///{self.folder}/flex.db"
        if not (self.folder / "flex.db").exists():
            migrate.upgrade(url)
            with open_store(url) as store:
                store.propose(plan(), PLACEMENT.empty())
        return open_store(url).new_journal("bench")

    def nsupdate(self, script: Path) -> None:
        """By TCP, with the key: the whole script, to its last acknowledgement."""
        subprocess.run(["nsupdate", "-v", "-k", str(self.key_file), str(script)], check=True)


def zone_lines(name: str, marker: str) -> str:
    """A name of ours in a zone's file."""
    return f'{name} A {OLD}\n{marker} TXT "{marker_text(OWNER)}"\n'


def _replacement(name: str, before: str, after: str) -> Change:
    return Change(Rrset(name, "A", TTL, (before,)), Rrset(name, "A", TTL, (after,)))


def plan() -> Plan:
    """Journals belong to one."""
    now = datetime.now(UTC)
    day, quality = Period.days_before(now, 1), Proven("none", 0, False)
    return Plan("bench", now, day, "", "", quality, (), 0, 0, None, Balance((), 0.0), (), ())


@contextmanager
def rig(
    size: int, zones: Sequence[str] = (ZONE,), records: Mapping[str, str] | None = None
) -> Iterator[Rig]:
    """Zones of two addresses each, or the one of `size` names, or what `records` say."""
    key, folder = make_key("bench"), Path(tempfile.mkdtemp(prefix="flex-bench-"))
    folder.chmod(0o755)
    (folder / "key").touch(mode=0o600)
    (folder / "key").write_text(key.clause(), encoding="ascii")
    lines = "".join(zone_lines(f"site-{number}", f"site-{number}._flex") for number in range(size))
    both = zone_lines("@", "_flex") + zone_lines("www", "www._flex")
    records = records or {ZONE: lines} if ZONE in zones else dict.fromkeys(zones, both)
    try:
        threads = THREADS_A_CORE * (os.cpu_count() or 1)
        with pair(folder, zones, key, records=records, threads=threads, own_names=zones) as (
            primary,
            secondary,
        ):
            yield Rig(primary, secondary, folder, size)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
