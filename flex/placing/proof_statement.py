"""What a solver was asked and what it found, as JSON that check_proof.py takes.

Takes a Problem, rows, and a certificate. Returns dicts of whole numbers. Does not prove anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from flex.placing import score
from flex.placing.check_proof import FORMAT, SHARE
from flex.placing.problem import Floats, Ints, Problem

# A mean node's share in a Problem, which counts in hundredths of it.
MEAN = 100.0

Json = dict[str, Any]


def proof(problem: Problem, rows: Ints, certificate: Mapping[str, Any]) -> Json:
    return {
        "statement": statement(problem),
        "certificate": dict(certificate),
        "answer": answer(problem, rows),
    }


def statement(problem: Problem) -> Json:
    return {
        "format": FORMAT,
        "nodes": list(problem.nodes),
        "open": problem.open.astype(int).tolist(),
        "share": _parts(problem.share),
        "tolerance": math.ceil(problem.tolerance * SHARE),
        "replicas": problem.replicas.tolist(),
        "load": [_parts(column) for column in problem.load.T],
        "old": problem.old.T.tolist(),
        "pinned": _wishes_as_json(problem.pinned),
        "barred": _wishes_as_json(problem.barred),
        "apart": [_numbers(group) for group in problem.apart],
        "together": [_numbers(group) for group in problem.together],
    }


def answer(problem: Problem, rows: Ints) -> Json:
    new, gone = score.new_rows(problem, rows), score.rows_given_up(problem, rows)
    names = {int(site): problem.sites[site] for site in (*new[:, 0], *gone[:, 0])}
    return {
        "new": new.tolist(),
        "gone": gone.tolist(),
        "names": {str(site): name for site, name in sorted(names.items())},
    }


def _wishes_as_json(wishes: Mapping[int, frozenset[int]]) -> Json:
    return {str(int(site)): _numbers(some) for site, some in sorted(wishes.items())}


def _numbers(some: Iterable[int]) -> list[int]:
    """As numbers of Python, which JSON takes."""
    return sorted(map(int, some))


def _parts(sizes: Floats) -> list[int]:
    parts: list[int] = np.rint(sizes * (SHARE / MEAN)).astype(np.int64).tolist()
    return parts
