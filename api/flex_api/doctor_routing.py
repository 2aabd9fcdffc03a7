"""Whether requests can be routed as [routing] says: names that are not there, which ports of the
nodes have to be open, and which nodes do not reach each other there.

Takes the settings. Returns one result for each check. Does not change anything. Whether nodes reach
each other only their HAProxies know: they are asked where their sockets are on this machine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from flex.errors import FlexError
from flex.routing import haproxy_socket
from flex.routing.haproxy_socket import Socket
from flex.routing.read_unreached_nodes import Unreached, unreached_nodes
from flex.site_names_in_words import first_few
from flex.store import Store, open_store
from flex_api import wiring
from flex_api.night.ask_every_haproxy import PATIENCE, SIDE_BY_SIDE, sockets_of
from flex_api.night.stranded_sites import COPYING
from flex_api.night.unused_routing import misnamed_sites
from flex_api.schemas.verbs_output import CheckRow
from flex_api.settings.file import Settings

_NAME = "routing"


def routing_checks(settings: Settings) -> Iterator[CheckRow]:
    """None where routing is off. The database has a line of its own."""
    if not settings.routing.on:
        return
    try:
        with open_store(settings.database.url) as store:
            misnamed = misnamed_sites(settings, store)
            serving = _serving(settings, store)
    except FlexError:
        return
    for line in misnamed:
        yield _warn(line, "correct the name in [[routing.site]], or leave it out")
    if copied := _copied_though_everywhere(settings):
        yield _warn(copied, 'set routing.content = "owner"')
    elif not misnamed:
        yield _ok(f"by {settings.routing.policy}")
    yield _ports(settings)
    yield from _checks_of_reach(settings, serving)


def _copied_though_everywhere(settings: Settings) -> str:
    """Empty where settings do not contradict each other."""
    routing = settings.routing
    everywhere = routing.leads_to_all and routing.content == "everywhere"
    copying = [hook.shown_name for hook in settings.move.hook if hook.stage in COPYING]
    if not everywhere or routing.stateful or not copying:
        return ""
    return (
        f"commands copy content to the new node of a site ({first_few(copying)}), and "
        'routing.content = "everywhere" says that each node has all of it: where a node does not '
        "answer, the doors of others answer for its sites with what they have"
    )


def _serving(settings: Settings, store: Store) -> list[str]:
    known = wiring.nodes(settings, store)
    return [node.name for node in known if node.addresses and node.is_serving]


def _ports(settings: Settings) -> CheckRow:
    every = settings.routing.ports_between_nodes()
    named = ", ".join(f"{port.port} ({port.setting})" for port in every)
    trusting = [port.setting for port in every if not port.authenticates]
    who = (
        f"; {first_few(trusting)}: whoever connects is believed"
        if trusting
        else "; whoever has no certificate of the nodes' CA gets nothing there"
    )
    return _ok(f"to open to the other nodes, and to nobody else: {named}{who}")


def _checks_of_reach(settings: Settings, serving: Collection[str]) -> Iterator[CheckRow]:
    """Only where FLEX can ask the HAProxies of all nodes."""
    if not settings.routing.sockets:
        return
    sockets = sockets_of(settings, sorted(serving), PATIENCE)
    with ThreadPoolExecutor(min(SIDE_BY_SIDE, len(sockets) or 1)) as side_by_side:
        answers = dict(zip(sockets, side_by_side.map(_ask, sockets.values()), strict=True))
    lines = list(_not_reached(settings, answers, serving))
    for line in lines:
        yield _warn(
            line,
            "let that port through to the addresses of the nodes, and see that HAProxy "
            "runs there; `flex route show --live` says who answers",
        )
    heard = [node for node, unreached in answers.items() if unreached is not None]
    if heard and not lines:
        yield _ok(f"{first_few(heard)}: each reaches the other nodes")


def _ask(socket: Socket) -> list[Unreached] | None:
    """None where HAProxy does not answer."""
    try:
        rows = haproxy_socket.parse_stat(socket.ask("show", "stat"))
    except FlexError:
        return None
    return list(unreached_nodes(rows))


def _not_reached(
    settings: Settings, answers: Mapping[str, list[Unreached] | None], serving: Collection[str]
) -> Iterator[str]:
    """A line for each node that some do not reach at a port. Those that FLEX knows to be down are
    none of them.
    """
    by: dict[Unreached, list[str]] = {}
    for node, unreached in answers.items():
        for target in unreached or ():
            if target.node in serving:
                by.setdefault(target, []).append(node)
    for target, nodes in sorted(by.items(), key=lambda each: repr(each[0])):
        port = getattr(settings.routing, target.setting)
        check = f" ({target.check})" if target.check else ""
        yield (
            f"{target.node} is not reached at {port} ({target.setting}) by "
            f"{first_few(nodes)}{check}"
        )


def _ok(detail: str) -> CheckRow:
    return CheckRow(name=_NAME, state="ok", detail=detail, advice="")


def _warn(detail: str, advice: str) -> CheckRow:
    return CheckRow(name=_NAME, state="warn", detail=detail, advice=advice)
