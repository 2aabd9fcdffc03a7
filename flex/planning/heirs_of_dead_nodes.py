"""Where the sites of dead nodes go as long as no plan says it: each to the node that a failover
would choose.

Takes the facts and rules of a failover. Returns the partition in force without the nodes that are
down. Does not ask DNS, so it has an answer also where the name servers died with the node.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from flex.placing import failover, problem
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.leave_out_the_immovable import within
from flex.planning.propose_plan import build
from flex.planning.which_sites_dns_lets_flex_move import Reach
from flex.table_schemas import PLACEMENT


def heirs(facts: Facts, rules: Rules) -> pd.DataFrame:
    """PLACEMENT. Sites of nodes that are not down stay where they are. Those whose content is at
    dead nodes alone are left out.
    """
    led = frozenset(facts.sites)
    everything = Reach({}, {}, PLACEMENT.empty(), {}, led=led)
    asked = build(within(everything, facts), rules)
    for node in facts.nodes:
        if node.state == "down":
            dead = asked.nodes.index(node.name)
            kept = failover.survivors(asked, dead, facts.content.elsewhere)
            rows = failover.rehome(asked, kept, dead)
            asked = replace(asked, old=rows)
    return problem.partition_of(asked, asked.old)
