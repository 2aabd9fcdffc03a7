"""The experiments of the papers: an experiment is one function and one line here.

Each runs what its paper ran, on twins of the paper's traces, and sets what comes out beside what
was published. What does not come out is said; nothing is tuned until it does.
"""

from __future__ import annotations

from collections.abc import Callable

from flex.sim.papers import cward_case, flex_case, front_end_case, hacc_case, lard_case
from flex.sim.papers.claim import Claim
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
