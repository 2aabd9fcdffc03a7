"""The traffic that comes to sites by other names, at the nodes where the addresses of these names
lead.

Takes the names that do not move with their sites, with their shares of the sites' traffic. Returns
the tables of a plan in which a site has only the traffic of its own name. All other traffic is a
part of its own. A part is in the tables like a site and stays at its nodes, or goes to nodes that
are not ours.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.partition import rows_of_other_sites
from flex.prediction.cache_replay import Ints, Sample
from flex.prediction.target_classes import Kinds
from flex.zones.names_not_following import NameLeftBehind, Share

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"

# What a site asks for less of, the less of its visitors there are, by the share that says how much
# less.
OF_SHARE = {
    "access_bytes": "bytes",
    "busy_hour_bytes": "bytes",
    "requests": "requests",
    "timed": "requests",
    "service_us": "requests",
    "cpu_us": "requests",
}
# What depends on which files those visitors ask for: never more of them than the site has.
OF_FILES = ("working_set", "targets", "one_timers")
# The golden ratio, less one.
GOLDEN = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class OtherNameTraffic:
    """What of a site's traffic goes where its own name does not lead: to `nodes`, equally, or to
    nobody of ours.

    It is called `name` among the sites of a problem, and is none.
    """

    site: str
    name: str
    nodes: tuple[str, ...]
    share: Share


def parts_of(
    strays: Iterable[NameLeftBehind], nodes: Sequence[Node]
) -> tuple[OtherNameTraffic, ...]:
    """Nodes that get equally many of a name's visitors are one part; those that take no sites now
    get none.
    """
    active = {node.name for node in nodes if node.takes_sites}
    parts: list[OtherNameTraffic] = []
    for stray in strays:
        if stray.other.share is None or stray.answer.unknown:
            continue
        parts.extend(_parts_of(stray, stray.other.share, active))
    return tuple(parts)


def _parts_of(
    stray: NameLeftBehind, share: Share, active: Collection[str]
) -> Iterator[OtherNameTraffic]:
    equal: dict[float, list[str]] = {}
    for node, part in stray.parts:
        if node in active:
            equal.setdefault(part, []).append(node)
    for number, (part, nodes) in enumerate(sorted(equal.items())):
        each = part * len(nodes)
        name = f"{stray.name}#{number + 1}" if number else stray.name
        yield OtherNameTraffic(
            stray.site, name, tuple(nodes), Share(share.requests * each, share.bytes * each)
        )
    rest = 1 - sum(part * len(nodes) for part, nodes in equal.items())
    if rest > 1e-9:
        yield OtherNameTraffic(
            stray.site, f"{stray.name}#", (), Share(share.requests * rest, share.bytes * rest)
        )


def names_of(parts: Iterable[str]) -> list[str]:
    """The names whose traffic these parts are, or sites as they are called."""
    return sorted({part.partition("#")[0] for part in parts})


def partition_of_parts(parts: Iterable[OtherNameTraffic]) -> pd.DataFrame:
    """PLACEMENT of the parts that nodes of ours serve."""
    rows = [(part.name, node) for part in parts for node in part.nodes]
    return PLACEMENT.make(pd.DataFrame(rows, columns=list(PLACEMENT.columns)))


def profiles_with(
    parts: Sequence[OtherNameTraffic], profiles: pd.DataFrame, spreads: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """PROFILES and SPREADS in which each part that nodes of ours serve has a row, and its site what
    is left.
    """
    of_site: dict[str, list[OtherNameTraffic]] = {}
    for part in parts:
        of_site.setdefault(part.site, []).append(part)
    split = profiles["site"].isin(list(of_site))
    curves = _curves(profiles[split], spreads)
    rows: list[dict[str, object]] = []
    measured: list[tuple[str, int, int]] = []
    for row in profiles[split].to_dict("records"):
        site = str(row["site"])
        for name, share, replicas in _shares(site, of_site[site]):
            rows.append({"site": name, **_less(row, share, curves[site])})
            measured.extend(_spread(name, share, replicas, curves[site]))
    kept = rows_of_other_sites(spreads, of_site)
    wider = pd.DataFrame(measured, columns=list(SPREADS.columns))
    return (
        PROFILES.make(
            pd.concat([profiles[~split], pd.DataFrame(rows, columns=list(PROFILES.columns))])
        ),
        SPREADS.make(pd.concat([kept, wider]) if measured else kept),
    )


def _shares(site: str, parts: Sequence[OtherNameTraffic]) -> Iterator[tuple[str, Share, int]]:
    """What the site's own name has left, and each part that a node of ours serves, with the number
    of its nodes.
    """
    gone = Share(
        sum(part.share.requests for part in parts), sum(part.share.bytes for part in parts)
    )
    yield site, Share(max(1 - gone.requests, 0.0), max(1 - gone.bytes, 0.0)), 0
    for part in parts:
        if part.nodes:
            yield part.name, part.share, len(part.nodes)


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """The working set of a share of the visitors, drawn through the shares for which it was
    measured.
    """

    share: Floats
    working_set: Floats
    replicas: tuple[int, ...]

    def working_set_at_share(self, share: float) -> int:
        if not self.replicas:
            # Nothing was measured, and half of the visitors may well ask for all files.
            return int(self.working_set[-1]) if share > 0 else 0
        return int(np.interp(share, self.share, self.working_set))


def _curves(profiles: pd.DataFrame, spreads: pd.DataFrame) -> dict[str, _Curve]:
    of_site = {str(site): rows for site, rows in spreads.groupby("site")}
    curves: dict[str, _Curve] = {}
    for site, whole in zip(profiles["site"], profiles["working_set"], strict=True):
        rows = of_site.get(site, SPREADS.empty()).sort_values("replicas", ascending=False)
        shares = np.array([0.0, *(1 / rows["replicas"]), 1.0])
        held = np.array([0.0, *rows["working_set"], float(whole)])
        curves[site] = _Curve(shares, held, tuple(sorted(rows["replicas"].tolist())))
    return curves


def _less(row: Mapping[Hashable, object], share: Share, curve: _Curve) -> dict[str, int]:
    counts = {
        name: round(int(str(row[name])) * getattr(share, by)) for name, by in OF_SHARE.items()
    }
    any_left = share.requests > 0
    files = {name: int(str(row[name])) if any_left else 0 for name in OF_FILES}
    return counts | files | {"working_set": curve.working_set_at_share(share.requests)}


def _spread(
    name: str, share: Share, replicas: int, curve: _Curve
) -> Iterator[tuple[str, int, int]]:
    """As much as is known of each of several replicas."""
    for count in curve.replicas:
        yield name, count, curve.working_set_at_share(share.requests / count)
    if replicas > 1 and curve.replicas and replicas not in curve.replicas:
        yield name, replicas, curve.working_set_at_share(share.requests / replicas)


def sample_with(parts: Sequence[OtherNameTraffic], sample: Sample) -> Sample:
    """The same accesses; those that come by another name are of its part, as many of each site's as
    its share says.

    Nobody logged which accesses those are, so dice that fall the same each time choose them.
    """
    number = {site: at for at, site in enumerate(sample.sites)}
    known = [part for part in parts if part.site in number]
    if not known or not len(sample.target):
        return sample
    site = sample.site[sample.target]
    of_access = np.full(len(site), -1, dtype=np.int64)
    dice = _dice(site)
    reached = np.zeros(len(sample.sites))
    for at, part in enumerate(known):
        start = reached[number[part.site]]
        reached[number[part.site]] = start + part.share.requests
        chosen = (
            (site == number[part.site]) & (dice >= start) & (dice < start + part.share.requests)
        )
        of_access[chosen] = at
    moved = of_access >= 0
    pairs, again = np.unique(
        np.stack([sample.target[moved], of_access[moved]], axis=1), axis=0, return_inverse=True
    )
    target = sample.target.copy()
    target[moved] = len(sample.site) + again.reshape(-1)
    return replace(
        sample,
        sites=(*sample.sites, *(part.name for part in known)),
        site=np.concatenate([sample.site, len(sample.sites) + pairs[:, 1]]),
        size=np.concatenate([sample.size, sample.size[pairs[:, 0]]]),
        target=target,
        totals=None
        if sample.totals is None
        else _totals(known, number, sample.totals, len(sample.sites)),
    )


def _totals(
    parts: Sequence[OtherNameTraffic], number: Mapping[str, int], totals: Kinds, sites: int
) -> Kinds:
    """Kinds of the parts, too, and less of their sites."""
    left = np.ones(sites)
    for part in parts:
        left[number[part.site]] -= part.share.requests
    tables = [
        _share_of(totals, np.arange(len(totals.site)), np.maximum(left, 0.0)[totals.site], None)
    ]
    for at, part in enumerate(parts):
        rows = np.flatnonzero(totals.site == number[part.site])
        tables.append(_share_of(totals, rows, np.full(len(rows), part.share.requests), sites + at))
    return Kinds(
        site=np.concatenate([table.site for table in tables]),
        targets=np.concatenate([table.targets for table in tables]),
        requests=np.concatenate([table.requests for table in tables]),
        bytes=np.concatenate([table.bytes for table in tables]),
        working_set=np.concatenate([table.working_set for table in tables]),
    )


def _share_of(totals: Kinds, rows: Ints, share: Floats, site: int | None) -> Kinds:
    """What visitors who make that share of the requests ask for: of a target asked for n times, 1 -
    (1 - share)^n.
    """
    met = np.where(share < 1, 1 - (1 - np.minimum(share, 1)) ** totals.times()[rows], 1.0)
    requests = np.rint(totals.requests[rows] * share).astype(np.int64)
    there = requests > 0
    columns = (
        np.maximum(np.rint(totals.targets[rows] * met), 1),
        requests,
        np.rint(totals.bytes[rows] * share),
        np.rint(totals.working_set[rows] * met),
    )
    of = totals.site[rows] if site is None else np.full(len(rows), site, dtype=np.int64)
    return Kinds(of[there], *(column[there].astype(np.int64) for column in columns))


def _dice(site: Ints) -> Floats:
    """One throw for each access, from 0 to 1. Those of a site are multiples of the golden ratio,
    which fall evenly.
    """
    order = np.argsort(site, kind="stable")
    count = np.bincount(site)
    first = np.repeat(np.cumsum(count) - count, count)
    rank = np.empty(len(site), dtype=np.int64)
    rank[order] = np.arange(len(site)) - first
    throws: Floats = np.mod((rank + 1) * GOLDEN, 1.0).astype(np.float64)
    return throws
