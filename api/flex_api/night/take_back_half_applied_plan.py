"""Takes back a plan that is half applied: DNS says again what it said before.

Takes a plan that was begun. Returns what of it cannot be taken back and is still to be carried out,
and raises OnTheWay where that failed. Does not touch what others wrote meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from flex.errors import DnsError, OnTheWay, PartlyApplied, Refused
from flex.model.plan import Plan
from flex.model.zone_plan import ZonePlan
from flex.zones import zone_changes
from flex.zones.address_hints import HINTED
from flex.zones.marker import site_name
from flex.zones.records_of_partition import ZoneState, by_name
from flex_api.in_words import amounts
from flex_api.night import (
    give_up_half_applied_plan,
    may_plan_be_applied,
    narrow_half_applied_plan,
    route_requests_by_plan,
    still_holding_lease,
)
from flex_api.wiring import World

# How many names of others a sentence lists; the rest is left out. A guess.
NAMES_LISTED = 10


def take_back(world: World) -> tuple[str, ...]:
    """Undo every plan that is half applied, zone by zone. What others wrote meanwhile stays."""
    begun = world.store.plans(state="applying")
    for plan in begun:
        if world.settings.cluster.mode == "shadow":
            raise may_plan_be_applied.in_shadow(plan)
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
        publisher.refuse_late(*(one.zone for one in plan.zone_plans if one.changes))
        undone = [
            _way_back(world, _without(one, besides), plan.moving_ttl or 0)
            for one in plan.zone_plans
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
    led = narrow_half_applied_plan.led_on_already(world, plan)
    if besides or (led and at_once):
        give_up_half_applied_plan.abandon(world, plan)
        return None
    if led:
        world.store.new_journal(plan.id)
        return narrow_half_applied_plan.only(world, plan, led)
    message = "taken back: DNS says what it said before, except for what others wrote"
    world.store.update(replace(plan, state="failed", message=message, taking_back=False))
    world.store.new_journal(plan.id)
    # What was begun first is taken back last.
    route_requests_by_plan.reroute(world)
    return None


def _without(made: ZonePlan, names: Collection[str]) -> ZonePlan:
    return replace(
        made,
        changes=tuple(one for one in made.changes if site_name(made.zone, one.name) not in names),
    )


def _way_back(world: World, made: ZonePlan, ttl: int) -> ZonePlan:
    state = world.publisher.read(
        made.zone, names := zone_changes.changed_names(made), hints=zone_changes.changed_hints(made)
    )
    whole = zone_changes.undoing(made, state, ttl)
    back = _without_denied_hints(world, whole)
    put_back = {
        site_name(made.zone, change.name) for change in whole.changes if change.type not in HINTED
    }
    excluded = zone_changes.excluded_names_left(made, state)
    others = _in_words(set(names) - put_back - _as_before(made, state) - excluded)
    others += zone_changes.hints_of_others(made, whole, state)
    named = ", ".join(others[:NAMES_LISTED])
    left = f"; of others by now, and left alone: {named}" if others else ""
    if excluded:
        named = ", ".join(_in_words(excluded)[:NAMES_LISTED])
        left += f"; excluded by markers, and left as they are: {named}"
    if back != whole:
        denied = [
            f"{kind} of {name.rstrip('.')}" for name, kind in zone_changes.changed_hints(whole)
        ]
        left += (
            "; FLEX may not change address hints there any more, so that these stay as the "
            f"plan left them: {', '.join(denied[:NAMES_LISTED])}"
        )
    world.say(f"{made.zone} {amounts.count(len(back.changes), 'record set')} put back{left}.")
    return back


def _in_words(names: Collection[str]) -> list[str]:
    return [name.rstrip(".") for name in sorted(names)]


def _without_denied_hints(world: World, back: ZonePlan) -> ZonePlan:
    """A key that has lost the right to change hints keeps no address from going back."""
    try:
        if sets := zone_changes.changed_hints(back):
            world.publisher.refuse_hints(back.zone, sets)
    except Refused:
        return zone_changes.without_hints(back)
    return back


def _as_before(made: ZonePlan, state: ZoneState) -> set[str]:
    """The names that the plan never changed, or only marked."""
    have = by_name(state.records)
    changes = [one for one in made.changes if one.type in zone_changes.ADDRESSES]
    before = [(one, one.before and (one.before.ttl, one.before.values)) for one in changes]
    only_marked = set(zone_changes.changed_names(made)) - {one.name for one in changes}
    return only_marked | {
        one.name for one, said in before if have.get((one.name, one.type)) == said
    }
