"""The replicated sites of the placement in force, as the pools that HAProxy routes; and the files of each node.

In go the settings and the store, out come values of flex.steer; `deliver` writes each node's files and has them carried
to their nodes.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd

from flex.domain import Node
from flex.errors import BadSetting, FlexError, NotWritten, Unknown
from flex.ports import Store
from flex.steer import delivery, haproxy
from flex.steer.pool import MOST_MEMBERS, Member, Pool, backend, members
from flex.steer.program import Program, program
from flex.steer.rules.popular import shared
from flex.tables import PLACEMENT, texts
from flex_api.settings.file import Settings
from flex_api.told import words
from flex_api.wiring import nodes
from flex_logs_ingest.filetable import file_table

# Carrying some files to one node takes seconds.
_PATIENCE = 120.0
Slots = Mapping[str, Mapping[str, int]]


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
    """By the placement in force, or by the plan that comes: steering changes before DNS does.

    Nodes that lost a site stay beside its members until the old TTL has passed, and get no request then. Sites that
    never were on several nodes at once are left out.
    """
    base, placement = store.placement()
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
    """Of the sites whose targets' members are said by how often they are asked for, as the file table has it."""
    wanted = {site: most for site in sites if (most := settings.routing.most_popular(site))}
    known = store.profiles() if wanted else None
    if known is None:
        return {}
    files = file_table(store, settings.ingest.directory, known[0])
    return {site: _most_asked(files.of_site(site), most) for site, most in wanted.items()}


def _most_asked(files: pd.DataFrame, most: int) -> Asked:
    top = files.nlargest(most, "requests")
    return Asked(texts(top["target"]), top["requests"].tolist(), int(files["requests"].min()) if len(files) else 1)


def _by_site(placement: pd.DataFrame, sites: Set[str]) -> dict[str, list[str]]:
    """The replicated sites are few: only their rows are looked at one by one."""
    rows = placement[placement["site"].isin(list(sites))]
    return {str(site): list(of_site["node"]) for site, of_site in rows.groupby("site")}


def pools(
    settings: Settings, store: Store, slots: Slots | None = None, *, now: datetime | None = None, coming: str = ""
) -> tuple[Pool, ...]:
    """A pool for each site on several nodes that has a host name. `slots` are those of the configuration before."""
    return _pools(settings, nodes(settings, store), served(settings, store, now or datetime.now(UTC), coming), slots)


def _pools(
    settings: Settings, known: Sequence[Node], everybody: Served, slots: Slots | None = None
) -> tuple[Pool, ...]:
    at = addresses(known)
    names = defaultdict(list)
    for alias, of in settings.ingest.aliases.items():
        names[of].append(alias)
    found = []
    for site, wanted in everybody.nodes.items():
        here = [node for node in wanted if node in at]
        before = everybody.before.get(site, ())
        leaving = [node for node in before if node in at and node not in wanted]
        # One node alone needs no distributor, nor does it where the site moves from one to another.
        if max(len(here), len(before)) > 1 and here and len({*here, *leaving}) > 1 and not site.startswith("/"):
            joined = _members(known, at, site, (*here, *leaving), slots or {})
            joined = tuple(replace(member, leaving=member.node in leaving) for member in joined)
            pool = _pool(settings, site, names[site], joined)
            found.append(replace(pool, popular=_popular(everybody.asked.get(site), joined)))
    return tuple(found)


def _members(
    known: Sequence[Node], at: Mapping[str, str], site: str, here: Sequence[str], slots: Slots
) -> tuple[Member, ...]:
    """In a small cluster each node has its slot by name, so that every distributor means the same without asking."""
    few = {node: slot for slot, node in enumerate(sorted(at))} if len(at) <= MOST_MEMBERS else None
    made = members({node: at[node] for node in here}, few or slots.get(backend(site)))
    most = max(node.capacity for node in known)
    weight = {node.name: max(1, round(100 * node.capacity / most)) for node in known}
    return tuple(replace(member, weight=weight[member.node]) for member in made)


def _pool(settings: Settings, site: str, aliases: Sequence[str], joined: tuple[Member, ...]) -> Pool:
    own = settings.routing.of(site)
    limits, policy = settings.routing.limits(own), own.policy or settings.routing.policy
    hosts = tuple(alias for alias in aliases if not alias.startswith("/"))
    return Pool(site, hosts, joined, policy, limits, own.by_query, own.dynamic, settings.routing.endings)


def _popular(asked: Asked | None, joined: Sequence[Member]) -> tuple[tuple[str, int], ...]:
    """By path its members, where it has several from the start."""
    if asked is None:
        return ()
    sets = shared(asked.requests, asked.least, joined)
    return tuple((path, members) for path, members in zip(asked.paths, sets, strict=True) if members.bit_count() > 1)


def addresses(known: Sequence[Node]) -> dict[str, str]:
    """Where distributors reach each node: its first address."""
    return {node.name: node.addresses[0] for node in known if node.addresses and node.state != "down"}


def files(settings: Settings, store: Store, node: str, before: str = "", coming: str = "") -> dict[str, str]:
    """Of one node; `before` is the configuration it has, so that members keep their slots."""
    known = nodes(settings, store)
    if node not in (at := addresses(known)):
        raise Unknown(
            f"the routing of {node!r:.100}",
            f"the nodes that serve are {', '.join(at) or 'none'}",
            kept="nothing was written",
            advice="name one of them",
        )
    return _files(settings, known, served(settings, store, datetime.now(UTC), coming), node, before)


def _files(settings: Settings, known: Sequence[Node], everybody: Served, node: str, before: str) -> dict[str, str]:
    found = _pools(settings, known, everybody, haproxy.slots(before))
    return haproxy.files(node, addresses(known), found, settings.routing.layout())


def versions(settings: Settings, store: Store, found: Sequence[Pool]) -> dict[str, str]:
    """By node the version of its files, with these pools."""
    at = addresses(nodes(settings, store))
    layout = settings.routing.layout()
    return {node: haproxy.version(haproxy.files(node, at, found, layout)) for node in at}


def before(folder: Path | None) -> str:
    """The configuration that is there; "" where there is none."""
    return (delivery.content(folder / haproxy.CONFIGURATION) or "") if folder else ""


def checker() -> Program | None:
    """None where the configuration is for another machine, and this one has no HAProxy."""
    try:
        return program()
    except BadSetting:
        return None


@dataclass(frozen=True, slots=True)
class Delivered:
    node: str
    folder: str
    changed: bool
    error: str = ""


def deliver(settings: Settings, store: Store, coming: str = "") -> tuple[Delivered, ...]:
    """Every node's files in its folder of `routing.deliver`, and the command run for each that changed.

    A node that cannot be given its files keeps those it has, and the others get theirs.
    """
    found, known = checker(), nodes(settings, store)
    everybody = served(settings, store, datetime.now(UTC), coming)

    def made(node: str, before: str) -> dict[str, str]:
        return _files(settings, known, everybody, node, before)

    return tuple(_delivered(settings, node, made, found) for node in addresses(known))


def ahead(settings: Settings, store: Store, coming: str, say: Callable[[str], None]) -> None:
    """Steer by a plan that is about to be in DNS, where that is set up. What fails is said, and DNS goes on: a node
    without a site's pool answers its visitors itself.
    """
    if not settings.routing.on or not settings.routing.deliver:
        return
    done = deliver(settings, store, coming)
    for each in done:
        if each.error:
            say(f"The routing of {each.node} is as before: {each.error}.")
    say(f"Routing was changed ahead of DNS on {words.count(sum(each.changed for each in done), 'node')}.")


def _delivered(
    settings: Settings, node: str, made: Callable[[str, str], dict[str, str]], found: Program | None
) -> Delivered:
    routing = settings.routing
    folder = Path(routing.deliver.replace("{node}", node))
    try:
        changed = delivery.put(made(node, before(folder)), folder, found)
        if changed and routing.deliver_command:
            command = (
                word.replace("{node}", node).replace("{directory}", str(folder)) for word in routing.deliver_command
            )
            _carried(tuple(command))
    except FlexError as error:
        return Delivered(node, str(folder), False, f"{error.asked}: {error.answer}")
    return Delivered(node, str(folder), changed)


def _carried(command: Sequence[str]) -> None:
    """Raises NotWritten when it does not end well."""
    try:
        done = subprocess.run(  # noqa: S603 - of the settings, and no shell
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _lost(command, str(error)) from error
    if done.returncode:
        raise _lost(command, " ".join(done.stderr.split())[-300:] or f"it ended with {done.returncode}")


def _lost(command: Sequence[str], answer: str) -> NotWritten:
    return NotWritten(
        f"running {' '.join(command)[:200]}",
        answer,
        kept="the node has the configuration before",
        advice="mend what it says, then `flex route deliver`",
    )
