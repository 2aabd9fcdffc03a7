"""Asks the checker whether what a solver claims is proven.

Takes a Decision. Returns what is known of it, with the number of moves that the checker accepts as
needed, and the proof that can be checked again at any time. Does not check by itself:
placing/check_proof.py does. Where there is no certificate, or the checker refuses it, the claim
stays a claim, and there is no proof to keep.
"""

from __future__ import annotations

from dataclasses import replace

from flex.model.plan import Proven
from flex.placing import check_proof, proof_statement
from flex.placing.proof_statement import Json
from flex.planning.decide_moves_of_tonight import Decision


def ask_checker(done: Decision) -> tuple[Proven, Json | None]:
    claim, quality = done.claim, done.quality
    if claim is None or not quality.bound or claim.solution.certificate is None:
        return quality, None
    proof = proof_statement.proof(claim.problem, claim.solution.rows, claim.solution.certificate)
    try:
        _, needed = check_proof.check(proof)
    except check_proof.NotProven:
        return quality, None
    return replace(quality, certified=needed), proof
