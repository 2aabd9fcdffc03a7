"""What `flex assess` found, as lines of a terminal and as the first sentence of its page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from flex.model.period import Period
from flex_api.in_words import amounts
from flex_api.in_words.text_safe_for_html import short
from flex_api.schemas.assess_output import AssessOutput

# What the ways are called.
WAYS = {
    "round robin": "round robin, every node serves every site",
    "after": "FLEX, each site on its node",
    "best": "best: all nodes as one machine",
}

# Files that were not read which are named.
MOST_NAMED = 10


def verdict(output: AssessOutput) -> str:
    """The answer in one sentence: what FLEX brings, or that it brings nothing."""
    if output.benefit is None:
        return "Nothing is predicted: these logs hold no answer with a byte to be replayed."
    return output.benefit.said


def lines(output: AssessOutput) -> Iterator[str]:
    logs = output.logs
    period = Period(output.period_start, output.period_end)
    yield (
        f"{amounts.count(output.sites, 'site')}, {amounts.count(output.requests, 'request')}, "
        f"{amounts.size(output.access_bytes)} sent, {amounts.size(output.working_set_bytes)} "
        f"of different files; {period}, {logs.read:,} of {amounts.count(logs.files, 'file')} read"
    )
    yield from _not_read(output)
    for row in output.largest[:3]:
        yield (
            f"  {short(row.site)}: {amounts.size(row.access_bytes)} sent, working set "
            f"{amounts.size(row.working_set_bytes)}"
        )
    yield ""
    yield verdict(output)
    if output.benefit and output.benefit.more:
        yield output.benefit.more
    yield f"On {amounts.count(output.nodes, 'node')} with {amounts.memory(output.ram_bytes)} each:"
    for way in output.ways:
        yield (
            f"  {amounts.share(way.miss_ratio):>6} from disk, "
            f"{way.operations_per_second:>7,.0f} requests a second   {WAYS[way.policy]}"
        )
    yield from _further_finding_lines(output)
    if output.in_the_way:
        yield ""
        yield "In the way:"
        yield from (f"  - {line}" for line in output.in_the_way)
    yield ""
    yield "Next:"
    yield from (f"  {at}. {step}" for at, step in enumerate(output.next_steps, 1))
    yield ""
    yield f"Report: {output.report} (in {amounts.span(timedelta(seconds=output.seconds))})"


def nodes_to_spare(output: AssessOutput) -> int | None:
    """None where FLEX does not help: fewer nodes would do for first readings at most."""
    if output.benefit is None or output.benefit.verdict != "helps":
        return None
    return output.nodes - output.nodes_enough


def _not_read(output: AssessOutput) -> Iterator[str]:
    """Which files, and why: whoever sees that some are missing asks for that first."""
    logs = output.logs
    for file in logs.not_read[:MOST_NAMED]:
        yield f"  not read: {file.path} ({file.why or file.outcome})"
    if logs.not_read_in_all > MOST_NAMED:
        more = logs.not_read_in_all - MOST_NAMED
        yield f"  and {more:,} more that were not read; -o json names them"


def _further_finding_lines(output: AssessOutput) -> Iterator[str]:
    memory, moves = output.memory, output.moves
    yield (
        f"Memory: round robin holds {amounts.size(memory.held_bytes)} on all nodes, "
        f"{amounts.size(memory.wasted_bytes)} of it ({amounts.share(memory.wasted_ratio)}) "
        "copies of files that another node holds too."
    )
    if moves.median is not None:
        yield (
            f"Moves: a usual night would move {amounts.count(moves.median, 'site')}, the worst "
            f"of {amounts.count(moves.nights, 'night')} {moves.most:,}."
        )
    spare = nodes_to_spare(output)
    if spare:
        yield (
            f"Nodes: with FLEX {output.nodes_enough:,} of {output.nodes:,} serve what round "
            f"robin does on all, so {spare:,} could go."
        )
    elif spare is not None:
        yield f"Nodes: FLEX, too, needs all {output.nodes:,} for what round robin serves on them."
    if output.names:
        yield (
            f"Names: DNS can move {output.names.movable:,} of {output.names.sites:,} sites, "
            f"{amounts.share(output.names.movable_requests_ratio)} of the requests."
        )
