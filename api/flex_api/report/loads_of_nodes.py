"""The loads of nodes before and after a change, in the two dimensions that always count and in
those that the settings name besides.

Takes the rows of a balance. Returns what is drawn, and the lines of the table behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

from flex_api.pictures import chart_geometry
from flex_api.pictures.chart_geometry import Bars, Load
from flex_api.schemas.plan_parts import BalanceOutput, LoadRow

# Title, and the field of a row.
ALWAYS = (("Access rate", "access_units"), ("Working set", "working_set_units"))

# Each with its title.
LoadsByDimension = tuple[tuple[str, tuple[Load, ...]], ...]


@dataclass(frozen=True, slots=True)
class NodeLine:
    """One row of the table behind the bars."""

    node: str
    sites: int
    access: Load
    working_set: Load


def loads(before: BalanceOutput | None, after: BalanceOutput) -> LoadsByDimension:
    others = after.nodes[0].others_units if after.nodes else {}
    named = (*ALWAYS, *((name[:1].upper() + name[1:], name) for name in others))
    return tuple((title, _loads_in(before, after, name)) for title, name in named)


def bars(rows: LoadsByDimension, tolerance: float) -> tuple[Bars, ...]:
    """All on one axis."""
    most = chart_geometry.scale(row for _, each in rows for row in each)
    return tuple(chart_geometry.loads(title, each, tolerance, most) for title, each in rows)


def node_lines(before: BalanceOutput | None, after: BalanceOutput) -> tuple[NodeLine, ...]:
    access, working_set = (_loads_in(before, after, name) for _, name in ALWAYS)
    return tuple(
        NodeLine(row.node, row.sites, *of_node)
        for row, *of_node in zip(after.nodes, access, working_set, strict=True)
    )


def _loads_in(before: BalanceOutput | None, after: BalanceOutput, name: str) -> tuple[Load, ...]:
    known = ((row, _units(row, name)) for row in (before.nodes if before else ()))
    was = {row.node: units / (row.fair_units or 100.0) for row, units in known if units is not None}
    return tuple(
        Load(
            row.node,
            was.get(row.node),
            (_units(row, name) or 0.0) / (row.fair_units or 100.0),
            closed=not row.fair_units,
        )
        for row in after.nodes
    )


def _units(row: LoadRow, name: str) -> float | None:
    """None where the plan was made before that dimension counted."""
    if name in {field for _, field in ALWAYS}:
        amount: float = getattr(row, name)
        return amount
    return row.others_units.get(name)
