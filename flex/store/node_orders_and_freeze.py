"""Orders for nodes, nodes of people's own, the freeze and the last look at the name servers in the
database.
"""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import delete, insert, select

from flex.model.nodes import Node
from flex.model.operator_orders import Freeze, NodeOrder
from flex.store import schema
from flex.store.database import StorePart
from flex.store.plans_as_json import check_from_text, check_to_text
from flex.store.schema import node_orders, nodes
from flex.zones.last_dns_check import Check


class SqlOrders(StorePart):
    def node_orders(self) -> tuple[NodeOrder, ...]:
        with self._database.reading() as connection:
            found = connection.execute(select(node_orders).order_by(node_orders.c.node)).mappings()
            return tuple(NodeOrder(**row) for row in found)

    def order_node(self, order: NodeOrder) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(node_orders).where(node_orders.c.node == order.node))
            connection.execute(insert(node_orders), asdict(order))

    def own_nodes(self) -> tuple[Node, ...]:
        with self._database.reading() as connection:
            found = connection.execute(select(nodes).order_by(nodes.c.name))
            return tuple(
                Node(row.name, tuple(row.addresses), row.ram, row.capacity) for row in found
            )

    def put_node(self, node: Node) -> None:
        row = {
            "name": node.name,
            "addresses": list(node.addresses),
            "ram": node.ram,
            "capacity": node.capacity,
        }
        with self._database.writing() as connection:
            connection.execute(delete(nodes).where(nodes.c.name == node.name))
            connection.execute(insert(nodes), row)

    def drop_node(self, name: str) -> bool:
        with self._database.writing() as connection:
            return connection.execute(delete(nodes).where(nodes.c.name == name)).rowcount > 0

    def freeze(self) -> Freeze | None:
        wanted = select(
            schema.freeze.c.since,
            schema.freeze.c.until,
            schema.freeze.c.reason,
            schema.freeze.c.author,
        )
        with self._database.reading() as connection:
            row = connection.execute(wanted).mappings().one_or_none()
            return Freeze(**row) if row else None

    def put_freeze(self, freeze: Freeze | None) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(schema.freeze))
            if freeze:
                connection.execute(insert(schema.freeze), {"id": 1, **asdict(freeze)})

    def last_check(self) -> Check | None:
        with self._database.reading() as connection:
            said = connection.execute(select(schema.dns_check.c.said)).scalar_one_or_none()
            return check_from_text(said) if said is not None else None

    def put_check(self, check: Check) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(schema.dns_check))
            connection.execute(insert(schema.dns_check), {"id": 1, "said": check_to_text(check)})
