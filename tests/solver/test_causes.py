"""Each sentence that names a cause is walked over on random clusters: the cause is taken away, and
what it was named for is different then.

What a plan could be is known by looking at every partition of these clusters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from flex.model.best_effort_shortfalls import Shortfall
from flex.placing import explain, score
from flex.placing.explain import MoveReason
from flex.placing.obstacles_to_balance import LIMITS, count_causes
from flex.placing.problem import Ints, MoveLimits, Problem
from flex.placing.why_best_effort import BAND, MOST
from flex.placing.wish_conflicts import conflict
from flex_solver import SOLVERS
from flex_solver.search.cause_trials import CauseTrials, limits_of_nearer
from tests.solver.conftest import _cluster
from tests.solver.given import placements, wished
from tests.thorough import times
from tests.unhurried import unhurried

LEFT = re.compile(r"; left there, (?P<node>n\d) would be (?P<off>\d+) % (?P<side>over|under)$")
# The same, where the node is as far off as it was before the plan.
GAIN = re.compile(r"^(?P<node>n\d) (?P<side>over|under) [a-z ]+ by (?P<off>\d+) %$")
MUST = re.compile(r"given no sites now|not to be on|kept apart|kept together")
PIN = re.compile(r"the pin of (?P<site>s\d( \(with s\d\))?) to (?P<node>n\d)$")
BAR = re.compile(r"(?P<site>s\d( \(with s\d\))?) not on (?P<nodes>n\d(, n\d)*)$")
COUNT = re.compile(r"(?P<count>\d) replicas of (?P<site>s\d( \(with s\d\))?)$")
GROUP = re.compile(r"(?P<sites>s\d( and s\d)+) (?P<kind>apart|together)$")
LARGE = re.compile(r"(?P<site>s\d( \(with s\d\))?), \d+% of (?P<a>a|the) node$")
LIMIT = re.compile(r"the limit of \d+ (?P<of>.+)$")
FIELDS = {"moves": "moves", "cold bytes": "cold_bytes", "bytes into a node": "inflow"}
LESS = 1e-9
Off = tuple[int, float, float]
# A number that is said is rounded.
HALF = 0.5 + 1e-6


@st.composite
def served(draw: st.DrawFn) -> Problem:
    """Every site is on one node, which may be the wrong one."""
    nodes, count = draw(st.integers(2, 3)), draw(st.integers(2, 6))
    names, sites = [f"n{n}" for n in range(nodes)], [f"s{s}" for s in range(count)]
    asked = np.array([draw(st.tuples(st.integers(1, 9), st.integers(1, 9))) for _ in sites])
    load = asked * 100 * nodes / asked.sum(axis=0)
    made = _cluster(
        dict(zip(sites, map(tuple, load.tolist()), strict=True)),
        {site: [draw(st.sampled_from(names))] for site in sites},
        nodes=nodes,
        cold={site: draw(st.integers(0, 1000)) for site in sites},
        tolerance=draw(st.sampled_from([0.1, 0.25, 0.5])),
    )
    rows = st.dictionaries(st.integers(0, count - 1), st.integers(0, nodes - 1), max_size=2)
    pins, bars = draw(rows), draw(rows)
    return replace(
        made,
        pinned={site: frozenset([node]) for site, node in pins.items()},
        barred={s: frozenset([node]) for s, node in bars.items() if pins.get(s) != node},
    )


# What fails is small already.
@settings(max_examples=times(25), phases=[Phase.generate])
@given(data=st.data())
def test_a_move_says_all_for_which_its_site_had_to_leave_and_what_would_be_farther_off(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(served() | wished(tiny))
    found = SOLVERS["auto"](problem, unhurried())
    for reason in explain.reasons(problem, found.rows):
        if reason.source is not None and reason.target is not None:
            _walk_over(problem, found.rows, reason)


def test_what_a_move_brings_no_nearer_is_not_named_as_farther_off_without_it() -> None:
    """With the move n0 is nearer to its share of one dimension. Of the other, of which it is
    farther off, it would be nearer without.
    """
    problem = _cluster(
        {"a": (10, 10), "b": (100, 60), "c": (90, 130)}, {"a": ["n0"], "b": ["n0"], "c": ["n1"]}
    )
    rows = np.array([[0, 1], [1, 0], [2, 1]], dtype=np.int64)
    (reason,) = explain.reasons(problem, rows)
    assert reason.text.endswith("; left there, n0 would be 10 % over")
    _walk_over(problem, rows, reason)


def test_a_closed_node_and_a_wish_against_it_are_both_said_of_a_site_that_leaves_it() -> None:
    problem = _cluster({"a": (10, 10), "b": (90, 90)}, {"a": ["n0"], "b": ["n1"]}, closed=["n0"])
    rows = np.array([[0, 1], [1, 1]], dtype=np.int64)
    barred = replace(problem, barred={0: frozenset([0])})
    (reason,) = explain.reasons(barred, rows)
    assert reason.text == "n0 is given no sites now, and it is not to be on n0"


def _has_to_leave(problem: Problem, reason: MoveReason) -> bool:
    """Whether something but loads and pins forbids the site its node."""
    site, source = reason.site, reason.source
    there = set(problem.old[problem.old[:, 1] == source, 0].tolist())
    return (
        not problem.open[source]
        or source in problem.barred.get(site, ())
        or bool(problem.rivals.get(site, frozenset()) & there)
    )


def _walk_over(problem: Problem, rows: Ints, reason: MoveReason) -> None:
    if _has_to_leave(problem, reason):
        assert MUST.search(reason.text), reason
    moved, home = [reason.site, reason.target], [reason.site, reason.source]
    left = np.array([home if row == moved else row for row in rows.tolist()], dtype=np.int64)
    said = LEFT.search(reason.text) or GAIN.search(reason.text)
    if said:
        node, sign = (problem.nodes.index(said["node"]), 1 if said["side"] == "over" else -1)
        carries = problem.load.sum(axis=0) > 0
        then, now = (
            np.where(carries, score.deviation(problem, each)[node], 0.0) for each in (left, rows)
        )
        assert any(
            abs(100 * sign * off - int(said["off"])) <= HALF and abs(off) > abs(with_it) + LESS
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
        apart = tuple(one for one in made.apart if site not in one or of.isdisjoint(one))
        made = replace(made, apart=apart)
    if "kept together" in text:
        together = tuple(one for one in made.together if site not in one)
        made = replace(made, together=together)
    return made


@st.composite
def within_limits(draw: st.DrawFn, problems: st.SearchStrategy[Problem]) -> Problem:
    most = st.none() | st.integers(0, 2000)
    limits = MoveLimits(draw(st.none() | st.integers(0, 3)), draw(most), draw(most))
    return replace(draw(problems), limits=limits)


# What fails is small already.
@settings(max_examples=times(25), phases=[Phase.generate])
@given(data=st.data())
def test_a_best_effort_names_as_causes_what_a_partition_is_nearer_without(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(within_limits(served() | wished(tiny)))
    found = SOLVERS["auto"](problem, unhurried())
    if not any(one.is_wish for one in score.violations(problem, found.rows)):
        for short in found.shortfalls:
            _walk_over_shortfall(problem, short)


# One of each: what sites ask for, where they are (pinned where that is in capitals), and more.
@pytest.mark.parametrize(
    ("asked", "where", "more", "because"),
    [
        pytest.param(
            {"a": 70, "b": 70, "c": 70, "d": 70, "e": 60, "f": 60},
            {"a": "N0", "b": "N0", "c": "N1", "d": "N1", "e": "n2", "f": "n3"},
            {},
            "the pin of a to n0; the pin of b to n0; the pin of c to n1; the pin of d to n1",
            id="two nodes alike",
        ),
        pytest.param(
            {"a": 70, "b": 70, "c": 30, "d": 30},
            {"a": "N0", "b": "N0", "c": "n1", "d": "n1"},
            {"barred": {0: frozenset([1]), 1: frozenset([1])}},
            "the pin of a to n0; the pin of b to n0; a not on n1; b not on n1",
            id="pins beside what keeps the sites from all other nodes",
        ),
        pytest.param(
            {"a": 0, "b": 0, "x": 70, "y": 70, "z": 60},
            {"a": "N0", "b": "N0", "x": "N0", "y": "N0", "z": "n1"},
            {},
            "the pin of x to n0; the pin of y to n0",
            id="sites without load are none",
        ),
        pytest.param(
            {"a": 150, "b": 115, "c": 85, "d": 50},
            {"a": "n0", "b": "n1", "c": "n2", "d": "n3"},
            {},
            "a, 150% of a node",
            id="a smaller large site is none",
        ),
        pytest.param(
            {"a": 70, "b": 70, "c": 10, "d": 10, "e": 10, "f": 30},
            {"a": "N0", "b": "N0", "c": "n2", "d": "n2", "e": "n2", "f": "n1"},
            {"limits": MoveLimits(1), "closed": "n2"},
            "the limit of 1 moves; the pin of a to n0; the pin of b to n0",
            id="a limit that is exceeded already, as moves exceed it more",
        ),
        pytest.param(
            {"a": 67, "b": 67, "c": 67, "d": 67, "e": 67, "f": 65},
            {"a": "N0", "b": "N0", "c": "N1", "d": "N1", "e": "N2", "f": "N2"},
            {"tolerance": 0.4, "nodes": 4},
            "the pin of a to n0; the pin of b to n0; the pin of c to n1; the pin of d to n1; "
            "the pin of e to n2; the pin of f to n2",
            id="pins to other nodes keep load from one",
        ),
        pytest.param(
            {"a": 150, "b": 75, "c": 75, "d": 50, "e": 50},
            {"a": "n0", "b": "N1", "c": "N1", "d": "n2", "e": "n3"},
            {},
            "a, 150% of a node; the pin of b to n1; the pin of c to n1",
            id="a large site and pins alike",
        ),
    ],
)
def test_what_is_in_the_way_is_named_and_nothing_else(
    asked: Mapping[str, float], where: Mapping[str, str], more: Mapping[str, Any], because: str
) -> None:
    nodes = max(int(node[1:]) for node in where.values()) + 1
    named = {"nodes": nodes, "tolerance": 0.1, "closed": "", **more}
    made = _cluster(
        {site: (load, load) for site, load in asked.items()},
        {site: [node.lower()] for site, node in where.items()},
        nodes=named["nodes"],
        closed=[named["closed"]],
        tolerance=named["tolerance"],
        pins={s: [node.lower()] for s, node in where.items() if node.isupper()},
    )
    problem = replace(
        made, barred=named.get("barred", {}), limits=named.get("limits", MoveLimits())
    )
    (*_, short) = SOLVERS["auto"](problem, unhurried()).shortfalls
    assert short.kind in BAND
    wanted = because.split("; ")
    assert set(short.because[:MOST]) <= set(wanted)
    left = len(wanted) - MOST
    assert short.because[MOST:] == ((f"{left} more",) if left > 0 else ())
    assert len(set(short.because[:MOST])) == min(len(wanted), MOST)


def test_pins_that_overload_more_nodes_than_are_tried_one_by_one_are_all_causes() -> None:
    pins = {f"s{n}{which}": [f"n{n}"] for n in range(6) for which in "ab"}
    small = {f"small{i}": [f"n{6 + i % 9}"] for i in range(72)}
    load = {**dict.fromkeys(pins, 70.0), **dict.fromkeys(small, 660 / 72)}
    problem = _cluster(
        {site: (asked, asked) for site, asked in load.items()},
        {**pins, **small},
        nodes=15,
        pins=pins,
    )
    wanted = {f"the pin of {site} to {nodes[0]}" for site, nodes in pins.items()}
    assert _names(CauseTrials(), problem, problem.old) == wanted


def test_a_problem_too_large_to_try_names_limits_in_the_way_or_what_is_counted() -> None:
    """All are on n0, and more than its share is pinned to it."""
    sites = [f"s{i}" for i in range(2400)]
    pinned = {site: ["n0"] for site in sites[:1400]}
    problem = replace(
        _cluster(
            dict.fromkeys(sites, (200 / 2400, 200 / 2400)),
            {site: ["n0"] for site in sites},
            pins=pinned,
        ),
        limits=MoveLimits(5, None, None),
    )
    moved = np.array([site not in pinned for site in problem.sites], dtype=np.int64)
    nearer = np.stack([np.arange(len(sites)), moved], axis=1)
    broken = limits_of_nearer(problem, problem.old, nearer)
    limit = {"the limit of 5 moves"}
    assert _names(CauseTrials(broken), problem, problem.old) == limit
    assert _names(CauseTrials(), problem, problem.old) == set()
    pins = {f"the pin of {site} to n0" for site in pinned}
    assert _names(CauseTrials(), problem, nearer) == pins


def _names(finder: CauseTrials, problem: Problem, rows: Ints) -> set[str]:
    found = finder.find_causes(problem, rows, count_causes(problem))
    return {name for cause in found for name in cause.names()}


def _walk_over_shortfall(problem: Problem, short: Shortfall) -> None:
    if short.kind not in BAND or any(each.endswith(" more") for each in short.because):
        return
    nearest = _nearest(problem)
    if not short.because and short.actual <= nearest[-1] + LESS:
        # Limits and counted wishes that a balanced partition does without would be named.
        free = replace(problem, limits=MoveLimits())
        for one in count_causes(problem):
            free = one.without(free)
        assert _nearest(free)[-1], short
    alone = [each for each in short.because if each.endswith(" of the node")]
    together = [each for each in short.because if each not in alone]
    needed = [each for each in together if LIMIT.match(each) or LARGE.match(each)]
    for cause in alone:
        assert not _nearest(_without(problem, cause))[-1], (short, cause)
        assert nearest[-1]
    if together and not _is_as_much_as_one_site(problem, short):
        then = _nearest(_without(problem, *together))
        assert _is_nearer(then, nearest), short
        # A search may leave limits that are exceeded already exceeded by more than needed.
        for cause in needed if len(together) > 1 and not nearest[1] else ():
            fewer = _nearest(_without(problem, *(each for each in together if each != cause)))
            assert not _is_nearer(fewer, nearest) or fewer[-1] > then[-1] + LESS, (short, cause)


@st.composite
def wishing(draw: st.DrawFn) -> Problem:
    """With wishes of all kinds, most of which cannot be kept together."""
    nodes, sites = draw(st.integers(1, 3)), [*range(draw(st.integers(1, 4)))]
    names, some = [f"s{site}" for site in sites], st.sampled_from(sites)
    where = st.frozensets(st.integers(0, nodes - 1), min_size=1, max_size=2)
    wishes = st.dictionaries(some, where, max_size=3)
    pairs = st.lists(st.frozensets(some, min_size=2, max_size=2), max_size=3)
    groups = pairs if len(sites) > 1 else st.just([])
    return replace(
        _cluster(
            dict.fromkeys(names, (10.0, 10.0)),
            {name: ["n0"] for name in names},
            nodes=nodes,
            replicas={name: draw(st.integers(1, 2)) for name in names},
        ),
        pinned=draw(wishes),
        barred=draw(wishes),
        apart=tuple(draw(groups)),
        together=tuple(draw(groups)[:1]),
    )


# What fails is small already.
@settings(max_examples=times(200), phases=[Phase.generate])
@given(problem=wishing())
def test_wishes_named_as_causes_cannot_be_kept_together_and_each_is_needed_for_that(
    problem: Problem,
) -> None:
    found = conflict(problem, range(len(problem.sites)))
    assert bool(found.because) != _can_keep(problem)
    if not found.because:
        return
    assert not _can_keep(_with_these_alone(problem, found.because))
    for wish in found.because:
        others = [one for one in found.because if one != wish]
        assert _can_keep(_with_these_alone(problem, others)), (found, wish)
    for one in found.instead:
        if one.rule == "nodes":
            more = round(one.enough) - len(problem.nodes)
            assert _can_keep(problem, more)
            assert not _can_keep(problem, more - 1)


def _with_these_alone(problem: Problem, wishes: Sequence[str]) -> Problem:
    """Where nobody says so, a site of several replicas may be on any number of nodes: 0 here."""
    replicas = np.where(problem.replicas > 1, 0, problem.replicas)
    made = replace(problem, replicas=replicas, pinned={}, barred={}, apart=(), together=())
    for wish in wishes:
        if said := COUNT.match(wish):
            replicas[problem.sites.index(said["site"])] = int(said["count"])
        elif said := PIN.match(wish):
            site = problem.sites.index(said["site"])
            nodes = {*made.pinned.get(site, ()), problem.nodes.index(said["node"])}
            made = replace(made, pinned={**made.pinned, site: frozenset(nodes)})
        elif said := BAR.match(wish):
            site = problem.sites.index(said["site"])
            barred = frozenset(map(problem.nodes.index, said["nodes"].split(", ")))
            made = replace(made, barred={**made.barred, site: barred})
        elif said := GROUP.match(wish):
            group = frozenset(map(problem.sites.index, said["sites"].split(" and ")))
            made = (
                replace(made, apart=(*made.apart, group))
                if said["kind"] == "apart"
                else replace(made, together=(*made.together, group))
            )
        else:
            raise AssertionError(wish)
    return made


def _can_keep(problem: Problem, more: int = 0) -> bool:
    """Whether some partition keeps all wishes, with so many nodes more."""
    nodes = range(len(problem.nodes) + more)
    ways = [
        [
            set(chosen)
            for many in ([count] if count else range(1, len(nodes) + 1))
            for chosen in combinations(nodes, many)
            if problem.pinned.get(site, frozenset()) <= set(chosen)
            and problem.barred.get(site, frozenset()).isdisjoint(chosen)
        ]
        for site, count in enumerate(problem.replicas.tolist())
    ]
    apart, together = (
        [pair for group in groups for pair in combinations(group, 2)]
        for groups in (problem.apart, problem.together)
    )
    return any(
        all(of[a].isdisjoint(of[b]) for a, b in apart) and all(of[a] == of[b] for a, b in together)
        for of in product(*ways)
    )


def _is_as_much_as_one_site(problem: Problem, short: Shortfall) -> bool:
    """Where the node is no more over than the largest site alone is on any node, there is no other
    cause.
    """
    largest = float((problem.load / problem.share.max()).max()) - 1
    return short.kind == "over" and short.actual <= largest + LESS


def _without(problem: Problem, *causes: str) -> Problem:
    for cause in causes:
        problem = _without_cause(problem, cause)
    return problem


def _without_cause(problem: Problem, cause: str) -> Problem:
    if said := PIN.match(cause):
        site = problem.sites.index(said["site"])
        nodes = problem.pinned[site] - {problem.nodes.index(said["node"])}
        return replace(problem, pinned={**problem.pinned, site: nodes})
    if said := BAR.match(cause):
        site = problem.sites.index(said["site"])
        named = {problem.nodes.index(node) for node in said["nodes"].split(", ")}
        nodes = problem.barred[site] - named
        return replace(problem, barred={**problem.barred, site: nodes})
    if said := LARGE.match(cause):
        site = problem.sites.index(said["site"])
        return (_on_more_nodes if said["a"] == "a" else _away)(problem, site)
    if said := LIMIT.match(cause):
        limits = replace(problem.limits, **{FIELDS[said["of"]]: None})
        return replace(problem, limits=limits)
    return problem


def _on_more_nodes(problem: Problem, site: int) -> Problem:
    """So that one node is large enough for each part of it. What that moves does not count."""
    count, load = problem.replicas.copy(), problem.load.copy()
    wanted = count[site] * int(np.ceil(load[site].max() / problem.share.max()))
    able = problem.open.copy()
    able[sorted(problem.barred.get(site, ()))] = False
    count[site] = max(count[site], min(wanted, int(able.sum())))
    load[site] *= problem.replicas[site] / count[site]
    cold = problem.cold.copy()
    weight = np.ones_like(cold) if problem.weight is None else problem.weight.copy()
    cold[site] = weight[site] = 0
    return replace(problem, replicas=count, load=load, cold=cold, weight=weight)


def _away(problem: Problem, site: int) -> Problem:
    """What all the others ask is the whole."""
    load = problem.load.copy()
    load[site] = 0.0
    asked = (load * problem.replicas[:, None]).sum(axis=0)
    whole = problem.share[problem.open].sum()
    scale = np.divide(whole, asked, out=np.ones_like(asked), where=asked > 0)
    return replace(problem, load=load * scale)


def _nearest(problem: Problem) -> Off:
    """The nearest partition: how many wishes it breaks, how far it is beyond the limits, and how
    far off its worst node is.
    """
    return min(_all(problem))


def _all(problem: Problem) -> Iterator[Off]:
    for rows in placements(problem):
        broken = score.violations(problem, rows)
        beyond = sum(
            (one.actual - one.limit) / max(one.limit, 1.0) for one in broken if one.kind in LIMITS
        )
        off = max((abs(one.actual) for one in broken if one.kind in BAND), default=0.0)
        yield sum(one.is_wish for one in broken), round(beyond, 9), off


def _is_nearer(one: Off, other: Off) -> bool:
    """With no more that is broken besides."""
    return one[0] <= other[0] and one[1] <= other[1] and one[2] < other[2] - LESS
