"""Which controller may change our zones, and how a controller takes over from another one on
purpose.

Takes the world. Returns the zones with their holders. Changes nothing but in `take_over`, which
writes the one record in each zone that names its holder, and only where the record still says what
the person saw who ordered it. An entry in the audit log says before that it begins, and another one
after it that it is done. Where the second is missing, the next `take_over` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flex.errors import Refused, Unknown
from flex_api import wiring
from flex_api.night import still_holding_lease
from flex_api.schemas.nodes_and_jobs import HoldersOutput, HoldRow
from flex_api.settings.file import Settings
from flex_api.wiring import World
from flex_dns.update import fence
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session

# Actions of the audit log. Who asks for the first gets all of them.
DONE = "zone.take-over"
BEGUN = f"{DONE}.begin"
REFUSED = f"{DONE}.refused"


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
        for server, zones, session in sessions(world.settings)
        for zone, by in fence.holders(session, server, zones).items()
    ]


def take_over(world: World, was: str, reason: str = "") -> list[Hold]:
    """All zones that `was` holds become ours. Raises Unknown where it holds none."""
    us = wiring.controller(world.settings, world.store)
    taken: list[Hold] = []
    for server, zones, session in sessions(world.settings) if was and was != us else ():
        for zone, by in fence.holders(session, server, zones).items():
            if by == was:
                told = {"controller": us, "reason": reason}
                world.store.note(BEGUN, zone, was, told)
                _take_over(world, (server, session), zone, us, was)
                world.store.note(DONE, zone, was, told)
            elif by == us and (told := _unfinished_takeover(world, zone, us, was)):
                world.store.note(DONE, zone, was, told)
            else:
                continue
            taken.append(Hold(zone, us, is_ours=True))
    if not taken:
        raise Unknown(
            f"the controller {was!r}",
            "it holds none of our zones",
            advice="`flex dns holders` shows who holds each; write it as it stands there",
        )
    return taken


def _take_over(world: World, at: tuple[Server, Session], zone: str, us: str, was: str) -> None:
    server, session = at
    try:
        fence.take_over(
            session, server, zone, us, was, lambda: still_holding_lease.refuse_lost(world)
        )
    except Refused as error:
        # It is sure that nothing was taken. After any other trouble nobody knows, and what was
        # begun stays so.
        world.store.note(REFUSED, zone, was, {"controller": us, "why": error.answer})
        raise


def _unfinished_takeover(world: World, zone: str, us: str, was: str) -> dict[str, str]:
    """What was told where the zone was about to become ours, and nothing since; empty where that is
    not so.
    """
    last = world.store.found_entries(1, action=DONE, subject=zone)
    if not last or last[0].action != BEGUN or json.loads(last[0].before) != was:
        return {}
    told: dict[str, str] = json.loads(last[0].after)
    return told if told["controller"] == us else {}


def sessions(settings: Settings) -> Iterator[tuple[Server, Sequence[str], Session]]:
    """A connection to each primary, with its zones."""
    for primary in settings.dns.primaries:
        server = wiring.server(settings, primary)
        with Session(server) as session:
            yield server, primary.zones, session


def holders_output(holds: Sequence[Hold]) -> HoldersOutput:
    return HoldersOutput(
        items=[HoldRow(zone=hold.zone, controller=hold.by, ours=hold.is_ours) for hold in holds]
    )
