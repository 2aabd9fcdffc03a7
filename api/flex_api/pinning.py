"""Wishes for sites, made and taken back: what the command line and the REST API both call.

In go a world and a pin; what cannot be kept is refused here, when it is wished for, and never later: a pin that is in
the store is kept by the plans as far as it can be (flex/wishes.py).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from flex import cycle as cycles
from flex import wishes
from flex.domain import Pin
from flex.errors import BadInput, Infeasible
from flex.given import Facts
from flex.pins import unknown_site
from flex_api import nightly, words
from flex_api.wiring import World

# Between these, a site counts as so many times as large as it is.
LIGHTEST, HEAVIEST = 0.1, 100.0

FAR = datetime.max.replace(tzinfo=UTC)
LONG_AGO = datetime.min.replace(tzinfo=UTC)


def pin(world: World, wanted: Pin, *, dry_run: bool = False) -> None:
    """Keep the wish from the next plan on. Raises BadInput, Unknown or Infeasible, naming what it conflicts with."""
    _refuse_meaningless(world, wanted)
    refuse_impossible(world, wanted)
    if not dry_run:
        world.store.put_pin(wanted)


def unpin(world: World, site: str, *, dry_run: bool = False) -> Pin:
    """The pin that was taken back. Raises BadInput where there is none."""
    pins = {pin.site: pin for pin in world.store.pins()}
    if site not in pins:
        raise BadInput(
            f"unpinning {site!r}",
            f"there is no pin on it; pinned are {', '.join(sorted(pins)) or 'no sites'}",
            kept="nothing was changed",
            advice="`flex sites list` shows every pin",
        )
    if not dry_run:
        world.store.drop_pin(site)
    return pins[site]


def refuse_impossible(world: World, wanted: Pin) -> None:
    """Building the next problem with this pin in it says what is wrong with it; so do the wishes that it would stop."""
    facts = nightly.facts(world, replayed=False)
    if wanted.excluded:
        _refuse_unknown(facts, wanted.site)
        return
    others = tuple(one for one in world.store.pins() if one.site != wanted.site and _meet(one, wanted))
    with_others = replace(facts, pins=tuple(one for one in others if not one.excluded))
    cycles.refuse_impossible(with_others, world.rules, wanted)
    before, after = (set(_suspended(with_others, pins)) for pins in (others, (*others, wanted)))
    if stopped := sorted(after - before):
        raise Infeasible(
            f"the pin on {wanted.site}",
            f"it cannot be kept beside what others wished for: {'; '.join(stopped)}",
            kept="nothing was changed",
            advice="ask for less, or take one of them back with `flex sites unpin`",
        )


def _suspended(facts: Facts, pins: tuple[Pin, ...]) -> tuple[str, ...]:
    """A wish counts as that of its site, however it would be put."""
    return wishes.possible(pins, set(facts.sites), facts.nodes).suspended


def _meet(one: Pin, other: Pin) -> bool:
    """Whether both hold at some time."""
    return max(one.since or LONG_AGO, other.since or LONG_AGO) < min(one.until or FAR, other.until or FAR)


def _refuse_unknown(facts: Facts, site: str) -> None:
    if site not in facts.sites:
        raise unknown_site(site, facts.sites)


def _refuse_meaningless(world: World, wanted: Pin) -> None:
    if not wishes.asks(wanted):
        raise _bad(
            wanted,
            "it names no nodes, no number of replicas, no other sites, no weight and no class",
            "give --nodes, --not-on, --min-replicas, --max-replicas, --together, --apart, --weight or --class",
        )
    if not LIGHTEST <= wanted.weight <= HEAVIEST:
        answer = f"a weight of {wanted.weight:g} is not between {LIGHTEST:g} and {HEAVIEST:g}"
        raise _bad(wanted, answer, "2 counts the site as twice as large as it is")
    if wanted.sla and wanted.sla not in world.settings.solver.classes:
        known = ", ".join(world.settings.solver.classes) or "none"
        raise _bad(wanted, f"there is no class {wanted.sla!r}", f"classes are in [solver.classes]; there are: {known}")
    if wanted.until and (wanted.until <= world.time_of_day() or (wanted.since and wanted.until <= wanted.since)):
        raise _bad(
            wanted, f"its end, {words.when(wanted.until)}, is in the past or before it begins", "give a later end"
        )


def _bad(wanted: Pin, answer: str, advice: str) -> BadInput:
    return BadInput(f"a pin on {wanted.site}", answer, kept="nothing was changed", advice=advice)
