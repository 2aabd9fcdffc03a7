"""Whether a wish can be met together with all others, at every moment at which it holds; and if
not, together with which of them.

Takes the facts of the cluster, a wish, and the wishes of others. Returns nothing, or refuses the
wish. Campaigns count on top of permanent wishes (flex/wishes/wishes_in_force_now.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from flex.errors import Infeasible
from flex.model.wish import Pin
from flex.planning import propose_plan
from flex.planning.facts_and_rules import Facts
from flex.wishes import suspended_wishes, wishes_in_force_now
from flex_api.in_words import wish_text
from flex_api.wiring import World

FAR = datetime.max.replace(tzinfo=UTC)


def refuse(world: World, facts: Facts, wanted: Pin) -> None:
    """Raises Infeasible, naming the wishes that it conflicts with, or Unknown."""
    key = (wanted.site, wanted.campaign)
    others = [one for one in world.store.pins() if (one.site, one.campaign) != key]
    near = _near(wanted, others)
    tried = set[Pin]()
    for moment in _moments(wanted, near, world.clock()):
        every = wishes_in_force_now.in_force((*others, wanted), moment)
        mine = next(pin for pin in every if pin.site == wanted.site)
        rest = tuple(pin for pin in every if pin.site != wanted.site)
        if mine not in tried:
            planned = tuple(one for one in rest if not one.excluded)
            propose_plan.refuse_impossible(replace(facts, pins=planned), world.rules, mine)
            tried.add(mine)
        sites = {pin.site for pin in near}
        _refuse_beside(world, facts, mine, [pin for pin in rest if pin.site in sites])


def _near(wanted: Pin, others: Sequence[Pin]) -> list[Pin]:
    """The wishes that have to do with it: of its own site, and of all tied to that, over however
    many others.
    """
    reached, left = {wanted.site, *wanted.together, *wanted.apart}, list(others)
    found: list[Pin] = []
    while tied := [one for one in left if reached & {one.site, *one.together, *one.apart}]:
        found += tied
        left = [one for one in left if one not in tied]
        reached.update(site for one in tied for site in (one.site, *one.together, *one.apart))
    return found


def _moments(wanted: Pin, near: Iterable[Pin], now: datetime) -> list[datetime]:
    """When it begins, and when anything near it begins or ends while it holds."""
    begins, ends = max(wanted.since or now, now), wanted.until or FAR
    turns = {
        moment
        for one in near
        for moment in (one.since, one.until)
        if moment and begins < moment < ends
    }
    return [begins, *sorted(turns)]


def _refuse_beside(world: World, facts: Facts, wanted: Pin, others: list[Pin]) -> None:
    stopped = _what_would_stop(facts, wanted, others)
    if not stopped:
        return
    conflict = _conflict(facts, wanted, others)
    named = "; ".join(wish_text.wish_in_the_way(world.store, pin) for pin in conflict)
    raise Infeasible(
        f"the pin on {wanted.site}",
        f"it cannot be met together with the wish for {named}: {'; '.join(stopped)}",
        kept="nothing was changed",
        advice="ask for less, or take one of them back: flex sites unpin "
        f"{conflict[0].site if conflict else 'SITE'}",
    )


def _conflict(facts: Facts, wanted: Pin, others: Sequence[Pin]) -> list[Pin]:
    """All that must give way: the fewest that stop it, then those of the rest that stop it still,
    and so on.
    """
    found, left = list[Pin](), list(others)
    while _what_would_stop(facts, wanted, left):
        few = list(left)
        for pin in left:
            without = [one for one in few if one is not pin]
            if _what_would_stop(facts, wanted, without):
                few = without
        if not few:
            break
        found += few
        left = [one for one in left if one not in few]
    return found


def _what_would_stop(facts: Facts, wanted: Pin, others: Sequence[Pin]) -> list[str]:
    """What would be suspended by it, its own included."""
    before, after = (set(_suspended_wishes(facts, pins)) for pins in (others, (*others, wanted)))
    return sorted(after - before)


def _suspended_wishes(facts: Facts, pins: Sequence[Pin]) -> tuple[str, ...]:
    """A wish counts as that of its site, however it would be put."""
    return suspended_wishes.possible(pins, set(facts.sites), facts.nodes).suspended
