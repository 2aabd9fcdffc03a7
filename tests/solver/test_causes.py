"""Each sentence that names a cause is walked over on random clusters: the cause is taken away, and
what it was named for is different then.

What a plan could be is known by looking at every partition of these clusters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from flex.model.best_effort_shortfalls import Shortfall
from flex.placing import explain, score
from flex.placing.causes_of_imbalance import count_causes
from flex.placing.explain import MoveReason
from flex.placing.problem import Ints, MoveLimits, Problem
from flex.placing.why_best_effort import BAND
from flex.placing.wish_conflicts import conflict
from flex_solver import SOLVERS
from flex_solver.search.try_without_cause import ShortSearches
from tests.solver.conftest import _cluster
from tests.solver.given import placements, wished
from tests.thorough import times
from tests.unhurried import unhurried

LEFT = re.compile(
    r"; left there, (?P<node>n\d) would be (?P<off>\d+) % (?P<side>over|under)$"
)
MUST = re.compile(r"given no sites now|not to be on|kept apart|kept together")
PIN = re.compile(r"the pin of (?P<site>s\d) to (?P<node>n\d)$")
BAR = re.compile(r"(?P<site>s\d) not on (?P<nodes>n\d(, n\d)*)$")
COUNT = re.compile(r"(?P<count>\d) replicas of (?P<site>s\d)$")
GROUP = re.compile(r"(?P<sites>s\d( and s\d)+) (?P<kind>apart|together)$")
LARGE = re.compile(r"(?P<site>s\d), \d+% of (?P<a>a|the) node$")
LIMIT = re.compile(r"the limit of \d+ (?P<of>.+)$")
FIELDS = {"moves": "moves", "cold bytes": "cold_bytes", "bytes into a node": "inflow"}
LESS = 1e-9
# What a short search finds, too.
MUCH = 0.05
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
        barred={
            s: frozenset([node]) for s, node in bars.items() if pins.get(s) != node
        },
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
    if all(one.kind in BAND for one in score.violations(problem, found.rows)):
        for short in found.shortfalls:
            _walk_over_shortfall(problem, short)


def test_pins_that_overload_two_nodes_alike_are_all_causes() -> None:
    load = {"a": 70.0, "b": 70.0, "c": 70.0, "d": 70.0, "e": 60.0, "f": 60.0}
    pins = {"a": ["n0"], "b": ["n0"], "c": ["n1"], "d": ["n1"]}
    problem = _cluster(
        {site: (asked, asked) for site, asked in load.items()},
        {**pins, "e": ["n2"], "f": ["n3"]},
        nodes=4,
        pins=pins,
    )
    (short,) = SOLVERS["auto"](problem, unhurried()).shortfalls
    wanted = {f"the pin of {site} to {nodes[0]}" for site, nodes in pins.items()}
    assert set(short.because) == wanted


def test_a_pin_is_a_cause_beside_what_keeps_its_site_from_all_other_nodes() -> None:
    load = {"a": 70.0, "b": 70.0, "c": 30.0, "d": 30.0}
    on_n0 = {"a": ["n0"], "b": ["n0"]}
    pinned = _cluster(
        {site: (asked, asked) for site, asked in load.items()},
        {**on_n0, "c": ["n1"], "d": ["n1"]},
        pins=on_n0,
    )
    problem = replace(pinned, barred={0: frozenset([1]), 1: frozenset([1])})
    (short,) = SOLVERS["auto"](problem, unhurried()).shortfalls
    wanted = {f"the pin of {site} to n0" for site in on_n0}
    assert set(short.because) == wanted | {f"{site} not on n1" for site in on_n0}


def test_pins_that_overload_more_nodes_than_are_tried_one_by_one_are_all_causes() -> (
    None
):
    pins = {f"s{n}{which}": [f"n{n}"] for n in range(6) for which in "ab"}
    small = {f"small{i}": [f"n{6 + i % 9}"] for i in range(72)}
    load = {**dict.fromkeys(pins, 70.0), **dict.fromkeys(small, 660 / 72)}
    problem = _cluster(
        {site: (asked, asked) for site, asked in load.items()},
        {**pins, **small},
        nodes=15,
        pins=pins,
    )
    found = ShortSearches().in_the_way(problem, problem.old)
    wanted = {f"the pin of {site} to {nodes[0]}" for site, nodes in pins.items()}
    assert {name for cause in found for name in cause.names} == wanted


def test_a_problem_too_large_to_try_names_what_is_counted_and_limits_in_the_way() -> (
    None
):
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
    free = np.stack([np.arange(len(sites)), moved], axis=1)
    found = ShortSearches(free).in_the_way(problem, problem.old)
    names = [name for cause in found for name in cause.names]
    assert names[0] == "the limit of 5 moves"
    assert len(names) == 1 + len(pinned)


def _walk_over_shortfall(problem: Problem, short: Shortfall) -> None:
    if short.kind not in BAND or any(each.endswith(" more") for each in short.because):
        return
    if not short.because and short.actual <= _nearest(problem) + LESS:
        # What limits and counted wishes keep it from would have been named.
        free = replace(problem, limits=MoveLimits())
        for one in count_causes(problem):
            free = one.without(free)
        assert _nearest(free) > short.actual - MUCH, short
    alone = [each for each in short.because if each.endswith(" of the node")]
    together = [each for each in short.because if each not in alone]
    limits = [each for each in together if LIMIT.match(each)]
    for cause in alone:
        assert _nearest(_without(problem, cause)) == 0.0, (short, cause)
    if together and not _is_as_much_as_one_site(problem, short):
        then = _nearest(_without(problem, *together))
        assert then < _nearest(problem) - LESS, short
        for cause in limits if len(together) > 1 else ():
            fewer = _without(problem, *(each for each in together if each != cause))
            assert _nearest(fewer) > then - LESS, (short, cause)


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
    made = replace(
        problem, replicas=replicas, pinned={}, barred={}, apart=(), together=()
    )
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
        all(of[a].isdisjoint(of[b]) for a, b in apart)
        and all(of[a] == of[b] for a, b in together)
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
    barred = len(problem.barred.get(site, ()))
    count[site] = max(count[site], min(wanted, int(problem.open.sum()) - barred))
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


def _nearest(problem: Problem) -> float:
    """How far off the worst node is in the nearest partition: of those that keep the limits, and as
    many wishes as can be kept.
    """
    return min(_all(problem), default=(0, np.inf))[1]


def _all(problem: Problem) -> Iterator[tuple[int, float]]:
    for rows in placements(problem):
        broken = score.violations(problem, rows)
        if all(one.kind in BAND or one.is_wish for one in broken):
            off = max(
                (abs(one.actual) for one in broken if one.kind in BAND), default=0.0
            )
            yield sum(one.is_wish for one in broken), off
