"""What `flex onboard` found, in lines for people.

Takes the output. Returns lines. With `every`, each site has a line; else each reason has one.
"""

from __future__ import annotations

from collections.abc import Iterator

from flex.site_names_in_words import first_few
from flex_api.in_words import amounts
from flex_api.schemas.onboard_output import OnboardedSite, OnboardOutput

WAYS = {"dns": "DNS can move", "doors": "only doors can move", "nothing": "nothing can move"}
# Reasons that are named, those of most sites first.
MOST_REASONS = 12
# Files that were not read which are named.
MOST_FILES = 5


def lines(found: OnboardOutput, *, every: bool = False) -> Iterator[str]:
    yield ""
    yield "Nodes"
    for node in found.nodes:
        sites = f", {amounts.count(node.sites, 'site')} lead there" if node.sites else ""
        yield f"  {node.name}  {', '.join(node.addresses)}{sites}"
    zones = amounts.count(len(found.zones), "zone")
    primary = f"{zones} on {found.primary}" if found.primary else "none named"
    yield f"DNS    {primary}"
    yield f"Logs   {amounts.count(found.log_files, 'file')}"
    for way, words in WAYS.items():
        yield from _of_way([one for one in found.sites if one.way == way], words, every)
    yield from _not_read(found)
    for remark in found.remarks:
        yield f"look at this: {remark}"
    yield ""
    if not found.written:
        yield "Nothing was written: this was a dry run."
        return
    for path in found.written:
        yield f"wrote {path}"
    yield "Next, plans on paper; nothing is written to DNS:"
    for command in found.next:
        yield f"  {command}"


def _of_way(sites: list[OnboardedSite], words: str, every: bool) -> Iterator[str]:
    yield ""
    yield f"{amounts.count(len(sites), 'site')} {words}"
    if every:
        for one in sites:
            yield f"  {one.site}{f': {one.why}' if one.why else ''}"
        return
    reasons: dict[str, list[str]] = {}
    for one in sites:
        reasons.setdefault(one.why, []).append(one.site)
    ordered = sorted(reasons.items(), key=lambda pair: -len(pair[1]))
    for why, names in ordered[:MOST_REASONS]:
        yield f"  {first_few(names, 3)}{f': {why}' if why else ''}"
    if len(ordered) > MOST_REASONS:
        rest = sum(len(names) for _, names in ordered[MOST_REASONS:])
        yield f"  and {rest:,} more for other reasons; --every-site names each"


def _not_read(found: OnboardOutput) -> Iterator[str]:
    if not found.not_read_in_all:
        return
    yield ""
    yield f"{amounts.count(found.not_read_in_all, 'file')} not read"
    for one in found.not_read[:MOST_FILES]:
        yield f"  {one.path}: {one.why}"
    if found.not_read_in_all > MOST_FILES:
        yield f"  and {found.not_read_in_all - MOST_FILES:,} more"
