"""What a plan changes in DNS, name by name, over all zones.

Takes a plan. Returns its changes, and the names that it leaves to others, in the order of the list.
"""

from __future__ import annotations

from dataclasses import dataclass

from flex.model.plan import Plan
from flex.model.zone_plan import Change
from flex.zones.zone_changes import lines
from flex_api.schemas.diff_and_route_lists import DnsChangeRow


@dataclass(frozen=True, slots=True)
class Named:
    """A change; none of a name that is somebody else's."""

    zone: str
    name: str
    change: Change | None

    @property
    def type(self) -> str:
        return self.change.type if self.change else ""

    def key(self, by: str) -> str:
        """By its zone, or else by its name; no two have the same."""
        return (
            f"{self.zone} {self.name} {self.type}" if by == "zone" else f"{self.name} {self.type}"
        )


def list_names(plan: Plan, by: str) -> tuple[Named, ...]:
    names = [
        Named(zone_plan.zone, change.name, change)
        for zone_plan in plan.zone_plans
        for change in zone_plan.changes
    ]
    names += [
        Named(zone_plan.zone, name, None)
        for zone_plan in plan.zone_plans
        for name in zone_plan.foreign
    ]
    return tuple(sorted(names, key=lambda named: named.key(by)))


def row(named: Named) -> DnsChangeRow:
    change = named.change
    return DnsChangeRow(
        zone=named.zone,
        name=named.name,
        type=named.type,
        before=list(change.before.values) if change and change.before else [],
        after=list(change.after.values) if change and change.after else [],
        changes=list(lines(change)) if change else [],
        foreign=change is None,
    )
