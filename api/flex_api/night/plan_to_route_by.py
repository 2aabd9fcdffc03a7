"""By which plan requests are routed: the one in force, the one that comes, or the one that doors
were ordered to go by.

Takes the settings and the store. Returns Between. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from flex.model.orders_to_doors import DoorOrder
from flex.model.plan_summary import Headline
from flex.store import Store
from flex_api.settings.file import Settings


@dataclass(frozen=True, slots=True)
class Between:
    """Whose partitions say who serves what: the plan's by which it shall be, and by which it was;
    empty for none. Doors go by the plan `ordered` where one is, else by the one that is wanted:
    whoever only follows keeps what was decided.
    """

    wanted: str
    before: str
    ordered: str = ""

    @property
    def doors(self) -> str:
        return self.ordered or self.wanted


def choose_plans(
    settings: Settings, base: str, known: Sequence[Headline], now: datetime, coming: str = ""
) -> Between:
    """The partition in force, or the plan that comes, or is half applied: routing changes before
    DNS does.

    `known` are all plans. What was in force before `base` counts until the old TTL has passed.
    """
    coming = coming or next((headline.id for headline in known if headline.state == "applying"), "")
    if coming and coming != base:
        return Between(coming, base)
    last = next((headline for headline in known if headline.id == base), None)
    if last is None:
        return Between("", "")
    lasting = last.settled is None or now < last.settled + timedelta(seconds=settings.dns.ttl)
    return Between(base, last.base if lasting else "")


def plans_at_present(settings: Settings, store: Store, coming: str = "") -> Between:
    """All plans are read before the one in force: the other way round, a plan that is settled
    between the two is neither coming nor in force, and the one before it would count.
    """
    known, base = store.headlines(), store.in_force()
    if base and base not in {headline.id for headline in known}:
        # It was made and settled between the two.
        known = store.headlines()
    return choose_plans(settings, base, known, datetime.now(UTC), coming)


def as_ordered(which: Between, last: DoorOrder | None, known: Sequence[Headline]) -> Between:
    """For those who decide nothing: doors go by the plan of the last order while that one is coming
    or in force.
    """
    plan = last.plan if last else ""
    lives = next(
        (headline.state in ("proposed", "applying") for headline in known if headline.id == plan),
        False,
    )
    return replace(which, ordered=plan if lives else which.wanted)


def plans_of_pools(
    settings: Settings, which: Between, last: DoorOrder | None, known: Sequence[Headline]
) -> Between:
    """The same for the sites on several nodes. Where there are sites with one writer, that is as
    before the plan that is being applied until doors lead by all of it: no HAProxy reloads while
    such sites move, as a node with a process from before a reload is never quiet.
    """
    coming = next((headline.id for headline in known if headline.state == "applying"), "")
    if not settings.routing.has_stateful or which.wanted != coming:
        return which
    if last and last.plan == coming and not (last.waiting or last.held):
        return which
    there = [headline for headline in known if headline.state != "applying"]
    return choose_plans(settings, which.before, there, datetime.now(UTC))


def following(settings: Settings, store: Store, last: DoorOrder | None) -> Between:
    """As it is at present, for those who decide nothing."""
    return as_ordered(plans_at_present(settings, store), last, store.headlines())
