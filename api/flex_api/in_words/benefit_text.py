"""Whether FLEX helps, in words: the first that a plan says."""

from __future__ import annotations

from collections.abc import Sequence

from flex.model.predicted_node_loads import HARDLY_BUSY
from flex_api.in_words import amounts
from flex_api.in_words.text_safe_for_html import short
from flex_api.schemas.plan_parts import BenefitRow, ForecastRow

# What it is for where nothing is gained by it.
STILL = (
    "What it can do all the same: balance nodes with few moves, take dead ones out of DNS, and "
    "lead visitors to the right node through doors."
)


def explain_benefit(benefit: BenefitRow, forecasts: Sequence[ForecastRow]) -> tuple[str, str]:
    """The answer in one sentence, and what else belongs to it."""
    of = {row.policy: row for row in forecasts}
    after, in_turn = of["after"], of["round robin"]
    best = of.get("best", after)
    two = (
        f"This partition serves {_rate(after)} requests a second "
        f"({amounts.share(after.miss_ratio)} from disk), round robin {_speed(in_turn)}"
    )
    match benefit.verdict:
        case "helps":
            at_best = "" if _rate(best) == _rate(after) else f" (at best {_rate(best)})"
            return f"FLEX helps: {_gain(after, in_turn)}{at_best}.", _quiet(benefit)
        case "hardly busy":
            return "FLEX hardly helps so far: the nodes are hardly busy.", (
                f"{_busiest(benefit)} With FLEX {_gain(after, in_turn)}. {STILL}"
            )
        case "one node":
            return "FLEX does not help here: only one node takes sites now.", ""
        case "unknown":
            return ("Whether FLEX helps cannot be said: too few accesses were replayed.", "")
        case "fits":
            fit = "all files fit into the memory of each node"
            return f"FLEX does not help here: {fit}.", (
                f"They take {amounts.memory(benefit.files_bytes)}, and the smallest node has "
                f"{amounts.memory(benefit.least_ram_bytes)}. Round robin, too, reads no file twice "
                f"on the same node: only first readings differ ({_reads(after, in_turn)}). {STILL}"
            )
        case "not yet":
            scratch = of.get("from scratch", after)
            return "FLEX does not help yet: a partition from scratch would.", (
                f"{two}; the one from scratch would serve {_speed(scratch)}."
            )
        case "passed on":
            requests = amounts.count(after.passed_on, "request")
            return (
                "FLEX does not help yet: too many visitors come to a node without their site.",
                f"{two}. Doors pass on {requests}; without these it would help.",
            )
        case "one site":
            share = amounts.share(benefit.site_ratio)
            alone = f"{short(benefit.site)} alone sends {share} of all bytes"
            others = "The other sites by themselves would gain. " if benefit.site_ratio < 1 else ""
            return f"FLEX does not help here: {alone}.", f"{others}{STILL}"
        case "not found":
            return "FLEX does not help here: no partition was found that would.", (
                f"{two}; at best {_speed(best)} could be served. {STILL}"
            )
        case "nothing to gain":
            return "FLEX does not help here: there is next to nothing to gain.", (
                f"{two}; at best {_speed(best)} could be served. {STILL}"
            )


def _speed(row: ForecastRow) -> str:
    return f"{_rate(row)} ({amounts.share(row.miss_ratio)} from disk)"


def _gain(after: ForecastRow, in_turn: ForecastRow) -> str:
    ours, other = (amounts.share(row.miss_ratio) for row in (after, in_turn))
    rates = f"nodes can serve {_rate(after)} requests a second in place of {_rate(in_turn)}"
    if ours == other:
        return rates
    return f"{_reads(after, in_turn)}; {rates}"


def _reads(after: ForecastRow, in_turn: ForecastRow) -> str:
    ours, other = (amounts.share(row.miss_ratio) for row in (after, in_turn))
    return f"{ours} of requests are read from disk, with round robin {other}"


def _quiet(benefit: BenefitRow) -> str:
    if benefit.busiest_ratio >= HARDLY_BUSY:
        return ""
    return f"Visitors wait less, but nodes are hardly busy: {_lower(_busiest(benefit))}"


def _busiest(benefit: BenefitRow) -> str:
    return (
        f"With round robin the busiest node works {amounts.share(benefit.busiest_ratio)} of its "
        "busiest hour."
    )


def _rate(row: ForecastRow) -> str:
    return amounts.rate(row.operations_per_second)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
