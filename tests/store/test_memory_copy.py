"""A store in memory that begins with all that another one holds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from flex.model.drains_and_freezes import NodeOrder
from flex.model.wish import Pin
from flex.store import MemoryStore

NOW = datetime(2026, 3, 3, 2, 17, tzinfo=UTC)


@pytest.mark.slow
def test_each_of_both_goes_its_own_way_from_there() -> None:
    first, second = MemoryStore(), MemoryStore()
    first.put_pin(Pin("a.example.org", ("n1",)))
    first.order_node(NodeOrder("n1", "draining", NOW))
    second.put_pin(Pin("b.example.org", ("n2",)))
    second.begin_with_all_of(first)
    assert second.pins() == first.pins()
    assert second.node_orders() == first.node_orders()
    assert second.entries() == first.entries()
    second.drop_pin("a.example.org")
    first.order_node(NodeOrder("n2", "draining", NOW))
    assert [pin.site for pin in first.pins()] == ["a.example.org"]
    assert [order.node for order in second.node_orders()] == ["n1"]
    assert len(first.entries()) == len(second.entries())
