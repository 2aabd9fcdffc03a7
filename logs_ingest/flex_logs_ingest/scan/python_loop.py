"""The scan loop in Python: from log bytes to counts per day, site and target, as columns.

Takes a layout, a rule for sites and chunks of a log. Returns ScannedColumns. It defines
what the native loop computes, and stands in for it where that is not installed. Memory grows with
the number of distinct targets, sites and hours, not with the log; `memory` says how far. Does not
write anything.

Requests that called a site by another of its names are added up by name and day (Others), as the
native scan does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TypeVar
from zlib import crc32

import numpy as np

from flex_logs_ingest.lines import service_time
from flex_logs_ingest.lines.field_cutter import HEADING, extractor
from flex_logs_ingest.lines.field_meanings import (
    LAST_TIME,
    MOST,
    STATUSES,
    method_and_path,
    number,
    seconds,
    spell_path,
)
from flex_logs_ingest.lines.layout import HEADING_LIMIT, Layout, is_directive
from flex_logs_ingest.lines.usual_lines import usual
from flex_logs_ingest.scan.counts_as_columns import (
    HOUR_COLUMNS,
    Columns,
    ColumnTables,
    Ints,
    OtherCount,
    ScannedColumns,
    hours_table,
)
from flex_logs_ingest.scan.frequent_unknown_hosts import Strangers
from flex_logs_ingest.scan.malformed_lines import (
    NO_BYTES,
    NO_FIELDS,
    NO_STATUS,
    NO_TIME,
    TOO_LONG,
    Bad,
    Malformed,
)
from flex_logs_ingest.scan.site_rules import UNKNOWN, SiteRule
from flex_logs_ingest.scan.target_tally import Tally

# Requests and bytes.
Sums = list[int]


class Others:
    def __init__(self) -> None:
        self._sums: dict[tuple[str, str, int], Sums] = {}

    def __len__(self) -> int:
        return len(self._sums)

    def sums(self, site: str, name: str, day: int) -> Sums:
        return self._sums.setdefault((site, name, day), [0, 0])

    def sorted_counts(self) -> list[OtherCount]:
        """In order of sites, names and days."""
        ordered = sorted(self._sums.items())
        return [(*key, requests, min(sent, MOST)) for key, (requests, sent) in ordered if requests]


Key = TypeVar("Key")
Value = TypeVar("Value")

# Bytes of a line. A longer one is malformed. A guess.
LINE_LIMIT = 2**20
# Names and times whose meaning is remembered. A guess.
_REMEMBERED = 50_000
# Bytes of a name. Longer names are understood anew each time, so that what is remembered stays
# small. A guess.
_LONG = 1024
# Sites of one log, after which a name that is not listed becomes no site of its own: visitors can
# invent names. A guess.
_SITES = 50_000
# `:55:36` of a time in the style of Apache, in seconds. Most times differ from one already read in
# nothing else.
_CLOCK = {b":%02d:%02d" % divmod(second, 60): second for second in range(3600)}

# Bytes of memory that a row takes beside its target until it is written. Measured on 15,000 rows of
# one site: 400 a row, and what writing takes.
_ROW = 700
# Bytes of memory that an hour or a site takes until it is written. Measured on 15,000 rows, each of
# its own site.
_ENTRY = 1300
# Bytes of memory that an access in the sample takes until it is written. A guess.
_SAMPLED = 40
# Bytes of memory that a day takes while it is written, because it is a row group of its own. A
# guess.
_DAY = 2**15
# Bytes of a time whose hour is remembered. A guess.
_LONG_TIME = 64

# What became of a line, as places in CLASSES (scan/segment_scan.py).
COUNTED = 0
OTHER_STATUS = 1
NO_REQUEST = 2
MALFORMED = 3

# What a site has of each hour: requests, bytes, how many of the requests say how long they took,
# and the microseconds of these.
Hours = dict[int, list[int]]
# The rows of targets, by number.
Targets = dict[bytes, int]
# What a virtual host's name leads to on one day: the site, its hours, its targets of the day, what
# came by that name.
Place = tuple[str, Hours, Targets, Sums | None]
# The same for one hour: the site, what it has of the hour, the targets of its day, what came by
# that name.
Spot = tuple[str, list[int], Targets, Sums | None]

# Bytes of a line. Where lines are this short, few of them can be usual ones. A guess.
_SHORT = 40
_SUCCESS = frozenset(b"%d" % status for status in range(200, 400))


def level_of(site: str, path: bytes) -> int:
    """A target is in the sample of rate 1 / 2**j when its level is at least j: how many zero bits
    its hash begins with.

    The CRC tells targets apart, the finaliser of MurmurHash3 spreads what the CRC leaves regular.
    """
    mixed = crc32(site.encode() + b"\0" + path)
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return 32 - (mixed ^ mixed >> 16).bit_length()


class ReferenceScan:
    def __init__(
        self, layout: Layout, rule: SiteRule, sample_limit: int, keep_bad: bool = False
    ) -> None:
        self._extract = extractor(layout)
        self._usual = usual(layout)
        self._spent = service_time.build_time_of_line(layout)
        self._spent_behind = service_time.build_time_of_rest(layout)
        self._fixed = rule.fixed
        self._site_of, self._other_of = rule.naming(), rule.other_naming()
        self._directory = rule.directory
        self._strangers = Strangers()
        self._heading = layout.start if layout.kind == "w3c" else b""
        self._limit = sample_limit
        self._hour_starts: dict[bytes, int] = {}
        self._bad = Malformed(keep_bad)
        # Every site since the log began, also of counts that were handed over.
        self._seen: set[str] = set()
        self._begin()
        # The line that has no end yet: where it begins, how long it is, and what is kept of it.
        self._start, self._pending, self._tail = 0, 0, b""

    def _begin(self) -> None:
        """Nothing is counted yet."""
        self._targets: dict[tuple[int, str], Targets] = {}
        self._hours: dict[str, Hours] = {}
        self._others = Others()
        self._tally = Tally()
        self._places: dict[tuple[int, bytes], Place] = {}
        self._spots: dict[int, dict[bytes, Spot]] = {}
        self._spot_count = 0
        self._first, self._last = MOST, 0
        self._lines = [0, 0, 0, 0]
        self._text, self._entries = 0, 0
        self._days: set[int] = set()

    @property
    def memory(self) -> int:
        """About how many bytes are held, and are needed to hand over what they say: a target
        twice.
        """
        tally = self._tally
        rows = len(tally) * _ROW + self._text * 2 + len(tally.sample_row) * _SAMPLED
        return rows + (self._entries + len(self._others)) * _ENTRY + len(self._days) * _DAY

    def feed(self, chunk: bytes) -> None:
        piece, newline, rest = chunk.partition(b"\n")
        self._grow(piece)
        if not newline:
            return
        self._end_line()
        whole, newline, piece = rest.rpartition(b"\n")
        if newline:
            self._scan(whole)
            self._start += len(whole) + 1
        self._grow(piece)
        self._tally.thin(self._limit)

    def take_bad(self) -> list[Bad]:
        """The malformed lines since the last call, where they are kept."""
        return self._bad.take()

    def finish(self, complete: bool = False) -> ScannedColumns:
        """What was counted since the last call; a line without an end waits for what will be fed.

        With `complete` that line counts too: nothing will be added to it.
        """
        if complete and self._pending:
            self._end_line()
        self._tally.thin(self._limit)
        scanned = self._take_found()
        self._begin()
        return scanned

    def _grow(self, piece: bytes) -> None:
        self._pending += len(piece)
        if not self._tail:
            # A log that was emptied under a writer that goes on where it stood begins with zeros up
            # to there.
            piece = piece.lstrip(b"\0")
        self._tail = (self._tail + piece)[: LINE_LIMIT + 1]

    def _end_line(self) -> None:
        self._scan(self._tail)
        self._start += self._pending + 1
        self._pending, self._tail = 0, b""

    def _scan(self, block: bytes) -> None:
        """Count whole lines, with their ends between them; the first of them begins at `_start`."""
        if (
            self._usual is None
            or len(block) > LINE_LIMIT
            or block.count(b"\n") * _SHORT > len(block)
        ):
            reasons = enumerate(map(self._line, block.split(b"\n")))
            wrong = [(i, reason) for i, reason in reasons if reason is not None]
        else:
            wrong = self._usual_lines(self._usual, block)
        self._tally.settle()
        if wrong:
            self._note_malformed(block.split(b"\n"), wrong)

    def _usual_lines(self, usual: re.Pattern[bytes], block: bytes) -> list[tuple[int, int]]:
        """Count them, and any others in between; the numbers of malformed ones, with what is wrong
        with them.
        """
        lines: list[bytes] = []
        wrong: list[tuple[int, int]] = []
        counted = other_status = 0
        first, last, tally = self._first, self._last, self._tally
        number = tally.number.append
        sizes = tally.size.append
        full = tally.full.append
        times = tally.time.append
        begin, date, zone = -1, b"", b""
        spots: dict[bytes, Spot] = {}
        spent_behind = self._spent_behind
        for i, (vhost, now, clock, east, method, path, status, sent, rest) in enumerate(
            usual.findall(block + b"\n")
        ):
            if now != date or east != zone:
                date, zone = now, east
                begin, spots = self._hour_of(now, east)
            spot = spots.get(vhost) or (self._spot(begin, vhost) if begin >= 0 else None)
            if spot is None:
                lines = lines or block.split(b"\n")
                if (reason := self._line(lines[i])) is not None:
                    wrong.append((i, reason))
                continue
            site, hour, targets, came = spot
            size = int(sent or 0)
            hour[0] += 1
            hour[1] += size
            if rest and spent_behind is not None:
                _add_time(hour, spent_behind(rest.rstrip(b"\r")))
            if came is not None:
                came[0] += 1
                came[1] += size
            time = begin + _CLOCK[clock]
            if not first <= time <= last:
                first, last = min(first, time), max(last, time)
            if status == b"200":
                full(size if method != b"HEAD" else 0)
            elif status in _SUCCESS:
                full(0)
            else:
                other_status += 1
                continue
            counted += 1
            row = targets.get(path)
            number(self._row(site, targets, spell_path(path)) if row is None else row)
            sizes(size)
            times(time)
        self._first, self._last = min(first, self._first), max(last, self._last)
        self._lines[COUNTED] += counted
        self._lines[OTHER_STATUS] += other_status
        return wrong

    def _hour_of(self, date: bytes, zone: bytes) -> tuple[int, dict[bytes, Spot]]:
        """When an hour of the clock begins, and its spots; -1 where it is not an hour of UTC."""
        begin = self._hour_starts.get(date + zone)
        if begin is None and date:
            begin = self._time(date + b":00:00" + zone)
        if begin is None or begin % 3600 or self._directory:
            return -1, {}
        return begin, self._spots.setdefault(begin, {})

    def _spot(self, begin: int, vhost: bytes) -> Spot | None:
        """Where a usual line of that hour is counted; None where each of them has to be looked
        at.
        """
        site, hours, targets, came = self._place(begin // 86400, vhost)
        if site == UNKNOWN:
            return None
        spot = site, self._hour(hours, begin // 3600), targets, came
        if len(vhost) <= _LONG:
            if self._spot_count >= _REMEMBERED:
                self._spots.clear()
                self._spot_count = 0
            self._spots.setdefault(begin, {})[vhost] = spot
            self._spot_count += 1
        return spot

    def _line(self, line: bytes) -> int | None:
        """Count a line, whatever it is; what is wrong with it when it is malformed."""
        line = line.lstrip(b"\0")
        if len(line) > LINE_LIMIT:
            return TOO_LONG
        line = line.rstrip(b"\r")
        texts = self._extract(line)
        if texts is None:
            return NO_FIELDS
        if texts is HEADING:
            self._lines[NO_REQUEST] += 1
            self._read_heading(line)
            return None
        vhost, when, request, status, sent = texts
        size = int(sent) if sent.isdigit() and len(sent) < 14 else number(sent)
        start = self._hour_starts.get(when[:14] + when[20:])
        clock = _CLOCK.get(when[14:20])
        time = self._time(when) if start is None or clock is None else start + clock
        if size is None or time is None or status not in STATUSES:
            return NO_BYTES if size is None else NO_STATUS if status not in STATUSES else NO_TIME
        if not self._first <= time <= self._last:
            self._first, self._last = min(self._first, time), max(self._last, time)
        parsed_request = method_and_path(request)
        self._lines[
            NO_REQUEST
            if parsed_request is None
            else self._answer(vhost, parsed_request, status, size, time, line)
        ] += 1
        return None

    def _answer(
        self,
        vhost: bytes,
        parsed_request: tuple[bytes, bytes],
        status: bytes,
        size: int,
        time: int,
        line: bytes,
    ) -> int:
        """Count an answer to a request for something; its class."""
        method, path = parsed_request
        if self._directory:
            vhost = path[: path.find(b"/", 1) + 1] or b"/"
        site, hours, targets, came = self._place(time // 86400, vhost)
        if site == UNKNOWN:
            self._strangers.add(vhost)
        hour = self._hour(hours, time // 3600)
        for sums in (hour, came) if came is not None else (hour,):
            sums[0] += 1
            sums[1] += size
        if self._spent is not None:
            _add_time(hour, self._spent(line))
        if status[0] not in b"23":
            return OTHER_STATUS
        tally = self._tally
        tally.number.append(self._row(site, targets, path))
        tally.size.append(size)
        tally.full.append(size if status == b"200" and method != b"HEAD" else 0)
        tally.time.append(time)
        return COUNTED

    def _note_malformed(self, lines: Sequence[bytes], wrong: Sequence[tuple[int, int]]) -> None:
        """The lines of these numbers, in order."""
        self._lines[MALFORMED] += len(wrong)
        start, before = self._start, 0
        for i, reason in wrong:
            start += sum(map(len, lines[before:i])) + i - before
            before = i
            self._bad.add(start, reason, lines[i].lstrip(b"\0"))

    def _time(self, when: bytes) -> int | None:
        time, clock = seconds(when), _CLOCK.get(when[14:20])
        if time is not None and clock is not None and len(when) <= _LONG_TIME:
            begin = time - clock
            # The first and the last hour that there is may be one in part.
            if 0 <= begin <= LAST_TIME - 3599:
                _remember(self._hour_starts, when[:14] + when[20:], begin)
        return time

    def _read_heading(self, line: bytes) -> None:
        if is_directive(line):
            self._heading = line[:HEADING_LIMIT]
            if self._spent is not None:
                self._spent(line)

    def _place(self, day: int, vhost: bytes) -> Place:
        return self._places.get((day, vhost)) or self._new_place(day, vhost)

    def _new_place(self, day: int, vhost: bytes) -> Place:
        site = self._site_of(vhost) if self._fixed is None else self._fixed
        if site not in self._seen and site != UNKNOWN:
            if len(self._seen) >= _SITES:
                site = UNKNOWN
            else:
                self._seen.add(site)
        self._days.add(day)
        name = "" if self._fixed is not None or site == UNKNOWN else self._other_of(vhost)
        came = self._others.sums(site, name, day) if name else None
        place = (
            site,
            self._hours.setdefault(site, {}),
            self._targets.setdefault((day, site), {}),
            came,
        )
        if len(vhost) <= _LONG:
            _remember(self._places, (day, vhost), place)
        return place

    def _hour(self, hours: Hours, hour: int) -> list[int]:
        sums = hours.get(hour)
        if sums is None:
            sums = hours[hour] = [0, 0, 0, 0]
            self._entries += 1
        return sums

    def _row(self, site: str, targets: Targets, path: bytes) -> int:
        row = targets.get(path)
        if row is None:
            row = targets[path] = self._tally.new(level_of(site, path))
            self._text += len(path)
        return row

    def _take_found(self) -> ScannedColumns:
        sites = sorted(self._hours)
        columns = self._columns({site: i for i, site in enumerate(sites)})
        hours = [
            (number, hour, *counts)
            for number, site in enumerate(sites)
            for hour, counts in sorted(self._hours[site].items())
        ]
        by_hour = {
            name: _ints([row[place] for row in hours]) for place, name in enumerate(HOUR_COLUMNS)
        }
        reasons, bad = self._bad.take_found()
        return ScannedColumns(
            sites=sites,
            hour_site=by_hour["site"],
            hour=by_hour["hour"],
            hour_requests=by_hour["requests"],
            hour_bytes=by_hour["bytes"],
            hour_timed=by_hour["timed"],
            hour_service=by_hour["service_us"],
            level=self._tally.level,
            lines=self._lines,
            reasons=reasons,
            bad=bad,
            strangers=self._strangers.take_found(),
            others=None
            if self._fixed is not None or self._directory
            else self._others.sorted_counts(),
            heading=self._heading,
            first_time=min(self._first, self._last),
            last_time=self._last,
            pending=self._pending,
            tables=ColumnTables(columns, hours_table(by_hour, sites), sites, self._tally.level),
        )

    def _columns(self, numbers: Mapping[str, int]) -> Columns:
        groups = sorted(self._targets.items())
        rows = [row for _, targets in groups for row in sorted(targets.items())]
        sizes = [len(targets) for _, targets in groups]
        order = _ints([row for _, row in rows])
        rank = np.empty(len(rows), dtype=np.int64)
        rank[order] = np.arange(len(rows))
        tally = self._tally
        sample = np.array(tally.sample_row, dtype=np.int64)
        return Columns(
            day=np.repeat(_ints([day for (day, _), _ in groups]), sizes),
            site=np.repeat(_ints([numbers[site] for (_, site), _ in groups]), sizes),
            text=b"".join(path for path, _ in rows),
            offsets=_ints(list(accumulate((len(path) for path, _ in rows), initial=0))),
            requests=tally.requests[order],
            bytes=tally.bytes[order].astype(np.int64),
            size=tally.largest[order],
            last=tally.last[order],
            sample_time=np.array(tally.sample_time, dtype=np.int64),
            sample_row=rank[sample],
            sample_level=np.array(tally.levels, dtype=np.int64)[sample],
        )


def _add_time(hour: list[int], spent: int | None) -> None:
    if spent is not None:
        hour[2] += 1
        hour[3] += spent


def _remember(known: dict[Key, Value], key: Key, value: Value) -> None:
    """What a log repeats is understood once; memory is bounded where it does not repeat itself."""
    if len(known) >= _REMEMBERED:
        known.clear()
    known[key] = value


def _ints(values: Sequence[int]) -> Ints:
    """Sums that are too large for 64 bits become the largest."""
    return np.array([min(value, MOST) for value in values], dtype=np.int64)
