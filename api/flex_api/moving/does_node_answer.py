"""Whether a node answers for a site that moved, before the site goes back to its old node.

Takes a world, a site and the node. Returns why it does not; empty where it does. Asks for the same
path as readiness does, by HTTP, and takes every answer that is not 5xx: the site may redirect.
"""

from __future__ import annotations

import time

from flex_api.moving.ask_web_server import NoAnswer, Question, ask
from flex_api.moving.web_server_addresses import addresses, ways
from flex_api.wiring import World


def why_not(world: World, site: str, node: str) -> str:
    address = addresses(world.nodes).get(node)
    if address is None:
        return f"{node} does not serve"
    ready = world.settings.move.ready
    own = next(
        (moved_site for moved_site in world.settings.move.site if moved_site.name == site), None
    )
    path = (own and own.ready_path) or ready.path
    patience = ready.patience.total_seconds()
    answer = ask(
        ways(world.settings).plain(node, address),
        Question(site, path),
        time.monotonic() + patience,
        time.monotonic,
        patience,
    )
    if isinstance(answer, NoAnswer):
        return f"{node} does not answer for it either: {answer.why}"
    if answer.status >= 500:
        return f"{node} answers {answer.status} for it, too"
    return ""
