"""What becomes of a site on whose address other services depend: it stays, or it moves and takes
them along.

Takes what the settings say of the cluster, of zones and of single sites. Does not find such
services: flex/zones/what_leans_on_names.py does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flex.model.setting_precedence import SaidOfSites

WhatToDo = Literal["refuse", "warn", "ignore"]


@dataclass(frozen=True, slots=True)
class Dependents(SaidOfSites[WhatToDo]):
    everywhere: WhatToDo = "refuse"

    @property
    def are_looked_for(self) -> bool:
        """Whether anybody wants to know of them."""
        return any(answer != "ignore" for answer in self.answers())
