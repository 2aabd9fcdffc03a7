"""Checks the proof of a plan once more, with nothing but the stored proof and the plan.

Takes the plan and its proof. Returns what the proof shows. Raises NoData where there is no proof,
and StoreError where the proof is refused or speaks of other moves than the plan. Does not ask a
solver: flex/placing/check_proof.py is all that is trusted.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

from flex.errors import NoData, StoreError
from flex.model.plan import Plan
from flex.placing import check_proof
from flex.placing.proof_statement import Json
from flex_api.schemas.verbs_output import ProofOutput

KEPT = "the plan is as it was"


def check_proof_of(plan: Plan, proof: Json | None) -> ProofOutput:
    claimed = plan.quality.bound
    if proof is None:
        raise NoData(
            f"the proof of plan {plan.id}",
            f"it has none: that {claimed:,} moves are needed is a claim of the solver"
            if claimed
            else "it has none, and claims nothing of how many moves are needed",
            kept=KEPT,
            advice="plans that FLEX makes now have a proof where it found one",
        )
    started = time.process_time()
    try:
        _refuse_other_moves(plan, proof)
        moves, needed = check_proof.check(proof)
    except (check_proof.NotProven, KeyError, TypeError, ValueError, IndexError) as error:
        raise StoreError(
            f"checking the proof of plan {plan.id}",
            f"it is refused: {error}",
            kept=KEPT,
            advice="make the plan again with `flex plan`; if its proof is refused too, "
            "report it with the output of `--to FILE`",
        ) from error
    return ProofOutput(
        plan=plan.id,
        moves=moves,
        moves_at_least=needed,
        proven_least=moves == needed,
        claimed_at_least=claimed,
        claimed_least=plan.quality.proven,
        bytes=len(json.dumps(proof["certificate"], separators=(",", ":"))),
        cpu_seconds=round(time.process_time() - started, 3),
    )


def _refuse_other_moves(plan: Plan, proof: Json) -> None:
    """Raises NotProven where the plan moves what the proof does not, or the other way round."""
    statement, answer = proof["statement"], proof["answer"]
    new = Counter(_site_and_node(statement, answer, row) for row in answer["new"])
    moved = Counter((move.site, move.target) for move in plan.moves if move.target)
    if moved - new:
        site, node = min(moved - new)
        raise check_proof.NotProven(f"the plan moves {site} to {node}, and the proof does not")
    if new - moved:
        site, node = min(new - moved)
        raise check_proof.NotProven(f"the proof moves {site} to {node}, and the plan does not")


def _site_and_node(statement: Json, answer: Json, row: list[Any]) -> tuple[str, str]:
    site, node = row
    return answer["names"][str(site)], statement["nodes"][node]
