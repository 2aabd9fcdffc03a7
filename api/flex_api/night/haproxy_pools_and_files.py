"""The replicated sites of the partition in force as pools of HAProxy, and the files of each node.

Takes the settings and the store. Returns values of flex.routing. A site that cannot be routed is
named with the reason, and the others are routed. Writes nothing but the slots of members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pandas as pd

from flex.errors import BadInput, FlexError, Unknown
from flex.frame_schemas import PLACEMENT, texts
from flex.model.nodes import Node
from flex.model.orders_to_doors import DoorOrder
from flex.partition import nodes_by_site, rows_of_sites
from flex.routing import haproxy
from flex.routing.haproxy_frontends import Doors
from flex.routing.lasting_member_slots import Slots, assign_slots
from flex.routing.member_pools import MOST_MEMBERS, Member, Pool, is_path, members
from flex.routing.ports_and_paths import Layout
from flex.routing.rules.popular_targets import sets_by_popularity
from flex.store import Store
from flex.wishes.wishes_in_force_now import pins_in_force
from flex_api.facts.other_names_to_route import other_names
from flex_api.night import make_host_maps, store_order_for_doors, stranded_sites
from flex_api.night.plan_to_route_by import Between, following, plans_at_present, plans_of_pools
from flex_api.settings.file import Settings
from flex_api.wiring import nodes
from flex_logs_ingest.counts.file_table import file_table


@dataclass(frozen=True, slots=True)
class ServingNodes:
    """Who serves each site: those that shall, and those that resolvers may still send visitors
    to.
    """

    nodes: Mapping[str, Sequence[str]]
    before: Mapping[str, Sequence[str]]
    asked: Mapping[str, AskedFiles]


@dataclass(frozen=True, slots=True)
class AskedFiles:
    """A site's most popular targets and how often they were asked for; `least` is what the least
    popular of all has.
    """

    paths: Sequence[str]
    requests: Sequence[int]
    least: int


def pools_to_serve(settings: Settings, store: Store, which: Between) -> ServingNodes:
    """Nodes that lost a site stay beside its members for a while, and get no request then. Sites
    that never were on several nodes at once are left out.
    """
    wanted, before = (
        store.placement_of(plan) if plan else PLACEMENT.empty()
        for plan in (which.wanted, which.before)
    )
    several = _sites_on_several(wanted) | _sites_on_several(before)
    return ServingNodes(
        nodes_by_site(rows_of_sites(wanted, several)),
        nodes_by_site(rows_of_sites(before, several)),
        _asks_of_targets(settings, store, several),
    )


def _sites_on_several(partition: pd.DataFrame) -> set[str]:
    return set(partition["site"][partition["site"].duplicated()])


def _asks_of_targets(settings: Settings, store: Store, sites: Set[str]) -> dict[str, AskedFiles]:
    """How often targets are asked for, as the file table has it, for the sites whose targets'
    members are said by that; none where it cannot be read: then LARD/R finds the members without.
    """
    wanted = {site: most for site in sites if (most := settings.routing.most_popular(site))}
    known = store.profiles() if wanted else None
    if known is None:
        return {}
    try:
        files = file_table(store, settings.ingest.directory, known[0])
        return {
            site: _most_asked(site_files, wanted[site]) for site, site_files in files.sites(wanted)
        }
    except FlexError:
        return {}


def _most_asked(files: pd.DataFrame, most: int) -> AskedFiles:
    top = files.nlargest(most, "requests")
    return AskedFiles(texts(top["target"]), top["requests"].tolist(), int(files["requests"].min()))


@dataclass(frozen=True, slots=True)
class RoutedPools:
    """A pool for each site on several nodes that can have one; by site why others have none, and
    what slots were given of each that has.
    """

    pools: tuple[Pool, ...]
    left_out: Mapping[str, str]
    slots: Mapping[str, Slots]


def routing_of(settings: Settings, store: Store, which: Between) -> RoutedPools:
    return build_pools(
        nodes(settings, store), pools_to_serve(settings, store, which), settings, store.slots()
    )


def build_pools(
    known: Sequence[Node], everybody: ServingNodes, settings: Settings, before: Mapping[str, Slots]
) -> RoutedPools:
    """What is routed, and what cannot be. `before` are the slots that were given, by site."""
    at = addresses(known)
    cluster = sorted(node.name for node in known)
    weights = _weights(known)
    pools: list[Pool] = []
    left_out: dict[str, str] = {}
    slots: dict[str, Slots] = {}
    several = {site: spread for site in everybody.nodes if (spread := _spread(everybody, site, at))}
    names = other_names(settings, several)
    one_writer = settings.routing.stateful_of(several)
    for site, (here, leaving) in several.items():
        if site in one_writer:
            left_out[site] = "it is stateful: one node alone answers for it"
            continue
        try:
            own = assign_slots(before.get(site, {}), [*here, *leaving], cluster)
            joined = _members(weights, {node: at[node] for node in (*here, *leaving)}, leaving, own)
            pool = _pool(settings, site, names[site], joined)
            pools.append(replace(pool, popular=popular(everybody.asked.get(site), joined)))
            slots[site] = own
        except BadInput as error:
            left_out[site] = f"{error.asked}: {error.answer}"
    return RoutedPools(tuple(pools), left_out, slots)


def _spread(
    everybody: ServingNodes, site: str, at: Mapping[str, str]
) -> tuple[list[str], list[str]] | None:
    """The nodes that are to serve it, and those that leave it; None where it needs no distributor:
    one node alone does not, nor does a site that moves from one to another. Where there are too
    many for a pool, some leave it at once.
    """
    here = [node for node in everybody.nodes[site] if node in at]
    before = everybody.before.get(site, ())
    leaving = [node for node in before if node in at and node not in here]
    leaving = leaving[: max(MOST_MEMBERS - len(here), 0)]
    several = max(len(here), len(before)) > 1 and here and len(here) + len(leaving) > 1
    return (here, leaving) if several and not site.startswith("/") else None


def _weights(known: Sequence[Node]) -> dict[str, int]:
    """By node how much it takes, as a part of what the largest takes."""
    most = max((node.capacity for node in known), default=1.0)
    return {node.name: max(1, round(100 * node.capacity / most)) for node in known}


def _members(
    weights: Mapping[str, int], at: Mapping[str, str], leaving: Sequence[str], slots: Slots
) -> tuple[Member, ...]:
    return tuple(
        replace(member, weight=weights[member.node], leaving=member.node in leaving)
        for member in members(at, slots)
    )


def _pool(
    settings: Settings, site: str, aliases: Sequence[str], joined: tuple[Member, ...]
) -> Pool:
    own = settings.routing.section_of_site(site)
    limits, policy = settings.routing.limits(own), own.policy or settings.routing.policy
    return Pool(
        site,
        tuple(aliases),
        joined,
        policy,
        limits,
        own.by_query,
        own.dynamic,
        settings.routing.endings,
    )


def popular(
    asked_files: AskedFiles | None, joined: Sequence[Member]
) -> tuple[tuple[str, int], ...]:
    """By path its members, where it has several from the start. A path too long for a map has them
    once it needs them: anybody can ask for one.
    """
    if asked_files is None:
        return ()
    sets = zip(
        asked_files.paths,
        sets_by_popularity(asked_files.requests, asked_files.least, joined),
        strict=True,
    )
    return tuple(
        (path, members) for path, members in sets if members.bit_count() > 1 and is_path(path)
    )


def addresses(known: Sequence[Node]) -> dict[str, str]:
    """Where distributors reach each node: its first address."""
    return {node.name: node.addresses[0] for node in known if node.addresses and node.is_serving}


def ways_to_nodes(
    settings: Settings, store: Store, which: Between, known: Sequence[Node]
) -> dict[str, str]:
    """The same, and dead nodes at which sites stay with their content: doors lead to these, where
    nobody answers.
    """
    at = addresses(known)
    if len(at) == len(known) or not store_order_for_doors.has_doors(settings, which):
        return at
    content = stranded_sites.find(
        settings,
        store,
        known,
        pins_in_force(store.pins(), datetime.now(UTC)),
        store.placement_of(which.doors),
        which.doors,
    )
    kept = {left_site.node for left_site in content.away.values()}
    at |= {node.name: node.addresses[0] for node in known if node.name in kept and node.addresses}
    return at


def files(settings: Settings, store: Store, node: str) -> dict[str, str]:
    """The files of one node."""
    refuse_away(settings, store, node)
    return maker(settings, store, lambda last: following(settings, store, last))(node)


def files_to_be(settings: Settings, store: Store, node: str, coming: str) -> dict[str, str]:
    """As they will be under the plan that is coming; no door is told to go by it."""
    refuse_away(settings, store, node)
    which = plans_at_present(settings, store, coming)
    at, pools = _pools(settings, store, which, which)
    doors = store_order_for_doors.doors_to_be(settings, store, which)
    return Maker(at, pools, settings.layout(), doors and doors.without_order_heading)(node)


def refuse_away(settings: Settings, store: Store, node: str) -> None:
    """Raises Unknown for a node that does not serve."""
    known = addresses(nodes(settings, store))
    if node not in known:
        raise Unknown(
            f"the routing of {node!r:.100}",
            f"the nodes that serve are {', '.join(known) or 'none'}",
            kept="nothing was written",
            advice="name one of them",
        )


def _kept(store: Store, slots: Mapping[str, Slots], before: Mapping[str, Slots]) -> bool:
    return all(
        own == before.get(site) or store.put_slots(site, own, before.get(site, {}))
        for site, own in slots.items()
    )


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the files of a node."""

    at: Mapping[str, str]
    pools: Sequence[Pool]
    layout: Layout
    doors: Doors | None = None

    def __call__(self, node: str) -> dict[str, str]:
        return haproxy.files(node, self.at, self.pools, self.layout, self.doors)


def maker(settings: Settings, store: Store, ask: Callable[[DoorOrder | None], Between]) -> Maker:
    """What makes the files of a node. The store is told the slots that nobody had before, and what
    doors are to go by: whoever asks later, for whatever node, hears the same.

    What is to be served is asked for behind the newest order of doors, and again where another one
    came meanwhile: nobody orders what was so before that.
    """
    while True:
        last = store.door_order()
        which = ask(last)
        several = plans_of_pools(settings, which, last, store.headlines())
        at, pools = _pools(settings, store, which, several)
        if not store_order_for_doors.has_doors(settings, which):
            return Maker(at, pools, settings.layout())
        if doors := store_order_for_doors.doors_ordered(settings, store, which, last):
            return Maker(at, pools, settings.layout(), doors)


def maker_without_owners(
    settings: Settings, store: Store, which: Between, several: Between
) -> Maker:
    """The same but for who owns which name."""
    at, pools = _pools(settings, store, which, several)
    doors = (
        make_host_maps.doors_without_owners(settings, nodes(settings, store))
        if store_order_for_doors.has_doors(settings, which)
        else None
    )
    return Maker(at, pools, settings.layout(), doors)


def _pools(
    settings: Settings, store: Store, which: Between, several: Between
) -> tuple[dict[str, str], Sequence[Pool]]:
    """The addresses of all nodes that serve, and the pools of what is routed by content."""
    known = nodes(settings, store)
    everybody = pools_to_serve(settings, store, several)
    routed = build_pools(known, everybody, settings, before := store.slots())
    # Where somebody else has given slots meanwhile, these are given beside them.
    while not _kept(store, routed.slots, before):
        routed = build_pools(known, everybody, settings, before := store.slots())
    return ways_to_nodes(settings, store, which, known), routed.pools


def versions(
    settings: Settings, store: Store, pools: Sequence[Pool], which: Between
) -> dict[str, str]:
    """By node the version of its files, with these pools. Changes nothing."""
    known, layout = nodes(settings, store), settings.layout()
    at = ways_to_nodes(settings, store, which, known)
    doors = store_order_for_doors.doors_to_be(settings, store, which)
    there: dict[str, list[Pool]] = {node: [] for node in addresses(known)}
    for pool in pools:
        for member in pool.members:
            there[member.node].append(pool)
    return {
        node: haproxy.version(haproxy.files(node, at, there[node], layout, doors)) for node in there
    }
