"""The checker accepts what solvers certify, and nothing that is false."""

from __future__ import annotations

import ast
import copy
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from bench.solver.family import cluster
from bench.solver.hard_families import by_the_hour, with_four_resources
from flex.placing import check_proof, proof_statement, score
from flex.placing.check_proof import MOVE, NotProven
from flex.placing.problem import Problem, Solution
from flex_solver import SOLVERS
from flex_solver.bounds.certificate import certificate
from tests.solver import definition
from tests.solver.anything import anything
from tests.unhurried import unhurried

# A checker that nobody can read convinces nobody.
MOST_LINES = 400
# Problems in all: with what is made up for each they take two hours of one core.
ALL = 20_000
# Problems in one torture test.
AT_A_TIME = 1_000
# Certificates that are made up for one problem.
MADE_UP = 6
# Certificates with one number changed for the worse.
WORSENED = 1_000


def test_the_checker_is_short_and_imports_nothing_of_flex() -> None:
    source = Path(check_proof.__file__).read_text()
    assert len(source.splitlines()) <= MOST_LINES
    imported = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {one.name.partition(".")[0] for one in node.names}
        if isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported - {"numpy"} <= set(sys.stdlib_module_names)


@pytest.mark.torture("145-8-2")
@pytest.mark.slow("145-8-1", "145-8-2")
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("sites", "nodes"), [(100, 4), (145, 8)])
def test_the_checker_accepts_what_solvers_certify(sites: int, nodes: int, seed: int) -> None:
    problem = cluster(sites, nodes, seed=seed)
    found = SOLVERS["auto"](problem, unhurried(2_000))
    proof = _proof(problem, found)
    moves, needed = check_proof.check(proof)
    assert moves == score.moves(problem, found.rows)
    assert 0 < needed <= moves
    assert needed >= found.bound - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "size"), [(with_four_resources, (2_000, 16, 2)), (by_the_hour, (400, 2, 1))]
)
def test_the_checker_does_not_give_up_where_many_sets_of_changes_are_cheap(
    make: Callable[[int, int, int], Problem], size: tuple[int, int, int]
) -> None:
    problem = make(*size)
    made = certificate(problem)
    assert made
    said = check_proof.Statement(proof_statement.statement(problem))
    assert check_proof.needed_moves(said, made) == made["bound"] > 0


@pytest.mark.slow
def test_no_certificate_of_a_solver_is_false_on_the_first_hundreds() -> None:
    counts = _look_at(range(60))
    assert counts["certified"] > 12
    assert counts["accepted"] == counts["certified"]


@pytest.mark.slow
def test_no_certificate_that_is_made_up_is_accepted_where_it_is_false() -> None:
    counts = Counter[str]()
    for number in range(60):
        counts += _made_up(number)
    assert counts["accepted"] > 30
    assert counts["refused"] > 30


@pytest.mark.slow
def test_a_certificate_with_one_number_changed_for_the_worse_is_refused() -> None:
    made = [_solved(*size) for size in ((60, 4, 1), (100, 4, 2), (145, 8, 1))]
    random = Random(1)
    for _ in range(WORSENED):
        problem, proof = random.choice(made)
        with pytest.raises(NotProven):
            check_proof.check(_worsened(problem, proof, random))


def test_a_partition_that_breaks_a_rule_is_refused() -> None:
    problem, proof = _solved(60, 4, 1)
    moved = copy.deepcopy(proof)
    moved["answer"]["new"], moved["answer"]["gone"] = [], []
    with pytest.raises(NotProven, match=r"band|as many nodes"):
        check_proof.check(moved)
    other = copy.deepcopy(proof)
    site = other["answer"]["new"][0][0]
    other["statement"]["barred"][str(site)] = [other["answer"]["new"][0][1]]
    with pytest.raises(NotProven, match="may not be"):
        check_proof.check(other)
    assert problem.nodes


@pytest.mark.torture
@pytest.mark.parametrize("first", range(0, ALL, AT_A_TIME))
def test_no_certificate_is_false_on_twenty_thousand(first: int) -> None:
    counts = _look_at(range(first, first + AT_A_TIME))
    for number in range(first, first + AT_A_TIME):
        counts += _made_up(number)
    print(dict(counts))
    assert counts["certified"] > AT_A_TIME / 8


def _look_at(numbers: range) -> Counter[str]:
    """What solvers certify, beside what the definition finds."""
    counts = Counter[str]()
    for number in numbers:
        problem = anything(number)
        found = SOLVERS["exact" if number % 2 else "large"](problem, unhurried(300))
        if found.certificate is None:
            continue
        counts["certified"] += 1
        best = definition.fewest(problem)
        try:
            needed = _bound(problem, found.certificate)
        except NotProven as error:
            print(number, error)
            continue
        counts["accepted"] += 1
        if best is not None:
            assert needed <= best.moves, number
            counts["tight"] += needed == best.moves
    return counts


def _made_up(number: int) -> Counter[str]:
    """Certificates that somebody made up: some hold, and none of those may say too much."""
    problem, random = anything(number), Random(number)
    counts, least = Counter[str](), sys.maxsize
    for _ in range(MADE_UP):
        certificate = _any_certificate(problem, random)
        try:
            needed = _bound(problem, certificate)
        except NotProven:
            counts["refused"] += 1
            continue
        counts["accepted"] += 1
        if least == sys.maxsize:
            best = definition.fewest(problem)
            least = -1 if best is None else best.moves
        assert least < 0 or needed <= least, (number, certificate)
    return counts


def _any_certificate(problem: Problem, random: Random) -> dict[str, Any]:
    sites = range(len(problem.sites))
    named = [site for site in sites if random.random() < 0.8]
    opened = np.flatnonzero(problem.open).tolist()
    dimensions = int(problem.load.any(axis=0).sum())
    nodes = {}
    for node in opened:
        if random.random() < 0.7:
            v = [random.randint(-200_000, 200_000) for _ in range(dimensions)]
            pays = random.choice([0, MOVE // 5, MOVE // 2, MOVE, 2 * MOVE])
            apart = {
                str(g): random.randint(0, 50_000)
                for g in range(len(problem.apart))
                if random.random() < 0.3
            }
            nodes[str(node)] = {"pays": pays, "v": v, "apart": apart}
    return {
        "bound": random.choice([0, 1, 1, 2, 3]),
        "prices": [named, [random.choice([0, MOVE // 2, MOVE]) for _ in named]],
        "rest": random.choice([0, MOVE // 2, MOVE]),
        "nodes": nodes,
    }


def _bound(problem: Problem, certificate: Any) -> int:
    """What a certificate proves, whatever the solver found."""
    said = check_proof.Statement(proof_statement.statement(problem))
    return check_proof.needed_moves(said, certificate)


def _solved(sites: int, nodes: int, seed: int) -> tuple[Problem, Any]:
    problem = cluster(sites, nodes, seed=seed)
    proof = _proof(problem, SOLVERS["auto"](problem, unhurried(2_000)))
    check_proof.check(proof)
    return problem, proof


def _proof(problem: Problem, found: Solution) -> Any:
    assert found.certificate is not None
    return proof_statement.proof(problem, found.rows, found.certificate)


def _worsened(problem: Problem, proof: Any, random: Random) -> Any:
    """The proof with one number that is not so: a bound that is too high, a node that would pay
    more than it does in the partition that was found, a price that no bundle may have.
    """
    worse = copy.deepcopy(proof)
    certificate = worse["certificate"]
    match random.choice(["bound", "pays", "price", "rest"]):
        case "bound":
            certificate["bound"] = len(proof["answer"]["new"]) + random.randint(1, 5)
        case "pays":
            node = random.choice(list(certificate["nodes"]))
            paid = sum(_paid(proof, int(node)))
            certificate["nodes"][node]["pays"] = paid + random.randint(1, MOVE)
        case "price":
            which = random.randrange(len(certificate["prices"][1]))
            certificate["prices"][1][which] = random.choice(
                [-1, -random.randint(1, MOVE), MOVE + 1, MOVE + random.randint(1, MOVE)]
            )
        case "rest":
            certificate["rest"] = random.choice([-1, MOVE + random.randint(1, MOVE)])
    return worse


def _paid(proof: Any, node: int) -> Iterator[int]:
    """What the node pays for the changes of the partition that was found."""
    certificate = proof["certificate"]
    prices = dict(zip(*certificate["prices"], strict=True))
    for site, other in proof["answer"]["gone"]:
        if other == node:
            yield prices.get(site, certificate["rest"])
    for site, other in proof["answer"]["new"]:
        if other == node:
            yield MOVE - prices.get(site, certificate["rest"])
