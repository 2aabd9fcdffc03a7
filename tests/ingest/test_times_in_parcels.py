"""Times of answers and of processors come with counts of logs: each once, and never on trust."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flex.model.period import Period
from flex.store import MemoryStore
from flex_logs_ingest.counts import add_up_hours_and_sample
from flex_logs_ingest.counts.retention import tidy
from flex_logs_ingest.cpu.cpu_since_last_time import CpuSinceLastTime
from flex_logs_ingest.cpu.read_cgroups import Counter
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.lines.service_time import LONGEST
from flex_logs_ingest.parcels.pack_parcels import KINDS, Outbox
from flex_logs_ingest.parcels.parcel_intake import take
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.ingest.given import DyingStore, Killed

EVER = Period(datetime(2023, 11, 1, tzinfo=UTC), datetime(2023, 12, 1, tzinfo=UTC))
NOON = 1_700_049_600
HOUR = 3600
ALLOWED = {("one", "node-1")}
SITES = ("a.example", "b.example")


@dataclass
class Machine:
    """A web server with a log that says times, and cgroups of its sites."""

    folder: Path
    store: DyingStore = field(default_factory=DyingStore)
    used: dict[str, int] = field(default_factory=dict)
    now: int = NOON

    @property
    def log(self) -> Path:
        return self.folder / "logs/access.log"

    def works(self, seconds: float, site: str, answers: int, spent: float, cpu: int) -> None:
        """As many answers in that time, each of which takes so long, and microseconds of
        processor.
        """
        self.used[site] = self.used.get(site, 0) + cpu
        moment = datetime.fromtimestamp(self.now, UTC)
        time = f"{moment:%d/%b/%Y:%H:%M:%S} +0000"
        line = f'{site} [{time}] "GET /{self.now} HTTP/1.1" 200 5 {spent}\n'
        with self.log.open("a") as file:
            file.write(line * answers)
        self.now += int(seconds)

    def ingest(self, *, cpu: bool = True) -> None:
        counts = self.folder / "beside"
        counts.mkdir(exist_ok=True)
        used = CpuSinceLastTime(counts / "cpu.json", processors=64) if cpu else None
        if used:
            counters = [Counter(s, (s,), 1, number) for s, number in self.used.items()]
            used.count(counters, ["p"], self.now, "boot")
        ingest(
            [
                Source(
                    "one",
                    (f"{self.log.parent}/*",),
                    "node-1",
                    SiteRule(),
                    format='$host [$time_local] "$request" $status $bytes_sent $request_time',
                )
            ],
            Outbox(self.store, counts, self.folder / "out", used),
            counts,
            sample_limit=1000,
            memory=10**8,
            read_at=self.now,
        )

    @property
    def parcels(self) -> list[Path]:
        return sorted((self.folder / "out").glob("*.parcel"))


@pytest.fixture
def machine(tmp_path: Path, logs: Path) -> Machine:
    found = Machine(logs.parent)
    found.log.touch()
    found.used = dict.fromkeys(SITES, 10**9)
    found.ingest()
    return found


def by_site(store: MemoryStore, counts: Path) -> dict[str, tuple[int, int, int, int]]:
    """Requests, how many of them are timed, and microseconds of both kinds."""
    hours = add_up_hours_and_sample.hours_of(store, counts, EVER)
    columns = ["requests", "timed", "service_us", "cpu_us"]
    sums = hours.groupby("site")[columns].sum()
    return {str(row[0]): tuple(map(int, row[1:])) for row in sums.itertuples()}  # type: ignore[misc]


@pytest.mark.slow
def test_times_of_a_node_count_once_however_often_its_parcels_come(
    machine: Machine, store: MemoryStore, counts: Path
) -> None:
    for _ in range(5):
        machine.works(HOUR, "a.example", 3, 0.5, 7_000_000)
        machine.works(HOUR, "b.example", 1, 0.25, 1_000_000)
        machine.ingest()
    take(machine.parcels * 2, store, counts, ALLOWED)
    take(machine.parcels[::-1], store, counts, ALLOWED)
    whole = {
        "a.example": (15, 15, 7_500_000, 35_000_000),
        "b.example": (5, 5, 1_250_000, 5_000_000),
    }
    assert by_site(store, counts) == whole
    assert tidy(store, counts, window_from=10**6, keep_from=0).sums == 1
    assert by_site(store, counts) == whole


def test_an_hour_may_have_nothing_but_processor_time(
    machine: Machine, store: MemoryStore, counts: Path
) -> None:
    machine.works(HOUR, "a.example", 1, 0.5, 0)
    machine.used["b.example"] += 4_000_000
    machine.ingest()
    (arrival,) = take(machine.parcels, store, counts, ALLOWED)
    assert arrival.outcome == "taken", arrival.note
    assert by_site(store, counts)["b.example"] == (0, 0, 0, 4_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_is_killed_loses_no_time_and_sends_none_twice(
    machine: Machine, store: MemoryStore, counts: Path, after: bool
) -> None:
    for number in range(4):
        machine.works(HOUR, "a.example", 2, 0.5, 6_000_000)
        machine.store.countdown, machine.store.after = number % 2, after
        with suppress(Killed):
            machine.ingest()
    machine.store.countdown = 0
    machine.works(HOUR, "a.example", 2, 0.5, 6_000_000)
    machine.ingest()
    take(machine.parcels, store, counts, ALLOWED)
    assert by_site(store, counts) == {"a.example": (10, 10, 5_000_000, 30_000_000)}


def test_a_parcel_of_a_node_without_times_is_taken_as_ever(
    machine: Machine, store: MemoryStore, counts: Path
) -> None:
    machine.works(HOUR, "a.example", 2, 0.5, 6_000_000)
    machine.ingest(cpu=False)
    (parcel,) = machine.parcels
    said, tables = opened(parcel)
    del said["cpu"]
    tables["hours"] = tables["hours"].select(["site", "hour", "requests", "bytes"])
    written(parcel, said, tables)
    (arrival,) = take([parcel], store, counts, ALLOWED)
    assert arrival.outcome == "taken", arrival.note
    assert by_site(store, counts) == {"a.example": (2, 0, 0, 0)}
    # Beside counts with times it has none, also once all are added up.
    machine.works(HOUR, "a.example", 3, 0.5, 0)
    machine.ingest()
    take(machine.parcels, store, counts, ALLOWED)
    assert by_site(store, counts)["a.example"][:3] == (5, 3, 1_500_000)
    assert tidy(store, counts, window_from=10**6, keep_from=0).sums == 1
    assert by_site(store, counts)["a.example"][:3] == (5, 3, 1_500_000)


def opened(parcel: Path) -> tuple[dict[str, object], dict[str, pa.Table]]:
    line, _, rest = parcel.read_bytes().partition(b"\n")
    said = json.loads(line)
    tables = {}
    for kind in KINDS:
        size = said["files"][kind][0]
        tables[kind], rest = pq.read_table(BytesIO(rest[:size])), rest[size:]
    return said, tables


def written(parcel: Path, said: Mapping[str, object], tables: Mapping[str, pa.Table]) -> None:
    contents = {}
    for kind, table in tables.items():
        file = BytesIO()
        pq.write_table(table, file)
        contents[kind] = file.getvalue()
    sums = {kind: [len(content), sha256(content).hexdigest()] for kind, content in contents.items()}
    line = json.dumps({**said, "files": sums}).encode()
    parcel.write_bytes(line + b"\n" + b"".join(contents.values()))


LIES: dict[str, tuple[Callable[[pd.DataFrame], object], str]] = {
    "more timed than answered": (lambda hours: hours.__setitem__("timed", 99), "took a time"),
    "longer than a day each": (
        lambda hours: hours.__setitem__("service_us", 9 * LONGEST),
        "longer than answers",
    ),
    "a time of none": (lambda hours: hours.__setitem__("timed", 0), "longer than answers"),
    "times below nothing": (lambda hours: hours.__setitem__("service_us", -1), "negative"),
    "another processor time": (lambda hours: hours.__setitem__("cpu_us", 1), "processor time"),
    "too much in an hour": (lambda hours: hours.__setitem__("cpu_us", 2**62), "processor time"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "why"), LIES.values(), ids=LIES)
def test_a_parcel_that_says_times_that_cannot_be_is_refused(
    machine: Machine,
    store: MemoryStore,
    counts: Path,
    change: Callable[[pd.DataFrame], object],
    why: str,
) -> None:
    machine.works(HOUR, "a.example", 2, 0.5, 6_000_000)
    machine.ingest()
    (parcel,) = machine.parcels
    said, tables = opened(parcel)
    hours = tables["hours"].to_pandas()
    change(hours)
    tables["hours"] = pa.Table.from_pandas(hours, preserve_index=False)
    written(parcel, said, tables)
    (arrival,) = take([parcel], store, counts, ALLOWED)
    assert (arrival.outcome, why in arrival.note) == ("refused", True), arrival.note
    assert store.segments(0, 10**7) == ()
