"""What people want, as far as it can be kept now.

Takes pins, the sites that can be placed, and the nodes. Returns the pins to plan with, and a
sentence on each pin that is suspended in part or whole. Does not refuse wishes that can never be
kept: pins_for_solvers.py does.

A wish was possible when it was made. If later a node goes out of service or a site leaves, the wish
must not stop the plans of the whole cluster. It holds again as soon as it can.

Where wishes cannot all be kept, the last of this list gives way first: nodes to be on; nodes not to
be on, as far as one is left; an upper limit of replicas; a lower limit; together with others;
apart from others.

Wishes to be together or apart give way where they cannot be kept beside all other wishes: sites
together that want different nodes, and sites apart for which there are not enough nodes. Wishes to
be together are looked at before wishes to be apart, pin by pin. What was found possible stays so.
Sites together are on the same nodes: as many as the site wants that wants most, and among them all
nodes that their pins name. If these pins name more nodes than any of the sites wants, some site
would be on a node where nobody wants it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import pandas as pd

from flex.model.nodes import Node
from flex.model.wish import DEFAULTS, Pin
from flex.partition import nodes_by_site, rows_of_sites
from flex.wishes import seat_rivals_apart
from flex.wishes.seat_rivals_apart import Guest

# What gives way first to last, as people call it.
ORDER = ("apart", "together", "at least", "at most", "not on", "nodes")


@dataclass(frozen=True, slots=True)
class Wishes:
    """The pins that hold, and why others, or parts of these, do not."""

    pins: tuple[Pin, ...]
    suspended: tuple[str, ...]


def possible(
    pins: Sequence[Pin], sites: Set[str], nodes: Sequence[Node], left_out: Collection[str] = ()
) -> Wishes:
    """Each pin without what cannot be: nodes that take no sites, more replicas than active nodes,
    sites not there. A question may have `left_out` nodes.
    """
    states = {node.name: "left out" if node.name in left_out else node.state for node in nodes}
    kept: dict[str, Pin] = {}
    lost: dict[str, list[str]] = {}
    for pin in pins:
        if pin.site in sites:
            kept[pin.site], lost[pin.site] = _alone(pin, states, sites)
        else:
            lost[pin.site] = ["it is no site that FLEX can move now"]
    for site, why in wishes_that_give_way(kept, states).items():
        lost[site] += [told for _, told in why]
        gone, pin = {wish for wish, _ in why}, kept[site]
        kept[site] = replace(
            pin,
            together=() if "together" in gone else pin.together,
            apart=() if "apart" in gone else pin.apart,
        )
    held = {site: pin for site, pin in kept.items() if asks(pin)}
    suspended = [
        _why_suspended(pin.site, lost[pin.site], held.get(pin.site))
        for pin in pins
        if lost[pin.site]
    ]
    return Wishes(tuple(held.values()), tuple(suspended))


def _why_suspended(site: str, lost: Sequence[str], left: Pin | None) -> str:
    still = f"; {', '.join(left.nodes)} still holds" if left and left.nodes else ""
    return f"{site} ({', '.join(lost)}{still})"


def asks(pin: Pin) -> bool:
    """Whether anything is left of it."""
    # Where no node is active at all it is left with no replicas, and that is no wish.
    more = (
        getattr(pin, name) != default
        for name, default in DEFAULTS.items()
        if name != "min_replicas"
    )
    return pin.min_replicas > 1 or any(more)


Places = Mapping[str, Set[str]]


def places(pins: Sequence[Pin], placement: pd.DataFrame) -> Places:
    """The nodes of every site that a pin speaks of."""
    sites = {site for pin in pins for site in (pin.site, *pin.together, *pin.apart)}
    nodes = nodes_by_site(rows_of_sites(placement, sites))
    return {site: frozenset(site_nodes) for site, site_nodes in nodes.items()}


def is_against_wish(pin: Pin, before: Places, after: Places) -> bool:
    """Whether a step from one partition to another goes against a wish: what it leaves as it was
    does not.
    """
    had, has = (places.get(pin.site, frozenset()) for places in (before, after))
    needed = max(pin.min_replicas, len(pin.nodes))
    return (
        bool((has - had) & set(pin.not_on) or (had - has) & set(pin.nodes))
        or bool(pin.nodes and has - had - set(pin.nodes) and not _completes(pin, has))
        or (pin.excluded and has != had)
        or len(has) < min(needed, len(had))
        or (0 < pin.max_replicas < len(has) and len(has) > len(had))
        or any(
            _parted(pin.site, other, before, after) for other in pin.together if after.get(other)
        )
        or any(_brought_near(pin.site, other, before, after) for other in pin.apart)
    )


def _completes(pin: Pin, has: Set[str]) -> bool:
    """Whether further nodes than those it names are there because it asks for so many."""
    return set(pin.nodes) <= has and len(has) <= pin.min_replicas


def _parted(site: str, other: str, before: Places, after: Places) -> bool:
    """Whether one of the two moves, and the two are not on the same nodes after that."""
    step = [
        (before.get(each_site, frozenset()), after.get(each_site, frozenset()))
        for each_site in (site, other)
    ]
    return any(had != has for had, has in step) and step[0][1] != step[1][1]


def _brought_near(site: str, other: str, before: Places, after: Places) -> bool:
    """Whether one of the two comes to a node that the other is on."""
    came = {
        node
        for each_site in (site, other)
        for node in after.get(each_site, frozenset()) - before.get(each_site, frozenset())
    }
    return bool(came & after.get(site, frozenset()) & after.get(other, frozenset()))


def _alone(pin: Pin, states: Mapping[str, str], sites: Set[str]) -> tuple[Pin, list[str]]:
    """What is left of a pin whatever the others are, and what is lost of it."""
    active = {node for node, state in states.items() if state == "active"}
    lost = [
        f"{node} is {states.get(node, 'in the settings no more')}"
        for node in pin.nodes
        if node not in active
    ]
    on = tuple(node for node in pin.nodes if node in active)
    barred = tuple(node for node in pin.not_on if node in states)
    if active <= set(barred):
        lost.append("every active node is one not to be on")
        barred = ()
    free = len(active - set(barred))
    least = min(pin.min_replicas, free)
    if least < pin.min_replicas:
        lost.append(f"{pin.min_replicas} replicas on {free} active nodes")
    others = {}
    for wish in ("together", "apart"):
        others[wish] = tuple(site for site in getattr(pin, wish) if site in sites)
    for wish, there in others.items():
        gone = sorted(set(getattr(pin, wish)) - set(there))
        lost += [f"{_tie_in_words(wish, site)}, which cannot be placed" for site in gone]
    left = replace(
        pin,
        nodes=on,
        not_on=barred,
        min_replicas=least,
        together=others["together"],
        apart=others["apart"],
    )
    return left, lost


def _tie_in_words(wish: str, site: str) -> str:
    return f"{wish} {'with' if wish == 'together' else 'from'} {site}"


Refused = dict[str, list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What sites that share all nodes ask together: on these, on none of those, on at least and at
    most so many.
    """

    on: frozenset[str]
    barred: frozenset[str]
    least: int
    most: int

    def fits(self, active: Collection[str]) -> bool:
        free = set(active) - self.barred
        return not self.on & self.barred and len(self.on) <= self.least <= min(self.most, len(free))

    def guest(self, active: Sequence[str]) -> Guest[str]:
        on = self.on & set(active)
        return Guest(self.least, on, tuple(node for node in active if node not in on | self.barred))


def wishes_that_give_way(pins: Mapping[str, Pin], states: Mapping[str, str]) -> Refused:
    """By site, each wish (together, apart) of its pin that gives way, and why."""
    active = sorted(node for node, state in states.items() if state == "active")
    of, lost = _together(pins, active)
    for site, why in _not_apart(pins, of, active).items():
        lost.setdefault(site, []).append(("apart", why))
    return lost


def _together(
    pins: Mapping[str, Pin], active: Sequence[str]
) -> tuple[dict[str, frozenset[str]], Refused]:
    """The sites that each is tied to, and what cannot be tied."""
    of: dict[str, frozenset[str]] = {}
    lost: Refused = {}
    for site, pin in pins.items():
        if not pin.together:
            continue
        whole = frozenset().union(
            *(of.get(member, frozenset({member})) for member in (site, *pin.together))
        )
        if _what_is_asked(whole, pins, len(active)).fits(active):
            of |= dict.fromkeys(whole, whole)
        else:
            why = f"together with {', '.join(pin.together)}, whose wishes for nodes are others"
            lost.setdefault(site, []).append(("together", why))
    return of, lost


def _what_is_asked(sites: Collection[str], pins: Mapping[str, Pin], nodes: int) -> _Asked:
    there = [pins[site] for site in sites if site in pins]
    return _Asked(
        on=frozenset(node for pin in there for node in pin.nodes),
        barred=frozenset(node for pin in there for node in pin.not_on),
        least=max((max(pin.min_replicas, len(pin.nodes), 1) for pin in there), default=1),
        most=min((pin.max_replicas for pin in there if pin.max_replicas), default=nodes),
    )


def _not_apart(
    pins: Mapping[str, Pin], of: Mapping[str, frozenset[str]], active: Sequence[str]
) -> dict[str, str]:
    """The sites that cannot be kept apart from whom they wish, and why."""
    whole = {
        site: of.get(site, frozenset({site}))
        for pin in pins.values()
        for site in (pin.site, *pin.apart)
    }
    first = {site: min(sites) for site, sites in whole.items()}
    guests = {
        first[site]: _what_is_asked(sites, pins, len(active)).guest(active)
        for site, sites in whole.items()
    }
    wished = {
        pin.site: [first[site] for site in (pin.site, *pin.apart)]
        for pin in pins.values()
        if pin.apart
    }
    lost: dict[str, str] = {}
    for site in [site for site, group in wished.items() if len(set(group)) < len(group)]:
        lost[site] = f"apart from {', '.join(pins[site].apart)}, with which it is kept together"
        del wished[site]
    if not _impossible(wished.values(), guests):
        return lost
    kept: list[list[str]] = []
    for site, group in wished.items():
        if not _impossible([*_linked_groups(group, kept), group], guests):
            kept.append(group)
            continue
        others = "" if _impossible([group], guests) else ", beside others that are kept apart"
        lost[site] = f"{len(group)} sites apart on {len(active)} active nodes{others}"
    return lost


def _impossible(groups: Collection[Sequence[str]], guests: Mapping[str, Guest[str]]) -> bool:
    """Whether it is sure that not all of these can be kept apart."""
    concerned = sorted({site for group in groups for site in group})
    return seat_rivals_apart.seat({site: guests[site] for site in concerned}, groups).impossible


def _linked_groups(group: Sequence[str], others: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Those of the others that have to do with the group, over however many."""
    every = [group, *others]
    near = set(
        next(
            seat_rivals_apart.circles(
                [site for members in every for site in members], seat_rivals_apart.rivals_of(every)
            )
        )
    )
    return [other for other in others if near & set(other)]
