"""What a site asks of a node: from file counts to access rate and working set.

In go FILES and HOURS of one period, out come PROFILES, and SPREADS for the sites that may need more than one node.
Nothing is known here about nodes, and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from flex.tables import PROFILES, SPREADS


def profiles(files: pd.DataFrame, hours: pd.DataFrame) -> pd.DataFrame:
    """PROFILES of every site in either table; one that only sent errors has bytes and requests, but no working set.

    A target of unknown size (0: never sent whole) adds nothing to the working set.
    """
    by_site = files.assign(one_timer=files["requests"] == 1).groupby("site")
    answers = hours.groupby("site")
    columns = {
        "access_bytes": answers["bytes"].sum(),
        "working_set": by_site["size"].sum(),
        "requests": answers["requests"].sum(),
        "targets": by_site.size(),
        "one_timers": by_site["one_timer"].sum(),
        "busy_hour_bytes": answers["bytes"].max(),
    }
    sites = pd.Index(sorted({*files["site"], *hours["site"]}), name="site", dtype="str")
    # Holes are filled column by column: a column that ever had one would count in floats, which end at 2**53.
    filled = {name: column.reindex(sites, fill_value=0) for name, column in columns.items()}
    return PROFILES.make(pd.DataFrame(filled).reset_index())


def spreads(files: pd.DataFrame, sites: Iterable[str], most: int) -> pd.DataFrame:
    """SPREADS of these sites on 2 to `most` nodes, as far as they have targets."""
    chosen = files[files["site"].isin(sorted(sites))]
    names, site = np.unique(chosen["site"].to_numpy(dtype=object), return_inverse=True)
    size, requests = chosen["size"].to_numpy(), chosen["requests"].to_numpy(dtype=np.float64)
    whole = np.zeros(len(names), dtype=np.int64)
    np.add.at(whole, site, size)
    tables = [SPREADS.empty()]
    for k in range(2, most + 1):
        # What one of k nodes never reads: none of a target's n requests comes to it with (1 - 1/k)^n. Rounding
        # that down keeps k * W_k at least W, and W_k from growing with k.
        spared = np.bincount(site, size * (1 - 1 / k) ** requests, minlength=len(names))
        tables.append(pd.DataFrame({"site": names, "replicas": k, "working_set": whole - spared.astype(np.int64)}))
    return SPREADS.make(pd.concat(tables, ignore_index=True).astype(dict(SPREADS.columns)))
