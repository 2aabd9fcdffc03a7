"""What keeps FLEX from bringing more, and what of the answer is not sure, in sentences.

Takes what was counted and weighed. Returns sentences, what weighs most first. Says only what the
figures show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flex.model.nodes import Node
from flex.model.predicted_node_loads import Forecast
from flex.site_names_in_words import first_few
from flex_api.assessing.count_logs import BY_DIRECTORY, BY_NAME, Counted, cut_files, failed_files
from flex_api.assessing.weigh_ways_to_serve import TOLERANCE, Weighed
from flex_api.in_words import amounts
from flex_api.in_words.text_safe_for_html import short
from flex_api.schemas.assess_output import AssessedNames

# Shares of lines or requests that are worth a word. A guess.
WORTH_A_WORD = 0.02
# How often a file is asked for on the mean, below which most misses are first visits. A guess.
SELDOM = 3.0


def find_obstacles(
    counted: Counted, weighed: Weighed, nodes: Sequence[Node], names: AssessedNames | None
) -> Iterator[str]:
    yield from _remark_on_files(weighed)
    yield from _remark_on_sites(counted, weighed, nodes)
    if names and names.movable < names.sites:
        stuck = names.sites - names.movable
        reasons = sorted(names.why_not.items(), key=lambda pair: (-pair[1], pair[0]))
        why = "; ".join(f"{reason}: {number:,}" for reason, number in reasons)
        yield f"DNS cannot move {stuck:,} of {amounts.count(names.sites, 'site')} ({why})"
    yield from _remark_on_logs(counted, weighed)


def _remark_on_files(weighed: Weighed) -> Iterator[str]:
    requests = _requests(weighed.forecasts[1])
    targets = int(weighed.needs.profiles["targets"].sum())
    if targets and requests / targets < SELDOM:
        yield (
            f"each file was asked for {requests / targets:.1f} times on the mean: most "
            "misses are first visits, which nobody can spare"
        )


def _requests(forecast: Forecast) -> int:
    return sum(node.requests for node in forecast.nodes)


def _remark_on_sites(counted: Counted, weighed: Weighed, nodes: Sequence[Node]) -> Iterator[str]:
    sites = len(weighed.asked.sites)
    if BY_DIRECTORY in counted.sites_by:
        yield (
            "the logs name no hosts, so first directories stand for sites: DNS cannot "
            "move these; have the server write the host (Apache: vhost_combined)"
        )
    if BY_NAME in counted.sites_by:
        yield "sites are told apart by the names of their logs, as lines name no host"
    if sites < len(nodes):
        yield (
            f"there {'is' if sites == 1 else 'are'} {amounts.count(sites, 'site')} for "
            f"{amounts.count(len(nodes), 'node')}: FLEX places whole sites"
        )
    copies = weighed.partition.groupby("site", observed=True).size()
    large = sorted(copies[copies > 1].index.astype(str))
    if large and sites > 1:
        yield (
            f"{amounts.count(len(large), 'site')} "
            f"({first_few([short(site) for site in large], 3)}) "
            f"{'is' if len(large) == 1 else 'are'} too large for one node and "
            f"{'goes' if len(large) == 1 else 'go'} on several"
        )
    if weighed.worst > TOLERANCE:
        yield (
            f"no balanced partition was found: the worst node is {amounts.share(weighed.worst)} "
            f"off its fair share, the aim is {amounts.share(TOLERANCE)}"
        )


def _remark_on_logs(counted: Counted, weighed: Weighed) -> Iterator[str]:
    requests = int(weighed.needs.profiles["requests"].sum())
    unknown = weighed.needs.unknown_requests
    if unknown > WORTH_A_WORD * (requests + unknown):
        yield (
            f"{amounts.share(unknown / (requests + unknown))} of the requests were for names "
            "that no host can have, such as bare addresses; they are left out"
        )
    lines: dict[str, int] = {}
    for report in counted.reports:
        for kind, number in report.lines:
            lines[kind] = lines.get(kind, 0) + number
    bad, every = lines.get("malformed", 0), sum(lines.values())
    if bad > WORTH_A_WORD * every:
        yield f"{amounts.share(bad / every)} of the lines are not of their log's format"
    if missing := failed_files(counted.reports):
        yield (
            f"{amounts.count(len(missing), 'file')} could not be read, such as "
            f"{short(missing[0].path)}: {missing[0].note or missing[0].outcome}"
        )
    if cut := cut_files(counted.reports):
        yield (
            f"of {amounts.count(len(cut), 'file')} only a part was read, as the time was over: "
            f"{first_few([short(cut_report.path) for cut_report in cut], 3)}; --seconds gives more"
        )
    if counted.left:
        yield f"there was no time for {amounts.count(counted.left, 'older file')}"
    if not weighed.moves:
        yield "how many sites a night would move cannot be said: that takes logs of two days"
