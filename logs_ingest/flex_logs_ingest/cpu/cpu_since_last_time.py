"""What the cgroups of sites used since they were last asked, until it is sent.

Takes counters, and a file for what is to be remembered. Gives microseconds of each site in each
hour, each once, whatever is killed and when. Does not read cgroups, and does not send.

What was used between two times counts for the hours between, equally. A counter that is smaller
than it was, of a cgroup that was made again, or of a machine that was started again, counts from 0;
what such a one used between the last time and its end is lost. What several sites used in one
cgroup is parted by their requests of the last two days in the logs of this machine, or equally.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from flex.errors import NotWritten
from flex_logs_ingest.cpu.read_cgroups import MOST, Counter

# Site, hour and microseconds.
Used = tuple[str, int, int]
# Days for which what was used waits for a line of a log of that day. A guess.
WAITS = 14
# Days of requests by which what a cgroup used is parted.
RECENT = 2
# Cgroups that are remembered while they are not there. A guess.
_MOST_KNOWN = 50_000
_VERSION = 1


@dataclass(slots=True)
class _State:
    version: int = _VERSION
    patterns: list[str] = field(default_factory=list)
    boot: str = ""
    at: float = 0.0
    counters: dict[str, tuple[int, int]] = field(default_factory=dict)
    waiting: list[Used] = field(default_factory=list)
    taken_by: str = ""
    taken: list[Used] = field(default_factory=list)
    requests: dict[str, dict[str, int]] = field(default_factory=dict)


class CpuSinceLastTime:
    """Raises NotWritten. A file that cannot be read is begun anew: nobody knows what it said."""

    def __init__(self, file: Path, processors: int | None = None) -> None:
        self._file = file
        self._processors = processors or os.cpu_count() or 1
        self._state = _read(file)

    def count(
        self, counters: Sequence[Counter], patterns: Sequence[str], now: float, boot: str
    ) -> None:
        """What was used since the last time. The first time there is nothing to compare with."""
        state = self._state
        if state.at and state.patterns == list(patterns):
            for counter in counters:
                used = self._microseconds_since(counter, now, boot)
                for site, share in self._parts(counter.sites, used, int(now) // 86400):
                    state.waiting += _split_by_hours(site, share, state.at, now)
        oldest = (int(now) // 86400 - WAITS) * 24
        state.waiting = [each for each in state.waiting if each[1] >= oldest]
        state.patterns, state.boot, state.at = list(patterns), boot, now
        now_known = {each.path: (each.inode, each.used) for each in counters}
        # One that could not be read this time goes on from what is known of it.
        known = state.counters if len(state.counters) < _MOST_KNOWN else {}
        state.counters = known | now_known
        self._write()

    def take(self, reading: str, first_day: int, last_day: int) -> list[Used]:
        """What was used on these days, for this reading; nobody else gets it until `settle`."""
        state = self._state
        hours = range(first_day * 24, (last_day + 1) * 24)
        taken = [each for each in state.waiting if each[1] in hours]
        if not taken:
            return []
        state.taken_by, state.taken = reading, taken
        state.waiting = [each for each in state.waiting if each[1] not in hours]
        self._write()
        return add_up(taken)

    @property
    def taken_by(self) -> str:
        return self._state.taken_by

    def settle(self, *, recorded: bool) -> None:
        """The reading that took it counts, or it does not and the next one takes it."""
        state = self._state
        if not state.taken_by:
            return
        if not recorded:
            state.waiting += state.taken
        state.taken_by, state.taken = "", []
        self._write()

    def save(self) -> None:
        """What was noted of requests, for the next time."""
        if self._state.at:
            self._write()

    def note_requests(self, of_days: Mapping[tuple[str, int], int]) -> None:
        """How often sites were asked for in one more reading, by site and day."""
        newest = max((day for _, day in of_days), default=0)
        state = self._state
        for (site, day), number in of_days.items():
            days = state.requests.setdefault(site, {})
            days[str(day)] = days.get(str(day), 0) + number
        state.requests = {
            site: kept
            for site, days in state.requests.items()
            if (kept := {day: number for day, number in days.items() if int(day) > newest - WAITS})
        }

    def _microseconds_since(self, counter: Counter, now: float, boot: str) -> int:
        state = self._state
        inode, before = state.counters.get(counter.path, (counter.inode, 0))
        goes_on = boot == state.boot and inode == counter.inode
        used = counter.used - before if goes_on and counter.used >= before else counter.used
        # No more than all processors can do: what says more is a fault of its writer.
        most = max(now - state.at, 0.0) * self._processors * 1_000_000
        return min(used, int(most))

    def _parts(self, sites: Sequence[str], used: int, today: int) -> Iterator[tuple[str, int]]:
        weights = [self._recent_requests(site, today) for site in sites]
        if not sum(weights):
            weights = [1] * len(sites)
        until, total = 0, sum(weights)
        for site, weight in zip(sites, weights, strict=True):
            # Rounded at their borders, the parts add up to the whole.
            share = used * (until + weight) // total - used * until // total
            until += weight
            if share:
                yield site, share

    def _recent_requests(self, site: str, today: int) -> int:
        days = self._state.requests.get(site, {})
        return sum(number for day, number in days.items() if int(day) > today - RECENT)

    def _write(self) -> None:
        unfinished = self._file.with_name(f"{self._file.name}.part")
        try:
            with unfinished.open("w", encoding="utf-8") as file:
                json.dump(asdict(self._state), file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self._file)
        except OSError as error:
            raise NotWritten(
                f"writing {self._file}",
                error.strerror or str(error),
                kept="what was sent stays sent; processor time goes on from the last time",
                advice="make room or rights there, then run again",
            ) from error


def add_up(used: Sequence[Used]) -> list[Used]:
    """One for each site and hour, in order."""
    sums: dict[tuple[str, int], int] = {}
    for site, hour, number in used:
        sums[site, hour] = min(sums.get((site, hour), 0) + number, MOST)
    return [(site, hour, number) for (site, hour), number in sorted(sums.items())]


def _split_by_hours(site: str, used: int, begin: float, end: float) -> Iterator[Used]:
    """Equally over the time; where the clock went back, all of it in this hour."""
    if end <= begin:
        yield site, int(end) // 3600, used
        return
    before = 0
    for hour in range(int(begin) // 3600, int(end) // 3600 + 1):
        until = min((hour + 1) * 3600, end)
        sum_until = int(used * ((until - begin) / (end - begin)))
        if until == end:
            sum_until = used
        if sum_until > before:
            yield site, hour, sum_until - before
        before = sum_until


def _read(file: Path) -> _State:
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
        if saved.pop("version") != _VERSION:
            return _State()
        state = _State(**saved)
        state.counters = {
            path: (int(inode), int(used)) for path, (inode, used) in state.counters.items()
        }
        state.waiting = [_as_used(each) for each in state.waiting]
        state.taken = [_as_used(each) for each in state.taken]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return _State()
    return state


def _as_used(given: Sequence[object]) -> Used:
    site, hour, used = given
    return str(site), int(str(hour)), int(str(used))
