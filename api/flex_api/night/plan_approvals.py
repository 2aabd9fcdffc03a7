"""A person's yes or no to a plan: the command line and the REST API both call this.

Takes a world, a plan's id, and who decides what. Returns the plan with the decision. The id of a
plan ends in the first characters of its digest. Somebody who gives more of the digest says yes to
exactly that plan.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import replace

from flex.errors import Ended, Expired, Held
from flex.model.limits_and_approvals import Approval, Stop
from flex.model.plan import Plan
from flex.model.roles_and_tokens import one_person
from flex.planning import outdated_plans
from flex_api.facts import changed_since_plan
from flex_api.in_words import amounts
from flex_api.night import rules_that_stop_plans as rules
from flex_api.wiring import World


def approve(world: World, plan_id: str, approval: Approval, *, checksum: str = "") -> Plan:
    """Stores the approval, in place of an earlier one by the same person.

    Raises Held when the plan is not waiting any more, when it could not be applied because of what
    has changed since, or when its own author approves it and only others may.
    """
    rules.refuse_unknown(approval.force, f"approving {plan_id}")
    plan = waiting(world, plan_id, "approving", checksum=checksum)
    _refuse_outdated(world, plan, approval.force)
    refuse_own(world, plan, approval)
    others = tuple(other for other in plan.approvals if other.author != approval.author)
    return _store(world, replace(plan, approvals=(*others, approval)))


def refuse_own(world: World, plan: Plan, approval: Approval) -> None:
    """Raises Held for a yes that counts for nothing, as everything that the plan does is of who
    says it.
    """
    if not world.settings.safety.four_eyes:
        return
    people = _people(world, plan)
    if not all(approval.author in names for names in people.values()):
        return
    cause = next(iter(people))
    relation = "" if approval.author == cause else f"counts as one person with {cause}, who "
    raise Held(
        f"approving {plan.id}",
        f"{approval.author or 'nobody'} {relation}{_did(plan, cause)}, and safety.four_eyes "
        "needs somebody else",
        advice="ask somebody else to look at it",
        stops=[needs_another(plan)],
    )


def _refuse_outdated(world: World, plan: Plan, force: Collection[str]) -> None:
    """A yes to what cannot be applied would be asked for twice."""
    if stops := tuple(
        stop for stop in changed_since_plan.stops(world, plan) if stop.rule not in force
    ):
        raise Held(
            f"approving {plan.id}",
            "; ".join(map(str, stops)),
            advice="make a new plan with `flex plan`, or agree to go over it: "
            f"flex approve {plan.id} {' '.join(f'--force {stop.rule}' for stop in stops)}",
            stops=stops,
        )


def reject(world: World, plan_id: str, approval: Approval, *, checksum: str = "") -> Plan:
    """It can not be applied any more."""
    plan = waiting(world, plan_id, "rejecting", checksum=checksum)
    why = f": {approval.reason}" if approval.reason else ""
    message = f"rejected by {approval.author or 'somebody'}{why}"
    return _store(
        world,
        replace(plan, state="discarded", approvals=(*plan.approvals, approval), message=message),
    )


def discard(world: World, plan_id: str, reason: str = "", *, dry_run: bool = False) -> Plan:
    """Put a plan aside; raises Ended for one of which something has become."""
    plan = world.store.plan(plan_id)
    if plan.state not in outdated_plans.WAITING:
        raise Ended(
            f"discarding {plan.id}",
            f"it is {plan.state}",
            advice="to undo an applied plan: `flex rollback`",
        )
    discarded = replace(plan, state="discarded", message=reason or plan.message)
    return discarded if dry_run else _store(world, discarded)


def waiting(world: World, plan_id: str, doing: str, *, checksum: str = "") -> Plan:
    """The plan, which nobody has carried out or put aside yet. Raises Unknown, Ended, Expired,
    Outdated or Held.
    """
    plan = world.store.plan(plan_id)
    outdated_plans.refuse_ended(plan, doing)
    refuse_other(plan.id, plan.digest, checksum, doing)
    _refuse_expired(world, plan, doing)
    outdated_plans.refuse_outdated(plan, world.store, doing)
    return plan


def refuse_other(plan_id: str, digest: str, checksum: str, doing: str) -> None:
    """Raises Held where the plan's digest does not begin so."""
    if not digest.startswith(checksum):
        raise Held(
            f"{doing} {plan_id}",
            f"its checksum is {digest[:12]}, not {checksum}",
            advice="review it again with `flex plan show`",
        )


def _refuse_expired(world: World, plan: Plan, doing: str) -> None:
    if stop := rules.stop_if_expired(world, plan):
        raise Expired(
            f"{doing} {plan.id}",
            f"it was made {amounts.ago(rules.made_at(world, plan), world.clock())}; "
            f"safety.plan_expiry is {amounts.span(world.settings.safety.plan_expiry)}",
            advice="make a new one with `flex plan`",
            stops=[stop],
        )


def needs_another(plan: Plan, forced: str = "") -> Stop:
    """That one person is not enough, and what somebody else has to do."""
    override = f"somebody else than {_causes(plan)}: flex approve {plan.id}{forced}"
    sentence = "nobody has approved it but the people who caused it"
    return Stop("safety.four_eyes", "an approval by somebody else", "none", sentence, override)


def lacks(world: World, plan: Plan) -> str:
    """What a plan still needs of people before it may be applied by hand; empty when it needs
    nothing.
    """
    if not world.settings.safety.four_eyes:
        return ""
    yes = {approval.author for approval in plan.approvals if approval.decision == "approve"}
    alone = _own(world, plan, yes)
    return (
        f"nobody but {' and '.join(alone)} has approved it, and safety.four_eyes is set"
        if alone
        else ""
    )


def refuse_forced_alone(world: World, plan: Plan, rules: Collection[str]) -> None:
    """Raises Held for rules that are gone over and that only who made the plan is known to want
    gone over.
    """
    if not world.settings.safety.four_eyes:
        return
    yes = [approval for approval in plan.approvals if approval.decision == "approve"]
    alone = []
    for rule in sorted(set(rules)):
        authors = {approval.author for approval in yes if rule in approval.force}
        if _own(world, plan, authors):
            alone.append(rule)
    if alone:
        forced = " ".join(f"--force {rule}" for rule in alone)
        raise Held(
            f"applying {plan.id}",
            f"nobody but {_causes(plan)} has agreed to go over {', '.join(alone)}, "
            "and safety.four_eyes is set",
            advice=f"`flex approve {plan.id} {forced}`, by somebody else",
            stops=[needs_another(plan, f" {forced}")],
        )


def _own(world: World, plan: Plan, yes: Set[str]) -> list[str]:
    """The causes to which nobody else has said yes. Two people who asked for a part each look at
    the part of the other.
    """
    people = _people(world, plan)
    return [cause or "who made it" for cause, names in people.items() if not yes - names]


def _people(world: World, plan: Plan) -> dict[str, frozenset[str]]:
    """Everybody who caused what the plan does. Each of them has several names: those of the person,
    and of whoever gave the person a token. Anybody may approve a plan that nobody caused.
    """
    causes = dict.fromkeys(name for name in (plan.author, *plan.wishers) if name)
    tokens = world.store.tokens()
    return {cause: one_person(cause, tokens) for cause in causes or ("",)}


def _causes(plan: Plan) -> str:
    return (
        " and ".join(dict.fromkeys(name for name in (plan.author, *plan.wishers) if name))
        or "who made it"
    )


def _did(plan: Plan, cause: str) -> str:
    return "made it" if cause == plan.author else "asked for what it does"


def _store(world: World, plan: Plan) -> Plan:
    world.store.update(plan)
    return plan
