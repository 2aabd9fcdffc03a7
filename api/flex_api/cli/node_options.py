"""The options that say what a node is, and the node that they say.

Takes what was written on the command line. Returns a node. Does not look it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from flex.errors import BadInput
from flex_api.cli.common import split_names

if TYPE_CHECKING:
    from flex.model.nodes import Node

Addresses = Annotated[
    str, typer.Option(help="what DNS says for a site on it: 192.0.2.15,2001:db8::15")
]
Ram = Annotated[str, typer.Option(help="page cache to count on, such as '12 GiB'")]
Capacity = Annotated[float | None, typer.Option(help="service rate beside the other nodes")]


@dataclass(frozen=True, slots=True)
class NodeSaid:
    """What the options say; "" and None are not said."""

    addresses: str
    ram: str
    capacity: float | None

    def new(self, name: str) -> Node:
        """Raises BadInput."""
        return _check(
            name, self.addresses, self.ram, 1.0 if self.capacity is None else self.capacity
        )

    def instead_of(self, name: str, addresses: Sequence[str], ram: int, capacity: float) -> Node:
        """What is not said stays as it is. Raises BadInput."""
        return _check(
            name,
            self.addresses or ",".join(addresses),
            self.ram or ram,
            capacity if self.capacity is None else self.capacity,
        )


def _check(name: str, addresses: str, ram: int | str, capacity: float) -> Node:
    """As it was written on the command line. Raises BadInput."""
    from pydantic import ValidationError

    from flex_api.night import change_nodes

    try:
        return change_nodes.check_node(name, split_names(addresses), ram, capacity)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(
            f"the node {name!r}",
            f"{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}",
            advice="such as: --addresses 192.0.2.15,2001:db8::15 --ram '12 GiB' --capacity 1.5",
        ) from error
