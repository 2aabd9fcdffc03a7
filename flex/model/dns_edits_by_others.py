"""What others changed in DNS at a name of ours, and what a plan stores so that the next plan
notices such changes.

Only values. Does not find the changes: names_edited_by_others.py does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

# Why such a name is left alone.
REASON = "changed in DNS by somebody else"


@dataclass(frozen=True, slots=True)
class Edit:
    """A name at which somebody else wrote addresses. `said` are those that FLEX said last, `found`
    those that are there by now, and `since` is when the first plan found it so.
    """

    name: str
    said: tuple[str, ...]
    found: tuple[str, ...]
    since: datetime


@dataclass(frozen=True, slots=True)
class Said:
    """The addresses of each node as the plan announced them, and the edits that it left alone.

    Plans that were stored before this was kept have no addresses.
    """

    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
