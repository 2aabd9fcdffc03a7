"""The experiments of the papers: an experiment is one function and one line here.

Each runs what its paper ran, on twins of the paper's traces, and sets what comes out beside what
was published. What does not come out is said; nothing is tuned until it does: what may be set, and
by which figures, is in calibration.py, and which other values are tried in assumptions.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from flex.sim.papers import cward_case, flex_case, front_end_case, hacc_case, lard_case
from flex.sim.papers.assumptions import PLAIN, TRIED, Assumptions
from flex.sim.papers.calibration import INPUTS
from flex.sim.papers.claim import FOR_VALUES, GOOD, OPEN, WORSE, Claim
from flex.sim.papers.claimed_figures import FIGURES
from flex.sim.papers.experiment_lab import Lab

EXPERIMENTS: dict[str, Callable[[Lab], list[Claim]]] = {
    "flex-case-1": flex_case.case_1,
    "flex-case-2": flex_case.case_2,
    "flex-sixteen": flex_case.sixteen,
    "lard-rice": lard_case.rice,
    "lard-ibm": lard_case.ibm,
    "lard-speeds": lard_case.speeds,
    "lard-disks": lard_case.disks,
    "lard-hot": lard_case.hot,
    "lard-deep-blue": lard_case.deep_blue,
    "lard-limits": lard_case.limits,
    "cward-clarknet": cward_case.clarknet,
    "cward-worldcup": cward_case.worldcup,
    "hacc-static": hacc_case.static,
    "hacc-dynamic": hacc_case.dynamic,
    "front-ends": front_end_case.front_ends,
}
# Those whose workloads are made up from the paper's own words: a log cannot stand in for them.
MADE_UP = ("flex-sixteen", "lard-deep-blue", "hacc-dynamic", "front-ends")


def judge(name: str, lab: Lab, under: Callable[[Assumptions], Lab]) -> list[Claim]:
    """The claims of an experiment in a calibrated lab, each beside what is measured before anything
    is set; those that do not come out, under each of the values to be tried.
    """
    experiment = EXPERIMENTS[name]
    claims = [
        replace(_set_aside_input(claim), without=plain.measured)
        for claim, plain in zip(experiment(lab), experiment(under(PLAIN)), strict=True)
    ]
    every = TRIED.get(name, ()) if any(claim.verdict == WORSE for claim in claims) else ()
    others = [(tried, experiment(under(tried))) for tried in every]
    broken = {tried.words: _what_breaks(claims, found) for tried, found in others}
    return [
        _try_values(claim, [(tried, found[at]) for tried, found in others], broken)
        for at, claim in enumerate(claims)
    ]


def _set_aside_input(claim: Claim) -> Claim:
    """What a published figure sets is no evidence for it."""
    used = next((each for each in INPUTS if each.key == FIGURES.get(claim.claim)), None)
    if used is None:
        return claim
    return replace(claim, verdict=OPEN, reason=f"an input: it says {used.sets}", tried=())


def _what_breaks(claims: Sequence[Claim], found: Sequence[Claim]) -> str:
    """What comes out without these values, and not with them."""
    names = [
        claim.claim
        for claim, other in zip(claims, found, strict=True)
        if claim.verdict in GOOD and other.verdict not in GOOD
    ]
    return f"; then this does not come out: {', '.join(names)}" if names else ""


def _try_values(
    claim: Claim, others: Sequence[tuple[Assumptions, Claim]], broken: Mapping[str, str]
) -> Claim:
    """What the values make of a claim that does not come out without, as far as they change
    anything; the first with which it does is told.
    """
    if claim.verdict != WORSE or not others:
        return claim
    rows = [
        (tried.words, other.measured) for tried, other in others if other.measured != claim.measured
    ]
    told = replace(claim, tried=(*claim.tried, *rows))
    good = [(tried, other) for tried, other in others if other.verdict in GOOD]
    if not good:
        return told
    tried, other = good[0]
    values = f"{other.measured} where {tried.words}{broken[tried.words]}"
    return replace(told, verdict=FOR_VALUES, values=values, reason="")
