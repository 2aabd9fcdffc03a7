"""What a site asks of a node: from file counts to access rate and working set.

Takes FILES and HOURS of one period, in pieces where they are larger than memory. Returns PROFILES,
and SPREADS for the sites that may need more than one node. How the tables are cut makes no
difference. Does not know nodes, and does not decide anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

import numpy as np
import pandas as pd

from flex.frame_schemas import FILES, HOURS, PROFILES, SPREADS
from flex.model.period import Period

# What hours and profiles say of times alike.
TIMES = ("timed", "service_us", "cpu_us")


def profiles(files: pd.DataFrame, hours: pd.DataFrame) -> pd.DataFrame:
    """PROFILES of every site in either table; one that only sent errors has bytes and requests, but
    no working set.

    A target of unknown size (0: never sent whole) adds nothing to the working set.
    """
    return _join(_needs(files), _answers(hours))


def profiles_of(files: Iterable[pd.DataFrame], hours: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """PROFILES from tables in pieces. No target and no hour of a site may be there twice. Only
    the columns site, requests and size of FILES are used.
    """
    needs = pd.concat([_needs(FILES.empty()), *map(_needs, files)]).groupby(level="site").sum()
    answers = pd.concat([_answers(HOURS.empty()), *map(_answers, hours)]).groupby(level="site")
    together = {"access_bytes": "sum", "requests": "sum", "busy_hour_bytes": "max"}
    together |= dict.fromkeys(TIMES, "sum")
    return _join(needs, answers.agg(together))


def weights(period: Period, half_life: timedelta) -> dict[int, float]:
    """By day: half of what it would weigh `half_life` later; all of them together weigh as many as
    they are.
    """
    half = half_life / timedelta(days=1)
    plain = {
        day: 0.5 ** ((period.last_day - day) / half)
        for day in range(period.first_day, period.last_day + 1)
    }
    scale = len(plain) / sum(plain.values())
    return {day: weight * scale for day, weight in plain.items()}


def weigh_days(
    hours: Iterable[pd.DataFrame], period: Period, half_life: timedelta
) -> Iterator[pd.DataFrame]:
    """HOURS as their days weigh."""
    of_day = weights(period, half_life)
    for piece in hours:
        weight = (piece["hour"] // 24).map(of_day).fillna(1.0).to_numpy()
        scaled = {
            name: np.rint(piece[name].to_numpy() * weight).astype(np.int64)
            for name in ("bytes", "requests", *TIMES)
        }
        yield piece.assign(**scaled)


def spreads(files: pd.DataFrame, sites: Iterable[str], most: int) -> pd.DataFrame:
    """SPREADS of these sites on 2 to `most` nodes, as far as they have targets."""
    return spreads_of([files], sites, most)


def spreads_of(files: Iterable[pd.DataFrame], sites: Iterable[str], most: int) -> pd.DataFrame:
    """SPREADS from a table in pieces. Only its columns site, requests and size are used."""
    wanted = sorted(sites)
    sums = [
        _sum_by_requests(piece[piece["site"].isin(wanted)]) for piece in (FILES.empty(), *files)
    ]
    alike = pd.concat(sums).groupby(level=["site", "requests"]).sum().reset_index()
    names, site = np.unique(alike["site"].to_numpy(dtype=object), return_inverse=True)
    size = alike["size"].to_numpy()
    requests = alike["requests"].to_numpy(dtype=np.float64)
    whole = np.zeros(len(names), dtype=np.int64)
    np.add.at(whole, site, size)
    tables = [SPREADS.empty()]
    for k in range(2, most + 1):
        # What one of k nodes never reads: none of a target's n requests comes to it with (1 -
        # 1/k)^n. Rounding that down keeps k * W_k at least W, and W_k from growing with k.
        spared = np.bincount(site, size * (1 - 1 / k) ** requests, minlength=len(names))
        tables.append(
            pd.DataFrame(
                {"site": names, "replicas": k, "working_set": whole - spared.astype(np.int64)}
            )
        )
    return SPREADS.make(pd.concat(tables, ignore_index=True).astype(dict(SPREADS.columns)))


def _needs(files: pd.DataFrame) -> pd.DataFrame:
    """By site: what it has to keep in memory."""
    by_site = files.assign(one_timer=files["requests"] == 1).groupby("site")
    columns = {
        "working_set": by_site["size"].sum(),
        "targets": by_site.size(),
        "one_timers": by_site["one_timer"].sum(),
    }
    return pd.DataFrame(columns).astype("int64")


def _answers(hours: pd.DataFrame) -> pd.DataFrame:
    """By site: what it sent."""
    by_site = hours.groupby("site")
    columns = {
        "access_bytes": by_site["bytes"].sum(),
        "requests": by_site["requests"].sum(),
        "busy_hour_bytes": by_site["bytes"].max(),
        **{name: by_site[name].sum() for name in TIMES},
    }
    return pd.DataFrame(columns).astype("int64")


def _join(needs: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    sites = pd.Index(sorted({*needs.index, *answers.index}), name="site", dtype="str")
    # Holes are filled column by column: a column that ever had one would count in floats, which end
    # at 2**53.
    columns = [*needs.items(), *answers.items()]
    filled = {name: column.reindex(sites, fill_value=0) for name, column in columns}
    return PROFILES.make(pd.DataFrame(filled).reset_index())


def _sum_by_requests(files: pd.DataFrame) -> pd.DataFrame:
    """Sizes by site and number of requests: targets that are asked for equally often fare alike."""
    return files.groupby(["site", "requests"])[["size"]].sum()
