"""The scan loop in Python: log bytes in, counts per day, site and target out, as columns.

Defines what the native loop computes, and stands in for it where it is not installed. Memory grows with the number of
distinct targets, sites and hours, not with the log; `memory` says how far. What is handed over is described at `Found`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar
from zlib import crc32

import numpy as np

from flex_logs_ingest.columns import Columns, ColumnTables, Found, Ints, hours_table
from flex_logs_ingest.extract import HEADING, extractor
from flex_logs_ingest.layout import HEADING_LIMIT, Layout, is_directive
from flex_logs_ingest.line import MOST, STATUSES, asked, number, seconds
from flex_logs_ingest.malformed import NO_BYTES, NO_FIELDS, NO_STATUS, NO_TIME, TOO_LONG, Bad, Malformed
from flex_logs_ingest.sites import UNKNOWN, SiteRule
from flex_logs_ingest.strangers import Strangers

Key = TypeVar("Key")
Value = TypeVar("Value")

LINE_LIMIT = 2**20
_REMEMBERED = 50_000
# Longer names are understood anew each time, so that what is remembered stays small.
_LONG = 1024
# A name that a visitor invents becomes no site of its own where the log has had as many already.
_SITES = 50_000
# `:55:36` of a time in the style of Apache, in seconds. Most times differ from one already read in nothing else.
_CLOCK = {b":%02d:%02d" % divmod(second, 60): second for second in range(3600)}

# About what a row takes beside its target, an hour or a site, an access in the sample.
_ROW, _ENTRY, _SAMPLED = 700, 600, 40
# About what a day takes when it is written: a row group of its own.
_DAY = 2**15
# The longest time whose hour is remembered.
_LONG_TIME = 64

COUNTED, OTHER_STATUS, NO_REQUEST, MALFORMED = range(4)

# Of a target on one day: requests, bytes, size, last, number, level.
Row = list[int]
# Of a site: requests and bytes of each hour.
Hours = dict[int, list[int]]
# What a virtual host's name leads to on one day: the site, its hours, its targets of the day.
Place = tuple[str, Hours, dict[bytes, Row]]


def level_of(site: str, target: bytes) -> int:
    """A target is in the sample of rate 1 / 2**j when its level is at least j: how many zero bits its hash begins with.

    The CRC tells targets apart, the finaliser of MurmurHash3 spreads what the CRC leaves regular.
    """
    mixed = crc32(site.encode() + b"\0" + target)
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return 32 - (mixed ^ mixed >> 16).bit_length()


class ReferenceScan:
    def __init__(self, layout: Layout, rule: SiteRule, sample_limit: int, keep_bad: bool = False) -> None:
        self._extract = extractor(layout)
        self._fixed = rule.fixed
        self._site_of = rule.naming()
        self._directory = rule.directory
        self._strangers = Strangers()
        self._heading = layout.start if layout.kind == "w3c" else b""
        self._limit = sample_limit
        self._hour_starts: dict[bytes, int] = {}
        self._bad = Malformed(keep_bad)
        # Every site since the log began, wherever its counts were handed over in between.
        self._seen: set[str] = set()
        self._begin()
        # The line that has no end yet: where it begins, how long it is, and what is kept of it.
        self._start, self._pending, self._tail = 0, 0, b""

    def _begin(self) -> None:
        """Nothing is counted yet."""
        self._targets: dict[tuple[int, str], dict[bytes, Row]] = {}
        self._hours: dict[str, Hours] = {}
        self._level = 0
        self._levels = array("b")
        self._sample_time, self._sample_row = array("q"), array("q")
        self._places: dict[tuple[int, bytes], Place] = {}
        self._first, self._last = MOST, 0
        self._lines = [0, 0, 0, 0]
        self._text, self._entries = 0, 0
        self._days: set[int] = set()

    @property
    def memory(self) -> int:
        """About how many bytes are held, and are needed to hand over what they say."""
        rows = len(self._levels) * _ROW + self._text
        return rows + self._entries * _ENTRY + len(self._days) * _DAY + len(self._sample_row) * _SAMPLED

    def feed(self, chunk: bytes) -> None:
        piece, newline, rest = chunk.partition(b"\n")
        self._grow(piece)
        if not newline:
            return
        self._end_line()
        whole, newline, piece = rest.rpartition(b"\n")
        if newline:
            self._scan(whole.split(b"\n"))
            self._start += len(whole) + 1
        self._grow(piece)
        self._thin()

    def take_bad(self) -> list[Bad]:
        """The malformed lines since the last call, where they are kept."""
        return self._bad.take()

    def finish(self, complete: bool = False) -> Found:
        """What was counted since the last call; a line without an end waits for what will be fed.

        With `complete` that line counts too: nothing will be added to it.
        """
        if complete and self._pending:
            self._end_line()
        self._thin()
        found = self._found()
        self._begin()
        return found

    def _grow(self, piece: bytes) -> None:
        self._pending += len(piece)
        if not self._tail:
            # A log that was emptied under a writer that goes on where it stood begins with zeros up to there.
            piece = piece.lstrip(b"\0")
        self._tail = (self._tail + piece)[: LINE_LIMIT + 1]

    def _end_line(self) -> None:
        self._scan([self._tail])
        self._start += self._pending + 1
        self._pending, self._tail = 0, b""

    def _scan(self, lines: list[bytes]) -> None:
        """Count whole lines; the first of them begins at `_start`."""
        extract, hour_starts, places, level = self._extract, self._hour_starts, self._places, self._level
        directory, strange = self._directory, self._strangers.add
        sample_time, sample_row = self._sample_time.append, self._sample_row.append
        first, last = self._first, self._last
        counted = other_status = no_request = 0
        wrong, why = array("q"), array("b")
        for i, line in enumerate(lines):
            line = line.lstrip(b"\0")
            texts = extract(line.rstrip(b"\r")) if len(line) <= LINE_LIMIT else None
            if texts is None:
                wrong.append(i)
                why.append(NO_FIELDS if len(line) <= LINE_LIMIT else TOO_LONG)
                continue
            vhost, when, request, status, sent = texts
            size = int(sent) if sent.isdigit() and len(sent) < 14 else number(sent)
            start, clock = hour_starts.get(when[:14] + when[20:]), _CLOCK.get(when[14:20])
            time = self._time(when) if start is None or clock is None else start + clock
            if size is None or time is None or status not in STATUSES:
                if texts is HEADING:
                    no_request += 1
                    self._headed(line.rstrip(b"\r"))
                else:
                    wrong.append(i)
                    why.append(NO_BYTES if size is None else NO_STATUS if status not in STATUSES else NO_TIME)
                continue
            if not first <= time <= last:
                first, last = min(first, time), max(last, time)
            found = asked(request)
            if found is None:
                no_request += 1
                continue
            method, target = found
            if directory:
                vhost = target[: target.find(b"/", 1) + 1] or b"/"
            day = time // 86400
            place = places.get((day, vhost))
            if place is None:
                place = self._place(day, vhost)
            site, hours, targets = place
            if site == UNKNOWN:
                strange(vhost)
            hour = hours.get(time // 3600)
            if hour is None:
                hour = hours[time // 3600] = [0, 0]
                self._entries += 1
            hour[0] += 1
            hour[1] += size
            if status[0] not in b"23":
                other_status += 1
                continue
            counted += 1
            row = targets.get(target)
            if row is None:
                row = targets[target] = self._new_row(site, target)
            row[0] += 1
            row[1] += size
            if size > row[2] and status == b"200" and method != b"HEAD":
                row[2] = size
            if time > row[3]:
                row[3] = time
            if row[5] >= level:
                sample_time(time)
                sample_row(row[4])
        self._first, self._last = first, last
        self._lines[COUNTED] += counted
        self._lines[OTHER_STATUS] += other_status
        self._lines[NO_REQUEST] += no_request
        self._lines[MALFORMED] += len(wrong)
        self._malformed(lines, wrong, why)

    def _malformed(self, lines: list[bytes], wrong: Iterable[int], why: Iterable[int]) -> None:
        """The lines of these numbers, in order."""
        start, before = self._start, 0
        for i, reason in zip(wrong, why, strict=True):
            start += sum(map(len, lines[before:i])) + i - before
            before = i
            self._bad.add(start, reason, lines[i].lstrip(b"\0"))

    def _time(self, when: bytes) -> int | None:
        time, clock = seconds(when), _CLOCK.get(when[14:20])
        if time is not None and clock is not None and len(when) <= _LONG_TIME:
            _remember(self._hour_starts, when[:14] + when[20:], time - clock)
        return time

    def _headed(self, line: bytes) -> None:
        if is_directive(line):
            self._heading = line[:HEADING_LIMIT]

    def _place(self, day: int, vhost: bytes) -> Place:
        site = self._site_of(vhost) if self._fixed is None else self._fixed
        if site not in self._seen and site != UNKNOWN:
            if len(self._seen) >= _SITES:
                site = UNKNOWN
            else:
                self._seen.add(site)
        self._days.add(day)
        place = site, self._hours.setdefault(site, {}), self._targets.setdefault((day, site), {})
        if len(vhost) <= _LONG:
            _remember(self._places, (day, vhost), place)
        return place

    def _new_row(self, site: str, target: bytes) -> Row:
        level = level_of(site, target)
        row = [0, 0, 0, 0, len(self._levels), level]
        self._levels.append(level)
        self._text += len(target)
        return row

    def _thin(self) -> None:
        """Keep every second target of the sample as long as it is too large."""
        while len(self._sample_row) > self._limit:
            self._level += 1
            row, time = np.asarray(self._sample_row), np.asarray(self._sample_time)
            kept = np.asarray(self._levels)[row] >= self._level
            self._sample_row, self._sample_time = array("q", row[kept].tobytes()), array("q", time[kept].tobytes())

    def _found(self) -> Found:
        sites = sorted(self._hours)
        columns = self._columns({site: i for i, site in enumerate(sites)})
        hours = [
            (number, hour, requests, sent)
            for number, site in enumerate(sites)
            for hour, (requests, sent) in sorted(self._hours[site].items())
        ]
        site, hour, requests, sent = (_ints([row[i] for row in hours]) for i in range(4))
        reasons, bad = self._bad.found()
        return Found(
            sites=sites,
            hour_site=site,
            hour=hour,
            hour_requests=requests,
            hour_bytes=sent,
            level=self._level,
            lines=self._lines,
            reasons=reasons,
            bad=bad,
            strangers=self._strangers.found(),
            heading=self._heading,
            first_time=min(self._first, self._last),
            last_time=self._last,
            pending=self._pending,
            tables=ColumnTables(columns, hours_table(site, sites, hour, requests, sent), sites, self._level),
        )

    def _columns(self, numbers: Mapping[str, int]) -> Columns:
        targets = [
            (day, numbers[site], target, row)
            for (day, site), targets in sorted(self._targets.items())
            for target, row in sorted(targets.items())
        ]
        rank = np.empty(len(targets), dtype=np.int64)
        rank[_ints([row[4] for _, _, _, row in targets])] = np.arange(len(targets))
        sample = np.array(self._sample_row, dtype=np.int64)
        return Columns(
            day=_ints([day for day, _, _, _ in targets]),
            site=_ints([site for _, site, _, _ in targets]),
            text=b"".join(target for _, _, target, _ in targets),
            offsets=_ints(list(accumulate((len(target) for _, _, target, _ in targets), initial=0))),
            requests=_ints([row[0] for _, _, _, row in targets]),
            bytes=_ints([row[1] for _, _, _, row in targets]),
            size=_ints([row[2] for _, _, _, row in targets]),
            last=_ints([row[3] for _, _, _, row in targets]),
            sample_time=np.array(self._sample_time, dtype=np.int64),
            sample_row=rank[sample],
            sample_level=np.array(self._levels, dtype=np.int64)[sample],
        )


def _remember(known: dict[Key, Value], key: Key, value: Value) -> None:
    """What a log repeats is understood once; memory is bounded where it does not repeat itself."""
    if len(known) >= _REMEMBERED:
        known.clear()
    known[key] = value


def _ints(values: Sequence[int]) -> Ints:
    """Sums that are too large for 64 bits become the largest."""
    return np.array([min(value, MOST) for value in values], dtype=np.int64)
