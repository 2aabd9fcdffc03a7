"""The rules that a plan may be stopped by when it is approved or applied, and that may be gone over
by name.

In go the names that somebody gives; nothing comes out, or the refusal of one that is none. Whether
a rule stops a plan is found where the rule is kept.
"""

from __future__ import annotations

from collections.abc import Collection

from flex.errors import BadInput
from flex.zones import zone_changes
from flex_api.known import outdated
from flex_api.night import freezing

RULES = (freezing.RULE, freezing.WINDOWS, *outdated.RULES, *zone_changes.RULES)


def refuse_strange(force: Collection[str], doing: str) -> None:
    """Who misspells a rule believes to have gone over it. Raises BadInput."""
    if strange := sorted(set(force) - set(RULES)):
        raise BadInput(
            f"{doing} in spite of {strange[0]!r:.100}",
            f"there is no such rule; those that stop a plan are {', '.join(RULES)}",
            kept="nothing was changed",
            advice="name one of them, or leave it out",
        )
