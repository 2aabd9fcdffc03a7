"""A person's yes or no to a plan: what the command line and the REST API both call.

In go a world, a plan's id and who says what; out comes the plan with it. A plan is named by its id, which ends in its
digest, and may be named by more of the digest: then the yes is to just that.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import replace

from flex.errors import Ended, Expired, Held
from flex.loop import pending as rules
from flex.model.access import one_person
from flex.model.consent import Approval, Stop
from flex.model.domain import Cycle
from flex_api.known import outdated
from flex_api.night import stopping
from flex_api.told import words
from flex_api.wiring import World


def approve(world: World, plan_id: str, said: Approval, *, checksum: str = "") -> Cycle:
    """Raises Held when the plan waits for nobody any more, when applying it would be refused for what changed since, or
    when nobody may approve what he made himself. Whoever said yes before says now what he says.
    """
    stopping.refuse_strange(said.force, f"approving {plan_id}")
    cycle = waiting(world, plan_id, "approving", checksum=checksum)
    _refuse_outdated(world, cycle, said.force)
    refuse_own(world, cycle, said)
    others = tuple(one for one in cycle.approvals if one.author != said.author)
    return _store(world, replace(cycle, approvals=(*others, said)))


def refuse_own(world: World, cycle: Cycle, said: Approval) -> None:
    """Raises Held for a yes that counts for nothing, as everything that the plan does is of who says it."""
    if not world.settings.safety.four_eyes:
        return
    people = _people(world, cycle)
    if not all(said.author in names for names in people.values()):
        return
    cause = next(iter(people))
    one = "" if said.author == cause else f"counts as one person with {cause}, who "
    raise Held(
        f"approving {cycle.id}",
        f"{said.author or 'nobody'} {one}{_did(cycle, cause)}, and safety.four_eyes asks for somebody else",
        kept="nothing was changed",
        advice="ask somebody else to look at it",
        stops=[needs_another(cycle)],
    )


def _refuse_outdated(world: World, cycle: Cycle, force: Collection[str]) -> None:
    """A yes to what cannot be applied would be asked for twice."""
    if stops := tuple(stop for stop in outdated.stops(world, cycle) if stop.rule not in force):
        raise Held(
            f"approving {cycle.id}",
            "; ".join(map(str, stops)),
            kept="nothing was changed",
            advice="make a new plan with `flex plan`, or agree to go over it: "
            f"flex approve {cycle.id} {' '.join(f'--force {stop.rule}' for stop in stops)}",
            stops=stops,
        )


def reject(world: World, plan_id: str, said: Approval, *, checksum: str = "") -> Cycle:
    """It can not be applied any more."""
    cycle = waiting(world, plan_id, "rejecting", checksum=checksum)
    why = f": {said.reason}" if said.reason else ""
    message = f"rejected by {said.author or 'somebody'}{why}"
    return _store(world, replace(cycle, state="discarded", approvals=(*cycle.approvals, said), message=message))


def discard(world: World, plan_id: str, reason: str = "", *, dry_run: bool = False) -> Cycle:
    """Put a plan aside; raises Ended for one of which something has become."""
    cycle = world.store.cycle(plan_id)
    if cycle.state not in rules.WAITING:
        raise Ended(
            f"discarding {cycle.id}",
            f"it is {cycle.state}",
            kept="nothing was changed",
            advice="to undo an applied plan: `flex rollback`",
        )
    discarded = replace(cycle, state="discarded", message=reason or cycle.message)
    return discarded if dry_run else _store(world, discarded)


def waiting(world: World, plan_id: str, doing: str, *, checksum: str = "") -> Cycle:
    """The plan, which nobody has carried out or put aside yet. Raises Unknown, Ended, Expired, Outdated or Held."""
    cycle = world.store.cycle(plan_id)
    rules.refuse_ended(cycle, doing)
    refuse_other(cycle.id, cycle.digest, checksum, doing)
    _refuse_expired(world, cycle, doing)
    rules.refuse_outdated(cycle, world.store, doing)
    return cycle


def refuse_other(plan_id: str, digest: str, checksum: str, doing: str) -> None:
    """Raises Held where the plan's digest does not begin so."""
    if not digest.startswith(checksum):
        raise Held(
            f"{doing} {plan_id}",
            f"its checksum is {digest[:12]}, not {checksum}",
            kept="nothing was changed",
            advice="review it again with `flex plan show`",
        )


def _refuse_expired(world: World, cycle: Cycle, doing: str) -> None:
    if world.clock() - cycle.created > world.settings.safety.plan_expiry:
        raise Expired(
            f"{doing} {cycle.id}",
            f"it was made {words.ago(cycle.created, world.clock())}; "
            f"safety.plan_expiry is {words.span(world.settings.safety.plan_expiry)}",
            kept="nothing was changed",
            advice="make a new one with `flex plan`",
            stops=[_too_old(world, cycle)],
        )


def _too_old(world: World, cycle: Cycle) -> Stop:
    limit, age = world.settings.safety.plan_expiry, world.clock() - cycle.created
    return Stop(
        "safety.plan_expiry", words.span(limit), words.span(age), "the plan is too old", "a new plan: flex plan"
    )


def needs_another(cycle: Cycle, forced: str = "") -> Stop:
    """That one person is not enough, and what somebody else has to do."""
    override = f"somebody else than {_causes(cycle)}: flex approve {cycle.id}{forced}"
    said = "nobody but who caused it has agreed"
    return Stop("safety.four_eyes", "a yes by somebody else", "none", said, override)


def lacks(world: World, cycle: Cycle) -> str:
    """What a plan still needs of people before it may be applied by hand; empty when it needs nothing."""
    if not world.settings.safety.four_eyes:
        return ""
    yes = {one.author for one in cycle.approvals if one.decision == "approve"}
    alone = _own(world, cycle, yes)
    return f"nobody but {' and '.join(alone)} has approved it, and safety.four_eyes is set" if alone else ""


def refuse_forced_alone(world: World, cycle: Cycle, rules: Collection[str]) -> None:
    """Raises Held for rules that are gone over and that only who made the plan is known to want gone over."""
    if not world.settings.safety.four_eyes:
        return
    yes = [one for one in cycle.approvals if one.decision == "approve"]
    agreed = {rule for rule in rules if not _own(world, cycle, {one.author for one in yes if rule in one.force})}
    if alone := sorted(set(rules) - agreed):
        forced = " ".join(f"--force {rule}" for rule in alone)
        raise Held(
            f"applying {cycle.id}",
            f"nobody but {_causes(cycle)} has agreed to go over {', '.join(alone)}, and safety.four_eyes is set",
            kept="nothing was changed",
            advice=f"`flex approve {cycle.id} {forced}`, by somebody else",
            stops=[needs_another(cycle, f" {forced}")],
        )


def _own(world: World, cycle: Cycle, yes: Set[str]) -> list[str]:
    """Of which causes nobody else has said yes. Two people who asked for a part each look at the part of the other."""
    people = _people(world, cycle)
    return [cause or "who made it" for cause, names in people.items() if not yes - names]


def _people(world: World, cycle: Cycle) -> dict[str, frozenset[str]]:
    """Everybody who caused what the plan does, each with every name that he, or who gave him his token, can come in by.
    A plan of nobody's takes anybody's yes.
    """
    causes = dict.fromkeys(name for name in (cycle.author, *cycle.wishers) if name)
    tokens = world.store.tokens()
    return {cause: one_person(cause, tokens) for cause in causes or ("",)}


def _causes(cycle: Cycle) -> str:
    return " and ".join(dict.fromkeys(name for name in (cycle.author, *cycle.wishers) if name)) or "who made it"


def _did(cycle: Cycle, cause: str) -> str:
    return "made it" if cause == cycle.author else "asked for what it does"


def _store(world: World, cycle: Cycle) -> Cycle:
    world.store.update(cycle)
    return cycle
