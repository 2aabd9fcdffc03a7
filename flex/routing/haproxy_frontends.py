"""What a node's HAProxy does with requests for all sites: the door at which visitors come in, and
the inner door at which other nodes do.

Takes the nodes and the Layout of their machines. Returns lines of HAProxy's configuration. Does not
know which site is on which node: the maps say that, see host_to_node_maps.py.

Why no request goes around in circles: what comes in at an inner door is answered on that node. The
inner door knows the members of a replicated site, and it never looks at owners. So a request passes
two nodes at most, and one more to a member of a pool, even where the maps of two nodes contradict
each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from flex.routing import (
    haproxy_answer_counters,
    haproxy_writer_sites,
    host_to_node_maps,
    member_pools,
)
from flex.routing.haproxy_globals import none_is_up
from flex.routing.haproxy_writer_sites import SUCCESSOR
from flex.routing.host_to_node_maps import (
    ANY_DOOR,
    MOVED,
    ONE_WRITER,
    OWNERS,
    Owners,
    node_backend,
    one_writer_backend,
)
from flex.routing.ports_and_paths import Layout, endpoint

# Who may come in at inner doors, one address a line.
NEIGHBOURS = "nodes.lst"
# In it a door tells the inner door who the visitor is. What a visitor says in it is overwritten.
VISITOR = "x-flex-visitor"
# What a node asks its neighbours for to see whether they let it in. No visitor's request for it
# comes to another node, as nobody owns it (RFC 2606).
CHECKED_HOST = "check.invalid"
# The table of what was asked for at a wrong door.
STRAYS = "strays"
# How many names it has at most; an entry takes about 430 bytes. A guess.
_MOST_STRAYS = "100k"
# Days for which a name is remembered. A guess of what an operator looks at.
STRAY_DAYS = 7
# Names of hosts have 253 letters at most; longer ones are told apart by that many.
_LONGEST_STRAY = 253
# In a cluster of so many nodes each node is asked how it is once a second by every other one; in
# larger ones less often, so that nobody is asked more than so many times a second. A guess.
_ASKED_A_SECOND = 50
# Has a server count as down from the first connection on that it does not take. Two checks that
# find it well have it back.
DOWN_AT_ONCE = "observe layer4 error-limit 1 on-error mark-down"
# Where nobody else could answer for most sites: one connection that an owner does not take is no
# reason yet to count it as down. It is checked at once, and a check that fails, too, is.
CHECKED_AT_ONCE = "fastinter 500ms observe layer4 error-limit 1 on-error sudden-death"
# The name that is asked for, as the maps have it.
HOST = "req.hdr(host),host_only,rtrim(.),lower"
# A name or an address of IPv4, or one of IPv6 in brackets, and at most one port.
_ONE_HOST = "'^([A-Za-z0-9._-]*|\\[[A-Fa-f0-9:.]+\\])(:[0-9]*)?$'"


@dataclass(frozen=True, slots=True, eq=False)
class Doors:
    """Who owns which host name, and every address by which a node may come in at an inner door.

    Some sites may have one writer (`one_writer`), which the maps then say of their names.
    """

    owners: Owners
    neighbours: Collection[str]
    one_writer: bool = False

    @property
    def without_order_heading(self) -> Doors:
        """The same, by maps that nobody was told to go by."""
        owners = host_to_node_maps.strip_heading(self.owners)
        return replace(self, owners=owners)

    @property
    def files(self) -> dict[str, str]:
        """By name; the same on every node."""
        return {
            OWNERS: self.owners.large,
            MOVED: self.owners.moved,
            NEIGHBOURS: "".join(f"{address}\n" for address in sorted(self.neighbours)),
        }


def host_checking_lines() -> list[str]:
    """Answer 400 where a web server may read another host than HAProxy, as the request would get
    past the maps.

    nginx ends a host at the first colon, and HAProxy at the last one behind the last comma. Web
    servers go by the host of an absolute URI, whatever Host says. HAProxy refuses a URI of another
    host itself, but it asks for no Host in HTTP/1.0, and passes over what stands before an @.
    """
    deny, is_path = "http-request deny deny_status 400", "{ url_beg / * }"
    return [
        (
            f"{deny} unless {{ req.fhdr(host) -m reg {_ONE_HOST} }} "
            f"or {{ req.fhdr_cnt(host) 0 }} {is_path}"
        ),
        f"{deny} if !{is_path} {{ url,field(3,/) -m sub @ }}",
    ]


def lookup_lines(layout: Layout, hosts: str) -> list[str]:
    """Puts into txn.backend where a visitor's request goes to, if anybody owns its host name."""
    has_backend = "{ var(txn.backend) -m found }"
    maps = [f"{layout.directory}/{name}" for name in (hosts, MOVED, OWNERS)]
    return [
        f"http-request set-var(txn.host) {HOST}",
        f"http-request set-var(txn.backend) var(txn.host),map_str({maps[0]})",
        *(
            f"http-request set-var(txn.backend) var(txn.host),map_str({name}) unless {has_backend}"
            for name in maps[1:]
        ),
    ]


def stray_counting_line(node: str, *, one_writer: bool = False) -> str:
    """Counts, by host name, what came in here and belongs elsewhere."""
    ours, all_of = node_backend(node), ANY_DOOR
    if one_writer:
        ours, all_of = f"{ours} {one_writer_backend(node)}", f"{ANY_DOOR} {ONE_WRITER}"
    own = f"{{ var(txn.backend) -m str {ours} }}"
    elsewhere = f"{{ var(txn.backend) -m beg {all_of} }}"
    return f"http-request track-sc0 var(txn.host) table {STRAYS} if {elsewhere} !{own}"


def choosing_lines(layout: Layout) -> list[str]:
    """Where the owner does not answer, this node does if it has the content of all sites."""
    some = "{ var(txn.backend) -m found }"
    is_away = none_is_up("var(txn.backend)")
    return [
        *([f"use_backend here if {is_away}"] if layout.content == "everywhere" else []),
        f"use_backend %[var(txn.backend)] if {some}",
        "default_backend here",
    ]


def inner_door_lines(
    node: str, address: str, layout: Layout, hosts: str, *, one_writer: bool = False
) -> list[str]:
    """Where requests from other nodes come in, which reach this one by that address; whoever is
    none of them is not listened to.

    It looks for pools in the map of `hosts`, where this node is in any, and at owners only where
    sites have one writer, and then for these alone.
    """
    head = "frontend inner"
    if one_writer:
        looked_up = [
            *lookup_lines(layout, hosts),
            f"http-request unset-var(txn.backend) if {{ var(txn.backend) -m beg {ANY_DOOR} }}",
            *haproxy_writer_sites.inner_lines(node, layout),
        ]
    elif hosts:
        looked_up = [
            (f"http-request set-var(txn.backend) {HOST},map_str({layout.directory}/{hosts})")
        ]
    else:
        looked_up = []
    use_backend = "use_backend %[var(txn.backend)] if { var(txn.backend) -m found }"
    return [
        haproxy_writer_sites.begins_like(head) if one_writer else head,
        *(
            f"bind {at}{tls_between_nodes(layout)}"
            for at in layout.inner_listen or _every_address(address, layout.inner_port)
        ),
        # A door may send a request over a connection that this one closes at this moment, and would
        # not send it again. So a process that ends after a reload says so with its next answer.
        "option idle-close-on-response",
        f"tcp-request connection reject unless {{ src -f {layout.directory}/{NEIGHBOURS} }}",
        # As at the door that passed it on: a large answer is copied at neither node.
        "option splice-response",
        *_answer_to_check(layout),
        *host_checking_lines(),
        f"http-request set-src req.hdr_ip({VISITOR})",
        f"http-request del-header {VISITOR}",
        *haproxy_answer_counters.lines_of_inner_door(layout, HOST),
        *looked_up,
        *([*_leave_empty_pool_lines(layout), use_backend] if looked_up else []),
        "default_backend here",
    ]


def _leave_empty_pool_lines(layout: Layout) -> list[str]:
    """A node that is leaving a pool, and was asked before all doors heard of that, answers itself
    where the other members are away.
    """
    if layout.content != "everywhere":
        return []
    is_pool = f"{{ var(txn.backend) -m beg {member_pools.BACKEND} }}"
    is_empty = none_is_up("var(txn.backend)")
    return [f"http-request unset-var(txn.backend) if {is_pool} {is_empty}"]


def _every_address(reached_by: str, port: int) -> list[str]:
    """HAProxy means those of IPv4 where no address is named. A machine may have no IPv6 at all, so
    it is asked for that only where others reach it so.
    """
    every = [f":{port}"]
    return [*every, f":::{port} v6only"] if ":" in reached_by else every


def stray_table_lines(layout: Layout) -> list[str]:
    size = f"size {_MOST_STRAYS} expire {STRAY_DAYS}d"
    # Connections of which nobody sees the requests are counted by a counter of their own.
    connections = "gpc0," if layout.listen_sni else ""
    return [
        f"backend {STRAYS}",
        (
            f"stick-table type string len {_LONGEST_STRAY} {size} "
            f"store {connections}http_req_cnt,http_req_rate(1h)"
        ),
    ]


def ways_to_nodes(
    node: str,
    addresses: Mapping[str, str],
    own: list[str],
    layout: Layout,
    *,
    one_writer: bool = False,
) -> Iterator[list[str]]:
    """A backend for each node, of the same name on all of them, so that all have the same maps. On
    its `own` node it is what answers there. Another one is for what that node alone may answer.
    """
    every = seconds_between_checks(len(addresses))
    for name in sorted(addresses):
        yield [
            f"backend {node_backend(name)}",
            *(own if name == node else _way(addresses[name], layout, every)),
        ]
    for name in sorted(addresses) if one_writer else ():
        yield [
            f"backend {one_writer_backend(name)}",
            *(own if name == node else _way_to_writer(addresses[name], layout, every)),
        ]
    if one_writer:
        yield _way_to_successor(addresses[node], layout)
    if layout.content == "everywhere":
        yield _lines_around_owners(layout)


def seconds_between_checks(nodes: int) -> int:
    return max(1, nodes // _ASKED_A_SECOND)


def _way(address: str, layout: Layout, every: int) -> list[str]:
    """To a node, and where that does not answer around it: to this node itself, if it has the
    content of all sites, else to another node that has this one.

    What cannot be connected counts as away at once where this node answers: no request waits until
    checks have found that.
    """
    is_here = layout.content == "everywhere"
    server = _server_of_way(address, layout, every)
    return [
        *lines_of_way(layout),
        f"{server} {DOWN_AT_ONCE if is_here else CHECKED_AT_ONCE}",
        f"server around {around_socket(layout)} send-proxy-v2 backup",
    ]


def _way_to_writer(address: str, layout: Layout, every: int) -> list[str]:
    """To the node that alone may answer: where it does not, nobody does."""
    return [
        *lines_of_way(layout),
        *haproxy_writer_sites.lines_of_way(),
        _server_of_way(address, layout, every),
    ]


def _way_to_successor(address: str, layout: Layout) -> list[str]:
    """To the inner door of the process that took this one's place, as other nodes reach it: a
    socket without that one's list and TLS would be open to every account of this machine.

    Whoever goes away while the request waits there frees its place.
    """
    return [
        f"backend {SUCCESSOR}",
        *lines_of_way(layout),
        "option abortonclose",
        *haproxy_writer_sites.lines_of_way(),
        inner_door_of(address, layout, SUCCESSOR),
    ]


def lines_of_way(layout: Layout) -> list[str]:
    return [
        "http-reuse aggressive",
        "option splice-response",
        *_check(layout),
        f"http-request set-header {VISITOR} %[src]",
    ]


def _server_of_way(address: str, layout: Layout, every: int) -> str:
    return f"{inner_door_of(address, layout)} check inter {every}s fall 2 rise 2"


def inner_door_of(address: str, layout: Layout, name: str = "inner") -> str:
    at = f"{endpoint(address, layout.inner_port)}{tls_between_nodes(layout)}"
    return f"server {name} {at}"


def _lines_around_owners(layout: Layout) -> list[str]:
    """Where requests of this node's own doors come in whose owner does not answer."""
    return [
        "frontend around",
        f"bind {around_socket(layout)} accept-proxy",
        f"http-request del-header {VISITOR}",
        "default_backend here",
    ]


def around_socket(layout: Layout, what: str = "around") -> str:
    """A name of the machine's, so that of another HAProxy on it is another one."""
    ours = sha256(f"{layout.directory} {layout.socket}".encode()).hexdigest()[:8]
    return f"abns@flex-{what}.{ours}"


def tls_between_nodes(layout: Layout) -> str:
    """Both sides show the certificate of their node, and refuse whoever has none of that CA."""
    if not layout.inner_certificate:
        return ""
    both = f"crt {layout.inner_certificate} ca-file {layout.inner_ca}"
    return f" ssl {both} verify required ssl-min-ver TLSv1.2"


def checks_by_answer(layout: Layout) -> bool:
    """A node that its neighbour does not let in hears of it only when it waits for an answer: the
    connection is taken before its address or certificate is looked at. Where web servers are asked
    for a path the check waits for an answer anyway.
    """
    return not layout.check_path


def _check(layout: Layout) -> list[str]:
    """Any answer will do: a node whose files are older leaves it to its web server."""
    if not checks_by_answer(layout):
        return []
    return [*asks_to_be_checked(), "http-check expect status 100-599"]


def asks_to_be_checked() -> list[str]:
    return ["option httpchk", f"http-check send meth GET uri / hdr host {CHECKED_HOST}"]


def _answer_to_check(layout: Layout) -> list[str]:
    if not checks_by_answer(layout):
        return []
    return [f"http-request return status 200 if {{ req.hdr(host) {CHECKED_HOST} }}"]
