"""What a wish asks for, in words: the same in answers, errors and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flex.model.pin import Pin
from flex.ports import Store
from flex_api.told import words

# How many entries of the record are looked at in one go.
ENTRIES = 1000


class Wish(Protocol):
    """What a pin and its models have in common."""

    @property
    def nodes(self) -> Sequence[str]: ...
    @property
    def not_on(self) -> Sequence[str]: ...
    @property
    def together(self) -> Sequence[str]: ...
    @property
    def apart(self) -> Sequence[str]: ...
    @property
    def min_replicas(self) -> int: ...
    @property
    def max_replicas(self) -> int: ...
    @property
    def weight(self) -> float: ...
    @property
    def sla(self) -> str: ...


def places(wish: Wish) -> list[str]:
    """All that it asks for but the nodes to be on."""
    said = [
        f"on at least {wish.min_replicas} nodes" if wish.min_replicas > 1 else "",
        f"on at most {wish.max_replicas}" if wish.max_replicas else "",
        f"not on {', '.join(wish.not_on)}" if wish.not_on else "",
        f"together with {', '.join(wish.together)}" if wish.together else "",
        f"apart from {', '.join(wish.apart)}" if wish.apart else "",
        f"counted {wish.weight:g} times" if wish.weight != 1 else "",
        f"of the class {wish.sla}" if wish.sla else "",
    ]
    return [one for one in said if one]


def wish_in_the_way(store: Store, pin: Pin) -> str:
    """A wish that is in the way: of which site, what for, who made it and when."""
    asks = ", ".join(
        [*([f"on {', '.join(pin.nodes)}"] if pin.nodes else []), *places(pin)]
    )
    campaign = f", campaign {pin.campaign}" if pin.campaign else ""
    until = f", until {words.when(pin.until)}" if pin.until else ""
    why = f": {pin.reason}" if pin.reason else ""
    return (
        f"{pin.site} ({asks}{campaign}{until}; by "
        f"{pin.author or 'nobody known'}{_who_made_it(store, pin)}{why})"
    )


def _who_made_it(store: Store, pin: Pin) -> str:
    behind = None
    while entries := store.found_entries(ENTRIES, behind, action="pin.put"):
        for entry in entries:
            if entry.subject == pin.site:
                return f", {words.when(entry.time)}"
        behind = entries[-1].number
    return ""
