"""What a wish asks for, in words. Answers, errors and pages use the same ones."""

from __future__ import annotations

from dataclasses import dataclass

from flex.model.wish import ASKS, DEFAULTS, Pin, Words
from flex.store import Store
from flex_api.in_words import amounts as words
from flex_api.schemas.sites_and_wishes import PinOutput, PinShown
from flex_api.schemas.standing_decisions import WishDecided

# How many entries of the record are looked at in one go.
ENTRIES = 1000

Wish = Pin | PinOutput | PinShown | WishDecided


@dataclass(frozen=True, slots=True)
class Phrase:
    """One thing that a wish asks for: the words before its value, the value, the words after it.

    `names` are the value where it is names of nodes or sites; then a page links each of them.
    """

    words: Words
    before: str
    value: str
    after: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.before}{self.value}{self.after}"


def phrases(wish: Wish) -> dict[str, Phrase]:
    """All that it asks for, by the names of its fields."""
    return {
        name: _phrase(ASKS[name], value)
        for name, default in DEFAULTS.items()
        if (value := _as_in_pin(getattr(wish, name))) != default
    }


def _as_in_pin(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _phrase(wording: Words, value: object) -> Phrase:
    before, braces, after = wording.phrase.partition("{}")
    if isinstance(value, tuple):
        return Phrase(wording, before, ", ".join(value), after, value)
    number = f"{value:g}" if isinstance(value, float) else str(value)
    return Phrase(wording, before, number if braces else "", after)


def wish_in_the_way(store: Store, pin: Pin) -> str:
    """A wish that is in the way: of which site, what for, who made it and when."""
    asks = ", ".join(map(str, phrases(pin).values()))
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
