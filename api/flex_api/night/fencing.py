"""Who may change our zones: which controller holds each, and how one takes the place of another on purpose.

In go the world; out come the zones with their holders. Only `take_over` changes anything: the one record in each zone
that says who holds it, and only where it still says what the person saw who ordered it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flex.errors import Unknown
from flex_api import wiring
from flex_api.night import leases
from flex_api.wiring import World
from flex_dns import fence
from flex_dns.server import Server
from flex_dns.session import Session


@dataclass(frozen=True, slots=True)
class Hold:
    """`by` is the controller that holds the zone, "" where nobody does yet."""

    zone: str
    by: str
    is_ours: bool


def holds(world: World) -> list[Hold]:
    """Every zone of the settings."""
    us = wiring.controller(world.settings, world.store)
    return [
        Hold(zone, by, by == us)
        for server, zones, session in _sessions(world)
        for zone, by in fence.holders(session, server, zones).items()
    ]


def take_over(world: World, was: str, reason: str = "") -> list[Hold]:
    """All zones that `was` holds become ours. Raises Unknown where it holds none."""
    us = wiring.controller(world.settings, world.store)
    taken: list[Hold] = []
    for server, zones, session in _sessions(world):
        its = [zone for zone, by in fence.holders(session, server, zones).items() if by == was]
        for zone in its if was and was != us else ():
            leases.refuse_lost(world)
            fence.take_over(session, server, zone, us, was)
            world.store.note("zone.take-over", zone, was, {"controller": us, "reason": reason})
            taken.append(Hold(zone, us, is_ours=True))
    if not taken:
        raise Unknown(
            f"the controller {was!r}",
            "it holds none of our zones",
            kept="nothing was changed",
            advice="`flex dns holders` shows who holds each; write it as it stands there",
        )
    return taken


def _sessions(world: World) -> Iterator[tuple[Server, Sequence[str], Session]]:
    for primary in world.settings.dns.primaries:
        server = wiring.server(world.settings, primary)
        with Session(server) as session:
            yield server, primary.zones, session
