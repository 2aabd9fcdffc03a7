"""The experiments of the papers: an experiment is one function and one line here.

Each runs what its paper ran, on twins of the paper's traces, and sets what comes out beside what
was published. What does not come out is said; nothing is tuned until it does: what may be set, and
by which figures, is in calibration.py, and which other values are tried in assumptions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flex.sim.papers import cward_case, flex_case, front_end_case, hacc_case, lard_case
from flex.sim.papers.assumptions import CALIBRATED_EXPERIMENTS, PLAIN, TRIED, Assumptions
from flex.sim.papers.claim import HOLDS, HOLDS_FOR, MISSES, Claim
from flex.sim.papers.experiment_lab import Lab

EXPERIMENTS: dict[str, Callable[[Lab], list[Claim]]] = {
    "flex-case-1": flex_case.case_1,
    "flex-case-2": flex_case.case_2,
    "lard-rice": lard_case.rice,
    "lard-ibm": lard_case.ibm,
    "lard-speeds": lard_case.speeds,
    "lard-disks": lard_case.disks,
    "lard-hot": lard_case.hot,
    "cward-clarknet": cward_case.clarknet,
    "cward-worldcup": cward_case.worldcup,
    "hacc-static": hacc_case.static,
    "hacc-dynamic": hacc_case.dynamic,
    "front-ends": front_end_case.front_ends,
}
# Those whose workloads are made up from the paper's own words: a log cannot stand in for them.
MADE_UP = ("hacc-dynamic", "front-ends")


def judge(name: str, lab: Lab, under: Callable[[Assumptions], Lab]) -> list[Claim]:
    """The claims of an experiment in a calibrated lab, each beside what is measured without
    locality; those that do not come out, under each of the values to be tried.
    """
    experiment = EXPERIMENTS[name]
    if name not in CALIBRATED_EXPERIMENTS:
        return [replace(claim, without=claim.measured) for claim in experiment(lab)]
    claims = [
        replace(claim, without=plain.measured)
        for claim, plain in zip(experiment(lab), experiment(under(PLAIN)), strict=True)
    ]
    for tried in TRIED.get(name, ()):
        if all(claim.verdict != MISSES for claim in claims):
            break
        tried_claims = experiment(under(tried))
        claims = [
            _qualify_claim(claim, other, tried)
            for claim, other in zip(claims, tried_claims, strict=True)
        ]
    return claims


def _qualify_claim(claim: Claim, other: Claim, tried: Assumptions) -> Claim:
    """It holds for these values, where it holds with none before."""
    if claim.verdict != MISSES or other.verdict != HOLDS:
        return claim
    values = f"{other.measured} where {tried.words}"
    return replace(claim, verdict=HOLDS_FOR, values=values, reason="", counter="")
