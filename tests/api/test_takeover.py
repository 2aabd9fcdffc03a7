"""A zone is taken from another controller with a trace, wherever that ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dns.query
import dns.update
import pytest

from flex.errors import LostLease, Refused, StoreError
from flex_api import wiring
from flex_api.night import controller_of_zones, leases
from flex_api.settings import file as settings
from flex_api.wiring import World

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

OTHER, THIRD = "the other one", "a third one"


class Listening:
    """A store that does something before it notes an action. Any: it passes on whatever it is
    asked.
    """

    def __init__(self, real: Any, action: str, then: Callable[[], None]) -> None:
        self._real, self._action, self._then = real, action, then

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def note(self, action: str, *given: Any) -> Any:
        if action == self._action:
            self._then()
        return self._real.note(action, *given)


def held_by(installation: Installation, who: str) -> None:
    update = dns.update.UpdateMessage(installation.zone, keyring=installation.server.key.signer())
    update.replace(f"_controller._flex.{installation.zone}", 60, "TXT", f'"flex controller={who}"')
    assert (
        dns.query.tcp(update, "127.0.0.1", port=installation.server.port, timeout=60).rcode() == 0
    )


def taken(installation: Installation, action: str, then: Callable[[World], None]) -> None:
    """Over from the other one, where something happens right before that is noted."""
    here = wiring.world(settings.load(installation.settings), lambda: datetime.now(UTC))
    store: Any = Listening(here.store, action, lambda: then(here))
    with leases.lease(here, "take over"):
        controller_of_zones.take_over(replace(here, store=store), OTHER, "its machine is gone")


def noted(installation: Installation) -> list[str]:
    rows = installation.flex("-o", "json", "audit", "--action", "zone.take-over").json["items"]
    return sorted(row["action"].removeprefix("zone.take-over") for row in rows)


def is_ours(installation: Installation) -> bool:
    (row,) = installation.flex("-o", "json", "dns", "holders").json["items"]
    return bool(row["ours"])


@pytest.fixture
def foreign(installation: Installation) -> Installation:
    installation.first_night()
    held_by(installation, OTHER)
    return installation


def test_what_ends_behind_the_act_leaves_its_trace_and_the_same_order_completes_it(
    foreign: Installation,
) -> None:
    def away(_: World) -> None:
        raise StoreError("writing", "it is away", kept="nothing was stored", advice="try again")

    with pytest.raises(StoreError):
        taken(foreign, controller_of_zones.DONE, away)
    assert (is_ours(foreign), noted(foreign)) == (True, [".begin"])
    again = foreign.flex("dns", "takeover", "--from", OTHER)
    assert (again.code, noted(foreign)) == (0, ["", ".begin"])
    assert (
        "its machine is gone"
        in foreign.flex("-o", "json", "audit", "--action", "zone.take-over").out
    )
    # Nothing is left to complete.
    assert foreign.flex("dns", "takeover", "--from", OTHER).code == 3


def test_nothing_is_taken_where_the_trace_cannot_be_left(foreign: Installation) -> None:
    def away(_: World) -> None:
        raise StoreError("writing", "it is away", kept="nothing was stored", advice="try again")

    with pytest.raises(StoreError):
        taken(foreign, controller_of_zones.BEGUN, away)
    assert (is_ours(foreign), noted(foreign)) == (False, [])


def test_one_that_came_too_late_is_noted_as_refused_and_never_as_done(
    foreign: Installation,
) -> None:
    with pytest.raises(Refused):
        taken(foreign, controller_of_zones.BEGUN, lambda _: held_by(foreign, THIRD))
    assert (is_ours(foreign), noted(foreign)) == (False, [".begin", ".refused"])
    held_by(foreign, OTHER)
    assert foreign.flex("dns", "takeover", "--from", OTHER).code == 0
    assert noted(foreign) == ["", ".begin", ".begin", ".refused"]


def test_who_lost_the_lease_takes_nothing(foreign: Installation) -> None:
    def loses(here: World) -> None:
        here.store.end(replace(here.store.runs(1)[0], ended=here.clock(), exit_code=1))

    with pytest.raises(LostLease):
        taken(foreign, controller_of_zones.BEGUN, loses)
    assert (is_ours(foreign), noted(foreign)) == (False, [])
