"""What nodes answered for a few sites in the last hour, by the ends of their access logs.

Takes sources, and the sites that are asked for at each node. Remembers how far each log was read
and what it said, so the next look reads what came since. Reads plain files, and passes over lines
it does not understand. Writes nothing and counts nothing for forecasts: read_logs.py does.

A log is known by how it begins. Short logs that are renamed or sent again count once more.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field

from flex.errors import BadInput, NoData, Unknown
from flex.model.node_answer_counts import BOUNDS, SPAN, TIMES, Answers, AnswersOfSpan
from flex_logs_ingest import formats
from flex_logs_ingest.files.find_and_unpack_logs import CHUNK, Log, Source, Unusable, paths
from flex_logs_ingest.lines import service_time
from flex_logs_ingest.lines.field_cutter import extractor
from flex_logs_ingest.lines.field_meanings import STATUSES, method_and_path, seconds
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.scan.python_loop import LINE_LIMIT
from flex_logs_ingest.scan.site_rules import SiteRule

# Bytes of a log's beginning that tell it from others, whatever its file is called.
HEAD = 1024
# Names whose site is remembered. A guess.
_REMEMBERED = 50_000

# The site, seconds since 1970, whether it is an error, and the microseconds that it took.
_Record = tuple[str, int, bool, int | None]
_Read = Callable[[bytes], _Record | None]


# The node, how the log begins and whose it is: the same where it was renamed, copied or sent again.
# Of a short log the device and the inode.
_Key = tuple[str, bytes | int, str | int]


@dataclass(eq=False, slots=True)
class _End:
    """How far a log was read for these sites, and what it said: by site and span the requests, the
    errors, and the answers by how long they took.
    """

    node: str
    sites: Set[str]
    read: _Read
    head: bytes
    offset: int
    counted: dict[tuple[str, int], list[int]] = field(default_factory=dict)

    def goes_on(self, log: Log) -> bool:
        """Whether it is that log still, and was not emptied."""
        return self.offset <= log.size and log.read(HEAD).startswith(self.head)


class RecentAnswers:
    def __init__(self, most: int = sys.maxsize) -> None:
        """A look reads at most so many bytes, shared by the nodes; the next one goes on there."""
        self._most = most
        self._ends: dict[_Key, _End] = {}
        self._last = range(0)

    def count(
        self, sources: Sequence[Source], sites: Mapping[str, Set[str]], spans: range
    ) -> list[AnswersOfSpan]:
        """For the sites of each node. A log that cannot be read counts nothing."""
        if self._last and self._last[-1] < spans[0]:
            self._ends.clear()
        self._last = spans
        left = {node: self._most // len(sites) for node in sites}
        logs = _logs(sources, sites, spans[0] * SPAN)
        self._forget(logs, spans)
        for key, (path, source, rule) in logs.items():
            wanted, end = sites[source.node], self._ends.get(key)
            with suppress(Unusable), Log(path) as log:
                if not end or not end.goes_on(log) or not wanted <= end.sites:
                    end = _begin(log, source, rule, wanted, spans[0] * SPAN)
                if end:
                    left[source.node] -= _go_on(log, end, left[source.node])
                    self._ends[key] = end
        return list(self._sums(sites, spans))

    def _forget(self, logs: Collection[_Key], spans: range) -> None:
        """What is over; all of short logs that are not there any more, as they may have grown."""
        for end in self._ends.values():
            end.counted = {of: counts for of, counts in end.counted.items() if of[1] in spans}
        self._ends = {
            key: end
            for key, end in self._ends.items()
            if key in logs or (isinstance(key[1], bytes) and end.counted)
        }

    def _sums(self, sites: Mapping[str, Set[str]], spans: range) -> Iterator[AnswersOfSpan]:
        """Also of logs that are packed or gone by now."""
        sums: dict[tuple[str, str, int], Answers] = {}
        for end in self._ends.values():
            for (site, span), counts in end.counted.items():
                if site in sites.get(end.node, ()) and span in spans:
                    of = end.node, site, span
                    answers = Answers(counts[0], counts[1], tuple(counts[2:]))
                    sums[of] = sums.get(of, Answers()) + answers
        for of, answers in sums.items():
            yield AnswersOfSpan(*of, answers)


def _logs(
    sources: Sequence[Source], sites: Mapping[str, Set[str]], since: int
) -> dict[_Key, tuple[str, Source, SiteRule]]:
    """Each log once that was written to since then and may be of one of the sites: of copies the
    longest, and for the first source that means it.
    """
    found: dict[_Key, tuple[int, tuple[str, Source, SiteRule]]] = {}
    claimed = set[tuple[int, int]]()
    for source in sources:
        if source.node not in sites:
            continue
        rule_of = source.site.rule_finder()
        for path in paths(source):
            rule = rule_of(path)
            if rule is None or (rule.fixed is not None and rule.fixed not in sites[source.node]):
                continue
            with suppress(Unusable), Log(path) as log:
                inode = log.status.st_dev, log.status.st_ino
                if not log.is_plain or log.status.st_mtime_ns < since * 10**9 or inode in claimed:
                    continue
                claimed.add(inode)
                head = log.read(HEAD)
                begins = inode if len(head) < HEAD else (head, rule.fixed or "")
                key = source.node, *begins
                if key not in found or found[key][0] < log.size:
                    found[key] = log.size, (path, source, rule)
    return {key: log for key, (_, log) in found.items()}


def _begin(log: Log, source: Source, rule: SiteRule, wanted: Set[str], since: int) -> _End | None:
    """Where the first line stands that is not older; None where nothing tells the log's format."""
    log.seek(0)
    look = log.read(formats.LOOK)
    unsized = bool(source.document_root)
    try:
        name = (
            formats.detect(look, unsized=unsized)
            if source.format == "auto"
            else formats.add_columns(source.format, look)
        )
        layout = formats.layout_of(name, unsized=unsized, begun=True)
    except (BadInput, NoData, Unknown):
        return None
    if layout.kind == "records":
        return None
    place = _place_of(log, layout, since)
    return _End(source.node, wanted, _reader(layout, rule, wanted), look[:HEAD], place)


def _reader(layout: Layout, rule: SiteRule, wanted: Set[str]) -> _Read:
    extract, time_of = extractor(layout), service_time.build_time_of_line(layout)
    site_of, known = rule.naming(), dict[bytes, str]()
    moments: dict[bytes, int | None] = {}

    def site_by(name: bytes) -> str:
        if name not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            known[name] = site_of(name)
        return known[name]

    def read(line: bytes) -> _Record | None:
        texts = extract(line)
        if texts is None or texts[3] not in STATUSES:
            return None
        vhost, time, request, status, _ = texts
        if rule.fixed is not None:
            site = rule.fixed
        elif rule.directory:
            asked = method_and_path(request)
            site = site_by(asked[1]) if asked else ""
        else:
            site = site_by(vhost)
        if site not in wanted:
            return None
        if time not in moments:
            moments.clear()
            moments[time] = seconds(time)
        moment = moments[time]
        if moment is None:
            return None
        took = time_of(line) if time_of else None
        return site, moment, status[:1] == b"5" and len(status) > 1, took

    return read


def _place_of(log: Log, layout: Layout, since: int) -> int:
    """A place in the log before lines that are not older. They are in order, but for moments."""
    extract = extractor(layout)
    low, high = 0, log.size
    while high - low > formats.LOOK:
        middle = (low + high) // 2
        log.seek(middle)
        lines = log.read(formats.LOOK).split(b"\n")[1:-1]
        texts = filter(None, map(extract, lines))
        moment = next(filter(None, (seconds(text[1]) for text in texts)), None)
        if moment is not None and moment < since:
            low = middle
        else:
            high = middle
    return low


def _go_on(log: Log, end: _End, most: int) -> int:
    """Counts the whole lines that came since. Returns how many bytes were read."""
    log.seek(end.offset)
    size, rest = 0, b""
    while size < most and (piece := log.read(min(CHUNK, most - size))):
        size += len(piece)
        whole, newline, rest = (rest + piece).rpartition(b"\n")
        if len(rest) > LINE_LIMIT:
            whole, newline, rest = b"", rest, b""
        _count(whole, end)
        end.offset += len(whole) + len(newline)
    return size


def _count(lines: bytes, end: _End) -> None:
    for line in lines.split(b"\n"):
        record = end.read(line)
        if record is None:
            continue
        site, moment, is_error, took = record
        counts = end.counted.setdefault((site, moment // SPAN), [0] * (2 + TIMES))
        counts[0] += 1
        counts[1] += is_error
        if took is not None:
            counts[2 + bisect_left(BOUNDS, took / 1000)] += 1
