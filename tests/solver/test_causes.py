"""Each reason of a move that names a cause is walked over on random clusters: the cause is taken
away, and the site could stay then, or the node that is named is farther off.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from flex.placing import explain, score
from flex.placing.explain import MoveReason
from flex.placing.problem import Ints, Problem
from flex_solver import SOLVERS
from tests.solver.conftest import _cluster
from tests.solver.given import wished
from tests.thorough import times
from tests.unhurried import unhurried

LEFT = re.compile(
    r"; left there, (?P<node>n\d) would be (?P<off>\d+) % (?P<side>over|under)$"
)
MUST = re.compile(r"given no sites now|not to be on|kept apart|kept together")
LESS = 1e-9
# A number that is said is rounded.
HALF = 0.5 + 1e-6


@st.composite
def served(draw: st.DrawFn) -> Problem:
    """Every site is on one node, which may be the wrong one."""
    nodes, count = draw(st.integers(2, 3)), draw(st.integers(2, 6))
    names, sites = [f"n{n}" for n in range(nodes)], [f"s{s}" for s in range(count)]
    asked = np.array(
        [draw(st.tuples(st.integers(1, 9), st.integers(1, 9))) for _ in sites]
    )
    load = asked * 100 * nodes / asked.sum(axis=0)
    made = _cluster(
        dict(zip(sites, map(tuple, load.tolist()), strict=True)),
        {site: [draw(st.sampled_from(names))] for site in sites},
        nodes=nodes,
        cold={site: draw(st.integers(0, 1000)) for site in sites},
        tolerance=draw(st.sampled_from([0.1, 0.25, 0.5])),
    )
    rows = st.dictionaries(
        st.integers(0, count - 1), st.integers(0, nodes - 1), max_size=2
    )
    pins, bars = draw(rows), draw(rows)
    return replace(
        made,
        pinned={site: frozenset([node]) for site, node in pins.items()},
        barred={s: frozenset([node]) for s, node in bars.items() if s not in pins},
    )


# What fails is small already.
@settings(max_examples=times(60), phases=[Phase.generate])
@given(data=st.data())
def test_a_move_says_all_for_which_its_site_had_to_leave_and_what_would_be_farther_off(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(served() | wished(tiny))
    found = SOLVERS["auto"](problem, unhurried())
    for reason in explain.reasons(problem, found.rows):
        if reason.source is not None and reason.target is not None:
            _walk_over(problem, found.rows, reason)


def _walk_over(problem: Problem, rows: Ints, reason: MoveReason) -> None:
    moved, home = [reason.site, reason.target], [reason.site, reason.source]
    left = np.array(
        [home if row == moved else row for row in rows.tolist()], dtype=np.int64
    )
    said = LEFT.search(reason.text)
    if said:
        node, sign = (
            problem.nodes.index(said["node"]),
            1 if said["side"] == "over" else -1,
        )
        carries = problem.load.sum(axis=0) > 0
        then, now = (
            np.where(carries, score.deviation(problem, each)[node], 0.0)
            for each in (left, rows)
        )
        assert any(
            abs(100 * sign * off - int(said["off"])) <= HALF
            and abs(off) > abs(with_it) + LESS
            for off, with_it in zip(then.tolist(), now.tolist(), strict=True)
        ), reason.text
    elif without := _without_what_moves_it(problem, reason):
        same = (reason.site, reason.source, reason.target)
        texts = [
            one.text
            for one in explain.reasons(without, rows)
            if (one.site, one.source, one.target) == same
        ]
        assert not any(map(MUST.search, texts)), (reason.text, texts)


def _without_what_moves_it(problem: Problem, reason: MoveReason) -> Problem | None:
    """The problem without what the reason says that the site had to leave for."""
    site, source, text = reason.site, reason.source, reason.text
    if source is None or not MUST.search(text):
        return None
    made = problem
    if " is given no sites now" in text:
        is_open = problem.open.copy()
        is_open[source] = True
        share = np.where(is_open, problem.share.max(), problem.share)
        made = replace(made, open=is_open, share=share)
    if "it is not to be on" in text:
        nodes = problem.barred[site] - {source}
        made = replace(made, barred={**problem.barred, site: nodes})
    for rivals in re.findall(r"kept apart from (s\d(?:, s\d)*)", text):
        of = {problem.sites.index(rival) for rival in rivals.split(", ")}
        apart = tuple(
            one for one in made.apart if site not in one or of.isdisjoint(one)
        )
        made = replace(made, apart=apart)
    if "kept together" in text:
        together = tuple(one for one in made.together if site not in one)
        made = replace(made, together=together)
    return made
