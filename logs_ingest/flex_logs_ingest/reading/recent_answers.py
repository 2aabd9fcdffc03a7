"""What nodes answered for a few sites in the last hour, by the ends of their access logs.

Takes sources, and the sites that are asked for at each node. Remembers how far each log was read
and what it said, so the next look reads what came since. Reads plain files, and passes over lines
it does not understand. Writes nothing and counts nothing for forecasts: read_logs.py does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
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

# Bytes that one look reads at most; the next one goes on there. They take some seconds.
MOST = 2**27
# Names whose site is remembered. A guess.
_REMEMBERED = 50_000

# The site, seconds since 1970, whether it is an error, and the microseconds that it took.
_Record = tuple[str, int, bool, int | None]
_Read = Callable[[bytes], _Record | None]


@dataclass(eq=False, slots=True)
class _End:
    """How far a log was read for these sites, and what it said: by site and span the requests, the
    errors, and the answers by how long they took.
    """

    sites: Set[str]
    read: _Read
    offset: int
    counted: dict[tuple[str, int], list[int]] = field(default_factory=dict)


class RecentAnswers:
    def __init__(self) -> None:
        # By source, device and inode: a log that is renamed is still the same.
        self._ends: dict[tuple[str, int, int], _End] = {}

    def count(
        self, sources: Sequence[Source], sites: Mapping[str, Set[str]], spans: range
    ) -> list[AnswersOfSpan]:
        """For the sites of each node. A log that cannot be read counts nothing."""
        before, self._ends = self._ends, {}
        sums: dict[tuple[str, str, int], Answers] = {}
        left = MOST
        for source in sources:
            wanted = sites.get(source.node)
            if not wanted:
                continue
            for log, rule in _logs(source, wanted, spans.start * SPAN):
                key = source.name, log.status.st_dev, log.status.st_ino
                end = before.get(key)
                if not end or end.offset > log.size or not wanted <= end.sites:
                    end = _begin(log, source, rule, wanted, spans.start * SPAN)
                if end is None:
                    continue
                left -= _go_on(log, end, left)
                self._ends[key] = end
                for (site, span), counts in end.counted.items():
                    if site in wanted and span in spans:
                        of = source.node, site, span
                        answers = Answers(counts[0], counts[1], tuple(counts[2:]))
                        sums[of] = sums.get(of, Answers()) + answers
        return [AnswersOfSpan(*of, answers) for of, answers in sums.items()]


def _logs(source: Source, wanted: Set[str], since: int) -> Iterator[tuple[Log, SiteRule]]:
    """Those that were written to since then and may be of one of the sites."""
    rule_of = source.site.rule_finder()
    for path in paths(source):
        rule = rule_of(path)
        if rule is None or (rule.fixed is not None and rule.fixed not in wanted):
            continue
        with suppress(Unusable), Log(path) as log:
            if log.is_plain and log.status.st_mtime_ns >= since * 10**9:
                yield log, rule


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
    return _End(wanted, _reader(layout, rule, wanted), _place_of(log, layout, since))


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
