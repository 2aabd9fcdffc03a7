"""The dimensions in which loads are drawn: the two that always count, and those that the settings
name besides.

Takes the rows of a balance. Returns titles, and the load of a row in one of them. Does not draw.
"""

from __future__ import annotations

from flex_api.schemas.plan_parts import BalanceOutput, LoadRow

# Title, and the field of a row.
ALWAYS = (("Access rate", "access_units"), ("Working set", "working_set_units"))


def dimensions_to_draw(balance: BalanceOutput) -> tuple[tuple[str, str], ...]:
    """Titles and names; the name of a further dimension is its own."""
    others = balance.nodes[0].others_units if balance.nodes else {}
    return (*ALWAYS, *((name[:1].upper() + name[1:], name) for name in others))


def units(row: LoadRow, name: str) -> float | None:
    """None where the plan was made before that dimension counted."""
    if name in {field for _, field in ALWAYS}:
        amount: float = getattr(row, name)
        return amount
    return row.others_units.get(name)
