"""Wishes for sites are made and taken back here: the command line and the REST API both call this.

Takes a world and a pin. A wish that cannot be met is refused when it is made, and never later: a
pin that is in the store is met by the plans as far as possible (flex/wishes/suspended_wishes.py).

A wish must be met together with all others, at every moment at which it holds; if it cannot be, the
error names those that it conflicts with. Campaigns count on top of permanent wishes
(flex/wishes/wishes_in_force_now.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import inf

from flex.errors import BadInput, Infeasible
from flex.model.wish import ASKS, Pin, option
from flex.planning import propose_plan
from flex.planning.facts_and_rules import Facts
from flex.site_names_in_words import first_few
from flex.store import Store
from flex.wishes import suspended_wishes, wishes_in_force_now
from flex.wishes.pins_for_solvers import unknown_site
from flex_api.in_words import amounts, wish_text
from flex_api.night import gather_facts
from flex_api.wiring import World

FAR = datetime.max.replace(tzinfo=UTC)
# A wish may make a site count as so many times as large as it is, between these.
LIGHTEST = ASKS["weight"].least or 0.0
HEAVIEST = ASKS["weight"].most or inf


def pin(world: World, wanted: Pin, *, dry_run: bool = False) -> None:
    """Keep the wish from the next plan on. Raises BadInput, Unknown or Infeasible, naming what it
    conflicts with.
    """
    _refuse_meaningless(world, wanted)
    refuse_impossible(world, wanted)
    if not dry_run:
        world.store.put_pin(wanted)


def pin_beside_stored(store: Store, wanted: Pin) -> Pin:
    """Beside the permanent wish for the site, where there is one."""
    return wishes_in_force_now.pin_beside_standing(store.pin(wanted.site), wanted)


def unpin(world: World, site: str, campaign: str = "", *, dry_run: bool = False) -> Pin:
    """The pin that was taken back; the only one of the site when no campaign is named. Raises
    BadInput for none.
    """
    pins = [pin for pin in world.store.pins() if pin.site == site]
    matching_pins = [pin for pin in pins if pin.campaign == campaign] or ([] if campaign else pins)
    if len(matching_pins) != 1:
        raise _not_pinned(world, site, campaign, pins)
    if not dry_run:
        world.store.drop_pin(site, matching_pins[0].campaign)
    return matching_pins[0]


def _not_pinned(world: World, site: str, campaign: str, pins: list[Pin]) -> BadInput:
    sites = sorted({pin.site for pin in world.store.pins()})
    of_site = f"its campaigns are {', '.join(pin.campaign or 'the permanent wish' for pin in pins)}"
    return BadInput(
        f"unpinning {site!r}{f' from the campaign {campaign}' if campaign else ''}",
        of_site
        if pins
        else f"there is no pin on it; the pinned sites are {first_few(sites) or 'no sites'}",
        advice="name one with --campaign"
        if pins
        else "`flex sites list` shows every pin; if the marker of the site says that it is "
        "excluded, `flex run` makes a pin of that",
    )


def refuse_impossible(world: World, wanted: Pin) -> None:
    """Building the next problem with this pin in it says what is wrong with it; so do the wishes
    that it would stop.
    """
    facts = gather_facts.facts(world, replayed=False)
    if wanted.excluded:
        _refuse_unknown(facts, wanted.site)
    else:
        _refuse_conflicting(world, facts, wanted)


def _refuse_unknown(facts: Facts, site: str) -> None:
    if site not in facts.sites:
        raise unknown_site(site, facts.sites)


def _refuse_conflicting(world: World, facts: Facts, wanted: Pin) -> None:
    """Raise Infeasible, naming the wishes that `wanted` conflicts with, or Unknown."""
    key = (wanted.site, wanted.campaign)
    others = [wish for wish in world.store.pins() if (wish.site, wish.campaign) != key]
    near = _near(wanted, others)
    tried = set[Pin]()
    for moment in _moments(wanted, near, world.clock()):
        every = wishes_in_force_now.pins_in_force((*others, wanted), moment)
        mine = next(pin for pin in every if pin.site == wanted.site)
        rest = tuple(pin for pin in every if pin.site != wanted.site)
        if mine not in tried:
            planned = tuple(wish for wish in rest if not wish.excluded)
            propose_plan.refuse_impossible(replace(facts, pins=planned), world.rules, mine)
            tried.add(mine)
        sites = {pin.site for pin in near}
        _refuse_beside(world, facts, mine, [pin for pin in rest if pin.site in sites])


def _near(wanted: Pin, others: Sequence[Pin]) -> list[Pin]:
    """The wishes that have to do with it: of its own site, and of all tied to that, over however
    many others.
    """
    reached, left = {wanted.site, *wanted.together, *wanted.apart}, list(others)
    near_pins: list[Pin] = []
    while tied := [pin for pin in left if reached & {pin.site, *pin.together, *pin.apart}]:
        near_pins += tied
        left = [pin for pin in left if pin not in tied]
        reached.update(site for pin in tied for site in (pin.site, *pin.together, *pin.apart))
    return near_pins


def _moments(wanted: Pin, near: Iterable[Pin], now: datetime) -> list[datetime]:
    """When it begins, and when anything near it begins or ends while it holds."""
    begins, ends = max(wanted.since or now, now), wanted.until or FAR
    turns = {
        moment
        for pin in near
        for moment in (pin.since, pin.until)
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
        advice="ask for less, or take one of them back: flex sites unpin "
        f"{conflict[0].site if conflict else 'SITE'}",
    )


def _conflict(facts: Facts, wanted: Pin, others: Sequence[Pin]) -> list[Pin]:
    """All that must give way: the fewest that stop it, then those of the rest that stop it still,
    and so on.
    """
    conflicts, left = list[Pin](), list(others)
    while _what_would_stop(facts, wanted, left):
        few = list(left)
        for pin in left:
            without = [wish for wish in few if wish is not pin]
            if _what_would_stop(facts, wanted, without):
                few = without
        if not few:
            break
        conflicts += few
        left = [wish for wish in left if wish not in few]
    return conflicts


def _what_would_stop(facts: Facts, wanted: Pin, others: Sequence[Pin]) -> list[str]:
    """What would be suspended by it, its own included."""
    before, after = (set(_suspended_wishes(facts, pins)) for pins in (others, (*others, wanted)))
    return sorted(after - before)


def _suspended_wishes(facts: Facts, pins: Sequence[Pin]) -> tuple[str, ...]:
    """A wish counts as that of its site, however it would be put."""
    return suspended_wishes.possible(pins, set(facts.sites), facts.nodes).suspended


def _refuse_meaningless(world: World, wanted: Pin) -> None:
    if wanted.site in (*wanted.together, *wanted.apart):
        raise _bad(
            wanted,
            "it names the site itself as one to be with, or apart from",
            "leave it out of the list",
        )
    if wanted.campaign and wanted.until is None:
        raise _bad(
            wanted,
            f"the campaign {wanted.campaign} has no end",
            "give --until; a permanent wish needs none",
        )
    if not suspended_wishes.asks(wanted):
        *others, last = filter(None, map(option, ASKS))
        raise _bad(wanted, "it asks for nothing", f"give {', '.join(others)} or {last}")
    if not LIGHTEST <= wanted.weight <= HEAVIEST:
        answer = f"a weight of {wanted.weight:g} is not between {LIGHTEST:g} and {HEAVIEST:g}"
        raise _bad(wanted, answer, "2 counts the site as twice as large as it is")
    if wanted.sla and wanted.sla not in world.settings.solver.classes:
        known = ", ".join(world.settings.solver.classes) or "none"
        raise _bad(
            wanted,
            f"there is no class {wanted.sla!r}",
            f"classes are in [solver.classes]; there are: {known}",
        )
    if wanted.until and (
        wanted.until <= world.time_of_day() or (wanted.since and wanted.until <= wanted.since)
    ):
        raise _bad(
            wanted,
            f"its end, {amounts.when(wanted.until)}, is in the past or before it begins",
            "give a later end",
        )


def _bad(wanted: Pin, answer: str, advice: str) -> BadInput:
    return BadInput(f"a pin on {wanted.site}", answer, advice=advice)
