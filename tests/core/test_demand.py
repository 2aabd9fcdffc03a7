"""On how many nodes a site goes, and what each of its replicas asks there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import pytest

from flex.errors import BadInput, Infeasible
from flex.frame_schemas import SPREADS
from flex.model.nodes import Node
from flex.model.wish import Pin
from flex.placing.problem import Lately, MoveLimits, Problem, Terms, build
from flex.traffic.replicas_and_demand import RESOURCES

Make = Callable[..., Problem]


@pytest.fixture
def asked(
    profiles: Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame],
    placement: Callable[[Mapping[str, str]], pd.DataFrame],
    nodes: Callable[[int], tuple[Node, ...]],
) -> Make:
    """The site "big" and one that asks for the rest of 1,000 bytes sent and of 1,000 in the working
    set, on 4 nodes.
    """

    def make(
        big: tuple[int, int],
        old: Mapping[str, str] | None = None,
        pins: Sequence[Pin] = (),
        terms: Terms = Terms(),  # noqa: B008  # It is frozen.
        tolerance: float = 0.5,
        lately: Lately = Lately(),  # noqa: B008  # So is this.
    ) -> Problem:
        return build(
            profiles({"big": big, "rest": (1000 - big[0], 1000 - big[1])}),
            SPREADS.from_columns({"site": ["big"], "replicas": [2], "working_set": [90]}),
            nodes(4),
            pins,
            placement(old or {}),
            tolerance=tolerance,
            replicate_above=0.6,
            terms=terms,
            lately=lately,
        )

    return make


@pytest.mark.parametrize(
    ("sent", "in_force", "replicas"),
    [
        (151, "n1", 2),  # 0.604 of a node
        (140, "n1", 1),
        (140, "n1 n2", 2),  # 0.56: between the marks
        (124, "n1 n2", 1),  # 0.496: clearly smaller
        (140, "n1 n2 n3", 2),  # a third is not needed: 0.28 each
    ],
)
def test_a_split_site_stays_split_until_it_is_clearly_smaller(
    asked: Make, sent: int, in_force: str, replicas: int
) -> None:
    problem = asked((sent, 10), {"big": in_force}, terms=Terms(replicate_below=0.5))
    assert int(problem.replicas[0]) == replicas


@pytest.mark.parametrize(
    ("sent", "in_force", "replicas"),
    [
        (60, "n1 n2 n3", 2),  # a night of late needed two
        (60, "n1", 1),  # but what is not there is not added for it
        (160, "n1", 2),  # 0.64 of a node
        (410, "n1 n2", 3),  # 1.64: more than any night of late
    ],
)
def test_a_site_keeps_what_a_night_of_late_needed_and_grows_at_once(
    asked: Make, sent: int, in_force: str, replicas: int
) -> None:
    problem = asked(
        (sent, 10), {"big": in_force}, terms=Terms(replicate_below=0.5), lately=Lately({"big": 2})
    )
    assert int(problem.replicas[0]) == replicas


@pytest.mark.parametrize(
    ("sent", "in_force", "replicas"),
    [
        (240, "n1", 1),  # 0.96 of a node: no reason to touch it
        (240, "n1 n2", 2),
        (280, "n1", 2),  # 1.12 of a node, and a tenth over is allowed
        (560, "n1 n2", 3),
    ],
)
def test_a_site_that_rests_is_split_only_where_it_is_more_than_a_node(
    asked: Make, sent: int, in_force: str, replicas: int
) -> None:
    rests = Lately(resting=frozenset({"big"}))
    problem = asked(
        (sent, 10), {"big": in_force}, terms=Terms(replicate_below=0.5), tolerance=0.1, lately=rests
    )
    assert int(problem.replicas[0]) == replicas


def test_what_a_site_needs_is_known_whatever_is_wished_of_it(asked: Make) -> None:
    problem = asked((140, 10), pins=[Pin("big", max_replicas=1)], terms=Terms(replicate_below=0.5))
    assert (int(problem.replicas[0]), dict(problem.needs)) == (1, {0: 2, 1: 4})


def test_replicas_stay_within_what_is_wished(asked: Make) -> None:
    assert asked((600, 10)).replicas[0] == 4
    assert asked((600, 10), pins=[Pin("big", max_replicas=2)]).replicas[0] == 2
    assert asked((600, 10), pins=[Pin("big", not_on=("n1", "n2", "n3"))]).replicas[0] == 1
    assert asked((600, 10), pins=[Pin("big", apart=("rest",))]).replicas.sum() <= 4
    assert set(asked((600, 10), pins=[Pin("big", together=("rest",))]).replicas.tolist()) == {4}


def test_content_routing_splits_the_working_set_and_random_routing_repeats_some_of_it(
    asked: Make,
) -> None:
    pins = [Pin("big", min_replicas=2, max_replicas=2)]
    random, routed = (
        asked((200, 100), pins=pins, terms=terms)
        for terms in (Terms(), Terms(routed=frozenset({"big"})))
    )
    assert (random.cold[0], routed.cold[0]) == (90, 50)
    assert routed.load[0, 1] < random.load[0, 1]


def test_a_class_with_head_room_counts_as_larger_and_reads_no_more(asked: Make) -> None:
    plain, gold = (asked((100, 100)), asked((100, 100), terms=Terms(headroom={"big": 0.5})))
    assert gold.load[0, 0] / gold.load[1, 0] == pytest.approx(
        1.5 * plain.load[0, 0] / plain.load[1, 0]
    )
    assert gold.cold[0] == plain.cold[0] == 100


def test_more_dimensions_are_balanced_where_they_are_named(asked: Make) -> None:
    problem = asked((100, 100), terms=Terms(dimensions=tuple(RESOURCES)))
    assert problem.dimensions == ("access rate", "working set", "busy hour", "requests")
    assert tuple(RESOURCES)[4:] == ("service time", "cpu")
    assert problem.load.shape == (2, 4)
    assert (problem.load * problem.replicas[:, None]).sum(axis=0).tolist() == pytest.approx(
        [400.0] * 4
    )


def test_limits_are_on_moves_of_sites_that_are_served(asked: Make) -> None:
    terms = Terms(limits=MoveLimits(moves=3))
    assert asked((100, 100), terms=terms).limits == MoveLimits()
    assert asked((100, 100), {"big": "n1"}, terms=terms).limits.moves == 3 + 4


@pytest.mark.parametrize(
    ("pin", "says"),
    [
        (Pin("big", ("n1",), not_on=("n1",)), "both as a node and as none"),
        (Pin("big", min_replicas=3, max_replicas=2), "3 replicas at least and 2 at most"),
        (Pin("big", min_replicas=2, not_on=("n1", "n2", "n3")), "bars 3 of 4"),
        (Pin("big", together=("rest",), apart=("rest",)), "together with it, and apart"),
    ],
)
def test_a_pin_that_contradicts_itself_is_refused(asked: Make, pin: Pin, says: str) -> None:
    with pytest.raises(Infeasible, match=says):
        asked((100, 100), pins=[pin])


@pytest.mark.parametrize(
    "terms",
    [Terms(replicate_below=0.7), Terms(replicate_below=0.0), Terms(headroom={"big": float("nan")})],
)
def test_numbers_that_mean_nothing_are_refused(asked: Make, terms: Terms) -> None:
    with pytest.raises(BadInput):
        asked((100, 100), terms=terms)


def test_a_tolerance_that_is_no_number_is_refused(asked: Make) -> None:
    with pytest.raises(BadInput, match="tolerance"):
        asked((100, 100), tolerance=float("nan"))
