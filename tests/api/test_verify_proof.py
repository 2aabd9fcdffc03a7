"""`flex plan verify-proof`: a plan's proof is checked again, by nothing but what is stored."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from bench.solver.family import cluster
from flex.errors import NoData, StoreError
from flex.model.plan import Move, Plan, Proven
from flex.placing import check_proof, proof_statement
from flex.placing.problem import Problem
from flex.planning.ask_checker_of_proofs import ask_checker
from flex.planning.decide_moves_of_tonight import Claim, Decision, decide
from flex.store import proof_as_bytes
from flex_api.facts.check_proof_of_plan import check_proof_of
from flex_solver import SOLVERS
from tests.api.conftest import Installation
from tests.solver.anything import anything
from tests.store.test_store_contract_plans import plan as empty_plan
from tests.unhurried import unhurried


@cache
def decided() -> Decision:
    problem = cluster(60, 4, seed=1)
    return decide(problem, SOLVERS["auto"], unhurried(1_000), trigger=0.0, margin=0.0)


def claim() -> Claim:
    found = decided().claim
    assert found is not None
    return found


def plan_of(problem: Problem, proof: Any, quality: Proven) -> Plan:
    names = proof["answer"]["names"]
    moves = [
        Move(names[str(site)], None, problem.nodes[node], 0, "")
        for site, node in proof["answer"]["new"]
    ]
    return replace(empty_plan("c1"), moves=tuple(moves), quality=quality)


def proven() -> tuple[Plan, Any]:
    quality, proof = ask_checker(decided())
    return plan_of(claim().problem, proof, quality), proof


def test_a_plan_says_proven_after_the_checker_said_so() -> None:
    quality, proof = ask_checker(decided())
    assert proof is not None
    assert quality.certified == check_proof.check(proof)[1] > 0
    assert quality.is_certified == (quality.proven and quality.certified >= quality.bound)


def test_a_certificate_that_the_checker_refuses_leaves_a_claim() -> None:
    done, found = decided(), claim()
    certificate = dict(found.solution.certificate or {})
    certificate["bound"] += 100
    worse = replace(found, solution=replace(found.solution, certificate=certificate))
    quality, proof = ask_checker(replace(done, claim=worse))
    assert (quality.certified, quality.is_certified, proof) == (0, False, None)
    assert (quality.bound, quality.proven) == (done.quality.bound, done.quality.proven)


def test_a_proof_holds_for_the_plan_it_was_made_for() -> None:
    plan, proof = proven()
    output = check_proof_of(plan, proof)
    assert output.moves == len(plan.moves)
    assert output.moves_at_least == plan.quality.certified
    assert output.proven_least == (output.moves == output.moves_at_least)


def test_a_proof_of_other_moves_is_refused() -> None:
    plan, proof = proven()
    with pytest.raises(StoreError, match="the plan does not"):
        check_proof_of(replace(plan, moves=plan.moves[1:]), proof)
    elsewhere = replace(plan.moves[0], site="other.example.org")
    with pytest.raises(StoreError, match="the proof does not"):
        check_proof_of(replace(plan, moves=(elsewhere, *plan.moves[1:])), proof)


def test_a_proof_that_somebody_changed_is_refused() -> None:
    plan, proof = proven()
    worse = copy.deepcopy(proof)
    worse["certificate"]["bound"] += 100
    with pytest.raises(StoreError, match="it is refused"):
        check_proof_of(plan, worse)
    without = {"answer": proof["answer"], "statement": proof["statement"]}
    with pytest.raises(StoreError, match="it is refused"):
        check_proof_of(plan, without)


def test_a_plan_without_a_proof_makes_a_claim() -> None:
    claimed = replace(empty_plan("c1"), quality=Proven("exact", 3, proven=True))
    with pytest.raises(NoData, match="a claim of the solver"):
        check_proof_of(claimed, None)


def test_the_statement_is_of_whole_numbers() -> None:
    said = proof_statement.statement(claim().problem)
    assert all(isinstance(one, int) for column in said["load"] for one in column)


def test_a_proof_is_stored_as_it_was() -> None:
    _, proof = proven()
    proof["statement"] = proof_statement.statement(anything(3))
    assert proof_as_bytes.unpack(proof_as_bytes.pack(proof)) == proof


def test_the_verb_says_that_a_first_plan_has_no_proof(installation: Installation) -> None:
    made = installation.first_plan()
    said = installation.flex("plan", "verify-proof", made["id"])
    assert said.code == NoData.exit_code
    assert "it has none" in said.err
