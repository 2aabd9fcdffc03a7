"""Whether a plan may be carried out now.

Takes a plan's id and the rules that somebody goes over by name. Returns the plan where it may be
carried out, and raises an error that names the rule where it may not. Does not change anything.
"""

from __future__ import annotations

from collections.abc import Collection

from flex.errors import Held, Outdated, held_or_frozen
from flex.model.limits_and_approvals import Stop
from flex.model.plan import Plan
from flex.zones import zone_changes
from flex_api.in_words import amounts
from flex_api.night import plan_approvals, rules_that_stop_plans
from flex_api.wiring import World, site_names


def refuse_half_applied(world: World, doing: str) -> None:
    """Raises Held where a plan is half applied. Only a whole partition can be the base of a plan,
    and making a plan does not finish another one in DNS.
    """
    if begun := world.store.plans(state="applying"):
        raise Held(
            doing,
            f"plan {begun[0].id} is half applied",
            advice="`flex apply --resume` finishes it, `flex apply --undo` takes it "
            "back; then ask again",
        )


def refuse_forbidden(
    world: World, plan_id: str, *, force: Collection[str] = (), checksum: str = ""
) -> Plan:
    """The plan, where it may be carried out now.

    Raises Held with the rule that forbids it, BadInput where `force` names no rule, and BadSetting
    where two sites claim one name by now.
    """
    rules_that_stop_plans.refuse_unknown(force, f"applying {plan_id}")
    site_names(world.settings)
    if world.settings.cluster.mode == "shadow":
        plan = world.store.plan(plan_id)
        raise shadow_error(plan)
    plan = plan_approvals.waiting(world, plan_id, "applying", checksum=checksum)
    refuse_hints_that_stay(plan, follow=world.settings.dns.address_hints == "follow")
    if lacking := plan_approvals.lacks(world, plan):
        raise _held_error(
            plan,
            lacking,
            f"`flex approve {plan.id}`, by somebody else",
            plan_approvals.needs_another(plan),
        )
    _refuse_stopped(world, plan, force)
    return plan


def refuse_hints_that_stay(plan: Plan, *, follow: bool) -> None:
    """Raises Outdated where the plan changes hints that are not to `follow` by now."""
    hints = sum(len(zone_changes.changed_hints(zone_plan)) for zone_plan in plan.zone_plans)
    if hints and not follow:
        raise Outdated(
            f"applying {plan.id}",
            f"it changes address hints of {amounts.count(hints, 'record set')}, and "
            'dns.address_hints is "stay" by now',
            advice="make a new one with `flex plan`",
        )


def _refuse_stopped(world: World, plan: Plan, force: Collection[str] = ()) -> None:
    """Raises Frozen or Held, with the rules that were not forced."""
    every = rules_that_stop_plans.stops(world, plan)
    broken = [stop for stop in every if stop.rule not in force]
    if not broken:
        plan_approvals.refuse_forced_alone(world, plan, [stop.rule for stop in every])
        return
    forced = " ".join(f"--force {stop.rule}" for stop in broken)
    raise held_or_frozen(broken)(
        f"applying {plan.id}",
        "; ".join(str(stop) for stop in broken),
        advice=f"to apply it all the same: flex apply {plan.id} {forced}",
        stops=broken,
    )


def shadow_error(plan: Plan) -> Held:
    advice = "set cluster.mode to review or auto"
    answer = "the mode is shadow, which never writes to DNS"
    return _held_error(
        plan, answer, advice, Stop("cluster.mode", "shadow", "a change in DNS", answer, advice)
    )


def _held_error(plan: Plan, answer: str, advice: str, stop: Stop) -> Held:
    return Held(f"applying {plan.id}", answer, advice=advice, stops=[stop])
