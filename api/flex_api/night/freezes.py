"""When nothing may be changed: during a freeze, which has an end, and outside the windows of the
settings.

Takes a world. Returns the stops that are in force, and sets or ends a freeze for the command line
and the REST API. Does not refuse a plan: may_plan_be_applied.py does.
"""

from __future__ import annotations

from zoneinfo import ZoneInfo

from flex.errors import BadInput
from flex.model import change_windows
from flex.model.drains_and_freezes import Freeze
from flex.model.limits_and_approvals import FREEZE, Stop
from flex_api.in_words import amounts
from flex_api.night import human_decision_records
from flex_api.wiring import World

# The rule of change windows, as plans and `--force` have it.
WINDOWS = "safety.windows"


def freeze(world: World, wanted: Freeze, *, dry_run: bool = False) -> None:
    """From now on nothing is applied; a new freeze replaces an old one. Raises BadInput for one
    that ended before.
    """
    if wanted.until and wanted.until <= world.time_of_day():
        raise BadInput(
            f"freezing until {amounts.when(wanted.until)}",
            "that is in the past",
            advice="give a later moment, or none to freeze until `flex thaw`",
        )
    if not dry_run:
        world.store.put_freeze(wanted)


def thaw(world: World, *, dry_run: bool = False) -> Freeze | None:
    """The freeze that ended so; None where none was in force. That is noted, too: the zones may
    tell of a freeze that the database does not know.
    """
    with world.store.together():
        in_force = freeze_in_force(world)
        if dry_run:
            return in_force
        if world.store.freeze():
            world.store.put_freeze(None)
        elif human_decision_records.has_zones_to_write(world):
            world.store.note(FREEZE, "", None, None)
    return in_force


def freeze_in_force(world: World) -> Freeze | None:
    """The freeze in force, which goes by the real time of day."""
    stored = world.store.freeze()
    return stored if stored and stored.holds(world.time_of_day()) else None


def current_stops(world: World) -> tuple[Stop, ...]:
    """Why nothing is applied at this time."""
    current_freeze = freeze_in_force(world)
    return (*((stop(current_freeze),) if current_freeze else ()), *_outside(world))


def _outside(world: World) -> tuple[Stop, ...]:
    written = world.settings.safety.windows
    here = world.time_of_day().astimezone(ZoneInfo(world.settings.cluster.timezone))
    if change_windows.may_change_at([change_windows.window(text) for text in written], here):
        return ()
    sentence = "changes may only be made in a window"
    return (
        Stop(
            WINDOWS,
            ", ".join(written),
            f"{here:%a %H:%M}",
            sentence,
            f"flex apply --force {WINDOWS}",
        ),
    )


def stop(given: Freeze) -> Stop:
    """Why nothing is applied, for people."""
    until = f"until {amounts.when(given.until)}" if given.until else "until `flex thaw`"
    who = f" by {given.author}" if given.author else ""
    reason = f" ({given.reason})" if given.reason else ""
    past = f"flex thaw, or flex apply --force {FREEZE}"
    return Stop(
        FREEZE,
        until,
        f"since {amounts.when(given.since)}{who}",
        f"changes are frozen{reason}",
        past,
    )
