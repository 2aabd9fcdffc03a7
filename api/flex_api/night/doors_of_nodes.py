"""The doors of all nodes, as a plan that is carried out sees them.

Takes a world whose lease is held. Orders the doors to go by a plan, and tells which nodes do not.
Does not change DNS. Where FLEX itself carries the nodes' files to them, it does so ahead of DNS,
unless a dead node is taken out: then nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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
        self._order(plan, None)

    def lead_sites(self, plan: Plan, sites: Collection[str]) -> None:
        """These sites wait no longer: their wave begins."""
        waiting = self.waiting(plan)
        if not waiting.isdisjoint(sites):
            self._order(plan, waiting.difference(sites))

    def lead_all(self, plan: Plan) -> None:
        self.lead_sites(plan, self.waiting(plan))

    def waiting(self, plan: Plan) -> frozenset[str]:
        """The sites whose visitors are led as before the plan."""
        last = self._world.store.door_order()
        return last.waiting if last and last.plan == plan.id else frozenset()

    def _order(self, plan: Plan, waiting: Collection[str] | None) -> None:
        world = self._world
        order = store_order_for_doors.order(
            world.settings, world.store, plan.id, waiting
        )
        self._number = order.number if order else 0
        # Nodes that follow or fetch hear of the order by themselves.
        delivers = world.settings.routing.delivers
        if delivers and plan.quality.solver != failover.SOLVER:
            self._delivered = route_requests_by_plan.reroute(world, plan.id)

    def behind(self, patience: float) -> Mapping[str, str]:
        if not self._number:
            return {}
        return who_has_not_heard(self._world, self._number, patience, self._delivered)
