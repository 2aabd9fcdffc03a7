"""What settings say of one site, where they speak of the cluster, of zones and of single sites.

Takes these. Returns what counts: what is said of the site itself comes before its closest zone,
and that before the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Said = TypeVar("Said")


def said_of(
    site: str, sites: Mapping[str, Said], zones: Mapping[str, Said], everywhere: Said
) -> Said:
    """`zones` are absolute names, with the dot at their end."""
    if site in sites:
        return sites[site]
    name = site.lower().rstrip(".") + "." if zones else ""
    while name:
        if name in zones:
            return zones[name]
        name = name.partition(".")[2]
    return everywhere
