"""By which order each node's doors go, as the nodes said themselves, and why that is not the one
that is meant.

Takes the settings and the store. Returns a value for each node that serves. Asks no node, and waits
for none: doors_behind_order.py does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flex.model.orders_to_doors import DoorOrder, DoorReport, is_possible
from flex.store import Store
from flex_api.night import haproxy_pools_and_files
from flex_api.settings.file import Settings
from flex_api.wiring import nodes

NEVER = "it has not said which order it goes by: is `flex route follow` running there?"


@dataclass(frozen=True, slots=True)
class DoorState:
    """The order by which a node's doors go, 0 for none that is known; since when, if it said so
    itself. `unheard` is why that is not the one that is meant; "" where it is.
    """

    node: str
    order: int
    since: datetime | None
    unheard: str = ""


def door_states(settings: Settings, store: Store) -> tuple[DoorState, ...]:
    """The state of each node that serves: what it said itself, measured by the newest order. There
    are none where nothing was ordered.
    """
    last = store.door_order()
    if last is None or not settings.routing.leads_to_all:
        return ()
    return states_against(settings, store, last.number)


def states_against(settings: Settings, store: Store, number: int) -> tuple[DoorState, ...]:
    """Measured by that order: a newer one counts as well. Who goes by that has heard of this one,
    or never needs to.
    """
    last = store.door_order()
    reports = {report.node: report for report in store.door_reports()}
    serving = haproxy_pools_and_files.addresses(nodes(settings, store))
    return tuple(_state(node, number, last, reports.get(node)) for node in serving)


def unknown_order(number: int) -> str:
    """Why a node that goes by this order has not heard of ours."""
    return (
        f"it goes by an order {number} that this database does not know; "
        "`flex route deliver` orders anew"
    )


def _impossible_order(number: int) -> str:
    """Why a node that says that it goes by this order is not believed."""
    return (
        f"it says that it goes by order {number}, which FLEX cannot have given: another "
        "program may have its token; revoke that, and create another one"
    )


def _state(node: str, number: int, last: DoorOrder | None, report: DoorReport | None) -> DoorState:
    if report is None:
        return DoorState(node, 0, None, NEVER)
    newest = last.number if last else 0
    goes, since = report.number, report.since
    is_foreign = goes > newest or bool(last and goes == newest and not report.goes_by(last))
    if not is_possible(goes, last):
        return DoorState(node, goes, since, _impossible_order(goes))
    if is_foreign:
        return DoorState(node, goes, since, unknown_order(goes))
    if goes >= number:
        return DoorState(node, goes, since)
    by = f"goes by order {goes}" if goes else "goes by no order"
    why = f"it {by} since {since:%Y-%m-%d %H:%M:%S} UTC"
    return DoorState(node, goes, since, f"{why}: {report.error}" if report.error else why)
