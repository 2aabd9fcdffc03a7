"""What people decided, as a file that version control keeps: wishes, nodes out of service, a stop
to changes.

Takes Decisions or TOML. Returns the other, and in what two Decisions differ. Does not carry
anything out: cli/wishes_file_verbs.py does.
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
from flex_api.schemas.standing_decisions import (
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
            now=_describe_decision(self.now),
            wanted=_describe_decision(self.wanted),
            left=self.why_left or left,
        )


def _is_down(decision: Decision | None) -> bool:
    return isinstance(decision, NodeDecided) and decision.state == "down"


def drop_ended(decided: Decisions, now: datetime) -> Decisions:
    """Without what has ended. A node that should be empty by now is drained all the same."""
    freeze = decided.freeze
    return Decisions(
        wish=tuple(
            decision for decision in decided.wish if not decision.until or decision.until > now
        ),
        node=tuple(
            decision.model_copy(update={"deadline": None})
            if decision.deadline and decision.deadline <= now
            else decision
            for decision in decided.node
        ),
        freeze=freeze if freeze and (not freeze.until or freeze.until > now) else None,
    )


def text(decided: Decisions) -> str:
    """Always in the same order."""
    tables = {
        ("[freeze]" if kind == "freeze" else f"[[{kind}]]", of): decision
        for (kind, of), decision in sorted(_decisions_by_name(decided).items())
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
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(path, why_unreadable(error)) from error
    except (ValueError, RecursionError) as error:
        raise _bad(path, f"this is not TOML: {error!s:.300}") from error
    # An empty file, as of an export that failed, would take all back.
    if document.pop("schema", None) != 1:
        raise _bad(path, "it does not begin with `schema = 1`")
    try:
        decisions = Decisions.model_validate(document)
    except ValidationError as error:
        raise _bad(path, explain(error, Decisions)[0]) from error
    wishes = tuple(map(_normalise_site_names, decisions.wish))
    for place, wish in enumerate(wishes):
        if not all((wish.site, *wish.together, *wish.apart)):
            given = decisions.wish[place].site
            raise _bad(path, f"wish.{place}.site = {given!r}: there is no such name")
    decisions = decisions.model_copy(update={"wish": wishes})
    every = Counter(map(_name, _all(decisions)))
    (kind, of), times = max(every.items(), key=lambda pair: pair[1], default=(("", ""), 0))
    if times > 1:
        raise _bad(path, f"the {kind} {of} is in it {times} times")
    return decisions


def _normalise_site_names(wish: WishDecided) -> WishDecided:
    return wish.model_copy(
        update={
            "site": site_name(wish.site),
            "together": tuple(map(site_name, wish.together)),
            "apart": tuple(map(site_name, wish.apart)),
        }
    )


def _bad(path: Path, why: str) -> BadInput:
    return BadInput(
        f"reading {path}", why, advice="correct it; `flex wishes export` shows the form"
    )


def differences(now: Decisions, wanted: Decisions) -> list[Difference]:
    """What is to be taken back comes first, and a stop to changes last."""
    have, want = _decisions_by_name(now), _decisions_by_name(wanted)
    changes = [
        Difference(kind, of, have.get((kind, of)), want.get((kind, of)))
        for kind, of in {**have, **want}
        if _is_other(have.get((kind, of)), want.get((kind, of)))
    ]
    return sorted(
        changes,
        key=lambda each: (each.kind == "freeze", bool(each.wanted), each.kind == "node", each.of),
    )


def _is_other(now: Decision | None, wanted: Decision | None) -> bool:
    """A node is down whatever the reason."""
    return now != wanted and not (_is_down(now) and _is_down(wanted))


def _decisions_by_name(decided: Decisions) -> dict[tuple[Kind, str], Decision]:
    return {_name(decision): decision for decision in _all(decided)}


def _all(decided: Decisions) -> list[Decision]:
    return [*decided.wish, *decided.node, *filter(None, [decided.freeze])]


def _name(decision: Decision) -> tuple[Kind, str]:
    if isinstance(decision, WishDecided):
        return "wish", f"{decision.site} {decision.campaign}".strip()
    return ("node", decision.node) if isinstance(decision, NodeDecided) else ("freeze", "")


def _describe_decision(decision: Decision | None) -> str:
    if decision is None:
        return ""
    if isinstance(decision, WishDecided):
        wording = ", ".join(map(str, phrases(decision).values())) or "nothing"
        wording += f", from {amounts.when(decision.since)}" if decision.since else ""
        ends = decision.until
    elif isinstance(decision, NodeDecided):
        wording, ends = decision.state, decision.deadline
    else:
        wording, ends = "changes are frozen", decision.until
    until = f", until {amounts.when(ends)}" if ends else ""
    return f"{wording}{until}{f': {decision.reason}' if decision.reason else ''}"
