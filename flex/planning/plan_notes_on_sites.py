"""What a person should know of the sites of a plan: which FLEX cannot move, and why.

Takes what was seen in DNS, and wishes that give way. Returns notes, each of one line however many
names it is about. Does not decide anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pandas as pd

from flex.model.dns_edits_by_others import REASON
from flex.planning.dependents_text import LET_IT_MOVE, is_reason, ways_on
from flex.planning.dns_survey import Reach
from flex.site_names_in_words import first_few, weight_of_sites
from flex.wishes.suspended_wishes import ORDER
from flex.zones import records_of_partition
from flex.zones.names_not_following import Followed, NameLeftBehind
from flex.zones.records_of_partition import ANSWERED

# What a plan says of sites on whose names mail or other services lean.
LEANING = "left where they are, for what leans on their names"
# What a plan says of sites without records of their own, for which a wildcard answers.
BELOW_WILDCARDS = "left without records of their own"
# Between a site that is not to move tonight and the reason, as after a move that failed.
HELD = " stays where it is: "
# In what a plan says of other names that do not move with their sites.
OF_OTHER_NAMES = "with addresses of their own, which FLEX never moves"
# In what a plan says of those that would follow, if mail or another service did not lean on them.
_ALONE = "left where it is while its site moves"
_UNCOUNTED = "not known how much of their site's traffic comes by these names"
_LOST = "of which nobody knows where they lead"
# In what a plan says of names that were other names of sites, and are none any more.
NO_MORE = "another name of no site any more"
_UNSEEN = "in no zone of the settings, so where they lead is not known"


def remark_on_reach(reach: Reach, profiles: pd.DataFrame) -> Iterator[str]:
    """The sites that FLEX cannot move, with what they weigh."""
    out = {
        site: why
        for site, why in reach.out.items()
        if why != REASON and not is_reason(why) and not why.startswith(ANSWERED)
    }
    if out:
        named = [f"{site} ({why})" for site, why in sorted(out.items())]
        weight = weight_of_sites(out, profiles)
        yield (
            "left out of the partition, as FLEX cannot change where they "
            f"are{weight}: {first_few(named)}"
        )
    reasons = {name: why for of_zone in reach.foreign.values() for name, why in of_zone.items()}
    fixed = sorted(
        site
        for site in set(reach.fixed["site"])
        if (why := reasons[records_of_partition.name_of(site)]) != REASON
        and not is_reason(why)
        and not why.startswith(ANSWERED)
    )
    yield from _remark_on_dependents(reach, reasons, profiles)
    yield from _remark_on_left_below_wildcards(reach, reasons, profiles)
    if fixed:
        named = [f"{site} ({reasons[records_of_partition.name_of(site)]})" for site in fixed]
        weight = weight_of_sites(fixed, profiles)
        yield f"not ours, so left alone where they are{weight}: {first_few(named)}"
    if alone := reach.doors_alone:
        named = [f"{site} ({why})" for site, why in sorted(alone.items())]
        weight = weight_of_sites(alone, profiles)
        yield (
            f"led by the doors alone, as FLEX does not change their DNS{weight}: {first_few(named)}"
        )


def _remark_on_left_below_wildcards(
    reach: Reach, reasons: Mapping[str, str], profiles: pd.DataFrame
) -> Iterator[str]:
    left = {
        site: why
        for site in sorted(reach.immovable_sites)
        if (why := reasons.get(records_of_partition.name_of(site), "")).startswith(ANSWERED)
    }
    if left:
        there = set(reach.fixed["site"])
        named = [
            f"{site} ({why}{'' if site in there else '; it leads to no node that takes sites'})"
            for site, why in left.items()
        ]
        weight = weight_of_sites(left, profiles)
        yield (
            f"{BELOW_WILDCARDS}{weight}: {first_few(named, between='; ')}; "
            'dns.below_wildcards = "make" makes them'
        )


def _remark_on_dependents(
    reach: Reach, reasons: Mapping[str, str], profiles: pd.DataFrame
) -> Iterator[str]:
    """The sites that stay for what leans on their names."""
    beyond = {
        site: why
        for site in reach.immovable_sites
        if is_reason(why := reasons.get(records_of_partition.name_of(site), ""))
    }
    lost = beyond.keys() & reach.out.keys()
    if stay := sorted(beyond.keys() - lost):
        named = [f"{site} ({beyond[site]})" for site in stay]
        weight = weight_of_sites(stay, profiles)
        ways = ways_on(beyond[held_site] for held_site in stay)
        yield f"{LEANING}{weight}: {first_few(named, between='; ')}; {ways}"
    if lost:
        named = [f"{site} ({beyond[site]})" for site in sorted(lost)]
        weight = weight_of_sites(lost, profiles)
        yield (
            f"{LEANING}, at nodes that take no sites now, and so left out of the "
            f"partition{weight}: {first_few(named, between='; ')}; "
            f"{ways_on(beyond[held_site] for held_site in lost)}"
        )


def remark_on_other_names(
    followed: Followed, profiles: pd.DataFrame | None = None, most: int = 5
) -> Iterator[str]:
    """Names that do not move with their sites, what comes by them, and what nobody knows of them.
    So many are named.
    """
    known = [stray for stray in followed.strays_left_behind if not stray.answer.unknown]
    if alone := [stray for stray in known if stray.leant_on]:
        named = [f"{_stray(left_name)}: that {left_name.leant_on}" for left_name in alone]
        yield (
            f"{_names(len(alone))}, each {_ALONE}: {first_few(named, most, between='; ')}; "
            f"{LET_IT_MOVE}"
        )
    strays = [stray for stray in known if not stray.leant_on]
    if strays:
        sites = len({stray.site for stray in strays})
        what = f"{_names(len(strays))} of {_sites(sites)} {OF_OTHER_NAMES}"
        counted = [stray for stray in strays if stray.other.share]
        named = [_stray(stray) for stray in strays]
        weight = (
            f" ({_share_of_bytes(counted, profiles)} of the bytes sent)"
            if counted and profiles is not None
            else ""
        )
        yield (f"{what}{weight}: {first_few(named, most)}; a CNAME to the site moves with it")
    if unknown := [stray.name for stray in strays if stray.other.looked and not stray.other.share]:
        yield (f"{_UNCOUNTED}, so it counts where the site is: {first_few(unknown, most)}")
    if lost := [stray for stray in followed.strays_left_behind if stray.answer.unknown]:
        named = [f"{left_name.name} ({left_name.answer.unknown})" for left_name in lost]
        counts = "so what comes by them counts where their sites are"
        yield f"{_names(len(lost))} {_LOST}, {counts}: {first_few(named, most)}"
    if followed.unseen:
        named = [f"{other.name} ({other.site})" for other in followed.unseen]
        yield (f"{_names(len(named))} {_UNSEEN}: {first_few(named, most)}")


def remark_on_names_given_up(names: Collection[str]) -> Iterator[str]:
    """Other names that FLEX gave addresses, and that the settings do not name any more."""
    if names:
        yield (
            f"{NO_MORE}, so the records that FLEX made stay as they are: "
            f"{first_few(sorted(names))}; remove them, with their markers, where these "
            "names are kept, or name them in the settings again"
        )


def is_of_other_names(note: str) -> bool:
    """Whether a note of a plan is one of these."""
    return any(phrase in note for phrase in (OF_OTHER_NAMES, _ALONE, _UNCOUNTED, _LOST, _UNSEEN))


def _stray(stray: NameLeftBehind) -> str:
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


def _share_of_bytes(strays: Iterable[NameLeftBehind], profiles: pd.DataFrame) -> str:
    sent = dict(zip(profiles["site"], profiles["access_bytes"], strict=True))
    total = sum(sent.values())
    by_names = sum(
        sent.get(stray.site, 0) * stray.other.share.bytes for stray in strays if stray.other.share
    )
    return f"{by_names / total:.1%}" if total else "nothing"


def remark_on_held(held: Mapping[str, str]) -> Iterator[str]:
    for site, why in sorted(held.items()):
        yield f"{site}{HELD}{why}"


def held_in(notes: Iterable[str]) -> dict[str, str]:
    """By the notes of a plan, the sites that were not to move, with the reason."""
    parts = (note.partition(HELD) for note in notes)
    return {site: why for site, told, why in parts if told}


def remark_on_wishes(suspended: Sequence[str]) -> Iterator[str]:
    if suspended:
        order = ", ".join(ORDER)
        yield (
            "pins that cannot be kept now, in part or whole (these give way first: "
            f"{order}): {first_few(suspended)}"
        )


def remark_on_start(started: Collection[str]) -> Iterator[str]:
    if started:
        named = first_few(sorted(started))
        yield (
            f"no partition was in force, so {len(started)} sites start from where "
            f"DNS has them: {named}"
        )
