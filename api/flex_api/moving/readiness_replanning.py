"""A plan whose new nodes are all ready: it is made, they are asked, and it is made anew without the
sites that are not.

Takes a world, the facts of a plan, and how a plan is made of facts. Returns the last plan that was
made. Its balance and its limits are judged as those of any plan. Where `move.ready.check` is off
the first plan is the last, and nobody is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from flex.model.site_moves import UNDOABLE
from flex.planning.facts_and_rules import Facts
from flex.planning.propose_plan import Proposal
from flex_api.in_words import amounts
from flex_api.moving.check_site_on_new_node import Wanted
from flex_api.moving.check_sites_on_new_nodes import check_sites, wanted_of
from flex_api.moving.hook_commands import HooksOfSites, hooks_now
from flex_api.wiring import World

# Other sites may move in place of those that stay, and are asked for, too: so many times. A guess.
ROUNDS = 4

MakePlan = Callable[[Facts], Proposal]


def plan_of_ready(world: World, facts: Facts, make: MakePlan) -> Proposal:
    """Raises what making a plan raises."""
    proposal = make(facts)
    if not world.settings.move.ready.check:
        return proposal
    readiness = _Readiness(
        world, hooks_now(world), _now() + world.settings.move.ready.budget.total_seconds()
    )
    for _ in range(ROUNDS):
        if not readiness.ask(proposal):
            return readiness.tell_of_held(proposal)
        proposal = make(replace(facts, unready=readiness.unready))
    # Now no site may move but those that were asked for, and to no other node.
    for proven in ({site for site, _ in readiness.ready}, set[str]()):
        if not readiness.unproven(proposal):
            break
        others = dict.fromkeys(set(facts.sites) - proven, "")
        proposal = make(replace(facts, unready={**others, **readiness.unready}))
    return readiness.tell_of_held(proposal)


def _now() -> float:
    return time.monotonic()


@dataclass(slots=True)
class _Readiness:
    """What is known of the sites that were asked for, by site and node."""

    world: World
    hooks: HooksOfSites
    until: float
    ready: set[tuple[str, str]] = field(default_factory=set)
    unready: dict[str, str] = field(default_factory=dict)

    def ask(self, proposal: Proposal) -> bool:
        """Whether the plan moves a site to a node that is not ready."""
        wanted = self.unproven(proposal)
        seconds = max(self.until - _now(), 0.0)
        checked = check_sites(self.world, wanted, seconds)
        for site_check in checked:
            if site_check.why:
                self.unready.setdefault(site_check.wanted.site, site_check.why)
            else:
                self.ready.add((site_check.wanted.site, site_check.wanted.target))
        return any(site_check.why for site_check in checked)

    def unproven(self, proposal: Proposal) -> Collection[Wanted]:
        return [
            wanted
            for wanted in wanted_of(self.world, proposal.plan.moves)
            if (wanted.site, wanted.target) not in self.ready and not self._is_brought(wanted)
        ]

    def _is_brought(self, wanted: Wanted) -> bool:
        """Its new node has nothing of it before commands bring it, and is asked after that."""
        return bool(self.hooks.site_hooks_in(wanted.site, UNDOABLE))

    def tell_of_held(self, proposal: Proposal) -> Proposal:
        if proposal.plan.not_ready:
            sites = amounts.count(len(proposal.plan.not_ready), "site")
            first = proposal.plan.not_ready[0]
            self.world.say(
                f"{sites} stay where they are, as their new node is not ready: "
                f"{first.site} ({first.why}); `flex plan show` has all of them"
            )
        return proposal
