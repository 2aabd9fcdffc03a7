"""The fewest moves, with a proof, for clusters whose integer program is small.

Takes a Problem and a Budget. Returns the balanced partition with the fewest moves. Among those it
is one with the fewest cold bytes, counted in steps of a millionth of the largest site's, and among
those always the same one. Where no partition is balanced, the worst node comes as near to the band
as it can, and other nodes do so as long as each move brings enough load back; the answer says what
would have to give way. Does not decide whether a cluster is small enough: auto.py does.

Sites without load that nobody keeps apart from others are left out of the program. They move only
as their own wishes demand, and those moves count in the proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from flex.model import best_effort_shortfalls as short
from flex.model.best_effort_shortfalls import Relaxation
from flex.placing import score
from flex.placing.obstacles_to_balance import LIMITS
from flex.placing.problem import Bools, Budget, Ints, MoveLimits, Problem, Solution, sort_by_site
from flex_solver.bounds import move_forest, proof_by_integer_program
from flex_solver.bounds.certificate import certificate
from flex_solver.bounds.linear import relax
from flex_solver.bounds.priced import Priced, price_bound
from flex_solver.exact import run_pulp_with_highs
from flex_solver.exact.integer_program import SHARE, Cost, Give, KindCounts, PartitionProgram
from flex_solver.rows_to_solution import COLDER, IMPOSSIBLE, LATE, NOT_NEAREST, answer
from flex_solver.search import all_move_sets, local_solver
from flex_solver.search.cause_trials import CauseTrials, limits_to_exceed
from flex_solver.search.choose_rows_to_search import make_all_movable
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.one_exchange_per_node import deal_remedies
from flex_solver.search.repair_wishes import repair, repair_all
from flex_solver.symmetry.site_kinds import Kind, kinds
from flex_solver.wishes_as_row_rules import RowRules

# Moves times nodes, at most, where equally cheap partitions are put in a fixed order. Above this
# the one that HiGHS finds is taken. A guess.
FEW_TARGETS = 600
# Nodes of HiGHS's search tree in the search for fewer cold bytes, once the number of moves is
# settled. A guess.
CASES = 30
# The same while the look at all ways goes on beside it. A guess.
BESIDE = 10
# Nodes of HiGHS's search tree in the search for fewer moves by proof_by_integer_program.py, whose
# program leaves out wishes that rarely make a difference. A guess.
PROOF = 1_000
# The least part of the seconds left that is kept for the whole program. A guess.
FOR_PROGRAM = 0.2
# The part of the seconds left that the look at all ways may take; it takes less unless the native
# loop is missing. A guess.
FOR_SIFTING = 0.6

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """`bound`: how few moves are known to be enough, where that is more than counting knows."""

    rows: Ints
    bound: int | None
    note: str = ""
    instead: tuple[Relaxation, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """One Problem and the sites of its program; `spent` are the moves of those that are not in it.

    `known` are balanced rows that keep every rule, as far as a short search knows any.
    """

    problem: Problem
    kinds: tuple[Kind, ...]
    spent: int
    known: Ints | None
    left: Clock

    def program(self, give: Give, unwanted: Event | None = None) -> PartitionProgram:
        return PartitionProgram(
            self.problem, self.kinds, give=give, spent=self.spent, unwanted=unwanted
        )


def place(problem: Problem, budget: Budget) -> Solution:
    """The budget's steps go into something to start from: the search ends with a proof, or with the
    seconds.
    """
    until = time.monotonic() + budget.seconds
    asking = _asking(problem)
    sites, others = np.flatnonzero(asking), np.flatnonzero(~asking)
    rules = RowRules(problem)
    spent = int((rules.rows_demanded * rules.prices)[others].sum())
    known = _first_answer(problem, budget) if budget.seconds > 0 else None
    of_kind = kinds(problem, sites.tolist())
    search = _Search(problem, of_kind, spent, known, lambda: max(0.0, until - time.monotonic()))
    try:
        exact_answer = _find(search) if len(sites) else _Answer(problem.old[:0], 0)
    except run_pulp_with_highs.NoAnswer as error:
        exact_answer = _Answer(
            repair(problem, sites, problem.old[:0]), None, f"no exact answer: {error}"
        )
    rows = np.concatenate([exact_answer.rows, repair(problem, others, exact_answer.rows)])
    least = None if exact_answer.bound is None else exact_answer.bound + spent
    answered = answer(
        problem,
        rows,
        "exact",
        least=least,
        note=exact_answer.note,
        instead=exact_answer.instead,
        finder=CauseTrials(limits_to_exceed(exact_answer.instead)),
    )
    return replace(answered, certificate=certificate(problem))


def _first_answer(problem: Problem, budget: Budget) -> Ints | None:
    """Balanced rows with few moves, of those that a short search finds and those that nodes deal
    out to each other.
    """
    free, _ = local_solver.search(problem, relax(problem), budget)
    searched = limit_moves(problem, free).rows
    rows = sort_by_site(repair_all(problem))
    whole = make_all_movable(problem, rows)
    dealt = deal_remedies(whole, problem.tolerance).rows
    able = [rows for rows in (searched, dealt) if not score.violations(problem, rows)]
    return min(able, key=lambda rows: score.moves(problem, rows), default=None)


def _asking(problem: Problem) -> Bools:
    """The sites whose place makes a difference to others, or to what a move of theirs costs."""
    asking: Bools = np.asarray(problem.load.any(axis=1))
    asking[[site for group in problem.apart for site in group]] = True
    if problem.partly is not None:
        asking[problem.partly[:, 0]] = True
    if problem.limits.cold_bytes is not None or problem.limits.inflow is not None:
        asking |= problem.cold > 0
    return asking


def _find(search: _Search) -> _Answer:
    if search.known is not None and (known_answer := _from_known(search, search.known)) is not None:
        return known_answer
    try:
        return _solve_by_program(search)
    except run_pulp_with_highs.Impossible:
        return _best_effort(search)


def _from_known(search: _Search, rows: Ints) -> _Answer | None:
    """The answer, where it takes no program to know how few moves there can be."""
    priced = price_bound(search.problem)
    if (
        all_move_sets.is_small(search.problem)
        and (tried_answer := _try_all_ways(search, rows, priced)) is not None
    ):
        return tried_answer
    return _prove_fewest(search, rows, priced.least)


def _try_all_ways(search: _Search, rows: Ints, priced: Priced) -> _Answer | None:
    """By looking at all ways there are: those with fewer moves, and then those with fewer cold
    bytes.

    The program looks for fewer cold bytes all the while.
    """
    unwanted, others = Event(), (1 - FOR_SIFTING) * search.left()
    with ThreadPoolExecutor(1) as pool:
        settled = pool.submit(_settle_ties, search, rows, BESIDE, unwanted)
        fewest = all_move_sets.fewest(search.problem, rows, priced, lambda: search.left() - others)
        if fewest is rows:
            coldest, every = all_move_sets.coldest(
                search.problem, rows, priced, lambda: search.left() - others
            )
        if fewest is not rows or every:
            unwanted.set()
    if fewest is not rows:
        least = 0 if fewest is None else score.moves(search.problem, fewest)
        return (
            None if fewest is None else _try_all_ways(search, fewest, replace(priced, least=least))
        )
    return _coldest(search, settled.result(), coldest, every=every)


def _coldest(search: _Search, program_answer: _Answer, coldest: Ints, *, every: bool) -> _Answer:
    """The better answer: what the program found, or what was found by looking at ways, at `every`
    one or at some.
    """
    if not every and (
        not program_answer.note
        or not _cheaper(search.problem, coldest, program_answer.rows, search.spent)
    ):
        return program_answer
    program = search.program(Give())
    settled = _settle_order(program, program.take(coldest, coldest=True), search.left)
    return _answer_with_note(search, program, replace(settled, best=every and settled.best))


def _prove_fewest(search: _Search, rows: Ints, least: int) -> _Answer | None:
    """Which of the partitions with as few moves it is gets settled while it is proven that none has
    fewer.
    """
    with ThreadPoolExecutor(1) as pool:
        fewest_rows = pool.submit(_fewest, search, rows, least)
        settled = _settle_ties(search, rows)
        fewest = fewest_rows.result()
    if fewest is None:
        return None
    return settled if fewest is rows else _settle_ties(search, fewest)


def _fewest(search: _Search, rows: Ints, least: int) -> Ints | None:
    """The rows, or better ones, with no more moves than any others; None where that takes the
    program to know.
    """
    problem = search.problem
    if score.moves(problem, rows) > least and move_forest.is_small(problem):
        least = max(least, move_forest.least(problem))
    while (moves := score.moves(problem, rows)) > least:
        verdict = proof_by_integer_program.judge_so_few_moves(
            problem, moves - 1, (1 - FOR_PROGRAM) * search.left(), PROOF, SHARE
        )
        if verdict.rows is None:
            return rows if verdict.impossible else None
        rows = verdict.rows
    return rows


def _settle_ties(
    search: _Search, rows: Ints, cases: int = CASES, unwanted: Event | None = None
) -> _Answer:
    """The best partition with as many moves as these rows have."""
    program = search.program(Give(), unwanted)
    return _answer_with_note(
        search, program, _settle(program, program.take(rows), search.left, cases)
    )


def _solve_by_program(search: _Search) -> _Answer:
    program, known = search.program(Give()), search.known
    kind_counts = program.minimise(program.moves(), search.left())
    if known is not None and _cheaper(
        search.problem, known, program.rows(kind_counts), search.spent
    ):
        program.start_from(known)
    settled = _settle(program, kind_counts, search.left)
    if not kind_counts.best:
        return _Answer(
            program.rows(settled), None, f"{LATE} before the proof that fewer moves cannot do"
        )
    return _answer_with_note(search, program, settled)


def _answer_with_note(search: _Search, program: PartitionProgram, settled: KindCounts) -> _Answer:
    rows = program.rows(settled)
    return _Answer(rows, score.moves(search.problem, rows), "" if settled.best else COLDER)


def _cheaper(problem: Problem, known: Ints, rows: Ints, spent: int) -> bool:
    """Whether it is known how to have fewer cold bytes with as few moves."""
    as_few = score.moves(problem, known) == score.moves(problem, rows) + spent
    return as_few and score.cold_bytes(problem, known) < score.cold_bytes(problem, rows)


def _settle(
    program: PartitionProgram, kind_counts: KindCounts, left: Clock, cases: int = CASES
) -> KindCounts:
    """The partition with the fewest cold bytes among those with as few moves. If several are left,
    always the same one.
    """
    return _settle_order(
        program, _next(program, program.cold(), left(), kind_counts, cases=cases), left
    )


def _settle_order(program: PartitionProgram, kind_counts: KindCounts, left: Clock) -> KindCounts:
    if program.open_choices(kind_counts) > FEW_TARGETS:
        return kind_counts
    program.keep_sources(kind_counts)
    settled = _next(program, program.any_order(), left(), kind_counts, cases=CASES)
    return replace(settled, best=settled.best and kind_counts.best)


def _best_effort(search: _Search) -> _Answer:
    """The worst node as near to the band as can be, to a tenth of the tolerance.

    Then all nodes, where a move is worth it that brings a tolerance's worth of load back into the
    band: to bring down the last bit would take a new partition, and still not be balanced. Limits
    of moves, and sites kept apart, give way only where that is not enough to keep all other wishes.
    """
    band = search.problem.tolerance * SHARE
    program, nearest = _nearest(search, band)
    kind_counts = _next(program, program.outside(price=band), search.left(), nearest, within=band)
    note = IMPOSSIBLE + ("" if nearest.best else NOT_NEAREST)
    rules = RowRules(search.problem)
    forced = int((rules.rows_demanded * rules.prices).sum()) - search.spent
    return _Answer(
        program.rows(kind_counts), forced, note, (*_relax_move_limits(search), *_relax_pins(search))
    )


def _nearest(search: _Search, band: float) -> tuple[PartitionProgram, KindCounts]:
    try:
        program = search.program(Give(band=True))
        return program, program.minimise(program.worst(), search.left() / 2, within=band / 20)
    except run_pulp_with_highs.Impossible:
        program = search.program(Give(band=True, limits=True, apart=True))
    try:
        program.minimise(program.cost_of_crowding(), search.left() / 4)
        program.minimise(program.overspent(), search.left() / 3, within=0.5)
        return program, program.minimise(program.worst(), search.left() / 2, within=band / 20)
    except run_pulp_with_highs.Impossible as error:
        raise run_pulp_with_highs.NoAnswer("no partition keeps every wish") from error


def _relax_move_limits(search: _Search) -> tuple[Relaxation, ...]:
    """The limits of moves with which a balanced partition could be had, exceeded by as little as
    can be.

    As little as can be of all nodes' together is not the least for the one that takes most in; and
    of a limit beyond SHARE one more is less than what is near enough.
    """
    if search.problem.limits == MoveLimits():
        return ()
    program = search.program(Give(limits=True))
    try:
        kind_counts = program.minimise(program.overspent(), search.left() / 3, within=0.5)
    except (run_pulp_with_highs.Impossible, run_pulp_with_highs.NoAnswer):
        return ()
    limits, rows = search.problem.limits, program.rows(kind_counts)
    needed = [
        (LIMITS["moves"], limits.moves, score.moves(search.problem, rows) + search.spent),
        (LIMITS["cold"], limits.cold_bytes, score.cold_bytes(search.problem, rows)),
        (LIMITS["inflow"], limits.inflow, int(score.inflow(search.problem, rows).max())),
    ]
    short = [
        (rule, limit, needs) for rule, limit, needs in needed if limit is not None and needs > limit
    ]
    best = kind_counts.best and len(short) == 1 and short[0][0] != LIMITS["inflow"]
    return tuple(
        Relaxation(rule, float(needs), least=best and limit <= SHARE)
        for rule, limit, needs in short
    )


def _relax_pins(search: _Search) -> tuple[Relaxation, ...]:
    """How many pins to nodes would have to go, at least, or how many sites could not rest where
    they are.

    The pins of sites that are not in the program hold. The program counts a site that rests once
    for each node that it leaves, and people count it once: so fewer such sites may do.
    """
    pins = sum(len(kind.sites) * len(kind.pinned) for kind in search.kinds)
    if not pins:
        return ()
    program = search.program(Give(pins=True))
    try:
        kind_counts = program.minimise(program.cost_of_lost_pins(), search.left() / 3)
    except (run_pulp_with_highs.Impossible, run_pulp_with_highs.NoAnswer):
        return ()
    there = set(map(tuple, program.rows(kind_counts).tolist()))
    lost = [
        site
        for kind in search.kinds
        for site in kind.sites
        for node in kind.pinned
        if (site, node) not in there
    ]
    resting, pinned = search.problem.resting, search.problem.pinned
    rests = len(resting.intersection(lost))
    wishes = sum(site not in resting for site in lost)
    counts_alike = all(len(pinned.get(site, ())) <= 1 for site in resting)
    is_least = counts_alike and not _pins_elsewhere_cost_moves(search)
    # None at all is not enough, so one is always the least.
    least = kind_counts.best and (is_least or wishes + rests == 1)
    return (short.less_of(wishes, rests, least=least),)


def _pins_elsewhere_cost_moves(search: _Search) -> bool:
    """Whether to take back pins of sites that are not in the program would spare moves, of which
    there is a limit.
    """
    if search.problem.limits.moves is None:
        return False
    without = replace(search.problem, pinned={})
    rules = RowRules(without)
    demanded = rules.rows_demanded * rules.prices
    for kind in search.kinds:
        demanded[list(kind.sites)] = 0
    return int(demanded.sum()) < search.spent


def _next(
    program: PartitionProgram,
    cost: Cost,
    seconds: float,
    kind_counts: KindCounts,
    *,
    within: float | None = None,
    cases: int | None = None,
) -> KindCounts:
    """The answer so far stands where time runs out on a better one."""
    try:
        return program.minimise(cost, seconds, within=within, nodes=cases, polish=cases is not None)
    except (run_pulp_with_highs.NoAnswer, run_pulp_with_highs.Impossible):
        return replace(kind_counts, best=False)
