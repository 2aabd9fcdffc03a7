"""What people decided, as a file that version control keeps: wishes, nodes out of service, a stop
to changes.

Takes Decisions or TOML. Returns the other, and in what two Decisions differ. Does not carry
anything out: cli/wishes.py does.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from flex.errors import BadInput
from flex.model.wish import DEFAULTS
from flex.why_file_unreadable import why_unreadable
from flex_api.in_words import amounts
from flex_api.in_words.wish_text import phrases
from flex_api.onboarding.settings_text import quote
from flex_api.schemas.decisions import (
    Decisions,
    DifferenceRow,
    FreezeDecided,
    NodeDecided,
    WishDecided,
)
from flex_api.settings.explain_bad_settings import explain
from flex_api.which_names_are_sites import site_name

Decision = WishDecided | NodeDecided | FreezeDecided
Kind = Literal["wish", "node", "freeze"]

_HEAD = """\
# What people decided: wishes for sites, nodes out of service, a stop to changes.
# `flex wishes apply FILE` makes it so, and takes back what is not in the file.
schema = 1
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """What is decided now, and what is wanted: None where nothing is."""

    kind: Kind
    of: str
    now: Decision | None
    wanted: Decision | None

    @property
    def why_left(self) -> str:
        """Why a file does not carry it out: dead nodes leave DNS at once, and come back when
        somebody has looked at them.
        """
        if _is_down(self.wanted):
            return f"`flex nodes down {self.of}` takes it out of DNS at once"
        if _is_down(self.now):
            return f"`flex nodes up {self.of}` gives it sites again"
        return ""

    def row(self, left: str = "") -> DifferenceRow:
        return DifferenceRow(
            kind=self.kind,
            of=self.of,
            now=_in_words(self.now),
            wanted=_in_words(self.wanted),
            left=self.why_left or left,
        )


def _is_down(one: Decision | None) -> bool:
    return isinstance(one, NodeDecided) and one.state == "down"


def in_force(decided: Decisions, now: datetime) -> Decisions:
    """Without what has ended. A node that should be empty by now is drained all the same."""
    freeze = decided.freeze
    return Decisions(
        wish=tuple(one for one in decided.wish if not one.until or one.until > now),
        node=tuple(
            one.model_copy(update={"deadline": None})
            if one.deadline and one.deadline <= now
            else one
            for one in decided.node
        ),
        freeze=freeze if freeze and (not freeze.until or freeze.until > now) else None,
    )


def text(decided: Decisions) -> str:
    """Always in the same order."""
    tables = {
        ("[freeze]" if kind == "freeze" else f"[[{kind}]]", of): one
        for (kind, of), one in sorted(_by_name(decided).items())
    }
    return _HEAD + "".join(
        "\n".join(["", name, *_lines(table), ""]) for (name, _), table in tables.items()
    )


def _lines(table: Decision) -> Iterator[str]:
    for name, value in sorted(table, key=lambda pair: pair[0] not in ("site", "node")):
        if value is None or value in ("", ()) or value == DEFAULTS.get(name):
            continue
        if isinstance(value, datetime):
            yield f"{name} = {value.isoformat().replace('+00:00', 'Z')}"
        elif isinstance(value, tuple):
            yield f"{name} = {quote([*value])}"
        elif isinstance(value, str):
            yield f"{name} = {quote(value)}"
        else:
            yield f"{name} = {str(value).lower()}"


def read(path: Path) -> Decisions:
    """Raises BadInput. Names of sites are as FLEX writes them."""
    try:
        said = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(path, why_unreadable(error)) from error
    except (ValueError, RecursionError) as error:
        raise _bad(path, f"this is not TOML: {error!s:.300}") from error
    # An empty file, as of an export that failed, would take all back.
    if said.pop("schema", None) != 1:
        raise _bad(path, "it does not begin with `schema = 1`")
    try:
        found = Decisions.model_validate(said)
    except ValidationError as error:
        raise _bad(path, explain(error, Decisions)[0]) from error
    wishes = tuple(map(_with_names_of_sites, found.wish))
    for place, wish in enumerate(wishes):
        if not all((wish.site, *wish.together, *wish.apart)):
            given = found.wish[place].site
            raise _bad(path, f"wish.{place}.site = {given!r}: there is no such name")
    found = found.model_copy(update={"wish": wishes})
    every = Counter(map(_name, _all(found)))
    (kind, of), times = max(every.items(), key=lambda one: one[1], default=(("", ""), 0))
    if times > 1:
        raise _bad(path, f"the {kind} {of} is in it {times} times")
    return found


def _with_names_of_sites(wish: WishDecided) -> WishDecided:
    return wish.model_copy(
        update={
            "site": site_name(wish.site),
            "together": tuple(map(site_name, wish.together)),
            "apart": tuple(map(site_name, wish.apart)),
        }
    )


def _bad(path: Path, why: str) -> BadInput:
    return BadInput(
        f"reading {path}",
        why,
        kept="nothing was changed",
        advice="correct it; `flex wishes export` shows the form",
    )


def differences(now: Decisions, wanted: Decisions) -> list[Difference]:
    """What is to be taken back comes first, and a stop to changes last."""
    one, other = _by_name(now), _by_name(wanted)
    found = [
        Difference(kind, of, one.get((kind, of)), other.get((kind, of)))
        for kind, of in {**one, **other}
        if _is_other(one.get((kind, of)), other.get((kind, of)))
    ]
    return sorted(
        found,
        key=lambda each: (each.kind == "freeze", bool(each.wanted), each.kind == "node", each.of),
    )


def _is_other(one: Decision | None, other: Decision | None) -> bool:
    """A node is down whatever the reason."""
    return one != other and not (_is_down(one) and _is_down(other))


def _by_name(decided: Decisions) -> dict[tuple[Kind, str], Decision]:
    return {_name(one): one for one in _all(decided)}


def _all(decided: Decisions) -> list[Decision]:
    return [*decided.wish, *decided.node, *filter(None, [decided.freeze])]


def _name(one: Decision) -> tuple[Kind, str]:
    if isinstance(one, WishDecided):
        return "wish", f"{one.site} {one.campaign}".strip()
    return ("node", one.node) if isinstance(one, NodeDecided) else ("freeze", "")


def _in_words(one: Decision | None) -> str:
    if one is None:
        return ""
    if isinstance(one, WishDecided):
        said = ", ".join(map(str, phrases(one).values())) or "nothing"
        said += f", from {amounts.when(one.since)}" if one.since else ""
        ends = one.until
    elif isinstance(one, NodeDecided):
        said, ends = one.state, one.deadline
    else:
        said, ends = "changes are frozen", one.until
    until = f", until {amounts.when(ends)}" if ends else ""
    return f"{said}{until}{f': {one.reason}' if one.reason else ''}"
