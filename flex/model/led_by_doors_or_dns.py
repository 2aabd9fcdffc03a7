"""How it becomes known which node has a site: by the doors of all nodes, by DNS, or by both.

Takes what the settings say of the cluster, of zones and of single sites. Does not ask whether a
name is in a zone that FLEX may change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from flex.model.setting_precedence import SaidOfSites

Way = Literal["doors+dns", "doors", "dns"]


@dataclass(frozen=True, slots=True)
class Publishing(SaidOfSites[Way]):
    everywhere: Way = "dns"

    def sites_led_by_doors(self, sites: Iterable[str]) -> frozenset[str]:
        """Those of the sites that the doors lead visitors to."""
        return self._those(sites, "dns")

    def sites_led_by_dns(self, sites: Iterable[str]) -> frozenset[str]:
        """Those of the sites whose records FLEX writes, where their zone lets it."""
        return self._those(sites, "doors")

    def _those(self, sites: Iterable[str], otherwise: Way) -> frozenset[str]:
        if not (self.zones or self.sites):
            return frozenset() if self.everywhere == otherwise else frozenset(sites)
        return frozenset(site for site in sites if self.answer_for_site(site) != otherwise)
