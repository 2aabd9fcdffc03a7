"""What came out of a night, in the few lines that people get by mail, and as JSON for programs.

Takes a plan and its result. Returns a Bulletin. Does not send it: notifying.py does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from flex.errors import FlexError
from flex.model.balance import Balance
from flex.model.plan import Plan
from flex.model.retry_schedule import Attempt
from flex.planning import which_servers_agree
from flex.site_names_in_words import first_few
from flex.zones.zone_changes import DRIFT
from flex_api.in_words import amounts, grouped_moves_text, site_moves_text
from flex_api.schemas.output_base import SCHEMA_VERSION
from flex_api.schemas.site_moves import SiteMoveRow

Event = Literal["applied", "approval", "failure", "drift"]

# Lines of each list in a mail. A guess.
MOST = 12
# Characters of a mean node's bar; the longest has twice as many. Chosen by eye.
BAR = 10
# States of a move whose site did not move.
STAYED = ("stayed", "taking back")


@dataclass(frozen=True, slots=True)
class Bulletin:
    """`data` is what webhooks get."""

    event: Event
    subject: str
    text: str
    data: dict[str, object]


def night_bulletin(
    cluster: str,
    plan: Plan,
    waiting: str,
    code: int,
    address: str,
    undo: str,
    brought: Sequence[SiteMoveRow] = (),
) -> Bulletin | None:
    """None where there is nothing to tell: nobody reads the mails of a cluster that is well."""
    edited = [edit for edit in plan.said.edits if edit.since == plan.created]
    stayed = [move_row for move_row in brought if move_row.state in STAYED]
    if not (plan.moves or plan.changes or waiting or edited or stayed):
        return None
    drifted = edited or DRIFT in {breach.rule for breach in plan.breaches}
    event: Event = "drift" if drifted else "approval" if waiting else "applied"
    verdict = _verdict(plan, waiting)
    text = "\n".join(_lines(cluster, plan, waiting, address, undo, brought))
    return Bulletin(
        event,
        f"[flex {cluster}] {verdict}",
        text,
        _data(cluster, event, plan, code, address, undo) | _moved_data(brought),
    )


def failure_bulletin(cluster: str, error: FlexError, address: str) -> Bulletin:
    lines = (
        f"{cluster}: {error}",
        "",
        f"unchanged: {error.kept}",
        f"next: {error.advice}",
        *_see(address),
    )
    data: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "event": "failure",
        "cluster": cluster,
        "exit_code": error.exit_code,
        "error": error.slug,
        "result": str(error),
        "unchanged": error.kept,
        "next_step": error.advice,
    }
    return Bulletin(
        "failure", f"[flex {cluster}] FAILED ({error.exit_code}): {error}", "\n".join(lines), data
    )


def attempt_bulletin(cluster: str, tried: Attempt, error: FlexError, address: str) -> Bulletin:
    """The bulletin on a dead node that is still in DNS."""
    failure = failure_bulletin(cluster, error, address)
    subject = f"[flex {cluster}] node {tried.node} is dead and still in DNS: {error}"
    counted = f"Tried {amounts.count(tried.count, 'time')} since {amounts.when(tried.since)}"
    text = (
        f"{failure.text}\n{counted}; it is tried again until the node is out, next "
        f"at {amounts.when(tried.again)}."
    )
    return Bulletin(
        "failure", subject, text, {**failure.data, "node": tried.node, "attempts": tried.count}
    )


def worse_off_bulletin(
    cluster: str, plan: str, sites: Mapping[str, str], advice: str, address: str
) -> Bulletin:
    """The bulletin on sites that were worse off where they moved to, and what became of each."""
    moved = amounts.count(len(sites), "site")
    summary = f"{moved} worse off after a move: {first_few(sorted(sites))}"
    rows = [f"         {site}  {became}" for site, became in sorted(sites.items())]
    more = (f"         and {len(rows) - MOST:,} more",) if len(rows) > MOST else ()
    lines = (f"{cluster}: {summary}", *rows[:MOST], *more, advice, *_see(address))
    data: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "event": "failure",
        "cluster": cluster,
        "plan": plan,
        "error": "worse-off",
        "result": summary,
        "sites": dict(sites),
        "next_step": advice,
    }
    text = "\n".join(filter(None, lines))
    return Bulletin("failure", f"[flex {cluster}] {summary}", text, data)


def _verdict(plan: Plan, waiting: str) -> str:
    moved = amounts.count(len({move.site for move in plan.moves}), "site")
    if waiting:
        over = "; ".join(str(breach) for breach in plan.breaches)
        would = (
            grouped_moves_text.sentence(plan.moves, plan.base, done=False) or f"{moved} would move"
        )
        return (
            "waiting for approval: "
            f"{would}{grouped_moves_text.misses(plan.forecasts)}{f' ({over})' if over else ''}"
        )
    before = f"{amounts.share(plan.before.worst)} -> " if plan.before else ""
    did = grouped_moves_text.sentence(plan.moves, plan.base, done=True) or f"{moved} moved"
    return f"applied: {did}, worst node {before}{amounts.share(plan.after.worst)} off"


def _lines(
    cluster: str, plan: Plan, waiting: str, address: str, undo: str, brought: Sequence[SiteMoveRow]
) -> Iterator[str]:
    yield f"{cluster}, plan {plan.id} for {plan.period}"
    yield f"Result   {waiting or _verification_text(plan)}"
    yield from _balance(plan.before, plan.after)
    if plan.moves:
        left = f", {plan.later:,} more in the next nights" if plan.later else ""
        scratch = f"a fresh partition would move {plan.scratch_moves:,}"
        yield (
            f"Moves    {len(plan.moves):,}, {amounts.size(plan.cold_bytes)} cold; {scratch}{left}"
        )
    for edit in plan.said.edits[:MOST]:
        site = edit.name.rstrip(".")
        yield (f"Edited   {site} has {edit.there} in DNS by somebody else, and was left alone")
    rows = grouped_moves_text.group(plan.moves)
    for row in rows[:MOST]:
        yield f"         {row.sites}  {row.source} -> {row.target}  {row.reason}"
    if len(rows) > MOST:
        yield f"         and {len(rows) - MOST:,} more"
    yield from _lines_on_commands(brought)
    for move in plan.put_off[:MOST]:
        yield (f"Later    {move.site}  {move.source or '-'} -> {move.target or '-'}  {move.reason}")
    if len(plan.put_off) > MOST:
        yield f"         and {len(plan.put_off) - MOST:,} more"
    for stop in plan.stops:
        yield f"Stopped  {stop}"
    for note in plan.notes:
        yield f"Note     {note}"
    yield from _see(address)
    if undo and not waiting:
        yield f"Undo     flex rollback --to {undo}"


def _lines_on_commands(brought: Sequence[SiteMoveRow]) -> Iterator[str]:
    """What was run for sites of the plan: in short where it went well, by name where it did not."""
    there = [move_row for move_row in brought if move_row.state not in STAYED]
    if there:
        waits = [
            move_row.waited_seconds for move_row in there if move_row.waited_seconds is not None
        ]
        longest = timedelta(seconds=max(waits, default=0.0))
        waited = f"; requests waited {amounts.span(longest)} at most" if waits else ""
        yield f"Brought  {amounts.count(len(there), 'site')} to new nodes{waited}"
    stayed = [move_row for move_row in brought if move_row.state in STAYED]
    for move_row in stayed[:MOST]:
        yield f"Stayed   {move_row.site} on {move_row.source}: {site_moves_text.why(move_row)}"
    if len(stayed) > MOST:
        yield f"         and {len(stayed) - MOST:,} more: flex moves --state stayed"


def _moved_data(brought: Sequence[SiteMoveRow]) -> dict[str, object]:
    stayed = [move_row for move_row in brought if move_row.state in STAYED]
    return {
        "brought": len(brought) - len(stayed),
        "stayed": [
            {"site": move_row.site, "node": move_row.source, "reason": move_row.reason}
            for move_row in stayed
        ],
    }


def _verification_text(plan: Plan) -> str:
    agreement = which_servers_agree.servers(plan.verdicts)
    checked = (
        f"; {agreement.agreeing} of {amounts.count(agreement.asked, 'name server')} agree"
        if agreement.asked
        else ""
    )
    until = (
        f"; old answers live until {plan.old_answers_until:%H:%M} UTC"
        if plan.old_answers_until
        else ""
    )
    return f"{plan.state}{checked}{until}"


def _balance(before: Balance | None, after: Balance) -> Iterator[str]:
    """The nodes that were or are farthest from their fair share of the bytes."""
    then = {load.node: load for load in before.nodes} if before else {}
    rows = sorted(after.nodes, key=lambda load: -abs(load.access - load.fair))
    for row in rows[:MOST]:
        was = then.get(row.node)
        earlier = (
            f"{amounts.signed_share(was.access / was.fair - 1)} -> " if was and was.fair else ""
        )
        now = amounts.signed_share(row.access / row.fair - 1) if row.fair else "out of service"
        bar = "#" * min(round(BAR * row.access / 100), 2 * BAR)
        yield f"Balance  {row.node:<12} {bar:<{2 * BAR}} {earlier}{now}"


def _see(address: str) -> Sequence[str]:
    return (f"Why      {address}",) if address else ()


def _data(
    cluster: str, event: Event, plan: Plan, code: int, address: str, undo: str
) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "event": event,
        "cluster": cluster,
        "plan": plan.id,
        "result": plan.state,
        "exit_code": code,
        "moves": len(plan.moves),
        "moves_later": plan.later,
        "stops": [
            {
                "rule": broken.rule,
                "limit": broken.limit,
                "actual": broken.actual,
                "said": broken.said,
            }
            for broken in plan.stops
        ],
        "imbalance": {
            "before": plan.before.worst if plan.before else None,
            "after": plan.after.worst,
        },
        "breaches": [
            {"rule": broken.rule, "limit": broken.limit, "actual": broken.actual}
            for broken in plan.breaches
        ],
        "plan_url": address,
        "rollback": f"flex rollback --to {undo}" if undo and not code else "",
    }
