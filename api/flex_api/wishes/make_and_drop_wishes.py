"""Wishes for sites are made and taken back here: the command line and the REST API both call this.

Takes a world and a pin. A wish that cannot be met is refused when it is made, and never later: a
pin that is in the store is met by the plans as far as possible (flex/wishes/suspended_wishes.py).
"""

from __future__ import annotations

from math import inf

from flex.errors import BadInput
from flex.model.wish import ASKS, Pin, option
from flex.planning.facts_and_rules import Facts
from flex.ports import Store
from flex.site_names_in_words import first_few
from flex.wishes import suspended_wishes, wishes_in_force_now
from flex.wishes.pins_for_solvers import unknown_site
from flex_api.in_words import amounts
from flex_api.night import gather_facts
from flex_api.wiring import World
from flex_api.wishes import refuse_conflicting_wish

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


def beside(store: Store, wanted: Pin) -> Pin:
    """Beside the permanent wish for the site, where there is one."""
    return wishes_in_force_now.beside(store.pin(wanted.site), wanted)


def unpin(world: World, site: str, campaign: str = "", *, dry_run: bool = False) -> Pin:
    """The pin that was taken back; the only one of the site when no campaign is named. Raises
    BadInput for none.
    """
    pins = [pin for pin in world.store.pins() if pin.site == site]
    found = [pin for pin in pins if pin.campaign == campaign] or ([] if campaign else pins)
    if len(found) != 1:
        raise _not_pinned(world, site, campaign, pins)
    if not dry_run:
        world.store.drop_pin(site, found[0].campaign)
    return found[0]


def _not_pinned(world: World, site: str, campaign: str, pins: list[Pin]) -> BadInput:
    sites = sorted({pin.site for pin in world.store.pins()})
    of_site = f"its campaigns are {', '.join(pin.campaign or 'the permanent wish' for pin in pins)}"
    return BadInput(
        f"unpinning {site!r}{f' from the campaign {campaign}' if campaign else ''}",
        of_site
        if pins
        else f"there is no pin on it; the pinned sites are {first_few(sites) or 'no sites'}",
        kept="nothing was changed",
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
        refuse_conflicting_wish.refuse(world, facts, wanted)


def _refuse_unknown(facts: Facts, site: str) -> None:
    if site not in facts.sites:
        raise unknown_site(site, facts.sites)


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
    return BadInput(f"a pin on {wanted.site}", answer, kept="nothing was changed", advice=advice)
