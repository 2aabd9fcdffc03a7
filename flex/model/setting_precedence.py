"""What settings say of one site, where they speak of the cluster, of zones and of single sites.

Takes these. Returns what counts: what is said of the site itself comes before its closest zone,
and that before the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class SaidOfSites(Generic[Said]):
    """`zones` are absolute names, with the dot at their end."""

    everywhere: Said
    zones: Mapping[str, Said] = field(default_factory=dict)
    sites: Mapping[str, Said] = field(default_factory=dict)

    def answer_for_site(self, site: str) -> Said:
        if site in self.sites:
            return self.sites[site]
        name = site.lower().rstrip(".") + "." if self.zones else ""
        while name:
            if name in self.zones:
                return self.zones[name]
            name = name.partition(".")[2]
        return self.everywhere

    def answers(self) -> Iterator[Said]:
        """Whatever is said of any site."""
        yield self.everywhere
        yield from self.zones.values()
        yield from self.sites.values()
