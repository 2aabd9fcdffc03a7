"""Takes back a plan that is half applied, or gives it up.

Where a plan is taken back, DNS says again what it said before; what others wrote meanwhile stays.
`undo` returns what of the plan cannot be taken back and is still to be carried out, and raises
OnTheWay where that failed. Where a plan is given up, what DNS says becomes the partition in force,
and of sites with one writer what doors say; no record of a site is written. Takes plans that were
begun, by a run that holds the lease.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from flex.errors import DnsError, OnTheWay, PartlyApplied, Refused
from flex.model.plan import Plan
from flex.model.zone_plan import ZonePlan
from flex.planning import carry_out_plan
from flex.zones import zone_changes
from flex.zones.address_hints import HINTED
from flex.zones.marker import site_name
from flex.zones.records_of_partition import ZoneState, sets_by_name
from flex_api.in_words import amounts
from flex_api.night import (
    may_plan_be_applied,
    narrow_plan,
    route_requests_by_plan,
    still_holding_lease,
    writer_nodes,
)
from flex_api.wiring import World

# How many names of others a sentence lists; the rest is left out. A guess.
NAMES_LISTED = 10


def take_back(world: World) -> tuple[str, ...]:
    """Undo every plan that is half applied, zone by zone. What others wrote meanwhile stays."""
    begun = world.store.plans(state="applying")
    for plan in begun:
        if world.settings.cluster.mode == "shadow":
            raise may_plan_be_applied.shadow_error(plan)
        undo(world, plan)
    return tuple(plan.id for plan in begun)


def undo(
    world: World, plan: Plan, *, besides: Collection[str] = (), at_once: bool = False
) -> Plan | None:
    """Take one plan back. Where this run is killed, the next run goes on with it.

    Sites with one writer that doors have led on cannot go back: the plan that goes on with these
    alone is returned, and is half applied. Where all must end `at_once` there is none; then, and
    where the names `besides` keep what the plan wrote, what doors and DNS say becomes the partition
    in force.
    """
    world.store.update(replace(plan, state="applying", taking_back=not besides))
    publisher = world.publisher
    try:
        publisher.refuse_late(
            *(zone_plan.zone for zone_plan in plan.zone_plans if zone_plan.changes)
        )
        undone = [
            _way_back(world, _leave_out_names(zone_plan, besides), plan.moving_ttl or 0)
            for zone_plan in plan.zone_plans
        ]
        publisher.apply(*undone, journal=still_holding_lease.Unwritten(world))
    except (DnsError, PartlyApplied) as error:
        raise OnTheWay(
            error.asked,
            f"it could not be taken back: {error.answer}",
            kept=f"some of plan {plan.id} may be in DNS",
            advice=f"{error.advice.partition('; then `flex apply')[0]}; then `flex "
            "apply --undo` takes it back",
        ) from error
    led = narrow_plan.led_on_already(world, plan)
    if besides or (led and at_once):
        abandon(world, plan)
        return None
    if led:
        world.store.new_journal(plan.id)
        return narrow_plan.only(world, plan, led)
    message = "taken back: DNS says what it said before, except for what others wrote"
    world.store.update(replace(plan, state="failed", message=message, taking_back=False))
    world.store.new_journal(plan.id)
    # What was begun first is taken back last.
    route_requests_by_plan.reroute(world)
    return None


def _leave_out_names(zone_plan: ZonePlan, names: Collection[str]) -> ZonePlan:
    return replace(
        zone_plan,
        changes=tuple(
            change
            for change in zone_plan.changes
            if site_name(zone_plan.zone, change.name) not in names
        ),
    )


def _way_back(world: World, zone_plan: ZonePlan, ttl: int) -> ZonePlan:
    state = world.publisher.read(
        zone_plan.zone,
        names := zone_changes.changed_names(zone_plan),
        hints=zone_changes.changed_hints(zone_plan),
    )
    whole = zone_changes.undoing(zone_plan, state, ttl)
    back = _drop_denied_hints(world, whole)
    put_back = {
        site_name(zone_plan.zone, change.name)
        for change in whole.changes
        if change.type not in HINTED
    }
    excluded = zone_changes.excluded_names_left(zone_plan, state)
    others = _plain_names(set(names) - put_back - _as_before(zone_plan, state) - excluded)
    others += zone_changes.hints_of_others(zone_plan, whole, state)
    named = ", ".join(others[:NAMES_LISTED])
    left = f"; of others by now, and left alone: {named}" if others else ""
    if excluded:
        named = ", ".join(_plain_names(excluded)[:NAMES_LISTED])
        left += f"; excluded by markers, and left as they are: {named}"
    if back != whole:
        denied = [
            f"{kind} of {name.rstrip('.')}" for name, kind in zone_changes.changed_hints(whole)
        ]
        left += (
            "; FLEX may not change address hints there any more, so that these stay as the "
            f"plan left them: {', '.join(denied[:NAMES_LISTED])}"
        )
    world.say(f"{zone_plan.zone} {amounts.count(len(back.changes), 'record set')} put back{left}.")
    return back


def _plain_names(names: Collection[str]) -> list[str]:
    return [name.rstrip(".") for name in sorted(names)]


def _drop_denied_hints(world: World, back: ZonePlan) -> ZonePlan:
    """A key that has lost the right to change hints keeps no address from going back."""
    try:
        if sets := zone_changes.changed_hints(back):
            world.publisher.refuse_hints(back.zone, sets)
    except Refused:
        return zone_changes.drop_hints(back)
    return back


def _as_before(zone_plan: ZonePlan, state: ZoneState) -> set[str]:
    """The names that the plan never changed, or only marked."""
    have = sets_by_name(state.records)
    changes = [change for change in zone_plan.changes if change.type in zone_changes.ADDRESSES]
    before = [
        (change, change.before and (change.before.ttl, change.before.values)) for change in changes
    ]
    only_marked = set(zone_changes.changed_names(zone_plan)) - {change.name for change in changes}
    return only_marked | {
        change.name for change, earlier in before if have.get((change.name, change.type)) == earlier
    }


def give_up(world: World) -> tuple[str, ...]:
    """The plans that were half applied. From now on what DNS says is the partition in force."""
    begun = world.store.plans(state="applying")
    for plan in begun:
        abandon(world, plan)
    return tuple(plan.id for plan in begun)


def abandon(world: World, plan: Plan) -> None:
    refuse_late(world, plan)
    carry_out_plan.abandon(
        replace(plan, taking_back=False),
        world.store.placement_of(plan.id),
        nodes=world.nodes,
        zones=world.settings.dns.every_zone,
        publisher=world.publisher,
        store=world.store,
        publishing=world.rules.publishing,
        as_led=lambda partition: writer_nodes.as_led_now(world, partition, plan.id),
    )
    world.store.new_journal(plan.id)
    route_requests_by_plan.reroute(world)


def refuse_late(world: World, plan: Plan) -> None:
    """The name servers refuse what an earlier run sent, or sends late because it slept."""
    # A server that refuses this refuses what is on its way there, too; shadow mode never writes.
    if world.settings.cluster.mode != "shadow":
        with suppress(Refused):
            world.publisher.refuse_late(
                *(zone_plan.zone for zone_plan in plan.zone_plans if zone_plan.changes)
            )
