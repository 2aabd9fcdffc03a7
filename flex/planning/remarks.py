"""What a person should know of a plan besides its numbers.

Takes what was seen and planned. Returns notes, each of one line however many names it is about.
Does not decide anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import pandas as pd

from flex.model.dns_edits_by_others import REASON, Edit
from flex.model.forecast import Forecast
from flex.planning.movable_sites import Reach
from flex.prediction.replay_accesses_through_caches import Sample
from flex.wishes.suspended_wishes import ORDER
from flex.zones import records
from flex.zones.other_names import Followed, Stray

# Strangers' names in the logs that get fewer of the accesses than this make no difference to a
# prediction.
FEW = 0.01
# Of a part of the files, fewer accesses than this do not tell misses within a few points.
ENOUGH = 100_000

# In what a plan says of other names that do not move with their sites.
OF_OTHER_NAMES = "with addresses of their own, which FLEX never moves"


def of_reach(found: Reach, profiles: pd.DataFrame) -> Iterator[str]:
    """The sites that FLEX cannot move, with what they weigh."""
    out = {site: why for site, why in found.out.items() if why != REASON}
    if out:
        named = [f"{site} ({why})" for site, why in sorted(out.items())]
        weight = _weight(out, profiles)
        yield (
            "left out of the partition, as FLEX cannot change where they "
            f"are{weight}: {some(named)}"
        )
    reasons = {
        name: why for of_zone in found.foreign.values() for name, why in of_zone.items()
    }
    fixed = sorted(
        site
        for site in set(found.fixed["site"])
        if reasons[records.name_of(site)] != REASON
    )
    if fixed:
        named = [f"{site} ({reasons[records.name_of(site)]})" for site in fixed]
        yield f"not ours, so left alone where they are{_weight(fixed, profiles)}: {some(named)}"


def of_other_names(
    found: Followed, profiles: pd.DataFrame | None = None
) -> Iterator[str]:
    """Names that do not move with their sites, what comes by them, and what nobody knows of
    them.
    """
    strays = found.strays
    if strays:
        sites = len({stray.site for stray in strays})
        what = f"{_names(len(strays))} of {_sites(sites)} {OF_OTHER_NAMES}"
        counted = [stray for stray in strays if stray.other.share]
        weight = (
            f" ({_of_bytes(counted, profiles)} of the bytes sent)"
            if counted and profiles is not None
            else ""
        )
        yield (
            f"{what}{weight}: {some([_stray(stray) for stray in strays])}; a CNAME "
            "to the site moves with it"
        )
    if unknown := [
        stray.name for stray in strays if stray.other.looked and not stray.other.share
    ]:
        yield (
            "not known how much of their site's traffic comes by these names, so it "
            "counts where the site is: "
            f"{some(unknown)}"
        )
    if found.unseen:
        named = [f"{other.name} ({other.site})" for other in found.unseen]
        yield (
            f"{_names(len(named))} in no zone of the settings, so where they lead "
            f"is not known: {some(named)}"
        )


def _stray(stray: Stray) -> str:
    nodes = ", ".join(node for node, _ in stray.parts)
    if stray.like_site:
        return (
            f"{stray.name} (at {nodes}, as the site is now)"
            if nodes
            else f"{stray.name} (as the site is now)"
        )
    return f"{stray.name} ({f'at {nodes}' if nodes else 'at no node of ours'})"


def _names(count: int) -> str:
    return "1 other name" if count == 1 else f"{count:,} other names"


def _sites(count: int) -> str:
    return "1 site" if count == 1 else f"{count:,} sites"


def _of_bytes(strays: Iterable[Stray], profiles: pd.DataFrame) -> str:
    sent = dict(zip(profiles["site"], profiles["access_bytes"], strict=True))
    total = sum(sent.values())
    by_names = sum(
        sent.get(stray.site, 0) * stray.other.share.bytes
        for stray in strays
        if stray.other.share
    )
    return f"{by_names / total:.1%}" if total else "nothing"


def of_wishes(suspended: Sequence[str]) -> Iterator[str]:
    if suspended:
        order = ", ".join(ORDER)
        yield (
            "pins that cannot be kept now, in part or whole (these give way first: "
            f"{order}): {some(suspended)}"
        )


def of_start(started: Collection[str]) -> Iterator[str]:
    if started:
        named = some(sorted(started))
        yield (
            f"no partition was in force, so {len(started)} sites start from where "
            f"DNS has them: {named}"
        )


def of_drift(drifted: Sequence[str]) -> Iterator[str]:
    if drifted:
        yield f"changed in DNS by somebody else, or a node has other addresses now: {some(drifted)}"


def of_edits(
    left: Sequence[Edit], back: Sequence[Edit], profiles: pd.DataFrame
) -> Iterator[str]:
    """What somebody else changed at names of ours, and what a person can do about it."""
    if left:
        sites = {edit.name.rstrip(".") for edit in left}
        weight = _weight(
            [
                site
                for site in profiles["site"]
                if records.name_of(site).rstrip(".") in sites
            ],
            profiles,
        )
        yield (
            f"{REASON}, so left alone{weight}: "
            f"{some([_in_words(edit) for edit in left])}; {_ways_on(left[0])}"
        )
    if back:
        yield f"{REASON}, and taken back: {some([_in_words(edit) for edit in back])}"


def of_edit(edit: Edit) -> str:
    """The same of one name, with when it was found."""
    return (
        f"{REASON}, found {edit.since:%Y-%m-%d %H:%M} UTC, so left alone: "
        f"{_in_words(edit)}; {_ways_on(edit)}"
    )


def _ways_on(edit: Edit) -> str:
    site = _site(edit)
    return (
        f"it stays theirs with `flex sites exclude {site}`, and FLEX has it back "
        f"with `flex plan --take-back {site}`"
    )


def _in_words(edit: Edit) -> str:
    return (
        f"{_site(edit)} (has {' '.join(edit.found) or 'no address'}, had "
        f"{' '.join(edit.said) or 'none'})"
    )


def _site(edit: Edit) -> str:
    return edit.name.rstrip(".")


def of_forecasts(forecasts: Sequence[Forecast], gone: Sequence[str]) -> Iterator[str]:
    """What the predictions leave out; all of a plan leave out the same."""
    if gone:
        yield (
            "the partition before is not predicted: nobody knows the memory of "
            f"{some(gone)}, in the settings no more"
        )
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
        yield (
            f"predicted from {part}: too few to tell misses, raise "
            f"ingest.sample_limit so that {ENOUGH:,} are kept"
        )


def some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _weight(sites: Collection[str], profiles: pd.DataFrame) -> str:
    sent = profiles["access_bytes"][profiles["site"].isin(list(sites))].sum()
    total = profiles["access_bytes"].sum()
    share = f", {sent / total:.1%} of the bytes sent" if total else ""
    return f" ({len(sites)} of {len(profiles)} sites{share})"
