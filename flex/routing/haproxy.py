"""What a node's HAProxy is to do, as its configuration.

Takes a node, the pools of all sites that are routed, and the Layout of its machine. Returns the
files: the configuration, and the map from host names to backends. The same input gives the same
bytes. Does not write the files.

The map also says which version of the files it is, so a running HAProxy can be asked which version
it uses. The key of that line is not a name that a request can have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256

from flex.routing import (
    haproxy_answer_counters,
    haproxy_doors_by_sni,
    haproxy_fallback,
    haproxy_frontends,
    haproxy_globals,
    haproxy_member_tls,
    haproxy_writer_sites,
    host_to_node_maps,
)
from flex.routing.haproxy_frontends import NEIGHBOURS, Doors
from flex.routing.haproxy_writer_sites import HOLD
from flex.routing.host_to_node_maps import MOVED, OWNERS
from flex.routing.member_pools import Member, Pool, unusable_configuration
from flex.routing.ports_and_paths import Layout, endpoint
from flex.routing.rules import RULES, popular_targets
from flex.routing.rules.dynamic_requests import send_lines, split
from flex.routing.rules.popular_targets import POPULAR

CONFIGURATION = "haproxy.cfg"
HOSTS = "hosts.map"
VERSION = ":version"
# The names of routed sites, as an nginx `map` includes them.
ROUTED = "routed.map"
NAMES = frozenset((CONFIGURATION, HOSTS, POPULAR, ROUTED, OWNERS, MOVED, NEIGHBOURS, HOLD))
# These say themselves what they are, so that the largest is not read for each node anew.
_TELLING = frozenset((OWNERS, MOVED))


def files(
    node: str,
    addresses: Mapping[str, str],
    pools: Iterable[Pool],
    layout: Layout,
    everywhere: Doors | None = None,
) -> dict[str, str]:
    """By name. `addresses` are those of all nodes that run HAProxy, by which they reach each
    other.

    With doors `everywhere` requests for all sites reach the nodes of these; without them HAProxy
    knows replicated sites alone.
    """
    ours = []
    for pool in sorted(pools, key=lambda pool: pool.site):
        if any(member.node == node for member in pool.members):
            ours.append(pool)
    _refuse_shared_hosts(ours)
    one_writer = bool(everywhere and everywhere.one_writer)
    more = haproxy_writer_sites.global_lines(layout) if one_writer else []
    sections = [
        [*haproxy_globals.global_lines(node, layout), *more],
        *(
            [haproxy_writer_sites.defaults_lines(haproxy_globals.defaults_lines(layout))]
            if one_writer
            else []
        ),
        haproxy_globals.defaults_lines(layout),
        _peers(node, addresses, layout),
        _frontend(node, layout, everywhere),
        ["backend here", *_answering(layout, everywhere)],
        *([_metrics(layout)] if layout.metrics else []),
        *(_doors_of(node, addresses, layout, everywhere, ours) if everywhere else ()),
        *_member_door(node, addresses, ours, layout),
    ]
    for pool in ours:
        distributors = sum(member.node in addresses for member in pool.members)
        sections += _backends(
            replace(pool, limits=pool.limits.divided_among(max(1, distributors))),
            node,
            layout,
            _said_of_visitors(layout) if everywhere else [],
        )
    texts = {
        CONFIGURATION: "\n".join(map(_section, sections)),
        HOSTS: _hosts(ours),
        POPULAR: "".join(line for pool in ours for line in popular_targets.entries(pool)),
    }
    if layout.bypass:
        texts[ROUTED] = "".join(f"{host} 1;\n" for host in sorted(_doors(ours)))
    if everywhere:
        texts |= everywhere.files
        texts |= haproxy_writer_sites.files(layout) if one_writer else {}
    return texts | {HOSTS: f"{VERSION} {_digest(texts)}\n{texts[HOSTS]}"}


def stamp_version(files: Mapping[str, str]) -> dict[str, str]:
    """These files with the version that they are now. The first line of a map of owners is
    enough.
    """
    unversioned = {**files, HOSTS: files[HOSTS].partition("\n")[2]}
    return unversioned | {HOSTS: f"{VERSION} {_digest(unversioned)}\n{unversioned[HOSTS]}"}


def others_digest(files: Mapping[str, str]) -> str:
    """What the files are but for the small map of owners, which is exchanged alone."""
    others = {name: text for name, text in files.items() if name != MOVED}
    return _digest(others | {HOSTS: files[HOSTS].partition("\n")[2]})


def version(files: Mapping[str, str]) -> str:
    """The version of files that were made here, "" for other files."""
    key, _, value = files.get(HOSTS, "").partition("\n")[0].partition(" ")
    return value if key == VERSION else ""


def is_whole(files: Mapping[str, str]) -> bool:
    """Whether these are all files of the version that they say, to the last byte."""
    hosts = files.get(HOSTS, "").partition("\n")[2]
    return (
        files.keys() <= NAMES
        and version(files) == _digest({**files, HOSTS: hosts})
        and all(host_to_node_maps.is_whole(files[name]) for name in _TELLING & files.keys())
    )


def _digest(files: Mapping[str, str]) -> str:
    content = "".join(
        host_to_node_maps.digest(files[name]) if name in _TELLING else files[name]
        for name in sorted(files)
    )
    return sha256(content.encode("ascii", "replace")).hexdigest()[:12]


def _section(lines: Iterable[str]) -> str:
    head, *rest = lines
    return "\n".join([head, *(f"    {line}" for line in rest), ""])


def _peers(node: str, addresses: Mapping[str, str], layout: Layout) -> list[str]:
    """Who tells whom which members have which targets. Names are those of the nodes, the same
    everywhere.
    """
    if layout.inner_certificate:
        told = haproxy_member_tls.peers(node, addresses, layout)
        return ["peers flex", *told]
    return [
        "peers flex",
        *(
            f"peer {name} {endpoint(addresses[name], layout.peers_port)}"
            for name in sorted(addresses)
        ),
    ]


def _frontend(node: str, layout: Layout, everywhere: Doors | None) -> list[str]:
    tls = f"ssl crt {layout.certificates} alpn h2,http/1.1 ssl-min-ver TLSv1.2"
    head = "frontend visitors"
    one_writer = bool(everywhere and everywhere.one_writer)
    return [
        haproxy_writer_sites.begins_like(head) if one_writer else head,
        f"maxconn {haproxy_globals.most_visitors(layout)}",
        *(f"bind {where}" for where in layout.listen),
        *(f"bind {where} {tls}" for where in layout.listen_tls),
        *haproxy_frontends.host_checking_lines(),
        *([] if everywhere else _visitor_header(layout)),
        *_visitor_scheme(layout),
        *(
            _to_any_site(node, layout, one_writer=one_writer)
            if everywhere
            else _to_replicated_sites(layout)
        ),
    ]


def _to_replicated_sites(layout: Layout) -> list[str]:
    return [
        (
            "http-request set-var(txn.backend) "
            f"req.hdr(host),host_only,lower,map_str({layout.directory}/{HOSTS})"
        ),
        "use_backend %[var(txn.backend)] if { var(txn.backend) -m found }",
        "default_backend here",
    ]


def _to_any_site(node: str, layout: Layout, *, one_writer: bool) -> list[str]:
    looked_up = haproxy_frontends.lookup_lines(layout, HOSTS)
    counted = haproxy_frontends.stray_counting_line(node, one_writer=one_writer)
    chosen = haproxy_frontends.choosing_lines(layout)
    # Nodes say it to each other, and no visitor does.
    not_forged = f"http-request del-header {haproxy_frontends.VISITOR}"
    if not one_writer:
        return [not_forged, *looked_up, counted, *chosen]
    return [
        not_forged,
        *haproxy_writer_sites.refuses_forged(),
        *looked_up,
        *haproxy_writer_sites.waiting_lines(node, layout),
        counted,
        *haproxy_writer_sites.choosing_lines(),
        *chosen,
    ]


def _doors_of(
    node: str,
    addresses: Mapping[str, str],
    layout: Layout,
    everywhere: Doors,
    pools: Collection[Pool],
) -> Iterator[list[str]]:
    one_writer = everywhere.one_writer
    # A look into a map is a quarter of what a request costs here.
    hosts = HOSTS if pools or one_writer else ""
    yield haproxy_frontends.inner_door_lines(
        node, addresses[node], layout, hosts, one_writer=one_writer
    )
    yield haproxy_frontends.stray_table_lines(layout)
    yield from haproxy_answer_counters.lines_of_table(layout)
    yield from haproxy_writer_sites.tables() if one_writer else ()
    here = _answering(layout, everywhere)
    own = [*haproxy_answer_counters.lines_of_owner(layout), *here]
    yield from haproxy_frontends.ways_to_nodes(node, addresses, own, layout, one_writer=one_writer)
    yield from haproxy_fallback.sections(node, addresses, own, layout)
    if layout.listen_sni:
        every = haproxy_frontends.seconds_between_checks(len(addresses))
        left = [pool.name for pool in pools if _leaves(pool, node)]
        yield from haproxy_doors_by_sni.sni_sections(node, addresses, layout, HOSTS, every, left)


def _leaves(pool: Pool, node: str) -> bool:
    return any(member.node == node and member.leaving for member in pool.members)


def _visitor_header(layout: Layout) -> list[str]:
    """What web servers hear of a visitor's address. With a bypass one of them was asked first, and
    has said it already.

    With doors for all sites whoever asks the web server says it, as it would come twice otherwise.
    """
    return [] if layout.bypass or layout.proxy_protocol else ["option forwardfor"]


def _said_of_visitors(layout: Layout) -> list[str]:
    """By a pool, with doors for all sites."""
    pool_lines = haproxy_member_tls.lines_of_pool() if layout.inner_certificate else []
    return [*pool_lines, *_visitor_header(layout)]


def _visitor_scheme(layout: Layout) -> list[str]:
    if layout.bypass:
        return []
    return [
        "http-request set-header X-Forwarded-Proto https if { ssl_fc }",
        "http-request set-header X-Forwarded-Proto http if !{ ssl_fc }",
    ]


def _member_door(
    node: str, addresses: Mapping[str, str], ours: Iterable[Pool], layout: Layout
) -> list[list[str]]:
    """Where nodes speak TLS: for the other members of the sites that this node is a member of."""
    others = {
        member.node: member.address
        for pool in ours
        for member in pool.members
        if member.node != node
    }
    if not others or not layout.inner_certificate:
        return []
    return haproxy_member_tls.sections(addresses[node], others, _server_here(layout), layout)


def _server_here(layout: Layout) -> str:
    at = endpoint(layout.origin, layout.origin_port)
    return f"server origin {at}{_lines_of_server(layout)}"


def _answering(layout: Layout, everywhere: Doors | None) -> list[str]:
    """The web server of this machine answers."""
    return [
        *(_visitor_header(layout) if everywhere else []),
        *(haproxy_answer_counters.counting_lines(layout) if everywhere else []),
        _server_here(layout),
    ]


def _metrics(layout: Layout) -> list[str]:
    return [
        "frontend metrics",
        f"bind {layout.metrics}",
        "http-request use-service prometheus-exporter if { path /metrics }",
        "http-request deny deny_status 404",
    ]


def _backends(
    pool: Pool, node: str, layout: Layout, visitor_lines: list[str]
) -> Iterator[list[str]]:
    """`visitor_lines` is what the backend says of visitors, where the door does not."""
    if pool.policy not in RULES:
        raise unusable_configuration(
            f"routing {pool.site} by {pool.policy!r:.50}", f"the policies are {', '.join(RULES)}"
        )
    if not (pool.limits.admission and len(pool.members) > 1):
        yield [
            f"backend {pool.name}",
            *visitor_lines,
            *_lines_of_rule(pool, layout),
            *_servers(pool, node, layout),
        ]
        return
    most = pool.limits.most_under_way(len(pool.members))
    yield from _admission(pool, _queue(pool, node, layout))
    yield [
        f"backend {pool.name}",
        *visitor_lines,
        *_waiting(pool),
        *_lines_of_rule(pool, layout),
        *_servers(pool, node, layout),
        "use-server door if waits !let_in",
        # The door takes no more than it may let in. Others wait here, as each place at the door is
        # a connection more, which those that are let in would lack.
        f"server door {_queue(pool, node, layout)} weight 0 maxconn {most} send-proxy-v2",
    ]


def _servers(pool: Pool, node: str, layout: Layout) -> Iterator[str]:
    for member in pool.members:
        at, sent, seen = _way_to_member(member, node, layout)
        state = " disabled" if member.leaving else ""
        yield (
            f"server s{member.bit} {at} id {member.slot + 1}{sent} weight {member.weight}"
            f"{seen} slowstart 5s{state} # {member.node}"
        )


def _way_to_member(member: Member, node: str, layout: Layout) -> tuple[str, str, str]:
    """Its address, how it is spoken to, and how it is seen whether it is well."""
    if member.node != node and layout.inner_certificate:
        return haproxy_member_tls.way(member.node, member.address, layout)
    address = layout.origin if member.node == node else member.address
    at = endpoint(address, layout.origin_port)
    return at, _lines_of_server(layout), " check inter 1s fall 2 rise 2"


def _lines_of_rule(pool: Pool, layout: Layout) -> list[str]:
    wide = popular_targets.looked_up(pool, layout.directory) if pool.policy == "lardr" else ()
    return [*split(pool), *wide, *RULES[pool.policy](pool, "date"), *send_lines(pool)]


def _waiting(pool: Pool) -> list[str]:
    """With more requests under way than the paper's S of the members that are up, the next ones
    queue at the door.

    Those at the door count twice once they are let in, so the door is left only when half of S is
    under way.
    """
    limits = pool.limits
    return [
        (
            "http-request set-var(txn.over) "
            f"nbsrv,mul({limits.high}),sub({limits.high - limits.low + 1})"
        ),
        "http-request set-var(txn.over) be_conn,sub(txn.over)",
        "acl waits var(txn.over) -m int gt 0",
        "acl let_in var(txn.let_in) -m bool",
        "http-request allow if waits !let_in",
    ]


def _queue(pool: Pool, node: str, layout: Layout) -> str:
    """A name of the machine's, so those of another HAProxy on it are others."""
    ours = sha256(f"{layout.directory} {layout.socket}".encode()).hexdigest()[:8]
    return f"abns@{pool.name}.{node}.{ours}"


def _admission(pool: Pool, queue: str) -> Iterator[list[str]]:
    """As many requests as the paper's S go on to the members, in the order they came; the others
    wait here.

    S is shared out: a place for each member, shut when the member is down, so that S follows those
    that are up. Few requests come this way: to most the door is open, and a hop costs more than all
    rules.
    """
    share = pool.limits.most_under_way(len(pool.members)) // len(pool.members)
    yield [
        f"frontend {pool.name}_queue",
        f"bind {queue} accept-proxy",
        f"default_backend {pool.name}_door",
    ]
    yield [
        f"backend {pool.name}_door",
        "balance leastconn",
        "http-reuse never",
        *(
            f"server d{member.bit} {queue}.in maxconn {share} send-proxy-v2 track "
            f"{pool.name}/s{member.bit}"
            for member in pool.members
        ),
    ]
    yield [
        f"frontend {pool.name}_inside",
        f"bind {queue}.in accept-proxy",
        "http-request set-var(txn.let_in) bool(true)",
        f"default_backend {pool.name}",
    ]


def _hosts(pools: Iterable[Pool]) -> str:
    return "".join(f"{host} {name}\n" for host, name in sorted(_doors(pools).items()))


def _doors(pools: Iterable[Pool]) -> dict[str, str]:
    """By host name the backend."""
    return {host: pool.name for pool in pools for host in {pool.site, *pool.hosts}}


def _lines_of_server(layout: Layout) -> str:
    return " send-proxy-v2 check-send-proxy" if layout.proxy_protocol else ""


def _refuse_shared_hosts(pools: Collection[Pool]) -> None:
    seen: dict[str, str] = {}
    for pool in pools:
        for host in {pool.site, *pool.hosts}:
            if seen.setdefault(host, pool.site) != pool.site:
                raise unusable_configuration(
                    f"the host name {host}", f"both {seen[host]} and {pool.site} have it"
                )
