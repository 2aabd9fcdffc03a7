"""Which wishes to be together or apart cannot be kept beside all other wishes: sites together that
want different nodes, and sites apart for which there are not enough nodes.

Takes pins, each of which can be kept alone, and the states of nodes. Returns the wishes that give
way, with the reason. Wishes to be together are looked at before wishes to be apart, pin by pin.
What was found possible stays so. Does not change the pins: suspended_wishes.py does.

Sites together are on the same nodes: as many as the site wants that wants most, and among them all
nodes that their pins name. If these pins name more nodes than any of the sites wants, some site
would be on a node where nobody wants it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from flex.model.wish import Pin
from flex.wishes import seat_rivals_apart
from flex.wishes.seat_rivals_apart import Guest

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
        whole = frozenset().union(*(of.get(one, frozenset({one})) for one in (site, *pin.together)))
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
                [site for one in every for site in one], seat_rivals_apart.rivals_of(every)
            )
        )
    )
    return [other for other in others if near & set(other)]
