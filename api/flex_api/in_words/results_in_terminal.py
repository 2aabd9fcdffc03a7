"""Results for people in a terminal. Takes output models and writes lines on a console."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flex.planning.outdated_plans import WAITING
from flex.site_names_in_words import first_few, first_of_files
from flex_api.in_words import (
    amounts,
    dead_nodes_text,
    forecast_text,
    grouped_moves_text,
    held_back_moves_text,
    names_of_sites_text,
    not_ready_text,
)
from flex_api.in_words import dns_result_text as outcome
from flex_api.in_words.terminal_tables import grid
from flex_api.schemas.log_verbs_output import (
    DataOutput,
    ImportOutput,
    IngestOutput,
    LogRow,
    RateRow,
)
from flex_api.schemas.nodes_and_jobs import HoldersOutput, NodesOutput
from flex_api.schemas.plan_parts import BalanceOutput, LoadRow, VerdictRow
from flex_api.schemas.sites_and_wishes import SiteRow, SitesOutput
from flex_api.schemas.verbs_output import (
    CheckRow,
    NodeStatus,
    PlanOutput,
    PlansOutput,
    ProofOutput,
    RunRow,
    RunsOutput,
    StatusOutput,
    UnknownOutput,
    VerifyOutput,
)

# Characters on each side of a node's fair share, of which one stands for a per cent. Chosen by eye.
SIDE = 12
# Characters of what a run said, where it is not wanted whole. A guess.
SAID = 60
# Malformed lines that are shown for each reason. A guess.
SAMPLES = 3
# Other names of sites, a line each.
MOST_NAMES = 20
# Sites that stay at a dead node, as many are named; JSON has all. A guess.
MOST_STAYING = 20
# Up to so many files, each has its row.
FEW_FILES = 10
# Rows of files that somebody should look at.
MOST_FILES = 50
# The share of malformed lines from which on a file is one of these: half of profile.max_malformed,
# as it is by default.
MALFORMED = 0.01
NOTHING = ("nothing new", "copy", "empty")


def plan(console: Console, output: PlanOutput, *, diff: bool = False) -> None:
    """Whether FLEX helps and the verdict first, then what moves and why, then what it does to the
    nodes; what became of it last.
    """
    if output.benefit:
        console.print(f"{output.benefit.said} {output.benefit.more}".rstrip())
    console.print(headline(output))
    if output.message and output.state not in ("applied", "failed"):
        console.print(f"  {output.message}")
    for note in output.notes:
        console.print(f"  note: {note}")
    for stop in held_back_moves_text.lines(
        output, ways=output.state in WAITING or not output.moves
    ):
        console.print(f"  stopped: {stop}")
    if output.breaches:
        console.print(
            f"  over {'a limit' if len(output.breaches) == 1 else 'limits'}: "
            f"{held_back_moves_text.breaches_text(output)}"
        )
    if output.moves:
        console.print()
        console.print(grouped_moves_text.table(output.moves))
    if output.put_off:
        console.print()
        console.print(f"Left to later nights: {amounts.count(len(output.put_off), 'move')}.")
        console.print(grouped_moves_text.table(output.put_off))
    if output.not_ready:
        console.print()
        for line in not_ready_text.lines(output.not_ready):
            console.print(line)
    console.print()
    console.print(loads(output.before, output.after))
    console.print()
    forecast_text.show(console, output)
    if diff:
        dns(console, output)
    for number, line in enumerate(outcome.lines(output)):
        console.print(line if number else f"\n{line}")


def countdown(until: datetime, now: datetime, *, is_failover: bool = False) -> str:
    """For how long old nodes have to serve; a dead node serves nobody."""
    if until <= now:
        return (
            f"Since {amounts.when(until)} no resolver has an old answer any more, "
            "except those that keep answers too long."
        )
    left = amounts.span(until - now)
    meanwhile = (
        "who asks one of them is sent to the dead node until then."
        if is_failover
        else "old nodes must serve until then."
    )
    return f"Resolvers may hold old answers for {left}, until {until:%H:%M:%S} UTC: {meanwhile}"


def headline(output: PlanOutput) -> str:
    """One sentence: how many sites move, whether fewer would have done, and what a fresh partition
    would have moved.
    """
    return f"Plan {output.id}: {summary(output)}."


def summary(output: PlanOutput) -> str:
    """The same without the plan's name."""
    worst = f"worst node {amounts.share(output.after.worst_ratio)} off its fair share"
    if not output.moves:
        changes = sum(line.startswith("+") for zone in output.zones for line in zone.changes)
        rewritten = (
            f" though {amounts.count(changes, 'record set')} would change" if changes else ""
        )
        return f"nothing moves{rewritten}; {worst}{', as before' if output.before else ''}"
    was = f" (was {amounts.share(output.before.worst_ratio)})" if output.before else ""
    return f"{moves_text(output)}{grouped_moves_text.misses(output.forecasts)}; {worst}{was}"


def moves_text(output: PlanOutput) -> str:
    """7 of 100 sites move (at least 6 must; a partition from scratch would move 71); moved, once
    they have.
    """
    if not output.before:
        return f"{amounts.count(output.sites, 'site')} placed for the first time"
    if only := grouped_moves_text.sentence(
        output.moves, output.base, done=output.state == "applied"
    ):
        return only
    placed = [move for move in output.moves if move.target]
    sites = len({move.site for move in placed})
    rows = len(placed)
    taken = len(output.moves) - len(placed)
    scratch = f"a partition from scratch would move {output.moves_from_scratch:,}"
    which = f"{sites:,} of {amounts.count(output.sites, 'site')}"
    # What is counted beside it are rows: a site on several nodes may move more than once.
    what = which if rows == sites else f"{rows:,} replicas of {which}"
    taken_away = f"; {amounts.count(taken, 'replica')} given up" if taken else ""
    return (
        f"{what} {move(output)} ({'; '.join(filter(None, (least(output), scratch)))}){taken_away}"
    )


def move(output: PlanOutput) -> str:
    """Sites move, or have moved."""
    return "moved" if output.state == "applied" else "move"


def least(output: PlanOutput) -> str:
    """Nothing where no balanced partition was found: then no number of moves is known to be
    needed. What no certificate shows is a claim.
    """
    claim = "" if is_certified(output) else ", as the solver claims"
    if output.proven_least:
        return "fewest possible, as the solver claims" if claim else "proven least"
    if not output.moves_at_least:
        return ""
    return f"at least {output.moves_at_least:,} must{claim}"


def proof(console: Console, output: ProofOutput) -> None:
    """What the proof shows, and what the solver claims beyond it."""
    at_least = f"no balanced partition has fewer than {output.moves_at_least:,}"
    least = ": that is proven least" if output.proven_least else ""
    console.print(
        f"The proof of plan {output.plan} holds: it moves {output.moves:,}, and {at_least}{least}."
    )
    if output.claimed_least and not output.proven_least:
        console.print("The solver claims that no partition moves less: of that there is no proof.")
    elif output.claimed_at_least > output.moves_at_least:
        console.print(
            f"The solver claims that {output.claimed_at_least:,} are needed: of that there is "
            "no proof."
        )


def is_certified(output: PlanOutput) -> bool:
    """Whether a certificate shows that so many moves are needed."""
    return output.certified_at_least >= output.moves_at_least


def _pin(row: SiteRow) -> str:
    """In few words: n1, n2 x2 not n3 with b.example apart c.example."""
    begins = f"(from {amounts.when(row.pin_since)} on)" if row.pin_since else ""
    named = {"not": row.not_on, "with": row.together, "apart": row.apart}
    least = f"x{row.min_replicas}" if row.min_replicas > 1 else ""
    most = f"at most {row.max_replicas}" if row.max_replicas else ""
    others = [f"{word} {', '.join(names)}" for word, names in named.items() if names]
    return " ".join(filter(None, [", ".join(row.pinned_to), least, most, *others, begins]))


def loads(before: BalanceOutput | None, after: BalanceOutput) -> Table:
    """Per node, how far each resource is from the node's fair share, before and after."""
    others = [name for row in after.nodes[:1] for name in row.others_units]
    more = [column for name in others for column in (f"{name} was>", "is>")]
    table = grid(
        "node", "sites>", "access rate", "was>", "is>", "working set", "was>", "is>", *more
    )
    earlier = {row.node: row for row in before.nodes} if before else {}
    for row in after.nodes:
        old = earlier.get(row.node)
        table.add_row(
            row.node,
            str(row.sites),
            _bar(row.access_units, row.fair_units),
            _deviation_text(old.access_units, old.fair_units) if old else "",
            _deviation_text(row.access_units, row.fair_units),
            _bar(row.working_set_units, row.fair_units),
            _deviation_text(old.working_set_units, old.fair_units) if old else "",
            _deviation_text(row.working_set_units, row.fair_units),
            *(cell for name in others for cell in _other_load_cells(name, old, row)),
        )
    return table


def _other_load_cells(name: str, before: LoadRow | None, after: LoadRow) -> tuple[str, str]:
    """The load in a further dimension that is balanced. Plans of earlier settings may lack it."""
    known = before is not None and name in before.others_units
    was = _deviation_text(before.others_units[name], before.fair_units) if before and known else ""
    return was, _deviation_text(after.others_units[name], after.fair_units)


def _deviation_text(units: float, fair: float) -> str:
    """+15 %; nothing to compare with on a node that takes no sites."""
    return amounts.signed_share(units / fair - 1) if fair else "-"


def _bar(units: float, fair: float) -> Text:
    """How far it is from the fair share; nothing on a node that takes no sites."""
    off = max(-SIDE, min(SIDE, round(100 * (units / fair - 1)))) if fair else 0
    return Text(f"{'-' * -off:>{SIDE}}|{'+' * off:<{SIDE}}")


def dns(console: Console, output: PlanOutput) -> None:
    for zone in output.zones:
        console.print(f"\n; zone {zone.zone}")
        for line in zone.changes:
            console.print(line, style="red" if line.startswith("-") else "green")


def plans(console: Console, output: PlansOutput) -> None:
    table = grid("plan", "state", "moves>", "from scratch>", "worst node>")
    for row in output.items:
        old = ", outdated" if row.outdated else ", expired" if row.expired else ""
        table.add_row(
            row.id,
            f"{row.state}{old}",
            str(row.moves),
            str(row.scratch_moves),
            amounts.share(row.worst_ratio),
        )
    console.print(table if output.items else "No plan yet: `flex plan` makes one.")


def sites(console: Console, output: SitesOutput) -> None:
    table = grid(
        "site", "nodes", "bytes sent>", "working set>", "requests>", "once only>", "names>", "pin"
    )
    for row in output.items:
        once = amounts.share(row.one_timers / row.targets) if row.targets else "-"
        pin = _pin(row)
        sizes = amounts.size(row.access_bytes), amounts.size(row.working_set_bytes)
        table.add_row(
            row.site,
            ", ".join(row.nodes) or "-",
            *sizes,
            f"{row.requests:,}",
            once,
            names_of_sites_text.count(row),
            pin,
        )
    console.print(table if output.items else "No site yet: `flex ingest` reads the logs.")
    if stay := [row.site for row in output.items if row.stays_for]:
        what = "1 site stays" if len(stay) == 1 else f"{len(stay):,} sites stay"
        where = (
            "it is, for what leans on its name"
            if len(stay) == 1
            else "they are, for what leans on their names"
        )
        console.print(
            f"{what} where {where}: "
            f"{first_few(stay)}. `flex explain SITE` says what, `flex doctor` what to do."
        )

    if unknown := next((row.names_not_known for row in output.items), ""):
        console.print(f"Other names of sites are not known: {unknown}.")


def site(console: Console, output: SitesOutput) -> None:
    """One of them, with all of its names."""
    told = [row.model_copy(update={"names_not_known": ""}) for row in output.items]
    sites(console, output.model_copy(update={"items": told}))
    for row in output.items:
        names_of_sites_text.names(console, row)


def unknown_hosts(console: Console, output: UnknownOutput) -> None:
    requests = f"{amounts.count(output.requests, 'request')} ({amounts.size(output.bytes)})"
    console.print(
        f"{requests} since {output.since:%Y-%m-%d} for no site of ours, counted as (unknown)."
    )
    if output.items:
        table = grid("asked for", "requests at least>")
        for row in output.items:
            table.add_row(row.name, f"{row.requests_at_least:,}")
        console.print(table)
        advice = (
            "Add those that are yours to ingest.sites_file, or to [ingest.aliases] as "
            "another name of a site."
        )
        console.print(advice)
    names_of_sites_text.proposals(console, output.proposals)


def nodes(console: Console, output: NodesOutput) -> None:
    resources = ("sent, % of a mean node>", "files, % of a mean node>")
    table = grid("node", "state", "addresses", "RAM>", "capacity>", "sites>", *resources)
    for row in output.items:
        units = [
            "-" if value is None else f"{value:.0f} %"
            for value in (row.access_units, row.working_set_units)
        ]
        ram, capacity = amounts.memory(row.ram_bytes), f"{row.capacity_ratio:g}"
        table.add_row(
            row.node, row.state, ", ".join(row.addresses), ram, capacity, str(row.sites), *units
        )
    console.print(table)
    for still in output.dead:
        console.print(f"  {dead_nodes_text.sentence(still)}")
    for note in output.notes:
        console.print(f"  note: {note}")
    for name in output.left:
        console.print(f"  leads to the dead node still: {name.name} ({name.reason})")
    for site in output.staying[:MOST_STAYING]:
        console.print(
            f"  stays at the dead node, nobody answers for it: {site.site} ({site.reason})"
        )
    if len(output.staying) > MOST_STAYING:
        console.print(f"  and {len(output.staying) - MOST_STAYING:,} more that stay")
    if output.staying:
        console.print(
            "  they are served again once the node is back; `flex nodes down NODE "
            "--without-content` gives them to other nodes all the same"
        )


def holders(console: Console, output: HoldersOutput) -> None:
    table = grid("zone", "controller", "")
    for row in output.items:
        table.add_row(row.zone, row.controller or "nobody yet", "this one" if row.ours else "")
    console.print(table)


def ingest(console: Console, output: IngestOutput, *, every: bool = False) -> None:
    """Files that somebody should look at, and the others where they are few; those with nothing new
    are a number.
    """
    table = grid("file", "format", "new>", "lines>", "bad>", "outcome")
    told = [row for row in output.files if row.outcome not in NOTHING]
    quiet = len(output.files) - len(told)
    well = 0
    if not every and len(told) > FEW_FILES:
        ill = [row for row in told if _needs_a_look(row)]
        well = len(told) - len(ill)
        told = ill
    shown = told if every else _one_of_each_reason(told)[:MOST_FILES]
    alike = Counter(row.outcome for row in told)
    reached = sum(alike[row.outcome] if _says_why(row) else 1 for row in shown)
    more = 0 if every else len(told) - reached
    for row in shown:
        others = alike[row.outcome] - 1 if _says_why(row) and not every else 0
        bad = row.lines.get("malformed", 0)
        total = sum(row.lines.values())
        table.add_row(
            f"{row.path} and {others:,} more" if others else row.path,
            row.format,
            amounts.size(row.new_bytes),
            f"{total:,}",
            str(bad or ""),
            row.outcome,
        )
    if shown:
        console.print(table)
    if more:
        console.print(f"{amounts.count(more, 'file')} more to look at: --verbose shows each.")
    if well:
        console.print(f"{amounts.count(well, 'file')} read; --verbose shows each.")
    if quiet:
        copies = sum(row.outcome == "copy" for row in output.files)
        which = f", {copies:,} of them copies of others" if copies else ""
        console.print(f"{amounts.count(quiet, 'file')} with nothing new{which}.")
    for rate in output.sources:
        if rate.lines:
            console.print(_rate(rate))
    begun = [row.first_line for row in output.files if row.first_line]
    ended = [row.last_line for row in output.files if row.last_line]
    for line in output.no_cpu[:MOST_FILES]:
        console.print(f"no processor time of {line}", markup=False)
    times = (min(begun), max(ended)) if begun and ended else None
    console.print(lines(output.lines, times))
    bad_lines(console, output)
    if output.next_step:
        console.print(f"Next: `{output.next_step}`")


def _one_of_each_reason(rows: Sequence[LogRow]) -> list[LogRow]:
    """Files that could not be read for one reason are told together."""
    first: dict[str, LogRow] = {}
    for row in rows:
        first.setdefault(row.outcome if _says_why(row) else f"{row.source} {row.path}", row)
    return list(first.values())


def _says_why(row: LogRow) -> bool:
    """Only of a file of which nothing was counted."""
    return ": " in row.outcome and not any(row.lines.values())


def _needs_a_look(row: LogRow) -> bool:
    """It was not read as it should be, or more of it is malformed than a robot now and then
    sends.
    """
    return row.outcome != "read" or row.lines.get("malformed", 0) > MALFORMED * sum(
        row.lines.values()
    )


def _rate(row: RateRow) -> str:
    speed = f"{amounts.size(row.bytes_per_second)}/s, {row.lines_per_second:,.0f} lines/s"
    return (
        f"{row.source}: {amounts.size(row.new_bytes)} in "
        f"{amounts.span(timedelta(seconds=row.seconds))}, {speed}."
    )


def bad_lines(console: Console, output: IngestOutput) -> None:
    """How many of each reason, and the first of each that can be looked up in its log."""
    for reason, number in output.bad_lines.items():
        console.print(f"{amounts.count(number, 'malformed line')}: {reason}")
        samples = [
            (row.path, bad)
            for row in output.files
            for bad in row.bad_samples
            if bad.reason == reason
        ]
        for path, bad in samples[:SAMPLES]:
            console.print(f"  {path}, byte {bad.offset}: {bad.text}")
    if output.invalid:
        left = f", {output.invalid.left_out:,} more did not fit" if output.invalid.left_out else ""
        console.print(
            f"{amounts.count(output.invalid.written, 'line')} in {output.invalid.path}{left}."
        )
    if output.parcels:
        parcels = amounts.count(output.parcels.parcels, "parcel")
        console.print(
            f"{parcels} to ship in {output.parcels.directory}, "
            f"{amounts.size(output.parcels.bytes)}."
        )


def arrivals(console: Console, output: ImportOutput) -> None:
    """Only parcels there is something to say about; those that were taken before are a number."""
    table = grid("parcel", "of", "size>", "log>", "lines>", "outcome")
    told = [row for row in output.parcels if row.outcome != "known"]
    for row in told:
        sizes = amounts.size(row.parcel_bytes), amounts.size(row.log_bytes)
        outcome = f"{row.outcome}: {row.note}" if row.note else row.outcome
        table.add_row(row.path, f"{row.source} {row.log}", *sizes, f"{row.lines:,}", outcome)
    if told:
        console.print(table)
    if known := len(output.parcels) - len(told):
        console.print(f"{amounts.count(known, 'parcel')} taken before.")
    console.print(
        f"{amounts.count(output.taken, 'parcel')} taken, {amounts.count(output.lines, 'line')}."
    )
    for missing in output.missing:
        byte = missing.before_byte
        which = (
            f"a parcel of {missing.log} before byte {byte:,}"
            if byte
            else f"a parcel made before that of {missing.log}"
        )
        where = f"{missing.source}: {which}"
        console.print(f"{where} has not arrived; send it again from DIR/out where it was made")


def data(console: Console, output: DataOutput) -> None:
    """A row for each source; what is wrong is said of the node, where it decides."""
    console.print(
        f"Logs as a plan for {output.period_start:%Y-%m-%d} to "
        f"{output.period_end:%Y-%m-%d} judges them."
    )
    table = grid("source", "node", "last line", "hours>", "lines>", "malformed>", "state")
    for row in output.sources:
        last = amounts.when(row.last_line) if row.last_line else "-"
        hours = f"{row.hours_heard} of {row.hours_expected}" if row.hours_expected else "-"
        bad = ", ".join(f"{number:,} {reason}" for reason, number in row.bad_lines.items())
        table.add_row(
            row.name,
            row.node,
            last,
            hours,
            f"{sum(row.lines.values()):,}",
            bad,
            Text("silent")
            if row.state == "ok" and not any(row.lines.values())
            else _state(row.state),
        )
    console.print(table)
    told = output.nodes + [row for row in output.sources if row.name != row.node]
    for row in told:
        for finding in row.findings:
            limit = f"{finding.actual}, the limit is {finding.limit} ({finding.rule})"
            console.print(f"{finding.state}: {row.name}: {finding.said}: {limit}")
    for row in output.sources:
        for line in row.bad_samples:
            text = line.text if line.text.strip() else "an empty line"
            reason = line.reason.replace("_", " ")
            console.print(
                f"  {row.name}: {line.path}, byte {line.offset:,}: {reason}: {text}", markup=False
            )
    unread: dict[tuple[str, str], list[str]] = {}
    for file in output.unread:
        text = "; ".join(filter(None, (file.outcome, file.note, file.next_step)))
        unread.setdefault((file.source, text), []).append(file.path)
    for (source, text), paths in unread.items():
        console.print(f"not read: {source}: {first_of_files(paths)}: {text}")


def _state(state: str) -> Text:
    return Text(state, style={"ok": "green", "warn": "yellow", "bad": "red"}[state])


def lines(by_class: dict[str, int], times: tuple[datetime, datetime] | None = None) -> str:
    total = sum(by_class.values())
    parts = ", ".join(
        f"{number:,} {name.replace('_', ' ')}" for name, number in by_class.items() if number
    )
    of = f", from {amounts.when(times[0])} to {amounts.when(times[1])}" if times and total else ""
    return f"{amounts.count(total, 'new line')}{of}{': ' + parts if parts else ''}."


def verdicts(console: Console, rows: Sequence[VerdictRow]) -> None:
    for row in rows:
        after = (
            f" after {amounts.span(timedelta(seconds=row.lag_seconds))}" if row.lag_seconds else ""
        )
        agreed = f"agrees{after}" if row.checked else "nothing to check"
        state = agreed if row.agrees else row.error or f"{len(row.wrong)} lines differ"
        serial = f", serial {row.serial}" if row.serial is not None else ""
        where = f"{row.server}, {row.zone}" if row.zone else row.server
        console.print(
            f"{where}: {state} ({amounts.count(row.checked, 'record set')} checked{serial})"
        )
        if row.next_step:
            console.print(f"  {row.next_step}")
        for line in row.wrong:
            console.print(f"  {line}")


def show_verification(console: Console, output: VerifyOutput) -> None:
    verdicts(console, output.servers)
    for line in _doors(output):
        console.print(line)
    for node, sites in output.not_checked.items():
        note = (
            f"{amounts.count(sites, 'site')} on {node}, which is not known any more: "
            "not checked; the next plan moves them off"
        )
        console.print(note)
    for row in output.other_names[:MOST_NAMES]:
        console.print(f"not FLEX's to move: {row.name}, {row.note}")
    if len(output.other_names) > MOST_NAMES:
        console.print(
            f"and {len(output.other_names) - MOST_NAMES:,} more other names of sites: "
            "`flex -o json verify`"
        )


def _doors(output: VerifyOutput) -> Iterator[str]:
    doors = output.doors
    if doors is None:
        return
    if doors.differ:
        names = amounts.count(doors.differ, "name")
        yield (
            f"doors: order {doors.order}, of the plan {doors.plan}, leads {names} elsewhere "
            "than what is in force; `flex route deliver` orders that"
        )
    for node, why in doors.unheard.items():
        yield f"doors: {node} does not go by order {doors.order}: {why}"
    if not doors.known:
        yield (
            f"doors: order {doors.order} is the newest; no node says which one it goes by, as "
            "with `flex route follow` or routing.sockets"
        )
    elif output.doors_agree:
        yield f"doors: every node that serves goes by order {doors.order}"


def checks(console: Console, rows: Sequence[CheckRow], *, whole: bool) -> None:
    """What is well in a line, unless it is wanted `whole`; of all else what was found, and below it
    what to do.
    """
    styles = {"ok": "green", "warn": "yellow", "fail": "red"}
    if (well := [row for row in rows if row.state == "ok"]) and not whole:
        kinds = Counter(row.name.partition(" of ")[0] for row in well)
        names = ", ".join(f"{kind} of {n}" if n > 1 else kind for kind, n in kinds.items())
        many = f"{amounts.count(len(well), 'check')} "
        console.print(Text.assemble(many, ("ok", "green"), f" (`--long` has each): {names}"))
    for row in rows:
        if whole or row.state != "ok":
            console.print(
                Text.assemble((row.state, styles[row.state]), f" {row.name}: {row.detail}")
            )
            if row.advice:
                console.print(Text(f"     {row.advice}"))


def status(console: Console, output: StatusOutput, now: datetime) -> None:
    """A line for each fact, however large the cluster is."""
    console.print(f"{output.cluster}, mode {output.mode}: {_describe_partition(output)}")
    console.print(f"Nodes: {_nodes_by_state(output.nodes)}")
    if run := output.last_run:
        ended = "not ended" if run.exit_code is None else f"ended with {run.exit_code}"
        moves = (
            f", {amounts.count(run.placed, 'site')} placed"
            if run.placed is not None
            else ""
            if run.moves is None
            else f", a plan of {amounts.count(run.moves, 'move')}"
        )
        at = amounts.ago(run.made or run.started, now)
        console.print(f"Last run: {at}, {ended}{moves}: {run.message}")
    else:
        console.print("Last run: none yet; `flex run` is the nightly one")
    for trouble in output.troubles:
        lead = f": `{trouble.command}`" if trouble.command else ""
        console.print(f"{'!' if trouble.urgent else '-'} {trouble.said} {trouble.step}{lead}")
    if not output.troubles:
        console.print("Nothing is known to be wrong, and nothing waits for somebody.")


def _describe_partition(output: StatusOutput) -> str:
    if not output.partition:
        return "no partition is in force; `flex plan` makes the first"
    since = f" since {amounts.when(output.since)}" if output.since else ""
    worst = (
        f"; the worst node is predicted {amounts.share(output.worst_ratio or 0.0)} off its share"
    )
    return f"{amounts.count(output.sites, 'site')} in force{since}{worst}"


def _nodes_by_state(nodes: Sequence[NodeStatus]) -> str:
    """How many are active, and which are not."""
    others = [node for node in nodes if node.state != "active"]
    parts = [f"{len(nodes) - len(others):,} active"]
    for state in ("draining", "down"):
        if those := [node for node in others if node.state == state]:
            names = [f"{node.node} ({amounts.count(node.sites, 'site')})" for node in those]
            parts.append(f"{state}: {first_few(names)}")
    return "; ".join(parts)


def _moves_of_run(row: RunRow) -> str:
    if row.placed is not None:
        return f"{row.placed:,} placed"
    return "" if row.moves is None else f"{row.moves:,}"


def _shorten_what_ended_well(row: RunRow) -> str:
    well = row.exit_code in (0, 22)
    return f"{row.message[:SAID]}…" if well and len(row.message) > SAID else row.message


def runs(console: Console, output: RunsOutput, *, whole: bool) -> None:
    """What a run said that ended well is cut to the first words, unless it is wanted `whole`."""
    # Runs that are as of another time are rare.
    as_of = ("as of",) if any(row.made for row in output.items) else ()
    table = grid(
        "started",
        *as_of,
        "took>",
        "exit>",
        "moves>",
        "worst before>",
        "after>",
        "predicted off by>",
        "plan",
        "how it ended",
    )
    for row in output.items:
        took = amounts.span(row.ended - row.started) if row.ended else "running"
        figures = (row.worst_before_ratio, row.worst_after_ratio, row.prediction_error_ratio)
        table.add_row(
            amounts.when(row.made or row.started),
            *(amounts.when(row.started) if row.made else "" for _ in as_of),
            took,
            "" if row.exit_code is None else str(row.exit_code),
            _moves_of_run(row),
            *("" if figure is None else amounts.share(figure) for figure in figures),
            row.plan,
            row.message if whole else _shorten_what_ended_well(row),
        )
    console.print(table if output.items else "No run yet: `flex run` is the nightly one.")
