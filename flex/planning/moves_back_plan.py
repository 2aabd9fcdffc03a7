"""A plan that leads single sites back to the nodes that they came from, and moves nothing else.

Takes facts, rules, by site the node that it goes back to, and a name server to read. Returns a
proposal. A site that is not ours to change, or that mail leans on, stays as in any plan. Does not
judge whether a site should go back, and stores nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pandas as pd

from flex.frame_schemas import PLACEMENT
from flex.partition import join_partitions, rows_of_other_sites
from flex.placing import problem
from flex.placing.problem import Ints, Problem
from flex.planning.dns_survey import Reach
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.given_partition import plan_of_given_rows
from flex.planning.propose_plan import Proposal
from flex.ports import Publisher, Solver
from flex.site_names_in_words import first_few

# What made a plan that leads sites back which were worse off where they moved to.
WENT_BACK = "went back"


def lead_back(
    facts: Facts,
    rules: Rules,
    to: Mapping[str, str],
    *,
    scratch: Solver,
    publisher: Publisher,
    now: datetime,
) -> Proposal:
    def back(facts: Facts, placing_problem: Problem, _: Reach) -> tuple[Ints, str]:
        rows = problem.rows_of(placing_problem, _partition(facts, to))
        return rows, f"led back, as worse off than before: {first_few(sorted(to))}"

    return plan_of_given_rows(WENT_BACK, back, facts, rules, scratch, publisher, now)


def _partition(facts: Facts, to: Mapping[str, str]) -> pd.DataFrame:
    """The one in force, but for the sites that may go."""
    here = set(facts.placement["site"]) - facts.fixed
    going = {site: node for site, node in to.items() if site in here}
    others = rows_of_other_sites(facts.placement, going)
    back = PLACEMENT.from_columns({"site": list(going), "node": [going[site] for site in going]})
    return join_partitions(others, back)
