"""Where the sites of dead nodes go as long as no plan says it: each to the node that a failover
would choose.

Takes the facts and rules of a failover. Returns the partition in force without the nodes that are
down. Does not ask DNS, so it has an answer also where the name servers died with the node.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from flex.frame_schemas import PLACEMENT
from flex.placing import failover, problem
from flex.planning.dns_survey import Reach
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.propose_plan import build
from flex.planning.unmovable_sites import limit_to_reach


def heirs(facts: Facts, rules: Rules) -> pd.DataFrame:
    """PLACEMENT. Sites of nodes that are not down stay where they are. Those whose content is at
    dead nodes alone are left out.
    """
    led = frozenset(facts.sites)
    everything = Reach({}, {}, PLACEMENT.empty(), {}, led=led)
    placing_problem = build(limit_to_reach(everything, facts), rules)
    for node in facts.nodes:
        if node.state == "down":
            dead = placing_problem.nodes.index(node.name)
            kept = failover.survivors(placing_problem, dead, facts.content.elsewhere)
            rows = failover.rehome(placing_problem, kept, dead)
            placing_problem = replace(placing_problem, old=rows)
    return problem.partition_of(placing_problem, placing_problem.old)
