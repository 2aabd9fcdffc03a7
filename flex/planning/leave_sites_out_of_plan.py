"""A plan without what it does of some sites: they stay where they are, and all others move as
planned.

Takes a plan with its partition, the sites with the reasons, the facts and rules of now, and a name
server to read. Returns a proposal, judged anew. It does nothing that the plan did not: whoever said
yes to the plan said yes to all of it. Does not store anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

import pandas as pd

from flex.errors import Held, Outdated
from flex.model.plan import Plan, Proven
from flex.partition import join_partitions, rows_of_other_sites, sites_in
from flex.placing import problem, score
from flex.placing.problem import Ints, Problem
from flex.planning import (
    dependents_of_sites,
    names_edited_by_others,
    plan_notes_on_sites,
    propose_plan,
)
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.names_edited_by_others import WithoutEdited
from flex.planning.propose_plan import Proposal
from flex.planning.unmovable_sites import limit_to_reach, look_and_start
from flex.ports import Publisher, Solver
from flex.site_names_in_words import first_few

WITH_ANOTHER = "it stays with"


def leave_out(
    plan: Plan,
    partition: pd.DataFrame,
    staying: Mapping[str, str],
    facts: Facts,
    rules: Rules,
    *,
    scratch: Solver,
    publisher: Publisher,
    now: datetime,
    gone: Collection[str] = (),
    judged: bool = True,
) -> Proposal:
    """Sites that wishes tie to one of those that stay, stay with it, but for those that are `gone`
    to their new nodes already.

    Raises Held where nothing of the plan is left, or where the rest would load a node more than any
    is loaded now. Raises Outdated where it would change what the plan did not. Without being
    `judged` it is the rest all the same: that is for what cannot be taken back any more.
    """
    reach, facts = look_and_start(facts, rules, publisher)
    apart = names_edited_by_others.apart(reach, facts, rules, now)
    proposed, staying = dependents_of_sites.make_what_may_move(
        apart,
        lambda apart: _rest(plan, partition, staying, apart, rules, scratch, now, gone),
        lambda proposed: proposed[0].plan.zone_plans,
        rules.dependents,
        publisher,
    )
    if judged:
        _refuse_empty(plan, proposed.plan, staying)
        _refuse_worse(plan, proposed.plan, rules)
        _refuse_more(plan, proposed.plan)
    kept = replace(
        proposed.plan,
        holds=plan.holds,
        stops=plan.stops,
        later=plan.later,
        put_off=plan.put_off,
        author=plan.author,
        wishers=plan.wishers,
        approvals=plan.approvals,
    )
    return replace(proposed, plan=kept)


def _rest(
    plan: Plan,
    partition: pd.DataFrame,
    staying: Mapping[str, str],
    apart: WithoutEdited,
    rules: Rules,
    scratch: Solver,
    now: datetime,
    gone: Collection[str],
) -> tuple[Proposal, Mapping[str, str]]:
    """The proposal, and all that stays."""
    facts = limit_to_reach(apart.reach, apart.facts)
    placing_problem = propose_plan.build(facts, rules)
    staying = _add_tied_sites(placing_problem, partition, facts, staying, gone)
    rows = _rows_without(placing_problem, partition, facts, staying)
    sentences = plan_notes_on_sites.remark_on_held(staying)
    facts = replace(facts, remarks=(*facts.remarks, *sentences))
    quality = Proven(plan.quality.solver, bound=0, proven=False, note=_note(plan, staying))
    fresh = scratch(placing_problem, rules.budget).rows
    proposal = propose_plan.draft(placing_problem, rows, quality, fresh, facts, rules, apart, now)
    return proposal, staying


def _rows_without(
    placing_problem: Problem, partition: pd.DataFrame, facts: Facts, staying: Mapping[str, str]
) -> Ints:
    """The rows of the plan for the sites that it places; those that stay have the rows they had, as
    has what is in no plan.
    """
    moved = rows_of_other_sites(partition, [*staying, *facts.fixed])
    others = rows_of_other_sites(facts.placement, sites_in(moved))
    whole = join_partitions(moved, others)
    return problem.rows_of(placing_problem, whole)


def _add_tied_sites(
    placing_problem: Problem,
    partition: pd.DataFrame,
    facts: Facts,
    staying: Mapping[str, str],
    gone: Collection[str],
) -> dict[str, str]:
    """Until no wish is broken that the plan kept."""
    planned = _broken_wishes(placing_problem, _rows_without(placing_problem, partition, facts, {}))
    reasons = dict(staying)
    while True:
        rows = _rows_without(placing_problem, partition, facts, reasons)
        tied = {
            placing_problem.sites[site]
            for kind, sites in _broken_wishes(placing_problem, rows) - planned
            if kind in ("apart", "together")
            for site in sites
        }
        more = sorted(tied - reasons.keys() - set(gone))
        if not more:
            return reasons
        named = first_few(sorted(tied & reasons.keys()))
        reasons |= dict.fromkeys(more, f"{WITH_ANOTHER} {named}")


def _broken_wishes(placing_problem: Problem, rows: Ints) -> set[tuple[str, tuple[int, ...]]]:
    return {
        (violation.kind, violation.sites)
        for violation in score.violations(placing_problem, rows)
        if violation.is_wish
    }


def _note(plan: Plan, staying: Mapping[str, str]) -> str:
    return f"plan {plan.id} without {first_few(sorted(staying))}"


def _refuse_empty(plan: Plan, rest: Plan, staying: Mapping[str, str]) -> None:
    if not rest.moves and not rest.changes:
        raise Held(
            f"applying {plan.id}",
            f"nothing of it is left: {first_few(_reasons(staying), between='; ')}",
            advice="`flex moves` tells what stopped each site",
        )


def _reasons(staying: Mapping[str, str]) -> list[str]:
    return [f"{site}: {why}" for site, why in sorted(staying.items())]


def _refuse_worse(plan: Plan, rest: Plan, rules: Rules) -> None:
    """A swap of which one half stays may overload a node. Where no site was on a node, no rest can
    be worse than that.
    """
    if rest.before is None:
        return
    before = rest.before.worst
    if rest.after.worst <= max(before, plan.after.worst, rules.trigger):
        return
    raise Held(
        f"applying {plan.id} without what stays",
        f"{rest.after.worst_node} would be {rest.after.worst:.1%} from its fair share; now "
        f"the worst is {before:.1%}",
        advice="`flex moves` tells what stopped each site; `flex plan` makes a plan that goes "
        "around them",
    )


def _refuse_more(plan: Plan, rest: Plan) -> None:
    if more := list(_changes_beyond(plan, rest)):
        raise Outdated(
            f"applying {plan.id} without what stays",
            f"DNS or the settings are not as they were: {first_few(more)}",
            advice="make a new plan with `flex plan`",
        )


def _changes_beyond(plan: Plan, rest: Plan) -> Iterator[str]:
    planned = {
        (zone_plan.zone, change) for zone_plan in plan.zone_plans for change in zone_plan.changes
    }
    for zone_plan in rest.zone_plans:
        for change in zone_plan.changes:
            if (zone_plan.zone, change) not in planned:
                yield change.name
