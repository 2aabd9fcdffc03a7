"""Counts made beside the logs and taken in elsewhere: small, each once, and never on trust."""

from __future__ import annotations

import json
import os
import random
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from flex.errors import BadInput
from flex.model.period import Period
from flex.planning.missing_readings import holes
from flex.store import MemoryStore
from flex_logs_ingest.counts import add_up_hours_and_sample
from flex_logs_ingest.counts.file_of_unknown_hosts import requests_for_unknown_hosts
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.parcels.pack_parcels import Outbox
from flex_logs_ingest.parcels.parcel_intake import Arrival, take
from flex_logs_ingest.reading.read_logs import FileReport, ingest
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.ingest.given import DyingStore, Killed
from tests.ingest.test_times_in_parcels import opened, written

Line = Callable[..., bytes]

EVER = Period(datetime(2023, 11, 1, tzinfo=UTC), datetime(2023, 12, 1, tzinfo=UTC))
NOON = 1_700_049_600
ALLOWED = {("one", "node-1")}


@dataclass
class Machine:
    """A web server's disk: its log, what it counted, and what it has to ship."""

    folder: Path
    source: Source
    store: DyingStore

    @property
    def log(self) -> Path:
        return self.folder / "logs/access.log"

    @property
    def parcels(self) -> list[Path]:
        return sorted((self.folder / "out").glob("*.parcel"))

    def ingest(self, sample_limit: int = 1000, memory: int = 10**8) -> tuple[FileReport, ...]:
        counts = self.folder / "beside"
        outbox = Outbox(self.store, counts, self.folder / "out")
        return ingest(
            [self.source],
            outbox,
            counts,
            sample_limit=sample_limit,
            memory=memory,
            read_at=NOON + 99,
        )


@pytest.fixture
def machine(tmp_path: Path, logs: Path) -> Machine:
    return Machine(
        tmp_path, Source("one", (f"{logs}/*",), "node-1", SiteRule(fixed="a.example")), DyingStore()
    )


@pytest.fixture
def taken(store: MemoryStore, counts: Path) -> Callable[[Path], Arrival]:
    """What becomes of one parcel at the controller."""

    def run(parcel: Path) -> Arrival:
        (arrival,) = take([parcel], store, counts, ALLOWED)
        return arrival

    return run


def files(store: MemoryStore, counts: Path) -> pd.DataFrame:
    return file_table(store, counts, EVER).whole()


@pytest.mark.slow
def test_what_is_shipped_counts_as_if_the_controller_had_read_the_log(
    machine: Machine, line: Line, store: MemoryStore, counts: Path, tmp_path: Path
) -> None:
    text = b"".join(
        line(f"/{i % 700}", NOON + i, sent=i, status=200 if i % 9 else 404) for i in range(3_000)
    )
    machine.log.write_bytes(text + b"nonsense\n")
    machine.ingest(memory=60_000)
    assert {arrival.outcome for arrival in take([tmp_path / "out"], store, counts, ALLOWED)} == {
        "taken"
    }
    here = MemoryStore()
    ingest(
        [machine.source],
        here,
        tmp_path / "here",
        sample_limit=1000,
        read_at=NOON + 99,
        memory=60_000,
    )
    pd.testing.assert_frame_equal(files(store, counts), files(here, tmp_path / "here"))
    assert [replace(each, after="") for each in store.segments(0, 10**6)] == list(
        here.segments(0, 10**6)
    )
    assert store.streams_of(["one"]) == here.streams_of(["one"])
    ours, other = (
        add_up_hours_and_sample.sample_of(*each, EVER, 1000)
        for each in ((store, counts), (here, tmp_path / "here"))
    )
    assert ours.time.tolist() == other.time.tolist()


@pytest.mark.slow
def test_parcels_count_once_however_often_and_in_whatever_order_they_come(
    machine: Machine, line: Line, store: MemoryStore, counts: Path
) -> None:
    for night in range(6):
        with machine.log.open("ab") as file:
            file.write(b"".join(line(f"/{night}/{i}", NOON + i) for i in range(50)))
        machine.ingest()
    order = machine.parcels * 3
    random.Random(4).shuffle(order)
    outcomes = [
        arrival.outcome for parcel in order for arrival in take([parcel], store, counts, ALLOWED)
    ]
    assert (outcomes.count("taken"), outcomes.count("known")) == (6, 12)
    assert files(store, counts)["requests"].tolist() == [1] * 300


def test_a_parcel_that_never_comes_is_known_to_the_byte_until_it_does(
    machine: Machine, line: Line, store: MemoryStore, counts: Path
) -> None:
    """The first is shorter than what a log is known by, and the log is rotated before the last."""
    ends = []
    for night in range(4):
        with machine.log.open("ab") as file:
            file.write(
                b"".join(line(f"/{night}/{i}", NOON + i) for i in range(3 if night == 0 else 90))
            )
        ends.append(machine.log.stat().st_size)
        if night == 3:
            machine.log.rename(machine.log.with_name("access.log.1"))
        machine.ingest()
    first, second, third, last = sorted(
        machine.parcels, key=lambda parcel: parcel.stat().st_mtime_ns
    )

    def missing(*arrivals: Arrival) -> list[tuple[str, int]]:
        found = holes([arrival.segment for arrival in arrivals if arrival.segment], store)
        return [(Path(hole.path).name, hole.until) for hole in found]

    assert missing(*take([last, third], store, counts, ALLOWED)) == [("access.log", ends[1])]
    assert missing(*take([first], store, counts, ALLOWED)) == []
    assert missing(*take([last], store, counts, ALLOWED)) == []
    every = store.segments(0, 10**6)
    assert [hole.until for hole in holes(every, store)] == [ends[1]]
    assert missing(*take([second], store, counts, ALLOWED)) == []
    assert holes(store.segments(0, 10**6), store) == ()


@pytest.mark.slow
def test_a_parcel_that_nothing_of_its_log_goes_on_behind_is_missed_once_its_machine_sends_more(
    machine: Machine, line: Line, store: MemoryStore, counts: Path
) -> None:
    """As with dates in names: each log is read once."""
    parcels: list[Path] = []
    for day in range(4):
        (machine.folder / f"logs/access-{day}.log").write_bytes(
            b"".join(line(f"/{i}", NOON + i + day) for i in range(90))
        )
        machine.ingest()
        parcels += [path for path in machine.parcels if path not in parcels]
    first, lost, third, last = parcels
    arrived = take([last, third, first], store, counts, ALLOWED)
    found = holes([arrival.segment for arrival in arrived if arrival.segment], store)
    assert [(Path(hole.path).name, hole.until) for hole in found] == [("access-2.log", 0)]
    take([lost], store, counts, ALLOWED)
    assert holes(store.segments(0, 10**6), store) == ()


@pytest.mark.slow
def test_a_machine_that_is_killed_ships_every_line_once(
    machine: Machine, line: Line, store: MemoryStore, counts: Path
) -> None:
    written = 0
    for step in range(12):
        with machine.log.open("ab") as file:
            file.write(b"".join(line(f"/{i}", NOON + i) for i in range(written, written + 30)))
        written += 30
        machine.store.countdown, machine.store.after = 1, step % 2 == 0
        with suppress(Killed):
            machine.ingest()
        machine.store.countdown = 0
        if step % 3 == 0:
            machine.ingest()
    machine.ingest()
    take([machine.folder / "out"], store, counts, ALLOWED)
    assert files(store, counts)["requests"].tolist() == [1] * written
    assert not list((machine.folder / "beside").glob("*.parquet"))


@pytest.mark.slow
def test_what_is_shipped_is_a_small_fraction_of_the_log(machine: Machine) -> None:
    """As a busy server writes it: many asks for few targets, long user agents and referrers."""
    rng, agent = (
        random.Random(1),
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0",
    )
    with machine.log.open("w", encoding="ascii") as file:
        for i in range(200_000):
            at = datetime.fromtimestamp(NOON + i // 10, UTC)
            target = f"/assets/{int(rng.paretovariate(0.9)) % 3000}/picture.png"
            file.write(
                f'192.0.2.{i % 250} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET {target} '
                f'HTTP/1.1" 200 {1000 + i % 7} '
                f'"https://a.example/articles/{i % 97}/" "{agent}"\n'
            )
    machine.ingest(sample_limit=20_000)
    assert machine.log.stat().st_size > 200 * sum(
        parcel.stat().st_size for parcel in machine.parcels
    )


def parcel_of(machine: Machine, line: Line) -> Path:
    machine.log.write_bytes(
        b"".join(line(f"/{i % 40}", NOON + i) for i in range(100)) + b"nonsense\n"
    )
    machine.ingest()
    (parcel,) = machine.parcels
    return parcel


def altered(parcel: Path, change: Callable[[dict[str, object]], object]) -> Path:
    """The parcel with another first line."""
    first, _, rest = parcel.read_bytes().partition(b"\n")
    said = json.loads(first)
    change(said)
    parcel.write_bytes(json.dumps(said).encode() + b"\n" + rest)
    return parcel


def part(said: dict[str, object], name: str) -> dict[str, object]:
    found = said[name]
    assert isinstance(found, dict)
    return found


# Claims in the first line that are not so, and a word of why it is refused.
LIES: Mapping[str, tuple[Callable[[dict[str, object]], object], str]] = {
    "version": (lambda said: said.update(parcel=2), "version"),
    "no segment": (lambda said: said.pop("segment"), "segment"),
    "a text for an object": (lambda said: said.update(stream="x"), "stream"),
    "another node": (lambda said: part(said, "segment").update(node="node-2"), "shipped"),
    "another id": (lambda said: part(said, "segment").update(id="0" * 40), "id"),
    "a path for an id": (lambda said: part(said, "segment").update(id="../" + "0" * 37), "id"),
    "other bytes": (lambda said: part(said, "stream").update(offset=7), "read to"),
    "a negative number": (lambda said: part(said, "segment").update(first_time=-1), "first_time"),
    "a number that is none": (
        lambda said: part(said, "segment").update(last_byte=True),
        "last_byte",
    ),
    "a huge number": (lambda said: part(said, "segment").update(last_time=10**400), "last_time"),
    "more lines": (
        lambda said: part(said, "segment").update(lines=[["counted", 101], ["malformed", 1]]),
        "counted",
    ),
    "fewer lines": (
        lambda said: part(said, "segment").update(lines=[["counted", 1], ["malformed", 1]]),
        "lines",
    ),
    "other reasons": (
        lambda said: part(said, "segment").update(reasons=[["no_time", 9]]),
        "reasons",
    ),
    "other hours": (lambda said: part(said, "segment").update(hours=[[5, 100]]), "hours"),
    "other days": (lambda said: part(said, "segment").update(first_day=1), "days"),
    "a name with a line's end": (lambda said: part(said, "segment").update(path="a\nb"), "path"),
    "another checksum": (lambda said: part(said, "files").update(files=[1, "0" * 64]), ""),
}


@pytest.mark.parametrize(("change", "why"), LIES.values(), ids=LIES)
def test_a_parcel_that_says_what_is_not_so_is_refused(
    change: Callable[[dict[str, object]], object],
    why: str,
    machine: Machine,
    line: Line,
    taken: Callable[[Path], Arrival],
    store: MemoryStore,
    counts: Path,
) -> None:
    arrival = taken(altered(parcel_of(machine, line), change))
    assert arrival.outcome == "refused"
    assert why in arrival.note
    assert store.segments(0, 10**7) == ()
    assert not list(counts.glob("*.parquet"))


# The same of the counts of its targets.
MADE_UP: Mapping[str, tuple[Callable[[pd.DataFrame], object], str]] = {
    "more bytes than its site": (
        lambda rows: rows.__setitem__("bytes", rows["bytes"] + 1),
        "more than their sites",
    ),
    "more requests than lines": (
        lambda rows: rows.__setitem__("requests", rows["requests"] + 1),
        "counted lines",
    ),
    "another site": (lambda rows: rows.__setitem__("site", "b.example"), "had no answers"),
    "another day": (lambda rows: rows.__setitem__("day", 1), "of another day"),
}


@pytest.mark.parametrize(("change", "why"), MADE_UP.values(), ids=MADE_UP)
def test_a_parcel_whose_counts_cannot_be_those_of_its_log_is_refused(
    change: Callable[[pd.DataFrame], object],
    why: str,
    machine: Machine,
    line: Line,
    taken: Callable[[Path], Arrival],
    store: MemoryStore,
) -> None:
    parcel = parcel_of(machine, line)
    said, tables = opened(parcel)
    rows = tables["files"].to_pandas()
    change(rows)
    tables["files"] = pa.Table.from_pandas(rows, preserve_index=False)
    written(parcel, said, tables)
    arrival = taken(parcel)
    assert (arrival.outcome, why in arrival.note) == ("refused", True), arrival.note
    assert store.segments(0, 10**7) == ()


def test_a_damaged_parcel_is_refused_wherever_the_damage_is(
    machine: Machine, line: Line, taken: Callable[[Path], Arrival], store: MemoryStore, counts: Path
) -> None:
    parcel = parcel_of(machine, line)
    whole, rng = parcel.read_bytes(), random.Random(3)
    for _ in range(60):
        at = rng.randrange(len(whole))
        flipped = whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :]
        for damaged in (whole[:at], whole + b"x", flipped):
            parcel.write_bytes(damaged)
            outcome = taken(parcel).outcome
            # What a person may read in the first line, such as a path, has no checksum.
            assert outcome == "refused" or (damaged is flipped and at < whole.index(b"\n"))
            if outcome == "taken":
                break
        else:
            continue
        break
    fresh = MemoryStore()
    parcel.write_bytes(whole)
    (arrival,) = take([parcel], fresh, counts, ALLOWED)
    assert arrival.outcome == "taken"


def test_a_parcel_and_its_folder_are_for_their_group_and_for_nobody_else(
    machine: Machine, line: Line
) -> None:
    parcel = parcel_of(machine, line)
    assert stat.S_IMODE(parcel.stat().st_mode) == 0o640
    assert stat.S_IMODE(parcel.parent.stat().st_mode) == 0o750


def test_what_is_no_parcel_is_refused_and_the_others_are_taken(
    machine: Machine, line: Line, store: MemoryStore, counts: Path, tmp_path: Path
) -> None:
    good = parcel_of(machine, line)
    out = good.parent
    (out / "empty.parcel").touch()
    (out / "nested.parcel").write_bytes(b"[" * 500_000 + b"\n")
    (out / "long.parcel").write_bytes(b"x" * 2**21)
    (out / "folder.parcel").mkdir()
    os.mkfifo(out / "pipe.parcel")
    (out / "gone.parcel").symlink_to(out / "nowhere")
    (out / "notes.txt").touch()
    came = {Path(arrival.path).name: arrival for arrival in take([out], store, counts, ALLOWED)}
    arrivals = {name: arrival.outcome for name, arrival in came.items()}
    assert came["gone.parcel"].note == "no such file or directory"
    assert arrivals.pop(good.name) == "taken"
    assert set(arrivals) == {
        f"{name}.parcel" for name in ("empty", "nested", "long", "folder", "pipe", "gone")
    }
    assert set(arrivals.values()) == {"refused"}


def test_a_path_without_anything_is_an_error(
    store: MemoryStore, counts: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="nothing of that name"):
        take([tmp_path / "nowhere"], store, counts, ALLOWED)


def test_names_that_are_no_sites_are_shipped_with_the_counts(
    tmp_path: Path, logs: Path, store: MemoryStore, counts: Path
) -> None:
    (logs / "access.log").write_text(
        "".join(
            f'{host} 192.0.2.1 - - [15/Nov/2023:12:00:00 +0000] "GET /x HTTP/1.1" 404 10 "-" "-"\n'
            for host in ["a.example", "b.example", "b.example", "<c>"]
        )
    )
    rule = SiteRule(listed=frozenset(["a.example"]))
    beside = tmp_path / "beside"
    outbox = Outbox(MemoryStore(), beside, tmp_path / "out")
    ingest([Source("one", (f"{logs}/*",), "node-1", rule)], outbox, beside, read_at=NOON + 99)
    assert list(beside.glob("*.parquet")) == []
    take([tmp_path / "out"], store, counts, ALLOWED)
    found = requests_for_unknown_hosts(counts, store.segments(0, 10**6), 0, 10**6, most=9)
    assert (found.requests, dict(found.names)) == (3, {"b.example": 2, "%3Cc%3E": 1})


def test_a_damaged_copy_of_what_is_known_is_refused_where_known_ones_are_looked_at(
    machine: Machine, line: Line, store: MemoryStore, counts: Path
) -> None:
    machine.log.write_bytes(line("/a"))
    machine.ingest()
    (parcel,) = machine.parcels
    take([parcel], store, counts, ALLOWED)
    parcel.write_bytes(parcel.read_bytes()[:-1])
    outcomes = [
        arrival.outcome
        for too in (False, True)
        for arrival in take([parcel], store, counts, ALLOWED, known_too=too)
    ]
    assert outcomes == ["known", "refused"]
