"""The replicated sites of the placement in force, as the pools that HAProxy routes; and the files of each node.

In go the settings and the store, out come values of flex.steer. A site that cannot be routed keeps no other from it: it
is named with the reason. Nothing is written here but which slots members have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pandas as pd

from flex.domain import Node
from flex.errors import BadInput, FlexError, Unknown
from flex.ports import Store
from flex.steer import haproxy
from flex.steer.pool import MOST_MEMBERS, Member, Pool, is_host, is_path, members
from flex.steer.rules.popular import shared
from flex.steer.slots import Slots, given
from flex.tables import PLACEMENT, texts
from flex_api.settings.file import Settings
from flex_api.wiring import nodes, site_names
from flex_logs_ingest.filetable import file_table
from flex_logs_ingest.sites import spelled


@dataclass(frozen=True, slots=True)
class Served:
    """Who serves each site: those that shall, and those that resolvers may still send visitors to."""

    nodes: Mapping[str, Sequence[str]]
    before: Mapping[str, Sequence[str]]
    asked: Mapping[str, Asked]


@dataclass(frozen=True, slots=True)
class Asked:
    """A site's most popular targets and how often they were asked for; `least` is what the least popular of all has."""

    paths: Sequence[str]
    requests: Sequence[int]
    least: int


def served(settings: Settings, store: Store, now: datetime, coming: str = "") -> Served:
    """By the placement in force, or by the plan that comes, or is half applied: steering changes before DNS does.

    Nodes that lost a site stay beside its members until the old TTL has passed, and get no request then. Sites that
    never were on several nodes at once are left out.
    """
    base, placement = store.placement()
    coming = coming or next((cycle.id for cycle in store.cycles(state="applying")), "")
    wanted, before = placement, PLACEMENT.empty()
    if coming and coming != base:
        wanted, before = store.placement_of(coming), placement
    elif base:
        cycle = store.cycle(base)
        lasting = cycle.settled is None or now < cycle.settled + timedelta(seconds=settings.dns.ttl)
        before = store.placement_of(cycle.base) if cycle.base and lasting else before
    several = _on_several(wanted) | _on_several(before)
    return Served(_by_site(wanted, several), _by_site(before, several), _asked(settings, store, several))


def _on_several(placement: pd.DataFrame) -> set[str]:
    return set(placement["site"][placement["site"].duplicated()])


def _asked(settings: Settings, store: Store, sites: Set[str]) -> dict[str, Asked]:
    """Of the sites whose targets' members are said by how often they are asked for, as the file table has it; none
    where it cannot be read: then LARD/R finds the members without.
    """
    wanted = {site: most for site in sites if (most := settings.routing.most_popular(site))}
    known = store.profiles() if wanted else None
    if known is None:
        return {}
    try:
        files = file_table(store, settings.ingest.directory, known[0])
        return {site: _most_asked(files.of_site(site), most) for site, most in wanted.items()}
    except FlexError:
        return {}


def _most_asked(files: pd.DataFrame, most: int) -> Asked:
    top = files.nlargest(most, "requests")
    return Asked(texts(top["target"]), top["requests"].tolist(), int(files["requests"].min()) if len(files) else 1)


def _by_site(placement: pd.DataFrame, sites: Set[str]) -> dict[str, list[str]]:
    """The replicated sites are few: only their rows are looked at one by one."""
    rows = placement[placement["site"].isin(list(sites))]
    return {str(site): list(of_site["node"]) for site, of_site in rows.groupby("site")}


@dataclass(frozen=True, slots=True)
class Routed:
    """A pool for each site on several nodes that can have one; by site why others have none, and what slots were given
    of each that has.
    """

    pools: tuple[Pool, ...]
    left_out: Mapping[str, str]
    slots: Mapping[str, Slots]


def routed(settings: Settings, store: Store, *, now: datetime | None = None, coming: str = "") -> Routed:
    everybody = served(settings, store, now or datetime.now(UTC), coming)
    return among(nodes(settings, store), everybody, settings, store.slots())


def pools(settings: Settings, store: Store) -> tuple[Pool, ...]:
    return routed(settings, store).pools


def among(known: Sequence[Node], everybody: Served, settings: Settings, before: Mapping[str, Slots]) -> Routed:
    """What is routed, and what cannot be. `before` are the slots that were given, by site."""
    at, cluster = addresses(known), sorted(node.name for node in known)
    found: list[Pool] = []
    left_out: dict[str, str] = {}
    slots: dict[str, Slots] = {}
    several = {site: spread for site in everybody.nodes if (spread := _spread(everybody, site, at))}
    names = _other_names(settings, several)
    for site, (here, leaving) in several.items():
        try:
            own = given(before.get(site, {}), [*here, *leaving], cluster)
            joined = _members(known, {node: at[node] for node in (*here, *leaving)}, leaving, own)
            pool = _pool(settings, site, names[site], joined)
            found.append(replace(pool, popular=popular(everybody.asked.get(site), joined)))
            slots[site] = own
        except BadInput as error:
            left_out[site] = f"{error.asked}: {error.answer}"
    return Routed(tuple(found), left_out, slots)


def _spread(everybody: Served, site: str, at: Mapping[str, str]) -> tuple[list[str], list[str]] | None:
    """The nodes that are to serve it, and those that leave it; None where it needs no distributor: one node alone does
    not, nor does a site that moves from one to another. Where there are too many for a pool, some leave it at once.
    """
    here = [node for node in everybody.nodes[site] if node in at]
    before = everybody.before.get(site, ())
    leaving = [node for node in before if node in at and node not in here]
    leaving = leaving[: max(MOST_MEMBERS - len(here), 0)]
    several = max(len(here), len(before)) > 1 and here and len(here) + len(leaving) > 1
    return (here, leaving) if several and not site.startswith("/") else None


def _other_names(settings: Settings, sites: Collection[str]) -> dict[str, list[str]]:
    """By site the other host names that its logs are counted under: each is one site's alone, and none is a site."""
    found: dict[str, list[str]] = {site: [] for site in sites}
    named = site_names(settings).naming() if found else None
    written = {spelled(name) for name in settings.ingest.aliases if not name.startswith("/")}
    candidates = {twin for one in (*written, *found) for twin in _twins(one)}
    for name in sorted(candidates - set(found)):
        site = named(name.encode()) if named and is_host(name) else ""
        if site in found:
            found[site].append(name)
    return found


def _twins(name: str) -> Iterator[str]:
    yield name
    yield name.removeprefix("www.") if name.startswith("www.") else f"www.{name}"


def _members(known: Sequence[Node], at: Mapping[str, str], leaving: Sequence[str], slots: Slots) -> tuple[Member, ...]:
    most = max(node.capacity for node in known)
    weight = {node.name: max(1, round(100 * node.capacity / most)) for node in known}
    return tuple(
        replace(member, weight=weight[member.node], leaving=member.node in leaving) for member in members(at, slots)
    )


def _pool(settings: Settings, site: str, aliases: Sequence[str], joined: tuple[Member, ...]) -> Pool:
    own = settings.routing.of(site)
    limits, policy = settings.routing.limits(own), own.policy or settings.routing.policy
    return Pool(site, tuple(aliases), joined, policy, limits, own.by_query, own.dynamic, settings.routing.endings)


def popular(asked: Asked | None, joined: Sequence[Member]) -> tuple[tuple[str, int], ...]:
    """By path its members, where it has several from the start. A path too long for a map has them once it needs them:
    anybody can ask for one.
    """
    if asked is None:
        return ()
    sets = zip(asked.paths, shared(asked.requests, asked.least, joined), strict=True)
    return tuple((path, members) for path, members in sets if members.bit_count() > 1 and is_path(path))


def addresses(known: Sequence[Node]) -> dict[str, str]:
    """Where distributors reach each node: its first address."""
    return {node.name: node.addresses[0] for node in known if node.addresses and node.state != "down"}


def files(settings: Settings, store: Store, node: str, coming: str = "") -> dict[str, str]:
    """Of one node."""
    known = addresses(nodes(settings, store))
    if node not in known:
        raise Unknown(
            f"the routing of {node!r:.100}",
            f"the nodes that serve are {', '.join(known) or 'none'}",
            kept="nothing was written",
            advice="name one of them",
        )
    return maker(settings, store, coming)(node)


def _kept(store: Store, slots: Mapping[str, Slots], before: Mapping[str, Slots]) -> bool:
    return all(
        own == before.get(site) or store.put_slots(site, own, before.get(site, {})) for site, own in slots.items()
    )


def maker(settings: Settings, store: Store, coming: str = "") -> Callable[[str], dict[str, str]]:
    """What makes the files of a node. The store is asked once, and told the slots that nobody had before: whoever asks
    later, for whatever node, hears the same.
    """
    known = nodes(settings, store)
    everybody, at = served(settings, store, datetime.now(UTC), coming), addresses(known)
    found = among(known, everybody, settings, before := store.slots())
    # Where somebody else gave slots meanwhile, these are given beside his.
    while not _kept(store, found.slots, before):
        found = among(known, everybody, settings, before := store.slots())

    def made(node: str) -> dict[str, str]:
        return haproxy.files(node, at, found.pools, settings.routing.layout())

    return made


def versions(settings: Settings, store: Store, found: Sequence[Pool]) -> dict[str, str]:
    """By node the version of its files, with these pools."""
    at = addresses(nodes(settings, store))
    layout = settings.routing.layout()
    return {node: haproxy.version(haproxy.files(node, at, found, layout)) for node in at}
