"""Reads from the HAProxy of each node what it has answered for the sites that are watched, and has
the store keep that; from the nodes' logs what they answered for sites that doors do not lead to.

Takes the settings, the store, moves that are watched, and the time. Asks only nodes that these
sites come from or went to, and only for their names. A node that does not answer keeps what it said
before. Nodes that cannot be asked from here report by themselves, as their followers do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime

from flex.errors import BadSetting, FlexError
from flex.model.node_answer_counts import MOST_NAMES, AnswersOfSpan, spans_until
from flex.model.site_moves import SiteMove
from flex.routing import haproxy_socket, read_http_answers
from flex.routing.haproxy_socket import Socket
from flex.store import Store
from flex_api.night import ask_every_haproxy, haproxy_pools_and_files
from flex_api.night.owners_by_partition import names_of
from flex_api.settings.file import Settings
from flex_api.wiring import nodes, sources
from flex_logs_ingest.reading.recent_answers import RecentAnswers

# Seconds that a node has for an answer. A guess.
_PATIENCE = 2.0
# Nodes that are asked at a time. A guess.
_SIDE_BY_SIDE = 32


def count(
    settings: Settings,
    store: Store,
    watched: Collection[SiteMove],
    now: datetime,
    recent: RecentAnswers | None = None,
) -> None:
    """Raises nothing for a node that is away: a later look reads more. `recent` is how far logs
    were read before.
    """
    count_by_logs(settings, store, watched, now, recent)
    led = _led_by_doors(settings, watched)
    wanted = names_by_node(settings, [move for move in watched if move.site in led])
    if not wanted:
        return
    serving = haproxy_pools_and_files.addresses(nodes(settings, store))
    sockets = ask_every_haproxy.sockets_of(
        settings, sorted(wanted.keys() & serving.keys()), _PATIENCE
    )
    spans = spans_until(now)

    def ask(node: str) -> tuple[AnswersOfSpan, ...]:
        return _answers(node, sockets[node], wanted, spans)

    with ThreadPoolExecutor(min(_SIDE_BY_SIDE, len(sockets) or 1)) as side_by_side:
        for counted in side_by_side.map(ask, sockets):
            if counted:
                store.put_answers(counted)


def count_by_logs(
    settings: Settings,
    store: Store,
    watched: Collection[SiteMove],
    now: datetime,
    recent: RecentAnswers | None = None,
) -> None:
    """For sites that doors do not lead to."""
    led = _led_by_doors(settings, watched)
    sites: dict[str, set[str]] = {}
    for move in watched:
        if move.site not in led:
            for node in (move.source, move.target):
                sites.setdefault(node, set()).add(move.site)
    if not sites:
        return
    # A list of sites that cannot be read is told where logs are read whole.
    with suppress(BadSetting):
        logs = recent or RecentAnswers()
        store.put_answers(logs.count(sources(settings), sites, spans_until(now)))


def _led_by_doors(settings: Settings, watched: Iterable[SiteMove]) -> frozenset[str]:
    if not settings.routing.leads_to_all:
        return frozenset()
    return settings.routing.publishing().sites_led_by_doors([move.site for move in watched])


def names_wanted(settings: Settings, store: Store, node: str) -> set[str]:
    """The host names that the node is to report of."""
    if not settings.move.watch:
        return set()
    watched = [move for move, run in store.watched_moves() if run.state == "begun"]
    return names_by_node(settings, watched).get(node, set())


def names_by_node(settings: Settings, watched: Iterable[SiteMove]) -> dict[str, set[str]]:
    """The host names of watched sites that each node is asked for: as the old node or the new.
    Those of the moves that come first, where there are too many.
    """
    moves = list(watched)
    of_site: dict[str, set[str]] = {}
    for name, site in names_of(settings, {move.site for move in moves}).items():
        of_site.setdefault(site, set()).add(name)
    by_node: dict[str, set[str]] = {}
    for move in moves:
        for node in (move.source, move.target):
            names = by_node.setdefault(node, set())
            if len(names) < MOST_NAMES:
                names |= of_site[move.site]
    return by_node


def _answers(
    node: str, socket: Socket, wanted: Mapping[str, Collection[str]], spans: Collection[int]
) -> tuple[AnswersOfSpan, ...]:
    """This machine's own HAProxy says itself whose it is."""
    try:
        node = node or haproxy_socket.parse_node_name(socket.ask("show", "info"))
        return read_http_answers.answers(socket, node, wanted.get(node, ()), spans)
    except FlexError:
        return ()
