"""Which sites their new nodes are not ready for: all that a plan moves, asked side by side.

Takes a world and moves. Returns by site why it should stay. Where `move.ready.check` is off nobody
is asked, and every site is taken to be ready. Does not keep a site where it is.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from typing import Any

from flex.model.plan import Move
from flex.partition import nodes_by_site, rows_of_sites
from flex_api.facts.other_names_to_route import other_names
from flex_api.moving.check_site_on_new_node import (
    Checked,
    Nodes,
    SiteRules,
    Wanted,
    check_by_both_families,
)
from flex_api.moving.compare_answers import Demands
from flex_api.moving.node_question_rate import Turns
from flex_api.moving.trust_in_certificates import Trust
from flex_api.moving.web_server_addresses import addresses, addresses_of_other_family, ways
from flex_api.settings.ready_nodes import MovedSite
from flex_api.wiring import World

# Sites that are asked for side by side, at all nodes together. A guess.
_SIDE_BY_SIDE = 32


def not_ready(
    world: World, moves: Iterable[Move], seconds: float | None = None
) -> Mapping[str, str]:
    """By site why its new node is not ready, as far as it has one. What is asked takes
    `move.ready.budget` at most, or so many seconds; a site that nobody asked for by then is not
    ready.
    """
    if not world.settings.move.ready.check:
        return {}
    checks = check_sites(world, wanted_of(world, moves), seconds)
    return {checked.wanted.site: checked.why for checked in reversed(checks) if checked.why}


def wanted_of(world: World, moves: Iterable[Move]) -> tuple[Wanted, ...]:
    """What is to be asked: each node that a site comes to, and a node that serves it now. A site
    whose nodes are all down or gone is not asked for, as it cannot stay there.
    """
    coming = [move for move in moves if move.target]
    sites = sorted({move.site for move in coming})
    exempt = {
        moved_site.name
        for moved_site in world.settings.move.site
        if moved_site.ready_check is False
    }
    served = _nodes_now(world, sites)
    alive = addresses(world.nodes)
    others = other_names(world.settings, sites)
    wanted: list[Wanted] = []
    for move in sorted(coming, key=lambda move: (move.site, move.target or "")):
        # Before the first partition nobody but the plan knows where DNS has a site.
        nodes = served.get(move.site) or list(filter(None, [move.source]))
        living = [node for node in nodes if node in alive]
        if move.site in exempt or (nodes and not living) or move.target in nodes:
            continue
        source = move.source if move.source in living else next(iter(living), None)
        assert move.target, "as was asked for above"
        names = tuple(others.get(move.site, ()))
        wanted.append(Wanted(move.site, move.target, source, names))
    return tuple(wanted)


def _nodes_now(world: World, sites: Collection[str]) -> dict[str, list[str]]:
    _, now = world.store.placement()
    return nodes_by_site(rows_of_sites(now, sites))


def check_sites(
    world: World, wanted: Collection[Wanted], seconds: float | None = None
) -> tuple[Checked, ...]:
    """In the order in which they were wanted. `seconds` are for all of them, `move.ready.budget`
    if none are given.
    """
    ready = world.settings.move.ready
    if not wanted:
        return ()
    budget = ready.budget.total_seconds() if seconds is None else seconds
    turns = Turns(
        ready.at_once, ready.per_second, time.monotonic() + budget, time.monotonic, time.sleep
    )
    nodes, by_other = (
        Nodes(at, ways(world.settings), turns, world.time_of_day)
        for at in (addresses(world.nodes), addresses_of_other_family(world.nodes))
    )
    own = {one.name: one for one in world.settings.move.site}
    asked_for = _node_after_node(wanted)
    with ThreadPoolExecutor(min(_SIDE_BY_SIDE, len(asked_for))) as pool:
        done = pool.map(
            lambda one: check_by_both_families(
                one, _rules(world, own.get(one.site)), nodes, by_other
            ),
            asked_for,
        )
        checked = dict(zip(asked_for, done, strict=True))
    return tuple(checked[one] for one in wanted)


def _node_after_node(wanted: Collection[Wanted]) -> list[Wanted]:
    """One of each node after the other, so that no node keeps all who ask waiting."""
    by_node: dict[str, list[Wanted]] = {}
    for site_wanted in wanted:
        by_node.setdefault(site_wanted.target, []).append(site_wanted)
    return [
        site_wanted for row in zip_longest(*by_node.values()) for site_wanted in row if site_wanted
    ]


def _rules(world: World, own: MovedSite | None) -> SiteRules:
    """What is set for one site, else for all."""
    ready = world.settings.move.ready

    def setting(name: str) -> Any:
        """Any: each setting has a type of its own."""
        own_setting = getattr(own, f"ready_{name}", None)
        return getattr(ready, name) if own_setting is None else own_setting

    scheme = setting("scheme")
    return SiteRules(
        schemes=("http", "https") if scheme == "both" else (scheme,),
        path=setting("path"),
        demands=Demands(setting("status"), setting("marker"), setting("length_factor")),
        trust=Trust(
            world.time_of_day, ready.ca_file, setting("self_signed"), ready.certificate_days
        ),
        patience=ready.patience.total_seconds(),
        largest=ready.largest,
        age_path=setting("age_path"),
        max_age=setting("max_age"),
    )
