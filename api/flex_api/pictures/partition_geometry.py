"""Where everything stands in the picture of a partition: every node a bar, its sites the segments,
its moves the bands.

Takes which site asks for how much, on which nodes it is, and what moves. Returns frozen geometries
that the templates draw. Does not write markup or choose colours, and does not decide what moves.

Sites that would be too narrow to see are one segment at the end of what stays; `opened` is the same
picture of these alone. A site that leaves a node is an outline behind its bar, from which a band
leads to the node that gets it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flex_api.in_words import amounts, text_safe_for_html
from flex_api.pictures import chart_geometry, label_widths
from flex_api.pictures.chart_geometry import MOST_BARS, Tick

# Pixels from one node's bar to the next: the bands are seen between them. Chosen by eye.
ROW = 44
# Pixels of height of a bar. Chosen by eye.
BAR = 22
# Pixels above a bar within its row.
ABOVE = (ROW - BAR) // 2
# Units of the plot's width in which bands are drawn; the browser stretches them to the page.
WIDE = 1000
# Where memory is more than so many times what is asked for, the plot ends before it. Chosen by eye.
MOST_ROOM = 4
# Per cent of the plot below which a site has no segment of its own: 4 pixels of 700. Chosen by eye.
NARROWEST = 0.55
# Segments of all nodes together, so that a picture of many nodes stays small. A guess.
MOST_SEGMENTS = 1600
# Segments that a node has in any case. A guess.
FEWEST = 12
# Per cent of a plot on paper or on a desk that a letter takes: 6.5 pixels of 430. Chosen by eye.
PERCENT_A_LETTER = 1.5
# The same on a telephone: 6.5 pixels of 230.
PERCENT_A_LETTER_NARROW = 2.9
# Letters of a name that a segment has room for, or it has no label; of a name, at most. Guesses.
FEWEST_LETTERS = 6
LONGEST_LABEL = 40
# Bands of one site each; what else moves is drawn together by node and node. A guess.
MOST_BANDS = 60
# Sites that the table names for each node. A guess.
LARGEST = 8
# Steps by which the small sites are opened, each a picture of what the last one left. A guess.
DEEPEST = 2


# Where something is in a row: per cent from the left, per cent of width, which row.
Spot = tuple[float, float, int]


@dataclass(frozen=True, slots=True)
class Move:
    """A site that comes to a node, from another one or from nowhere; or one that only leaves."""

    site: str
    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """What the picture is of. Row i says that site `row_site[i]` is on node `row_node[i]`, where it
    asks for `asked[i]`; `fair` is what each node should carry, 0 for one that is closed. `memory`
    is that of each node, where what is asked for takes memory.
    """

    sites: np.ndarray
    nodes: Sequence[str]
    fair: Sequence[float]
    row_site: np.ndarray
    row_node: np.ndarray
    asked: np.ndarray
    moves: Sequence[Move] = ()
    pinned: Collection[str] = frozenset()
    memory: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar, in per cent of the plot. `site` is empty where it holds several sites;
    `kind` is "stays", "small", "came" or "left".
    """

    id: str
    x: float
    width: float
    kind: str
    text: str
    site: str = ""
    label: str = ""
    narrow: bool = False
    pinned: bool = False
    replicated: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One node. `sites` are all that it has, `largest` those that the table names, each with its
    segment. `memory` is where its memory ends, which may be beyond the plot, and `filled` how much
    of it is asked for.
    """

    node: str
    label: str
    top: int
    segments: tuple[Segment, ...]
    fair: float | None
    sites: int
    asked: float
    note: str
    largest: tuple[tuple[str, str], ...]
    small: int
    small_share: float
    memory: float | None = None
    filled: float | None = None

    @property
    def beside(self) -> str:
        """What stands behind its bar."""
        filled = "" if self.filled is None else f", {amounts.share(self.filled)}"
        return f"{amounts.count(self.sites, 'site')}{filled}"


@dataclass(frozen=True, slots=True)
class Band:
    """From where a site stood to where it comes to: a path in units of WIDE and pixels."""

    path: str
    text: str
    site: str


@dataclass(frozen=True, slots=True)
class Partition:
    """`drawn` says which segments a site has; the small ones of a node are in `together`."""

    title: str
    desc: str
    rows: tuple[Row, ...]
    bands: tuple[Band, ...]
    ticks: tuple[Tick, ...]
    left_out: int
    marks: frozenset[str]
    drawn: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    together: Mapping[str, str] = field(default_factory=dict)
    opened: Partition | None = None

    @property
    def height(self) -> int:
        return ROW * len(self.rows)

    @property
    def label_width(self) -> int:
        return label_widths.text_margin(max((len(row.label) for row in self.rows), default=0))

    @property
    def right(self) -> int:
        """Pixels that the text behind the bars takes."""
        lengths = (max(len(row.beside), len(row.note)) for row in self.rows)
        return label_widths.text_margin(max(lengths, default=0))

    def and_opened(self) -> Iterator[Partition]:
        """This picture, and those of what is too small for it."""
        yield self
        if self.opened:
            yield from self.opened.and_opened()

    def lit(self, sites: Collection[str], nodes: Collection[str]) -> frozenset[str]:
        """The segments that hold one of these sites; one that is not drawn by itself is among the
        small ones of its nodes.
        """
        segments = {segment for site in sites for segment in self.drawn.get(site, ())}
        if any(site not in self.drawn for site in sites):
            segments |= {self.together[node] for node in nodes if node in self.together}
        return frozenset(segments)


def partition(
    title: str,
    placed: Placed,
    *,
    say: Callable[[float], str] = amounts.size,
    prefix: str = "site",
    depth: int = 0,
) -> Partition:
    """The picture; `prefix` begins the ids of its segments, `say` says an amount."""
    kept = _nodes_to_draw(placed)
    flows = _flows(placed)
    totals = np.bincount(placed.row_node, weights=placed.asked, minlength=len(placed.nodes))
    gone = dict.fromkeys(placed.nodes, 0.0)
    for flow in flows:
        if flow.source in gone:
            gone[flow.source] += flow.asked
    lengths = [totals[at] + gone[placed.nodes[at]] for at in kept]
    longest = max([*lengths, *(placed.fair[at] for at in kept), 0.0])
    memories = [placed.memory[at] for at in kept] if len(placed.memory) else []
    most = max([longest, *(ram for ram in memories if ram <= MOST_ROOM * longest)]) * 1.02 or 1.0
    drawing = _Drawing(placed, float(most), prefix, say, flows, len(kept))
    rows = tuple(drawing.row(at, place) for place, at in enumerate(kept))
    small = np.concatenate([*drawing.small, np.empty(0, dtype=np.int64)])
    return Partition(
        title=title,
        desc=_description(placed, kept),
        rows=rows,
        bands=tuple(drawing.bands()),
        ticks=tuple(
            Tick(value / most * 100, say(value).replace(".0 ", " "))
            for value in chart_geometry.steps(most, 4)
        ),
        left_out=len(placed.nodes) - len(kept),
        marks=frozenset(_marks(rows)),
        drawn={site: tuple(ids) for site, ids in drawing.drawn.items()},
        together=drawing.together,
        opened=_open(placed, kept, small, say, prefix, depth),
    )


def _marks(rows: Sequence[Row]) -> Iterator[str]:
    """What the key below the picture explains: only what is in it."""
    for row in rows:
        for segment in row.segments:
            yield segment.kind
            if segment.pinned:
                yield "pinned"
            if segment.replicated:
                yield "replicas"


def _open(
    placed: Placed,
    kept: Sequence[int],
    small: np.ndarray,
    say: Callable[[float], str],
    prefix: str,
    depth: int,
) -> Partition | None:
    """The picture of what is too small for this one."""
    if depth == DEEPEST or not len(small) or not placed.asked[small].any():
        return None
    alone = Placed(
        placed.sites,
        [placed.nodes[at] for at in kept],
        [0.0] * len(kept),
        placed.row_site[small],
        np.searchsorted(kept, placed.row_node[small]),
        placed.asked[small],
        (),
        placed.pinned,
    )
    return partition(
        "The small sites alone", alone, say=say, prefix=f"{prefix}-small", depth=depth + 1
    )


def _nodes_to_draw(placed: Placed) -> list[int]:
    """Positions of the nodes that there is room for: those that sites come to and leave first, then
    those farthest from their share.
    """
    if len(placed.nodes) <= MOST_BARS:
        return list(range(len(placed.nodes)))
    moved = [move.source for move in placed.moves] + [move.target for move in placed.moves]
    touched = Counter(moved)
    totals = np.bincount(placed.row_node, weights=placed.asked, minlength=len(placed.nodes))
    away = np.abs(totals - np.asarray(placed.fair, dtype=float))
    order = sorted(range(len(placed.nodes)), key=lambda at: (-touched[placed.nodes[at]], -away[at]))
    return sorted(order[:MOST_BARS])


@dataclass(frozen=True, slots=True)
class Flow:
    """Sites that go the same way, drawn as one band; "" is nowhere. Of a single site `site` is its
    name.
    """

    source: str
    target: str
    sites: tuple[str, ...]
    asked: float

    @property
    def site(self) -> str:
        return self.sites[0] if len(self.sites) == 1 else ""

    def __str__(self) -> str:
        if self.site:
            return text_safe_for_html.short(self.site)
        return amounts.count(len(self.sites), "site")


def _flows(placed: Placed) -> list[Flow]:
    """What moves, the largest sites by themselves and the others by where they come from and go
    to.
    """
    demand = _asked_where_it_moves(placed)
    every = {(move.source or "", move.target or "", move.site) for move in placed.moves}
    ordered = sorted(every, key=lambda route: (-demand.get(route[2], 0.0), route))
    flows = [
        Flow(source, target, (site,), demand.get(site, 0.0))
        for source, target, site in ordered[:MOST_BANDS]
    ]
    pooled: dict[tuple[str, str], list[str]] = {}
    for source, target, site in ordered[MOST_BANDS:]:
        pooled.setdefault((source, target), []).append(site)
    for (source, target), sites in pooled.items():
        size = sum(demand.get(site, 0.0) for site in sites)
        flows.append(Flow(source, target, tuple(sites), size))
    return sorted(flows, key=lambda flow: -flow.asked)


def _asked_where_it_moves(placed: Placed) -> dict[str, float]:
    """What each site that moves asks for on one of its nodes."""
    moved = np.array(sorted({move.site for move in placed.moves}), dtype=object)
    at = np.searchsorted(placed.sites, moved) if len(moved) else np.empty(0, np.int64)
    wanted = np.zeros(len(placed.sites) + 1, dtype=bool)
    wanted[at] = True
    rows = np.flatnonzero(wanted[placed.row_site])
    names = placed.sites[placed.row_site[rows]].tolist()
    return dict(zip(names, placed.asked[rows].tolist(), strict=True))


class _Drawing:
    """What is drawn so far: the bands need both of their ends."""

    def __init__(
        self,
        placed: Placed,
        most: float,
        prefix: str,
        say: Callable[[float], str],
        flows: Sequence[Flow],
        nodes: int,
    ) -> None:
        self.placed, self.most, self.prefix, self.say = placed, most, prefix, say
        self.flows = flows
        self.coming: dict[str, set[str]] = {}
        for flow in flows:
            self.coming.setdefault(flow.target, set()).update(flow.sites)
        self.room = max(MOST_SEGMENTS // max(nodes, 1), FEWEST)
        self.replicas = np.bincount(placed.row_site, minlength=len(placed.sites))
        self.order = np.lexsort((-placed.asked, placed.row_node))
        self.begins = np.searchsorted(placed.row_node[self.order], np.arange(len(placed.nodes) + 1))
        self.small: list[np.ndarray] = []
        self.drawn: dict[str, list[str]] = {}
        self.together: dict[str, str] = {}
        self.stood: dict[int, Spot] = {}
        self.stands: dict[int, Spot] = {}

    def row(self, at: int, place: int) -> Row:
        node, placed = self.placed.nodes[at], self.placed
        rows = self.order[self.begins[at] : self.begins[at + 1]]
        new = self._is_new(rows, node)
        wide = placed.asked[rows] / self.most * 100 >= NARROWEST
        pooled = ~new
        pooled[np.flatnonzero(~new & wide)[: self.room]] = False
        small = rows[pooled]
        segments = self._segments(rows[~new & ~pooled], small, rows[new], at, place)
        left = [flow for flow in self.flows if flow.source == node]
        fair, total = placed.fair[at], float(placed.asked[rows].sum())
        memory = placed.memory[at] if len(placed.memory) else 0.0
        return Row(
            node=node,
            label=text_safe_for_html.plain(node, chart_geometry.LABEL),
            top=place * ROW,
            segments=tuple(segments),
            fair=fair / self.most * 100 if fair else None,
            sites=len(rows),
            asked=total,
            note=_note(int(new.sum()), sum(len(flow.sites) for flow in left)),
            largest=self._largest(rows, at),
            small=len(small),
            small_share=float(placed.asked[small].sum()) / total if total else 0.0,
            memory=memory / self.most * 100 if memory else None,
            filled=total / memory if memory else None,
        )

    def _is_new(self, rows: np.ndarray, node: str) -> np.ndarray:
        coming = self.coming.get(node)
        if not coming:
            return np.zeros(len(rows), dtype=bool)
        names = self.placed.sites[self.placed.row_site[rows]]
        return np.fromiter((site in coming for site in names), bool, len(names))

    def _segments(
        self, own: np.ndarray, small: np.ndarray, new: np.ndarray, at: int, place: int
    ) -> list[Segment]:
        """From left to right: what stays, what comes, the outlines of what leaves."""
        x, segments = 0.0, []
        for row in own.tolist():
            segments.append(self._segment(row, at, x, "stays"))
            x += segments[-1].width
        if len(small):
            segments.append(self._together(small, at, x))
            x += segments[-1].width
        of_site = {str(self.placed.sites[self.placed.row_site[row]]): row for row in new.tolist()}
        node = self.placed.nodes[at]
        for number, flow in enumerate(self.flows):
            if flow.target == node and flow.sites[0] in of_site:
                segments.append(self._came(flow, of_site, at, x, number))
                self.stands[number] = x, segments[-1].width, place
                x += segments[-1].width
        for number, flow in enumerate(self.flows):
            if flow.source == node:
                segments.append(self._outline(flow, at, x, number))
                self.stood[number] = x, segments[-1].width, place
                x += segments[-1].width
        return segments

    def _largest(self, rows: np.ndarray, at: int) -> tuple[tuple[str, str], ...]:
        largest = []
        for row in rows[:LARGEST].tolist():
            site = str(self.placed.sites[self.placed.row_site[row]])
            own = self._id(site, at)
            ids = self.drawn.get(site, ())
            largest.append((site, own if own in ids else ""))
        return tuple(largest)

    def _id(self, site: str, at: int) -> str:
        """By where the site stands among all, as its name may be anything."""
        return f"{self.prefix}-{int(np.searchsorted(self.placed.sites, site))}-{at}"

    def _came(
        self, flow: Flow, of_site: Mapping[str, int], at: int, x: float, number: int
    ) -> Segment:
        origin = f"from {flow.source}" if flow.source else "for the first time"
        if flow.site:
            return self._segment(of_site[flow.site], at, x, "came", f"; comes {origin}")
        own = f"{self.prefix}-flow-{number}-{at}"
        for site in flow.sites:
            self.drawn.setdefault(site, []).append(own)
        rows = [of_site[site] for site in flow.sites if site in of_site]
        size = float(self.placed.asked[rows].sum())
        text = f"{flow} come {origin}: {self.say(size)}"
        return Segment(own, x, size / self.most * 100, "came", text)

    def _outline(self, flow: Flow, at: int, x: float, number: int) -> Segment:
        goes = f"to {flow.target}" if flow.target else "away"
        verb = "goes" if flow.site else "go"
        text = f"{flow} {verb} {goes}: {self.say(flow.asked)}"
        own = f"{self.prefix}-left-{number}-{at}"
        return Segment(own, x, flow.asked / self.most * 100, "left", text, flow.site)

    def _segment(self, row: int, at: int, x: float, kind: str, suffix: str = "") -> Segment:
        site = str(self.placed.sites[self.placed.row_site[row]])
        size = float(self.placed.asked[row])
        copies = int(self.replicas[self.placed.row_site[row]])
        pinned = site in self.placed.pinned
        own, short = self._id(site, at), text_safe_for_html.short(site)
        self.drawn.setdefault(site, []).append(own)
        width = size / self.most * 100
        more = f"; on {copies} nodes" if copies > 1 else ""
        more += "; somebody pinned it" if pinned else ""
        label = _label(site, width)
        return Segment(
            own,
            x,
            width,
            kind,
            f"{short}: {self.say(size)}{more}{suffix}",
            site,
            label,
            _fits(label, width, PERCENT_A_LETTER_NARROW),
            pinned,
            copies > 1,
        )

    def _together(self, rows: np.ndarray, at: int, x: float) -> Segment:
        self.small.append(rows)
        node, size = self.placed.nodes[at], float(self.placed.asked[rows].sum())
        own = f"{self.prefix}-rest-{at}"
        self.together[node] = own
        count_text = amounts.count(len(rows), "small site")
        width = size / self.most * 100
        label = count_text if _fits(count_text, width) else ""
        narrow = _fits(count_text, width, PERCENT_A_LETTER_NARROW)
        text = f"{count_text} together: {self.say(size)}"
        return Segment(own, x, width, "small", text, "", label, narrow)

    def bands(self) -> Iterator[Band]:
        for number, flow in enumerate(self.flows):
            if number in self.stood and number in self.stands:
                text = f"{flow}: {flow.source} → {flow.target}"
                path = _band(self.stood[number], self.stands[number])
                yield Band(path, text, flow.site)


def _label(site: str, width: float) -> str:
    """The name, or its first part, as far as there is room. Whether a segment has a label hangs on
    its width alone, so that no name changes which elements a page has.
    """
    room = int((width - 2) / PERCENT_A_LETTER)
    if room < FEWEST_LETTERS:
        return ""
    whole = text_safe_for_html.plain(site, LONGEST_LABEL)
    first = whole.removeprefix("www.").partition(".")[0] or whole
    return whole if len(whole) <= room else text_safe_for_html.beginning(first, room)


def _fits(label: str, width: float, letter: float = PERCENT_A_LETTER) -> bool:
    return width >= len(label) * letter + 2


def _band(stood: Spot, stands: Spot) -> str:
    """From the outline to the segment, by the sides that face each other."""
    down = stands[2] > stood[2]
    y0 = stood[2] * ROW + ABOVE + (BAR if down else 0)
    y1 = stands[2] * ROW + ABOVE + (0 if down else BAR)
    a0, a1 = stood[0] * WIDE / 100, (stood[0] + stood[1]) * WIDE / 100
    b0, b1 = stands[0] * WIDE / 100, (stands[0] + stands[1]) * WIDE / 100
    near, far = y0 + (y1 - y0) * 0.55, y1 - (y1 - y0) * 0.55
    return (
        f"M{a0:.1f} {y0}C{a0:.1f} {near:.0f} {b0:.1f} {far:.0f} {b0:.1f} {y1}"
        f"L{b1:.1f} {y1}C{b1:.1f} {far:.0f} {a1:.1f} {near:.0f} {a1:.1f} {y0}Z"
    )


def _note(came: int, left: int) -> str:
    parts = [f"+{came:,}"] if came else []
    return " ".join([*parts, *([f"-{left:,}"] if left else [])])


def _description(placed: Placed, kept: Sequence[int]) -> str:
    number = len(np.unique(placed.row_site))
    sentence = (
        f"{amounts.count(number, 'site')} on "
        f"{amounts.count(len(placed.nodes), 'node')}, each part as long as the title says"
    )
    moved = len({move.site for move in placed.moves})
    if moved:
        sentence += f"; {amounts.count(moved, 'site')} " + (
            "changes its node" if moved == 1 else "change their node"
        )
    if len(kept) < len(placed.nodes):
        sentence += f"; {len(kept)} nodes are drawn"
    return sentence + "."
