"""Whether nodes are ready for sites, as somebody asks by hand.

Takes a world, sites, and nodes that they may go to. Returns what each node answered. Asks as a plan
does, at the same rate and within the same budget, also where `move.ready.check` is off. Moves
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flex.partition import nodes_by_site, sites_in
from flex.wishes.pins_for_solvers import unknown_node, unknown_site
from flex_api.facts.other_names_to_route import other_names
from flex_api.moving.check_site_on_new_node import Checked, Wanted
from flex_api.moving.check_sites_on_new_nodes import check_sites
from flex_api.which_names_are_sites import site_name
from flex_api.wiring import World


def ask_ready(
    world: World, sites: Sequence[str], to: Sequence[str] = (), seconds: float | None = None
) -> tuple[Checked, ...]:
    """Each site at each of the nodes; where none is named, at every active node that does not
    serve it. Raises Unknown for a site or a node that nobody knows.
    """
    names = list(dict.fromkeys(map(site_name, sites)))
    wanted = list(_questions(world, names, tuple(dict.fromkeys(to))))
    return check_sites(world, wanted, seconds)


def _questions(world: World, sites: Sequence[str], to: Sequence[str]) -> Iterator[Wanted]:
    states = {node.name: node.state for node in world.nodes}
    for node in to:
        if node not in states:
            raise unknown_node(node, sorted(states))
    now = nodes_by_site(world.store.placement()[1])
    known = now.keys() | _sites_with_profile(world)
    for site in sites:
        if site not in known:
            raise unknown_site(site, sorted(known))
    others = other_names(world.settings, sites)
    active = [name for name, state in sorted(states.items()) if state == "active"]
    for site in sites:
        here = now.get(site, [])
        source = next((node for node in here if states.get(node) != "down"), None)
        for node in to or [name for name in active if name not in here]:
            names = tuple(others.get(site, ()))
            yield Wanted(site, node, None if source == node else source, names)


def _sites_with_profile(world: World) -> set[str]:
    kept = world.store.profiles()
    return sites_in(kept[1]) if kept else set()
