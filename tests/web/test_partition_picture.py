"""The picture of a partition: nothing is missing in it, whatever moves and however many sites there
are; and on the first page sites light up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex_api.pictures import beside_partition
from flex_api.pictures.partition_geometry import (
    MOST_BANDS,
    MOST_SEGMENTS,
    NARROWEST,
    Move,
    Partition,
    Placed,
    Row,
    partition,
)
from tests.web.scriptless import Browser


@dataclass(frozen=True, slots=True)
class Case:
    """Sites by what they ask for, the nodes that each is on now, and where it was before."""

    asked: list[float]
    now: list[set[int]]
    before: list[set[int]]
    nodes: int

    def placed(self) -> Placed:
        pairs = [(site, node) for site, nodes in enumerate(self.now) for node in nodes]
        names = [f"n{number}" for number in range(self.nodes)]
        return Placed(
            np.array([f"s{at:05}.example.org" for at in range(len(self.asked))], object),
            names,
            [sum(self.asked) / self.nodes] * self.nodes,
            np.array([site for site, _ in pairs], np.int64),
            np.array([node for _, node in pairs], np.int64),
            np.array([self.asked[site] for site, _ in pairs], float),
            tuple(self._moves(names)),
        )

    def _moves(self, names: list[str]) -> list[Move]:
        found = []
        for site, (now, before) in enumerate(zip(self.now, self.before, strict=True)):
            came, left = sorted(now - before), sorted(before - now)
            for at in range(max(len(came), len(left))):
                found.append(
                    Move(
                        f"s{site:05}.example.org",
                        names[left[at]] if at < len(left) else None,
                        names[came[at]] if at < len(came) else None,
                    )
                )
        return found


@st.composite
def cases(draw: st.DrawFn) -> Case:
    nodes = draw(st.integers(1, 50))
    sites = draw(st.integers(1, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    skew = draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    asked = [float(round(10**9 / (at + 1) ** skew)) for at in range(sites)]
    if draw(st.booleans()):
        asked = [value * float(rng.integers(0, 2)) for value in asked]
    on = [set(rng.integers(0, nodes, rng.integers(1, 4)).tolist()) for _ in asked]
    before = [
        set(rng.integers(0, nodes, rng.integers(0, 3)).tolist())
        if rng.random() < draw(st.just(0.4))
        else set(nodes_now)
        for nodes_now in on
    ]
    return Case(asked, on, before, nodes)


def here(row: Row) -> float:
    """Per cent of the plot that what is on a node takes, without the outlines of what left."""
    return sum(one.width for one in row.segments if one.kind != "left")


@pytest.mark.parametrize(("memory", "ends"), [(200.0, True), (401.0, False), (50.0, True)])
def test_the_picture_says_how_full_a_nodes_memory_is(memory: float, ends: bool) -> None:
    """A line stands where it ends, if that is not far beyond what is asked for."""
    placed = replace(Case([100.0], [{0}], [{0}], 1).placed(), memory=[memory])
    (row,) = partition("Sites", placed).rows
    assert row.filled == pytest.approx(100 / memory)
    assert row.memory is not None
    assert (row.memory <= 100) == ends
    (only,) = row.segments
    assert only.width / row.memory == pytest.approx(row.filled)


@given(cases())
def test_each_bar_is_as_long_as_all_that_its_node_has(case: Case) -> None:
    placed = case.placed()
    picture = partition("Sites", placed)
    totals = np.bincount(placed.row_node, placed.asked, len(placed.nodes))
    by_node = {row.node: row for row in picture.rows}
    whole = max((row.asked for row in picture.rows), default=0.0)
    longest = max((here(row) for row in picture.rows), default=0.0)
    for at, node in enumerate(placed.nodes):
        if node in by_node and whole:
            row = by_node[node]
            assert row.asked == totals[at]
            assert abs(here(row) / longest - totals[at] / whole) < 1e-6


@pytest.mark.slow
@given(cases())
def test_every_site_of_a_drawn_node_is_in_its_bar_once(case: Case) -> None:
    placed = case.placed()
    picture = partition("Sites", placed)
    assert len(picture.rows) == min(len(placed.nodes), 40)
    for row in picture.rows:
        at = placed.nodes.index(row.node)
        alone = [one for one in row.segments if one.site and one.kind != "left"]
        assert len({one.site for one in alone}) == len(alone)
        pooled = sum(
            len(ids) and sum(1 for one in ids if "-flow-" in one and one.endswith(f"-{at}"))
            for ids in picture.drawn.values()
        )
        assert len(alone) + pooled + row.small == row.sites
        assert row.sites == int((placed.row_node == at).sum())
        narrow = [one for one in alone if one.kind == "stays"]
        assert all(one.width >= NARROWEST for one in narrow)


@pytest.mark.slow
@given(cases())
def test_a_band_leads_from_every_node_that_a_site_left_for_another_drawn_one(case: Case) -> None:
    placed = case.placed()
    picture = partition("Sites", placed)
    drawn = {row.node for row in picture.rows}
    moved = [one for one in placed.moves if one.source in drawn and one.target in drawn]
    said = {band.text for band in picture.bands if band.site}
    pairs = {band.text.split(": ")[1] for band in picture.bands}
    assert {f"{one.source} → {one.target}" for one in moved} == pairs
    if len(placed.moves) <= MOST_BANDS:
        assert said == {f"{one.site}: {one.source} → {one.target}" for one in moved}
    assert len(picture.bands) <= MOST_BANDS + len(drawn) ** 2


@given(cases())
def test_the_small_sites_open_into_a_picture_of_just_them(case: Case) -> None:
    picture = partition("Sites", case.placed())
    small = sum(row.small for row in picture.rows)
    if picture.opened:
        assert sum(row.sites for row in picture.opened.rows) == small
        assert {row.node for row in picture.opened.rows} == {row.node for row in picture.rows}


def every_segment(picture: Partition) -> int:
    return sum(len(row.segments) for row in picture.rows)


@pytest.mark.slow
def test_a_hundred_thousand_sites_that_all_move_make_a_small_picture() -> None:
    rng = np.random.default_rng(7)
    asked = [float(value) for value in rng.integers(0, 10**9, 100_000)]
    now = [{int(node)} for node in rng.integers(0, 20, 100_000)]
    before = [{(min(node) + 1) % 20} for node in now]
    picture = partition("Sites", Case(asked, now, before, 20).placed())
    assert every_segment(picture) < MOST_SEGMENTS + 2 * (MOST_BANDS + 400)
    assert len(picture.bands) < MOST_BANDS + 400
    assert sum(row.sites for row in picture.rows) == 100_000
    still = partition("Sites", Case(asked, now, now, 20).placed())
    assert every_segment(still) < MOST_SEGMENTS + 20
    assert {one.kind for row in still.rows for one in row.segments} <= {"stays", "small"}


def test_a_site_that_is_too_small_to_see_lights_up_the_small_ones_of_its_node() -> None:
    asked = [10.0**9, *[1.0] * 50]
    now = [{0}, *[{1}] * 50]
    picture = partition("Sites", Case(asked, now, now, 2).placed())
    assert picture.lit({"s00000.example.org"}, {"n0"}) == {"site-0-0"}
    assert picture.lit({"s00030.example.org"}, {"n1"}) == {"site-rest-1"}
    assert picture.opened is not None
    assert picture.opened.lit({"s00030.example.org"}, {"n1"}) == {"site-small-30-1"}
    found = [one.lit({"s00030.example.org"}, {"n1"}) for one in picture.and_opened()]
    assert found == [{"site-rest-1"}, {"site-small-30-1"}]


@given(
    st.dictionaries(
        st.sampled_from(["n1", "n2", "n3", "n4"]),
        st.lists(st.floats(0, 1e12), min_size=24, max_size=24),
    )
)
def test_the_hours_of_all_nodes_are_on_one_scale(hours: dict[str, list[float]]) -> None:
    made = beside_partition.days("Hours", ["n1", "n2", "n3"], hours, "answers")
    known = [max(values) for node, values in hours.items() if node != "n4"]
    if not any(known):
        assert made is None
        return
    assert made is not None
    assert max(max(row.heights) for row in made.rows) == beside_partition.HOUR
    for row in made.rows:
        values = hours.get(row.node, [0.0] * 24)
        assert [height > 0 for height in row.heights] <= [value > 0 for value in values]


def lit(page: str) -> list[str]:
    return re.findall(r'<g class="seg \w+ lit" id="([^"]+)"', page)


def test_sites_light_up_in_the_partition_of_the_first_page(admin: Browser) -> None:
    page = admin.get("/")
    assert '<svg role="img" class="partition' in page
    sites = re.findall(r'<g class="seg \w+"[^>]* data-site="([^"]+)"', page)
    assert sites
    assert lit(page) == []
    one = admin.get(f"/?light={sites[0].upper()}")
    assert lit(one)
    assert re.search(r"\d+ sites? on n\d", one)
    nobody = admin.get("/?light=<b>nobody")
    assert lit(nobody) == []
    assert "No site of this partition has &lt;b&gt;nobody in it." in nobody
