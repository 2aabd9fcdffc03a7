"""A cluster with a store and a name server, and the two halves of a plan over it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from flex.model.dns_edits_by_others import Said
from flex.model.limits_and_approvals import Limits
from flex.model.plan import Plan
from flex.placing.problem import Budget, Problem, Solution, sort_by_site
from flex.planning import carry_out_plan, propose_plan
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.propose_plan import Proposal
from flex.ports import Doors, Publisher, Solver
from flex.store import MemoryStore
from flex.zones.names_going_along import pairs_of
from tests.unhurried import unhurried

NOW = datetime(2026, 3, 3, 2, 17, tzinfo=UTC)
ZONE = "hosting.example."
RULES = Rules(
    tolerance=0.2,
    trigger=0.3,
    margin=0.01,
    replicate_above=1.0,
    limits=Limits(),
    zones=(ZONE,),
    owner="me",
    ttl=60,
    adopt=False,
    budget=unhurried(),
)


def turns(problem: Problem, budget: Budget) -> Solution:
    """A solver that deals the sites out to the open nodes by turns: where they end is easy to
    say.
    """
    open_nodes = np.flatnonzero(problem.open)
    rows = [
        (s, open_nodes[(s + r) % len(open_nodes)])
        for s, k in enumerate(problem.replicas)
        for r in range(k)
    ]
    return Solution(
        sort_by_site(np.array(rows, dtype=np.int64).reshape(-1, 2)), "turns", bound=0, proven=False
    )


@dataclass(slots=True)
class Cluster:
    """Facts, a store and a name server, and the two halves of a plan over them."""

    facts: Facts
    target: Publisher
    store: MemoryStore
    rules: Rules = RULES
    solver: Solver = turns

    def propose(self, now: datetime = NOW) -> Proposal:
        base, placement = self.store.placement()
        said = self.store.plan(base).said if base else Said()
        facts = replace(self.facts, base=base, placement=placement, said=said, along=self.along())
        made = propose_plan.propose(
            facts, self.rules, solver=self.solver, scratch=turns, publisher=self.target, now=now
        )
        self.store.propose(made.plan, made.placement)
        return made

    def along(self) -> tuple[tuple[str, str], ...]:
        """The other names that the plan in force gave addresses, with their sites."""
        base = self.store.in_force()
        return pairs_of(self.store.plan(base).zone_plans) if base else ()

    def carry_out(self, made: Proposal, doors: Doors | None = None) -> Plan:
        return carry_out_plan.carry_out(
            made.plan,
            made.placement,
            nodes=self.facts.nodes,
            ttl=self.rules.ttl,
            publisher=self.target,
            store=self.store,
            now=NOW,
            doors=doors,
        )

    def night(self) -> Plan:
        return self.carry_out(self.propose())

    def addresses(self) -> dict[str, list[str]]:
        names = [f"{site}." for site in self.facts.profiles["site"]]
        found = self.target.read(ZONE, names).records
        return {
            str(name).split(".")[0]: list(rows["value"]) for name, rows in found.groupby("name")
        }
