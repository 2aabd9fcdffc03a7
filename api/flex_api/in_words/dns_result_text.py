"""The result of a plan in words: how much of DNS it changed, and what each name server says of it.

Takes the output model of a plan. Returns lines; none for a plan that waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from flex_api.in_words import amounts
from flex_api.schemas.plan_parts import VerdictRow
from flex_api.schemas.verbs_output import PlanOutput, ZoneRow

# Zones in which a server does not agree, of each that are named.
MOST_ZONES = 5
# What is less is no time that a person sees.
AT_ONCE = 0.05


def lines(output: PlanOutput) -> Iterator[str]:
    if output.state == "applied" and output.settled:
        since = max(output.settled, output.made or output.created)
        yield f"Put in force {amounts.when(since)}: {changes_text(output)}."
        for server in dict.fromkeys(row.server for row in output.verdicts):
            yield from _server_lines([row for row in output.verdicts if row.server == server])
    elif output.state == "applying":
        yield (
            "Half applied, or being applied: `flex apply --resume` finishes it, "
            "`flex apply --undo` takes it back."
        )
    elif output.state == "failed" and output.message:
        yield f"Not applied as planned: {output.message}."


def changes_text(output: PlanOutput) -> str:
    """33 record sets in 2 zones changed."""
    if output.message:
        return f"{output.message}, nothing was sent"
    if not output.zones:
        # As where doors alone lead to all sites.
        return "no zone is FLEX's to change, nothing was sent"
    number = [record_count for record_count in map(_record_sets, output.zones) if record_count]
    if not number:
        return "DNS said all of it before, nothing was sent"
    return (
        f"{amounts.count(sum(number), 'record set')} in "
        f"{amounts.count(len(number), 'zone')} changed"
    )


def _record_sets(zone: ZoneRow) -> int:
    """A line is `- NAME TTL TYPE VALUES`. A record set that is replaced has two lines."""
    record_sets = set()
    for line in zone.changes:
        _sign, name, _ttl, kind, *_ = line.split(" ", 4)
        record_sets.add((name, kind))
    return len(record_sets)


def _server_lines(rows: Sequence[VerdictRow]) -> Iterator[str]:
    """One line where it agrees in every zone; else where it does not."""
    server, wrong = rows[0].server, [row for row in rows if not row.agrees]
    if not wrong:
        serial = (
            f", serial {rows[0].serial}" if len(rows) == 1 and rows[0].serial is not None else ""
        )
        checked = (
            f"{amounts.count(sum(row.checked for row in rows), 'record set')} in "
            f"{amounts.count(len(rows), 'zone')}"
        )
        yield (
            f"  {server} agrees {lag_text(max(row.lag_seconds for row in rows))} "
            f"({checked} checked{serial})"
        )
    for row in wrong[:MOST_ZONES]:
        yield (
            f"  {server} does not agree yet, {row.zone}: "
            f"{row.error or f'{len(row.wrong)} lines differ'}"
        )
    if len(wrong) > MOST_ZONES:
        yield (
            f"  {server} does not agree yet in "
            f"{amounts.count(len(wrong) - MOST_ZONES, 'more zone')}"
        )


def lag_text(lag: float) -> str:
    return "at once" if lag < AT_ONCE else f"after {amounts.span(timedelta(seconds=lag))}"
