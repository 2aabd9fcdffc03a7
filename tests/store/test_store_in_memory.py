"""The store in memory: the database's tables, copied from one to another, and shared by threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import select

from flex.model.audit_chain import fault_of_chain
from flex.model.drains_and_freezes import NodeOrder
from flex.model.wish import Pin
from flex.store import MemoryStore, open_store, schema
from flex.store.sql_store import Store

NOW = datetime(2026, 3, 3, 2, 17, tzinfo=UTC)


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
    assert MemoryStore().entries() == ()


def test_it_begins_with_the_rows_that_migrations_make(sqlite_template: Path) -> None:
    with open_store(f"sqlite:///{sqlite_template}") as migrated:
        assert _rows(MemoryStore()) == _rows(migrated)
    assert MemoryStore().installation() != MemoryStore().installation()


def test_threads_take_turns() -> None:
    store = MemoryStore()

    def work(number: int) -> None:
        with store.together():
            store.put_pin(Pin(f"{number}.example.org", ("n1",)))
            assert store.pin(f"{number}.example.org")
        assert store.pins()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(100)))
    assert len(store.pins()) == 100
    assert len(store.entries()) == 100
    assert fault_of_chain(store.entries()) == ""


def _rows(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """By table; without the name that is drawn for each store."""
    with store._database.reading() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table))]
            for table in schema.metadata.sorted_tables
            if table is not schema.installation
        }
