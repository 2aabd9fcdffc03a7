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


def lines(output: OnboardOutput, *, every: bool = False) -> Iterator[str]:
    yield ""
    yield "Nodes"
    for node in output.nodes:
        sites = f", {amounts.count(node.sites, 'site')} lead there" if node.sites else ""
        yield f"  {node.name}  {', '.join(node.addresses)}{sites}"
    zones = amounts.count(len(output.zones), "zone")
    primary = f"{zones} on {output.primary}" if output.primary else "none named"
    yield f"DNS    {primary}"
    yield f"Logs   {amounts.count(output.log_files, 'file')}"
    for way, words in WAYS.items():
        yield from _describe_way([site for site in output.sites if site.way == way], words, every)
    yield from _not_read(output)
    for remark in output.remarks:
        yield f"look at this: {remark}"
    yield ""
    if not output.written:
        yield "Nothing was written: this was a dry run."
        return
    for path in output.written:
        yield f"wrote {path}"
    yield "Next, plans on paper; nothing is written to DNS:"
    for command in output.next:
        yield f"  {command}"


def _describe_way(sites: list[OnboardedSite], words: str, every: bool) -> Iterator[str]:
    yield ""
    yield f"{amounts.count(len(sites), 'site')} {words}"
    if every:
        for site in sites:
            yield f"  {site.site}{f': {site.why}' if site.why else ''}"
        return
    reasons: dict[str, list[str]] = {}
    for site in sites:
        reasons.setdefault(site.why, []).append(site.site)
    ordered = sorted(reasons.items(), key=lambda pair: -len(pair[1]))
    for why, names in ordered[:MOST_REASONS]:
        yield f"  {first_few(names, 3)}{f': {why}' if why else ''}"
    if len(ordered) > MOST_REASONS:
        rest = sum(len(names) for _, names in ordered[MOST_REASONS:])
        yield f"  and {rest:,} more for other reasons; --every-site names each"


def _not_read(output: OnboardOutput) -> Iterator[str]:
    if not output.not_read_in_all:
        return
    yield ""
    yield f"{amounts.count(output.not_read_in_all, 'file')} not read"
    for file in output.not_read[:MOST_FILES]:
        yield f"  {file.path}: {file.why}"
    if output.not_read_in_all > MOST_FILES:
        yield f"  and {output.not_read_in_all - MOST_FILES:,} more"
