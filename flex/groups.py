"""Which wishes for company cannot be kept beside all others: sites together that wish for other nodes, sites apart for
which there are not enough.

In go pins, each of which can be kept alone, and the states of nodes; out come the wishes that give way, with the
reason. Being together is looked at before being apart, pin by pin; what was found possible stays so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from flex.domain import Pin

Refused = dict[str, list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What sites that share all nodes ask together: on these, on none of those, on at least and at most so many."""

    on: frozenset[str]
    barred: frozenset[str]
    least: int
    most: int

    def fits(self, active: Collection[str]) -> bool:
        free = set(active) - self.barred
        needed = max(self.least, len(self.on), 1)
        return not self.on & self.barred and needed <= min(self.most, len(free))


def refused(pins: Mapping[str, Pin], states: Mapping[str, str]) -> Refused:
    """By site, each wish (together, apart) of its pin that gives way, and why."""
    active = sorted(node for node, state in states.items() if state == "active")
    of, lost = _together(pins, active)
    for site, pin in pins.items():
        if why := _not_apart(pin, pins, of, active):
            lost.setdefault(site, []).append(("apart", why))
    return lost


def _together(pins: Mapping[str, Pin], active: Sequence[str]) -> tuple[dict[str, frozenset[str]], Refused]:
    """The sites that each is tied to, and what cannot be tied."""
    of: dict[str, frozenset[str]] = {}
    lost: Refused = {}
    for site, pin in pins.items():
        if not pin.together:
            continue
        whole = frozenset().union(*(of.get(one, frozenset({one})) for one in (site, *pin.together)))
        if _asked(whole, pins, len(active)).fits(active):
            of |= dict.fromkeys(whole, whole)
        else:
            why = f"together with {', '.join(pin.together)}, whose wishes for nodes are others"
            lost.setdefault(site, []).append(("together", why))
    return of, lost


def _asked(sites: Collection[str], pins: Mapping[str, Pin], nodes: int) -> _Asked:
    there = [pins[site] for site in sites if site in pins]
    return _Asked(
        on=frozenset(node for pin in there for node in pin.nodes),
        barred=frozenset(node for pin in there for node in pin.not_on),
        least=max((pin.min_replicas for pin in there), default=1),
        most=min((pin.max_replicas for pin in there if pin.max_replicas), default=nodes),
    )


def _not_apart(pin: Pin, pins: Mapping[str, Pin], of: Mapping[str, frozenset[str]], active: Sequence[str]) -> str:
    """Why the sites cannot all be apart; empty when they can."""
    sites = (pin.site, *pin.apart)
    if len(sites) < 2:
        return ""
    tied = [of.get(site, frozenset({site})) for site in sites]
    if len(set(tied)) < len(tied):
        return f"apart from {', '.join(pin.apart)}, with which it is kept together"
    every = [_asked(group, pins, len(active)) for group in tied]
    if not _disjoint(every, active):
        return f"{len(sites)} sites apart on {len(active)} active nodes"
    return ""


def _disjoint(every: Sequence[_Asked], active: Sequence[str]) -> bool:
    """Whether each can have as many nodes as it needs, and no two the same: a matching, by augmenting paths."""
    owner: dict[str, int] = {}
    for place, asked in enumerate(every):
        for node in asked.on & set(active):
            if node in owner:
                return False
            owner[node] = place
    fixed = frozenset(owner)

    def found(place: int, seen: set[str]) -> bool:
        for node in active:
            if node in fixed or node in every[place].barred or node in seen:
                continue
            seen.add(node)
            if node not in owner or found(owner[node], seen):
                owner[node] = place
                return True
        return False

    wanted = [place for place, one in enumerate(every) for _ in range(max(one.least, 1) - len(one.on))]
    return all(found(place, set()) for place in wanted)
