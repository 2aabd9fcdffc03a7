"""The doors of all nodes, as a plan that is carried out sees them.

Takes a world whose lease is held. Orders the doors to go by a plan, and tells which nodes do not.
Does not change DNS. Where FLEX itself carries the nodes' files to them, it does so ahead of DNS,
unless a dead node is taken out: then nothing is waited for, and no trouble with doors stops it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from flex.errors import FlexError, LostLease
from flex.model.plan import Plan
from flex.placing import failover
from flex_api.night import haproxy_pools_and_files, route_requests_by_plan, store_order_for_doors
from flex_api.night.doors_behind_order import is_known, who_has_not_heard
from flex_api.wiring import World


class DoorsOfNodes:
    """`flex.ports.Doors`."""

    def __init__(self, world: World) -> None:
        self._world = world
        # 0 before the doors were ordered to go by anything.
        self._number = 0
        self._delivered: frozenset[str] = frozenset()
        # Why they could not be.
        self._trouble = ""

    def lead(self, plan: Plan) -> None:
        """Where all are led at once, also those that waited for sites with one writer. Raises
        FlexError where no order can be given, unless a dead node is taken out.
        """
        self._order(plan, () if plan.moving_ttl is None else None)

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
        world, is_failover = self._world, plan.quality.solver == failover.SOLVER
        try:
            order = store_order_for_doors.order(world.settings, world.store, plan.id, waiting)
        except LostLease:
            raise
        except FlexError as error:
            if not is_failover:
                raise
            self._trouble = f"no order was given: {error.asked}: {error.answer}"
            return
        self._number = order.number if order else 0
        # Nodes that follow or fetch hear of the order by themselves.
        if world.settings.routing.delivers and not is_failover:
            self._delivered = route_requests_by_plan.reroute(world, plan.id)

    def nodes_behind(self, patience: float) -> Mapping[str, str]:
        if self._trouble:
            serving = haproxy_pools_and_files.addresses(self._world.nodes)
            return dict.fromkeys(serving, self._trouble)
        if not self._number:
            return {}
        if not self._delivered and not is_known(self._world):
            self._world.say(
                f"No node says whether its doors go by order {self._number}: `flex route follow` "
                "on the nodes does, and routing.sockets has FLEX ask."
            )
        return who_has_not_heard(self._world, self._number, patience, self._delivered)
