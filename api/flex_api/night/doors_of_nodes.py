"""The doors of all nodes, as a plan that is carried out sees them.

Takes a world whose lease is held. Orders the doors to go by a plan, and tells which nodes do not.
Does not change DNS. Where FLEX itself carries the nodes' files to them, it does so ahead of DNS,
unless a dead node is taken out: then nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Mapping

from flex.model.plan import Plan
from flex.placing import failover
from flex_api.night import route_requests_by_plan, store_order_for_doors
from flex_api.night.doors_behind_order import who_has_not_heard
from flex_api.wiring import World


class DoorsOfNodes:
    """`flex.ports.Doors`."""

    def __init__(self, world: World) -> None:
        self._world = world
        # 0 before the doors were ordered to go by anything.
        self._number = 0
        self._delivered: frozenset[str] = frozenset()

    def lead(self, plan: Plan) -> None:
        world = self._world
        order = store_order_for_doors.order(world.settings, world.store, plan.id)
        self._number = order.number if order else 0
        # Nodes that follow or fetch hear of the order by themselves.
        delivers = world.settings.routing.delivers
        if delivers and plan.quality.solver != failover.SOLVER:
            self._delivered = route_requests_by_plan.reroute(world, plan.id)

    def behind(self, patience: float) -> Mapping[str, str]:
        if not self._number:
            return {}
        return who_has_not_heard(self._world, self._number, patience, self._delivered)
