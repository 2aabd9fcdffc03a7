"""What the HAProxy of each node says of the sites that it routes: loads, queues, paths, overload.

Takes the settings and the pools. Returns the answer of each HAProxy, asked over its socket, all at
the same time. One that is silent is a value with the reason. Does not write anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from flex.errors import FlexError
from flex.model.stray_requests import DoorRead
from flex.routing import haproxy, install_files
from flex.routing.haproxy_socket import Socket
from flex.routing.haproxy_state import Distributor, Live, MemberLive, Paths, distributor
from flex.routing.member_pools import Pool
from flex.routing.warming import hottest
from flex.store import Store
from flex_api.night import deliver_haproxy_files
from flex_api.night.orders_at_doors import DoorState
from flex_api.night.prometheus_metrics import Labels, Series
from flex_api.schemas.routing import LiveMember, LiveRow, NodeVersion, OrderTold, TargetRow
from flex_api.settings.file import Settings
from flex_logs_ingest.counts.file_table import file_table

# So many bytes of a site's hottest targets are known by name.
_NAMED = 256 * 2**20
# Sockets of HAProxy that are asked side by side. A guess.
SIDE_BY_SIDE = 32
# A distributor that is well answers in milliseconds.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class HaproxyAnswer:
    """A node's distributor, or why it was not heard. The node of this machine's own may be nameless
    then.
    """

    node: str
    said: Distributor | None
    error: str = ""


def ask_distributors(
    settings: Settings, pools: Sequence[Pool], nodes: Sequence[str], paths: Paths | None = None
) -> list[HaproxyAnswer]:
    """All distributors by `routing.sockets`, or this machine's own. What `paths` do not name is a
    number.
    """
    sockets = sockets_of(settings, nodes, PATIENCE)
    ask = partial(_ask_distributor, pools, settings.routing.directory, paths)
    with ThreadPoolExecutor(min(SIDE_BY_SIDE, len(sockets) or 1)) as side_by_side:
        return list(side_by_side.map(ask, sockets, sockets.values()))


def sockets_of(settings: Settings, nodes: Sequence[str], patience: float) -> dict[str, Socket]:
    """By node; "" is this machine's own HAProxy, where those of nodes are not here."""
    routing = settings.routing
    if not routing.sockets:
        return {"": Socket(routing.socket, patience)}
    return {node: Socket(routing.sockets.replace("{node}", node), patience) for node in nodes}


def _ask_distributor(
    pools: Sequence[Pool], directory: str, paths: Paths | None, node: str, socket: Socket
) -> HaproxyAnswer:
    try:
        live_state = distributor(pools, socket, directory, paths)
    except FlexError as error:
        return HaproxyAnswer(node, None, f"{error.asked}: {error.answer}")
    return HaproxyAnswer(node or live_state.node, live_state)


def known_paths(settings: Settings, store: Store, pools: Sequence[Pool]) -> dict[str, list[str]]:
    """The paths that were asked for most, by site, from the file table. Empty where there is no
    file table.
    """
    sites = [pool.site for pool in pools if not pool.by_query]
    profiles = store.profiles()
    if not sites or profiles is None:
        return {}
    paths: dict[str, list[str]] = {}
    try:
        files = file_table(store, settings.ingest.directory, profiles[0])
        for site, site_files in files.sites(sites):
            paths[site] = [path for _, path in hottest([site_files], _NAMED)]
    except FlexError:
        return {}
    return paths


def versions_delivered(settings: Settings, nodes: Sequence[str]) -> Mapping[str, str]:
    """By node the version in its folder of `routing.deliver`; "" where there is none."""
    if not settings.routing.deliver:
        return {}
    there = {
        node: deliver_haproxy_files.folder_of(settings, node) / haproxy.HOSTS for node in nodes
    }
    return {
        node: haproxy.version({haproxy.HOSTS: install_files.content(path) or ""})
        for node, path in there.items()
    }


def series(replies: Sequence[HaproxyAnswer]) -> Iterator[Series]:
    """For Prometheus."""
    answers = [
        ({"distributor": each.node or "this machine"}, float(each.said is not None))
        for each in replies
    ]
    yield Series("flex_route_distributor_up", "gauge", "Whether a node's HAProxy answers.", answers)
    sites = [
        ({"distributor": each.node, "site": live_site.site}, live_site)
        for each in replies
        if each.said
        for live_site in each.said.sites
    ]
    for name, kind, about, value in (
        ("targets", "gauge", "Targets whose members are remembered.", "targets"),
        ("shared_targets", "gauge", "Targets that several members share.", "shared"),
        ("waiting", "gauge", "Requests at the door.", "waiting"),
        (
            "overloaded_total",
            "counter",
            "Requests for targets whose members had too much to do.",
            "overloaded",
        ),
    ):
        yield Series(
            f"flex_route_{name}",
            kind,
            about,
            [(labels, float(getattr(live_site, value))) for labels, live_site in sites],
        )
    members = [
        ({**labels, "member": each.node}, each)
        for labels, live_site in sites
        for each in live_site.members
    ]
    yield Series(
        "flex_route_under_way",
        "gauge",
        "Requests that a member has and has not answered.",
        [(labels, float(each.under_way)) for labels, each in members],
    )


def as_live(answers: Sequence[HaproxyAnswer]) -> list[LiveRow]:
    return [_live(each.node, site) for each in answers if each.said for site in each.said.sites]


def _live(node: str, each: Live) -> LiveRow:
    return LiveRow.like(
        each,
        distributor=node,
        members=[_member(row) for row in each.members],
        busiest=[
            TargetRow(target=row.target, nodes=list(row.nodes), overloaded=row.overloaded)
            for row in each.busiest
        ],
    )


def _member(member: MemberLive) -> LiveMember:
    return LiveMember(**{name: getattr(member, name) for name in LiveMember.model_fields})


def as_versions(
    wanted: Mapping[str, str],
    delivered: Mapping[str, str],
    answers: Sequence[HaproxyAnswer],
    states: Sequence[DoorState] = (),
    reloading: Collection[str] = (),
) -> list[NodeVersion]:
    by_node = {each.node: each for each in answers}
    state_of = {each.node: each for each in states}
    silent = HaproxyAnswer("", None)
    return [
        _version(
            version,
            delivered.get(node, ""),
            by_node.get(node, silent),
            state_of.get(node, DoorState(node, 0, None)),
            node in reloading,
        )
        for node, version in wanted.items()
    ]


def _version(
    wanted: str, delivered: str, answer: HaproxyAnswer, state: DoorState, reloads: bool
) -> NodeVersion:
    in_force = answer.said.version if answer.said else ""
    return NodeVersion(
        node=state.node,
        wanted=wanted,
        delivered=delivered,
        in_force=in_force,
        error=answer.error,
        reload=reloads,
        order=state.order,
        order_since=state.since,
        unheard=state.unheard,
    )


def as_order(settings: Settings, store: Store) -> OrderTold | None:
    """None where there are no doors for all sites, and before the first order."""
    last = store.door_order() if settings.routing.leads_to_all else None
    return OrderTold.like(last) if last else None


def series_of_doors(order: OrderTold | None, states: Sequence[DoorState]) -> Iterator[Series]:
    """For Prometheus."""
    newest: list[tuple[Labels, float]] = [({}, float(order.number))] if order else []
    yield Series("flex_route_order", "gauge", "The newest order for all doors.", newest)
    held: list[tuple[Labels, float]] = [({}, float(order.sites_held))] if order else []
    yield Series(
        "flex_route_held_sites",
        "gauge",
        "Sites with one writer whose requests wait at every door.",
        held,
    )
    since = order.held_since if order else None
    yield Series(
        "flex_route_held_since_timestamp_seconds",
        "gauge",
        "Since when some do.",
        [({}, since.timestamp())] if since else [],
    )
    yield Series(
        "flex_route_node_order",
        "gauge",
        "The order by which a node's doors go, as it said last.",
        [({"node": each.node}, float(each.order)) for each in states],
    )
    yield Series(
        "flex_route_unheard",
        "gauge",
        "Whether a node's doors do not go by the newest order.",
        [({"node": each.node}, float(bool(each.unheard))) for each in states],
    )


def series_of_strays(doors: Sequence[DoorRead]) -> Iterator[Series]:
    """For Prometheus. There may be many sites, so each node has its sums alone."""
    for name, about, value in (
        (
            "stray_names",
            "Names that visitors asked a node's door for and other nodes answer for, of 7 days.",
            [float(door.names) for door in doors],
        ),
        (
            "stray_requests",
            "Requests for these names that the door has counted, as it was read last.",
            [float(door.requests) for door in doors],
        ),
        (
            "strays_read_timestamp_seconds",
            "When that was read from the door last.",
            [door.read.timestamp() for door in doors],
        ),
    ):
        labels = [{"node": door.node} for door in doors]
        yield Series(f"flex_route_{name}", "gauge", about, list(zip(labels, value, strict=True)))
