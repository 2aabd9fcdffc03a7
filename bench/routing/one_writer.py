"""What a request for a site with one writer costs HAProxy, beside one for any other site, and what
that there may be such sites costs all others.
"""

from __future__ import annotations

import os

from bench.figures import Figures
from bench.routing.cost_of_a_door import ASKED, Cost, Kind, spread, take_turn
from bench.routing.two_nodes import two_nodes

ROUNDS = int(os.environ.get("ROUNDS", "5"))


def measure() -> Figures:
    names = [f"s{number:06}.example" for number in range(4 * ASKED)]
    here, away = names[: 2 * ASKED], names[2 * ASKED :]
    owner_of = dict.fromkeys(here, "n1") | dict.fromkeys(away, "n2")
    stateful = frozenset((*here[ASKED:], *away[ASKED:]))
    with two_nodes(owner_of) as none, two_nodes(owner_of, one_writer=stateful) as some:
        kinds = {
            "plain_local": Kind(none, here[:ASKED]),
            "plain_forwarded": Kind(none, away[:ASKED]),
            "beside_stateful_local": Kind(some, here[:ASKED]),
            "beside_stateful_forwarded": Kind(some, away[:ASKED]),
            "stateful_local": Kind(some, here[ASKED:]),
            "stateful_forwarded": Kind(some, away[ASKED:]),
        }
        costs, failed = {name: Cost() for name in kinds}, 0
        for _ in range(ROUNDS):
            for name, kind in kinds.items():
                failed += take_turn(kind, costs[name])
    figures: Figures = {"visits_failed": failed}
    for name, cost in costs.items():
        figures |= spread(f"{name}_us", cost.first)
        if name.endswith("forwarded"):
            figures |= spread(f"{name}_inner_us", cost.second)
    return figures
