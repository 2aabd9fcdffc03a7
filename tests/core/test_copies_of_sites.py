"""A copy of a site is removed only where nobody is led to it and nobody may want it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.model.site_moves import OPEN, SiteMove
from flex_api.moving.which_copies_may_go import Copies

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SITES, NODES = ("a", "b"), ("n1", "n2", "n3")
PAIRS = st.frozensets(st.tuples(st.sampled_from(SITES), st.sampled_from(NODES)))


@st.composite
def open_moves(draw: st.DrawFn) -> list[SiteMove]:
    found = []
    for number in range(draw(st.integers(0, 4))):
        source, target = draw(st.permutations(NODES))[:2]
        site, state = draw(st.sampled_from(SITES)), draw(st.sampled_from(OPEN))
        found.append(SiteMove(f"m{number}", site, source, target, "p", NOW, state))
    return found


@given(
    PAIRS,
    PAIRS,
    PAIRS,
    st.frozensets(st.sampled_from(SITES)),
    st.frozensets(st.sampled_from(NODES)),
    open_moves(),
)
def test_no_copy_goes_that_somebody_is_led_to_or_that_a_move_left_or_brings(
    in_force: frozenset[tuple[str, str]],
    coming: frozenset[tuple[str, str]],
    in_dns: frozenset[tuple[str, str]],
    excluded: frozenset[str],
    known: frozenset[str],
    moves: list[SiteMove],
) -> None:
    copies = Copies(in_force, coming, in_dns, excluded, known, moves)
    for move in moves:
        for node in (move.source, move.target):
            if copies.why_kept(move, node):
                continue
            assert (move.site, node) not in in_force | coming | in_dns
            assert move.site not in excluded
            assert node in known
            for other in moves:
                if other.id != move.id and other.site == move.site:
                    assert other.target != node
                    assert (other.source, other.state) != (node, "moved")


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_a_copy_that_nobody_needs_goes(node: str) -> None:
    move = SiteMove("m", "a", "n1", "n2", "p", NOW)
    copies = Copies([("a", "n3"), ("b", node)], [], [], ["b"], NODES, [move])
    assert copies.why_kept(move, node) == ""


MOVE = SiteMove("m", "a", "n1", "n2", "p", NOW)


@pytest.mark.parametrize(
    "reason",
    [
        {"in_force": [("a", "n1")]},
        {"coming": [("a", "n1")]},
        {"in_dns": [("a", "n1")]},
        {"excluded": ["a"]},
        {"nodes": NODES[1:]},
        {"moves": [MOVE, SiteMove("other", "a", "n3", "n1", "p", NOW)]},
        {"moves": [MOVE, SiteMove("other", "a", "n1", "n3", "p", NOW, "moved")]},
    ],
)
def test_each_reason_alone_keeps_a_copy(reason: Mapping[str, Any]) -> None:
    copies = Copies([], [], [], [], NODES, [MOVE])
    assert copies.why_kept(MOVE, "n1") == ""
    assert replace(copies, **reason).why_kept(MOVE, "n1")
