"""What the database knows of nodes: orders for them, nodes of people's own, attempts to take dead
ones out of DNS and members' slots of HAProxy. Also the freeze, and the last look at the name
servers. Who changed what is noted around these methods, by audit_writer.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Column, Integer, Table, delete, insert, select

from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.nodes import Node
from flex.model.retry_schedule import Attempt
from flex.store import schema
from flex.store.database_by_url import StorePart
from flex.store.keyed_table import KeyedTable
from flex.store.plans_as_json import check_from_text, check_to_text
from flex.store.schema import TEXT, Utc, metadata, node_orders, nodes
from flex.zones.last_dns_check import Check


class SqlRoutingState(StorePart):
    def slots(self) -> Mapping[str, Mapping[str, int]]:
        """The slots of each site's nodes, by site, for sites that are or were routed by content."""
        return self._database.remember("slots", self._slots)

    def _slots(self) -> dict[str, dict[str, int]]:
        slots: dict[str, dict[str, int]] = {}
        with self._database.reading() as connection:
            # Columns by their places: names for each row would take longer than reading it.
            for site, node, slot in connection.execute(select(schema.slots)):
                slots.setdefault(site, {})[node] = slot
        return slots

    def put_slots(self, site: str, slots: Mapping[str, int], before: Mapping[str, int]) -> bool:
        """Replaces all slots of one site. Returns False, and changes nothing, where the stored ones
        are not `before`.

        Nobody ordered slots, so they are not in the audit log.
        """
        rows = [{"site": site, "node": node, "slot": slot} for node, slot in slots.items()]
        of_site = schema.slots.c.site == site
        with self._database.writing() as connection:
            there = connection.execute(select(schema.slots).where(of_site))
            if {row.node: row.slot for row in there} != before:
                return False
            connection.execute(delete(schema.slots).where(of_site))
            if rows:
                connection.execute(insert(schema.slots), rows)
        return True


# A row for each node that is still to be taken out.
attempts = Table(
    "attempts",
    metadata,
    Column("node", TEXT, primary_key=True),
    Column("count", Integer, nullable=False),
    Column("since", Utc, nullable=False),
    Column("last", Utc, nullable=False),
    Column("error", TEXT, nullable=False),
)

ATTEMPTS = KeyedTable(attempts, Attempt)
ORDERS = KeyedTable(node_orders, NodeOrder)
NODES = KeyedTable(nodes, Node)
FREEZES = KeyedTable(schema.freeze, Freeze)


class SqlAttempts(StorePart):
    """An attempt changes nothing itself, so it is not in the audit log."""

    def attempts(self) -> tuple[Attempt, ...]:
        """In order of nodes."""
        return ATTEMPTS.all(self._database)

    def put_attempt(self, attempt: Attempt) -> None:
        """Each node has one attempt: a new one replaces the old one."""
        ATTEMPTS.put(self._database, attempt)

    def drop_attempt(self, node: str) -> None:
        ATTEMPTS.drop(self._database, node)


class SqlOrders(StorePart):
    def node_orders(self) -> tuple[NodeOrder, ...]:
        """The last order for each node, in order of nodes. A node without an order is active."""
        return ORDERS.all(self._database)

    def order_node(self, order: NodeOrder) -> None:
        """A node has at most one order; a new one replaces the old."""
        ORDERS.put(self._database, order)

    def own_nodes(self) -> tuple[Node, ...]:
        """Nodes that were added, or that differ from the settings, in order of name."""
        return NODES.all(self._database)

    def put_node(self, node: Node) -> None:
        """Stores the node by its name, without its state."""
        NODES.put(self._database, node)

    def drop_node(self, name: str) -> bool:
        """Returns whether there was one."""
        return NODES.drop(self._database, name)

    def freeze(self) -> Freeze | None:
        """The last freeze, even if it has ended by itself. None once somebody took it back."""
        return next(iter(FREEZES.all(self._database)), None)

    def put_freeze(self, freeze: Freeze | None) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(schema.freeze))
            if freeze:
                connection.execute(insert(schema.freeze), {"id": 1, **FREEZES.row(freeze)})

    def last_check(self) -> Check | None:
        """What the name servers said when somebody last asked them."""
        with self._database.reading() as connection:
            check_text = connection.execute(select(schema.dns_check.c.said)).scalar_one_or_none()
            return check_from_text(check_text) if check_text is not None else None

    def put_check(self, check: Check) -> None:
        """Keeps only the last one. A check is not a change, and is not in the audit log."""
        with self._database.writing() as connection:
            connection.execute(delete(schema.dns_check))
            connection.execute(insert(schema.dns_check), {"id": 1, "said": check_to_text(check)})
