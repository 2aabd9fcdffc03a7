"""What others changed in DNS at a name of ours, and what a plan stores so that the next plan
notices such changes.

Only values. Does not find the changes: names_edited_by_others.py does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from flex.model.zone_plan import AddressType

# Why such a name is left alone.
REASON = "changed in DNS by somebody else"


@dataclass(frozen=True, slots=True)
class Edit:
    """A name at which somebody else wrote addresses or TTLs, or which they removed. `said` are the
    addresses that FLEX said last, `found` those that are there by now, and `since` is when the
    first plan found it so. `ttl` is what FLEX said, 0 where that is not known, and `found_ttls` are
    those that are there. `site` is the one that it is another name of, empty for a site's own.
    """

    name: str
    said: tuple[str, ...]
    found: tuple[str, ...]
    since: datetime
    ttl: int = 0
    found_ttls: tuple[int, ...] = ()
    site: str = ""

    @property
    def is_of_ttl(self) -> bool:
        """Whether nothing but a TTL was changed."""
        return self.found == self.said

    @property
    def there(self) -> str:
        """What is there instead, as one says it of the name."""
        if self.is_of_ttl:
            return f"TTL {' and '.join(map(str, self.found_ttls))}"
        return " ".join(self.found) or "no address"


@dataclass(frozen=True, slots=True)
class Said:
    """The addresses of each node as the plan announced them, and the edits that it left alone; the
    TTL of the records, the zones that they are in, and the names of sites `beside` them that were
    not FLEX's. Names of `one_family` have addresses of that type alone, whatever their nodes have.

    Plans that were stored before this was kept have no addresses, no TTL or no zones. So have plans
    that were given up half-way: of those nobody knows what they said at each name.
    """

    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    ttl: int = 0
    zones: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    one_family: tuple[tuple[str, AddressType], ...] = ()
