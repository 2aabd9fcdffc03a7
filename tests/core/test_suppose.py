"""What-if: the same judgement as a plan, of a cluster that is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from flex.errors import BadInput, Unknown
from flex.frame_schemas import SPREADS
from flex.model.limits_and_approvals import Limits
from flex.model.nodes import Node
from flex.model.period import Period
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.what_if import Supposition, WhatIf, suppose
from flex.prediction.cache_replay import Sample
from flex_solver import SOLVERS
from tests.unhurried import unhurried

NOW = datetime(2026, 3, 3, 2, 17, tzinfo=UTC)
EMPTY = np.zeros(0, dtype=np.int64)
RULES = Rules(0.05, 0.1, 0.01, 1.0, Limits(), (), "me", 60, False, unhurried())

Ask = Callable[..., WhatIf]


@pytest.fixture
def ask(
    profiles: Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame],
    placement: Callable[[Mapping[str, str]], pd.DataFrame],
    nodes: Callable[[int], tuple[Node, ...]],
) -> Ask:
    facts = Facts(
        period=Period.days_before(NOW, 1),
        profiles=profiles({"a": (40, 40), "b": (40, 40), "c": (20, 20), "d": (20, 20)}),
        spreads=SPREADS.empty(),
        sample=Sample((), EMPTY, EMPTY, EMPTY, EMPTY, 1.0),
        nodes=nodes(2),
        pins=(),
        base="p1",
        placement=placement({"a": "n1", "b": "n2", "c": "n1", "d": "n2"}),
    )

    def supposed(**wanted: object) -> WhatIf:
        return suppose(
            facts,
            RULES,
            Supposition(**wanted),  # type: ignore[arg-type]  # what each test supposes
            solver=SOLVERS["exact"],
            scratch=SOLVERS["scratch"],
        )

    return supposed


def test_supposing_nothing_moves_nothing(ask: Ask) -> None:
    found = ask()
    assert (found.moves, found.after.worst) == ((), 0.0)


def test_a_node_more_takes_sites(ask: Ask) -> None:
    found = ask(more=1)
    assert {move.target for move in found.moves} == {"new1"}


def test_a_lost_node_gives_its_sites_away(ask: Ask) -> None:
    found = ask(lost=("n2",))
    assert {(move.site, move.source) for move in found.moves} == {("b", "n2"), ("d", "n2")}
    # The question leaves it out. Nothing is down.
    assert all("n2 is left out" in move.reason for move in found.moves)


def test_a_site_with_more_visitors_is_larger(ask: Ask) -> None:
    found = ask(times={"c": 3.0})
    assert found.before.worst > 0.2
    assert found.asked == pytest.approx((30 + 10 * 3) / 86400)


def test_growth_of_all_moves_nothing_and_asks_for_more(ask: Ask) -> None:
    found = ask(growth=0.5)
    assert found.moves == ()
    assert found.asked == pytest.approx(1.5 * 40 / 86400)


def test_what_cannot_be_supposed_is_refused(ask: Ask) -> None:
    with pytest.raises(Unknown):
        ask(lost=("n9",))
    with pytest.raises(Unknown):
        ask(times={"nobody": 2.0})
    with pytest.raises(BadInput):
        ask(growth=-1.0)
