"""Pictures as they are drawn: golden files in tests/data/pictures, rewritten with FLEX_UPDATE=1 and
read by people.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex_api.pictures import beside_partition, chart_geometry, sites_scatter
from flex_api.pictures.chart_geometry import Load
from flex_api.pictures.partition_geometry import Move, Placed
from flex_api.pictures.partition_geometry import partition as pictured
from flex_api.pictures.time_and_forecast_charts import DAYS, Value, heat, lines, pairs, spark
from flex_api.report import page as report

DATA = Path(__file__).resolve().parents[1] / "data/pictures"
SITES = np.array([f"s{number}.example.org" for number in range(5)], dtype=object)


def drawn(macro: str, picture: object, of: str = "pages/parts.html") -> str:
    template = report.TEMPLATES.from_string(
        f'{{% from "{of}" import {macro} %}}{{{{ {macro}(*given) }}}}'
    )
    return template.render(given=[picture] if macro == "spark" else ["p", picture]).strip() + "\n"


def bars() -> str:
    rows = [Load("n1", 1.31, 1.02), Load("n2", 0.8, 0.9), Load("n3", None, 0.4, closed=True)]
    return drawn(
        "bars",
        chart_geometry.loads("Access rate", rows, 0.05, chart_geometry.scale(rows)),
        "parts/pictures.html",
    )


def curve() -> str:
    one = [Value(at, value, f"night {at}") for at, value in enumerate((0.2, 0.05, 0.031))]
    two = [Value(1, 0.04, "predicted", strong=True)]
    picture = lines(
        "Worst node", "Three nights.",
        [("measured", "one", one), ("predicted", "two", two)], [(0, "1 Mar")],
        aim=0.03, levels=((0.05, "trigger"),), unit="off its fair share",
    )  # fmt: skip
    return drawn("lines", picture)


def week() -> str:
    rows = [(day, [float(hour * (at + 1)) for hour in range(24)]) for at, day in enumerate(DAYS)]
    return drawn("heat", heat("Requests", rows, [f"{hour:02}" for hour in range(24)], "requests"))


def dots() -> str:
    return drawn("pairs", pairs("Access rate", [("n1", 1.0, 1.02), ("n2", 0.97, 1.21)], 0.1))


def cloud() -> str:
    held, sent = (
        np.array([10**3, 10**5, 10**6, 0, 10**8]),
        np.array([10**4, 10**6, 10**6, 5, 10**9]),
    )
    picture = sites_scatter.cloud("Sites", SITES, held, sent, (10**7, 10**8), np.array([1]))
    return drawn("scatter", picture, "parts/pictures.html")


def partition() -> str:
    """Five sites on three nodes: one is on two of them, one is pinned, one moves, one is small."""
    placed = Placed(
        SITES, ["n1", "n2", "n3"], [40.0, 40.0, 0.0],
        np.array([0, 0, 1, 2, 3, 4]), np.array([0, 1, 0, 1, 0, 1]),
        np.array([20.0, 20.0, 15.0, 12.0, 0.1, 9.0]),
        (Move("s4.example.org", "n1", "n2"),), {"s1.example.org"}, [40.0, 50.0, 1e6],
    )  # fmt: skip
    return drawn("partition", pictured("Sites", placed), "parts/partition.html")


def beside() -> str:
    hours = {"n1": [float(hour) for hour in range(24)], "n2": [12.0] * 24}
    of_day = beside_partition.days("Answers", ["n1", "n2"], hours, "answers")
    shares = {"n1": 0.2, "n2": 0.1}, {"n1": 0.05, "n2": 0.04}
    of_misses = beside_partition.misses("Misses", ["n1", "n2"], *shares, ("a", "b"))
    return drawn("days", of_day, "parts/partition.html") + drawn(
        "misses", of_misses, "parts/partition.html"
    )


PICTURES: dict[str, Callable[[], str]] = {
    "bars": bars,
    "beside-partition": beside,
    "cloud": cloud,
    "dots": dots,
    "lines": curve,
    "partition": partition,
    "spark": lambda: drawn("spark", spark("Worst node", [0.2, 0.05, 0.031], 0.03)),
    "week": week,
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_as_reviewed(name: str) -> None:
    path, found = DATA / f"{name}.html", PICTURES[name]()
    if os.environ.get("FLEX_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_well_formed_and_says_what_it_shows(name: str) -> None:
    found = ElementTree.fromstring(f"<div>{PICTURES[name]()}</div>")
    named = [*found.iter("title"), *found.iter("caption")] or [
        one for one in found.iter("svg") if "aria-label" in one.attrib
    ]
    assert named


COUNTS = st.lists(
    st.tuples(st.integers(0, 10**15), st.integers(0, 10**15)), min_size=1, max_size=2_000
)


@given(COUNTS, st.booleans())
def test_however_many_sites_there_are_all_of_them_are_in_the_picture_and_it_stays_small(
    counts: list[tuple[int, int]],
    near: bool,
) -> None:
    held, sent = (np.array([row[side] for row in counts], dtype=np.int64) for side in (0, 1))
    names = np.array([f"s{at}" for at in range(len(counts))], dtype=object)
    found = sites_scatter.cloud(
        "Sites", names, held, sent, (float(held.mean()), float(sent.mean())), np.array([], int),
        near=near,
    )  # fmt: skip
    assert len(found.points) <= sites_scatter.ACROSS * sites_scatter.UP
    shown = (
        sum(int(re.sub(r"\D", "", one.title)) for one in found.points)
        if found.grouped
        else len(found.points)
    )
    assert shown + found.left_out == len(counts)
    assert all(0 <= one.x <= 100 and 0 <= one.y <= 100 for one in found.points)


@given(st.lists(st.lists(st.floats(0, 1e12), min_size=3, max_size=3), min_size=0, max_size=60))
def test_a_darker_cell_is_never_a_smaller_number(rows: list[list[float]]) -> None:
    picture = heat(
        "Heat", [(f"n{at}", values) for at, values in enumerate(rows)], ("a", "b", "c"), "answers"
    )
    numbers = {f"n{at}": values for at, values in enumerate(rows)}
    cells = [
        (value, cell.shade)
        for name, each in picture.rows
        for value, cell in zip(numbers[name], each, strict=True)
    ]
    ordered = sorted(cells)
    assert [shade for _, shade in ordered] == sorted(shade for _, shade in cells)
    assert len(picture.rows) + picture.left_out == len(rows)
