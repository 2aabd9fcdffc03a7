"""What people want for their sites, by position: on which nodes these must, may and may not be, and
with which other sites.

Takes pins and the names of sites and nodes. Returns the wishes as solvers read them. Refuses wishes
that can never be kept. Does not handle wishes that cannot be kept for a while: suspended_wishes.py
does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from flex.errors import Infeasible, Unknown
from flex.model.nodes import NodeState
from flex.model.wish import Pin
from flex.wishes import seat_rivals_apart

if TYPE_CHECKING:
    import numpy.typing as npt

Ints: TypeAlias = "npt.NDArray[np.int64]"
Bools: TypeAlias = "npt.NDArray[np.bool_]"
# By name: the position, and the state.
Nodes = Mapping[str, tuple[int, NodeState]]

# Names of sites that one nobody knows is compared with, letters at the beginning that they have in
# common where there are more, and how like it they must be. Guesses.
MOST_COMPARED = 2_000
BEGINNING = 4
NEARLY = 0.85


@dataclass(frozen=True, slots=True, eq=False)
class Wished:
    """Nodes and sites by position; `least` and `most` replicas of every site, of those together the
    same ones.

    `whole` are sites that are together over however many others, for each of them.
    """

    pinned: dict[int, frozenset[int]]
    barred: dict[int, frozenset[int]]
    apart: tuple[frozenset[int], ...]
    together: tuple[frozenset[int], ...]
    least: Ints
    most: Ints
    whole: Mapping[int, frozenset[int]] = field(default_factory=dict)


def read_wishes(pins: Sequence[Pin], sites: Sequence[str], nodes: Nodes, is_open: Bools) -> Wished:
    """Raises Unknown for a node or site that does not exist, and Infeasible for a wish that no
    partition can keep.
    """
    node_at = {name: at for name, (at, _) in nodes.items()}
    site_at = {site: position for position, site in enumerate(sites)}
    least = np.ones(len(sites), dtype=np.int64)
    most = np.full(len(sites), is_open.sum(), dtype=np.int64)
    wishes = Wished(
        {}, {}, _groups(pins, site_at, "apart"), _groups(pins, site_at, "together"), least, most
    )
    for pin in pins:
        _check(pin, site_at, nodes, is_open)
        site = site_at[pin.site]
        if pin.nodes:
            wishes.pinned[site] = frozenset(node_at[node] for node in pin.nodes)
        if pin.not_on:
            wishes.barred[site] = frozenset(node_at[node] for node in pin.not_on)
        free = int(is_open.sum()) - sum(bool(is_open[node_at[node]]) for node in pin.not_on)
        least[site] = max(pin.min_replicas, len(pin.nodes), 1)
        most[site] = max(least[site], min(pin.max_replicas or free, free))
    wishes = replace(wishes, whole=_whole(wishes.together))
    for tied in set(wishes.whole.values()):
        of_all = list(tied)
        free = int(is_open.sum()) - len(
            [n for n in _nodes_of_any(wishes.barred, tied) if is_open[n]]
        )
        least[of_all] = max(int(least[of_all].max()), len(_nodes_of_any(wishes.pinned, tied)))
        most[of_all] = max(int(least[of_all[0]]), min(int(most[of_all].min()), free))
    return wishes


def fit_replicas(wishes: Wished, replicas: Ints, is_open: Bools) -> Ints:
    """Fewer replicas of sites that are kept apart, down to the least of each, until all find nodes
    of their own.
    """
    wholes = {
        site: wishes.whole.get(site, frozenset({site})) for group in wishes.apart for site in group
    }
    groups = [{min(wholes[site]) for site in group} for group in wishes.apart]
    fewer, wholes = replicas.copy(), {min(whole): whole for whole in wholes.values()}
    for circle in seat_rivals_apart.circles(
        sorted({site for group in groups for site in group}), seat_rivals_apart.rivals_of(groups)
    ):
        near = [group for group in groups if group & set(circle)]
        while (
            spare := [site for site in circle if fewer[site] > wishes.least[site]]
        ) and not _seated(wishes, {site: wholes[site] for site in circle}, near, fewer, is_open):
            most = max(spare, key=lambda site: (fewer[site], -site))
            fewer[list(wholes[most])] -= 1
    return fewer


def _seated(
    wishes: Wished,
    sites: Mapping[int, frozenset[int]],
    groups: Sequence[Set[int]],
    replicas: Ints,
    is_open: Bools,
) -> bool:
    guests = {}
    for site, whole in sites.items():
        on, barred = _nodes_of_any(wishes.pinned, whole), _nodes_of_any(wishes.barred, whole)
        free = tuple(node for node in np.flatnonzero(is_open).tolist() if node not in on | barred)
        guests[site] = seat_rivals_apart.Guest(int(replicas[site]), on, free)
    return seat_rivals_apart.seat(guests, groups).nodes is not None


def _whole(groups: Sequence[frozenset[int]]) -> dict[int, frozenset[int]]:
    """For each site that is together with others all of them, over however many others."""
    whole: dict[int, frozenset[int]] = {}
    for group in groups:
        joined = frozenset().union(*(whole.get(site, frozenset({site})) for site in group))
        whole |= dict.fromkeys(joined, joined)
    return whole


def _nodes_of_any(nodes: Mapping[int, Set[int]], sites: Set[int]) -> frozenset[int]:
    return frozenset().union(*(nodes.get(site, frozenset()) for site in sites))


def _groups(
    pins: Sequence[Pin], site_at: Mapping[str, int], wish: str
) -> tuple[frozenset[int], ...]:
    """Each group once, in the order of their sites, however often it was wished for."""
    groups = set()
    for pin in pins:
        others = getattr(pin, wish)
        unknown = [site for site in (pin.site, *others) if site not in site_at]
        if unknown:
            raise unknown_site(unknown[0], tuple(site_at))
        group = frozenset(site_at[site] for site in (pin.site, *others))
        if len(group) > 1:
            groups.add(group)
    return tuple(sorted(groups, key=sorted))


def _check(pin: Pin, site_at: Mapping[str, int], nodes: Nodes, is_open: Bools) -> None:
    if pin.site not in site_at:
        raise unknown_site(pin.site, tuple(site_at))
    for node in (*pin.nodes, *pin.not_on):
        if node not in nodes:
            raise unknown_node(node, tuple(nodes))
    barred = sum(bool(is_open[nodes[node][0]]) for node in set(pin.not_on))
    closed = {node: state for node in pin.nodes if (state := nodes[node][1]) != "active"}
    blocked = [*_faults_of_places(pin, closed), *_faults_of_counts(pin, int(is_open.sum()), barred)]
    if blocked:
        answers, advice = (
            list(dict.fromkeys(sentences)) for sentences in zip(*blocked, strict=True)
        )
        kept = "the partition in force stays"
        raise Infeasible(
            f"the pin on {pin.site}", "; ".join(answers), kept=kept, advice="; ".join(advice)
        )


def _faults_of_places(pin: Pin, closed: Mapping[str, NodeState]) -> Iterator[tuple[str, str]]:
    """What cannot be, and what helps: all of it at once, as who mends one should not be refused for
    the next.
    """
    for node in pin.nodes:
        if node in closed:
            yield (
                f"node {node} is not active: it is {closed[node]}",
                f"{back_in_service(node, closed[node])}, or pin {pin.site} elsewhere",
            )
        if node in pin.not_on:
            yield (
                f"it names {node} both as a node and as none",
                f"leave {node} out of one of them",
            )
    if both := sorted(set(pin.together) & set(pin.apart)):
        yield (
            f"{', '.join(both)} is to be together with it, and apart from it",
            "leave one of the two out",
        )


def _faults_of_counts(pin: Pin, active: int, barred: int) -> Iterator[tuple[str, str]]:
    needed = max(pin.min_replicas, len(pin.nodes), 1)
    if pin.min_replicas > active:
        answer = f"it asks for {pin.min_replicas} replicas and {active} nodes are active"
        yield answer, "ask for fewer replicas, or add nodes"
    elif needed > active - barred:
        yield (
            f"it bars {barred} of {active} active nodes and needs {needed}",
            "bar fewer nodes, or add some",
        )
    if pin.max_replicas and needed > pin.max_replicas:
        answer = f"it asks for {needed} replicas at least and {pin.max_replicas} at most"
        yield answer, "ask for more at most, or for fewer at least"
    if pin.apart and len(pin.apart) + needed > active:
        answer = f"it keeps {len(pin.apart) + 1} sites apart on {active} active nodes"
        yield answer, "keep fewer sites apart, or add nodes"


def unknown_site(site: str, known: Sequence[str], count: int | None = None) -> Unknown:
    """`known` may be only those that are called nearly so; then `count` says how many there are."""
    there = len(known) if count is None else count
    others = "1 site is" if there == 1 else f"{there} sites are"
    return Unknown(
        f"the site {site!r}",
        f"it is neither in the partition nor in the logs of the period ({others})",
        advice=f"{_near_names(site, known)}`flex sites list` shows every site by the name FLEX "
        "knows it by",
    )


def _near_names(site: str, known: Sequence[str]) -> str:
    """A question about names that are nearly the same; nothing where too many begin alike."""
    if len(known) > MOST_COMPARED:
        begins = site.removeprefix("www.")[:BEGINNING]
        known = [name for name in known if name.removeprefix("www.").startswith(begins)]
    if len(known) > MOST_COMPARED:
        return ""
    near = get_close_matches(site, known, n=2, cutoff=NEARLY)
    return f"did you mean {' or '.join(near)}? " if near else ""


def back_in_service(node: str, state: NodeState) -> str:
    """What helps where a node takes no sites, by what put it out of service."""
    return f"take {node} back with `flex nodes {'up' if state == 'down' else 'undrain'} {node}`"


def unknown_node(node: str, known: Sequence[str]) -> Unknown:
    return Unknown(
        f"the node {node!r}",
        f"known are {', '.join(known) or 'no nodes'}",
        advice="`flex nodes list` shows every node; `flex nodes add` makes a new one known",
    )
