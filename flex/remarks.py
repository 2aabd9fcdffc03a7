"""What a person should know of a plan, beside its numbers: sentences, and nothing is decided by them.

In go what was seen and planned; out come notes, each of one line however many names it is about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pandas as pd

from flex import records
from flex.domain import Forecast
from flex.reach import Reach
from flex.replay import Sample
from flex.wishes import ORDER

# Strangers' names in the logs that get fewer of the accesses than this make no difference to a prediction.
FEW = 0.01
# Of a part of the files, fewer accesses than this do not tell misses within a few points.
ENOUGH = 100_000


def of_reach(found: Reach, profiles: pd.DataFrame) -> Iterator[str]:
    """The sites that FLEX cannot move, with what they weigh."""
    if found.out:
        named = [f"{site} ({why})" for site, why in sorted(found.out.items())]
        weight = _weight(found.out, profiles)
        yield f"left out of the partition, as FLEX cannot change where they are{weight}: {some(named)}"
    reasons = {name: why for of_zone in found.foreign.values() for name, why in of_zone.items()}
    fixed = sorted(set(found.fixed["site"]))
    if fixed:
        named = [f"{site} ({reasons[records.name_of(site)]})" for site in fixed]
        yield f"not ours, so left alone where they are{_weight(fixed, profiles)}: {some(named)}"


def of_wishes(suspended: Sequence[str]) -> Iterator[str]:
    if suspended:
        order = ", ".join(ORDER)
        yield f"pins that cannot be kept now, in part or whole (these give way first: {order}): {some(suspended)}"


def of_start(started: Collection[str]) -> Iterator[str]:
    if started:
        named = some(sorted(started))
        yield f"no partition was in force, so {len(started)} sites start from where DNS has them: {named}"


def of_drift(drifted: Sequence[str]) -> Iterator[str]:
    if drifted:
        yield f"changed in DNS by somebody else, or a node has other addresses now: {some(drifted)}"


def of_forecasts(forecasts: Sequence[Forecast], gone: Sequence[str]) -> Iterator[str]:
    """What the predictions leave out; all of a plan leave out the same."""
    if gone:
        yield f"the partition before is not predicted: nobody knows the memory of {some(gone)}, in the settings no more"
    for forecast in forecasts[:1]:
        total = forecast.left_out + sum(node.requests for node in forecast.nodes)
        if forecast.left_out > FEW * total:
            share = f"{forecast.left_out / total:.0%} of the accesses"
            yield f"predicted without {share}, which are to names that are not in the partition"


def of_sample(sample: Sample) -> Iterator[str]:
    """That too little was sampled: one large file more or less would then be another miss ratio."""
    if not len(sample.target):
        yield "not predicted: no access was replayed"
    elif sample.rate < 1 and len(sample.target) < ENOUGH:
        part = f"{len(sample.target):,} accesses, to {sample.rate:.2%} of the files"
        yield f"predicted from {part}: too few to tell misses, raise ingest.sample_limit so that {ENOUGH:,} are kept"


def some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _weight(sites: Collection[str], profiles: pd.DataFrame) -> str:
    sent, total = profiles["access_bytes"][profiles["site"].isin(list(sites))].sum(), profiles["access_bytes"].sum()
    share = f", {sent / total:.1%} of the bytes sent" if total else ""
    return f" ({len(sites)} of {len(profiles)} sites{share})"
