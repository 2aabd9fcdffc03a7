"""What becomes of a site on whose address other services depend: it stays, or it moves and takes
them along.

Takes what the settings say of the cluster, of zones and of single sites. Returns it for each site:
what is said of the site itself counts before its closest zone, and that before the cluster. Does
not find such services: flex/zones/what_leans_on_names.py does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from flex.model.what_is_said_of_site import said_of

WhatToDo = Literal["refuse", "warn", "ignore"]


@dataclass(frozen=True, slots=True)
class Dependents:
    """`zones` are absolute names, with the dot at their end."""

    everywhere: WhatToDo = "refuse"
    zones: Mapping[str, WhatToDo] = field(default_factory=dict)
    sites: Mapping[str, WhatToDo] = field(default_factory=dict)

    def of(self, site: str) -> WhatToDo:
        return said_of(site, self.sites, self.zones, self.everywhere)

    @property
    def are_looked_for(self) -> bool:
        """Whether anybody wants to know of them."""
        return any(one != "ignore" for one in self._answers())

    def _answers(self) -> Iterator[WhatToDo]:
        yield self.everywhere
        yield from self.zones.values()
        yield from self.sites.values()
