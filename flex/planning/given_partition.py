"""A plan whose partition somebody gives: an earlier one, or the one in force with one site
elsewhere.

Takes the facts of a night, the operator's rules, and what is given. Returns an ordinary proposal,
under the same limits as any other. Searches for no better partition, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import pandas as pd

from flex.errors import BadInput, FlexError, Held, Infeasible, NoData
from flex.frame_schemas import texts
from flex.model.nodes import Node
from flex.model.plan import Proven
from flex.partition import join_partitions, rows_of_other_sites, sites_in
from flex.placing import problem, score
from flex.placing.problem import Ints, Problem
from flex.planning import dependents_of_sites, names_edited_by_others
from flex.planning.dependents_text import is_reason, stays_here
from flex.planning.dns_survey import OUTSIDE, Reach
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.names_edited_by_others import WithoutEdited
from flex.planning.propose_plan import Proposal, build, draft
from flex.planning.unmovable_name_advice import is_told_otherwise, way_on
from flex.planning.unmovable_sites import limit_to_reach, look_at_zones
from flex.ports import Publisher, Solver
from flex.site_names_in_words import first_few
from flex.wishes import pins_for_solvers, suspended_wishes
from flex.zones.records_of_partition import name_of, zone_of

# What made a plan that is the way back to an earlier partition.
ROLLBACK = "rollback"
# What made a plan that moves the one site that somebody named.
BY_HAND = "by hand"


def go_back(
    facts: Facts,
    rules: Rules,
    earlier: pd.DataFrame,
    *,
    of_plan: str,
    scratch: Solver,
    publisher: Publisher,
    now: datetime,
) -> Proposal:
    """Its partition is an earlier one. Sites that are newer than it stay where they are."""

    def as_it_was(facts: Facts, placing_problem: Problem, _: Reach) -> tuple[Ints, str]:
        back = earlier[earlier["site"].isin(facts.sites) & ~earlier["site"].isin(list(facts.fixed))]
        newer = rows_of_other_sites(facts.placement, sites_in(back))
        rows = _rows_on_active_nodes(join_partitions(back, newer), placing_problem, facts.nodes)
        otherwise = _otherwise(placing_problem, rows, facts)
        return rows, "; ".join(("an earlier placement, as it was", *otherwise))

    proposal = plan_of_given_rows(ROLLBACK, as_it_was, facts, rules, scratch, publisher, now)
    return _set_reason(f"back to where plan {of_plan} had it", proposal)


def _set_reason(reason: str, proposal: Proposal) -> Proposal:
    """No balance and no wish is why these sites move."""
    moves = tuple(replace(move, reason=reason) for move in proposal.plan.moves)
    return replace(proposal, plan=replace(proposal.plan, moves=moves))


def plan_of_given_rows(
    maker: str,
    given: Callable[[Facts, Problem, Reach], tuple[Ints, str]],
    facts: Facts,
    rules: Rules,
    scratch: Solver,
    publisher: Publisher,
    now: datetime,
) -> Proposal:
    """The proposal of what DNS says now, in which sites stay that others edited or that mail leans
    on. `given` says which node each site is to be on, and a note for the plan.
    """

    def proposal_of(apart: WithoutEdited) -> Proposal:
        reached = limit_to_reach(apart.reach, apart.facts)
        placing_problem = build(reached, rules)
        rows, note = given(reached, placing_problem, apart.reach)
        quality = Proven(maker, bound=0, proven=False, note=note)
        fresh = scratch(placing_problem, rules.budget).rows
        return draft(placing_problem, rows, quality, fresh, reached, rules, apart, now)

    apart = names_edited_by_others.apart(look_at_zones(facts, rules, publisher), facts, rules, now)
    return dependents_of_sites.make_what_may_move(
        apart, proposal_of, lambda proposal: proposal.plan.zone_plans, rules.dependents, publisher
    )


def _otherwise(placing_problem: Problem, rows: Ints, facts: Facts) -> Iterator[str]:
    """To go against what people wished takes leave; to have other replicas than FLEX itself wants
    now does not.
    """
    against = _wishes_against(placing_problem, rows, facts)
    if against:
        yield f"against wishes that hold: {first_few(against)}"
    broken = score.violations(placing_problem, rows)
    if others := [
        violation.subject
        for violation in broken
        if violation.kind == "replicas" and violation.subject not in against
    ]:
        yield f"not as many replicas as are wanted now: {first_few(others)}"


def _wishes_against(placing_problem: Problem, rows: Ints, facts: Facts) -> list[str]:
    """The sites with a wish that the step to these rows goes against."""
    before, after = (
        suspended_wishes.places(facts.pins, partition)
        for partition in (facts.placement, problem.partition_of(placing_problem, rows))
    )
    return [pin.site for pin in facts.pins if suspended_wishes.is_against_wish(pin, before, after)]


def _rows_on_active_nodes(
    partition: pd.DataFrame, placing_problem: Problem, nodes: Sequence[Node]
) -> Ints:
    """The rows of a partition that somebody wants as it is. Raises Infeasible where a node of it
    takes no sites.
    """
    active = {
        node
        for node, is_open in zip(placing_problem.nodes, placing_problem.open, strict=True)
        if is_open
    }
    closed = sorted(set(partition["node"]) - active)
    if closed:
        states = {node.name: node.state for node in nodes}
        back = "; ".join(
            pins_for_solvers.back_in_service(node, states[node])
            if node in states
            else f"add {node} again with `flex nodes add`"
            for node in closed
        )
        raise Infeasible(
            "going back to the earlier partition",
            f"it uses {', '.join(closed)}, which takes no sites now",
            kept="the partition in force stays",
            advice=f"{back}, or go back to another one (`flex plan list`)",
        )
    return problem.rows_of(placing_problem, partition)


def move_site(
    facts: Facts,
    rules: Rules,
    site: str,
    to: Sequence[str],
    *,
    scratch: Solver,
    publisher: Publisher,
    now: datetime,
) -> Proposal:
    """The partition in force with one site on other nodes. Wishes, logs' trust and rest do not ask
    a person; what is impossible is refused.

    Raises Unknown, BadInput or Infeasible where the site or a node cannot be meant, and Held where
    the site has to stay where it is.
    """
    nodes = tuple(dict.fromkeys(to))
    refuse_senseless(facts, site, nodes)

    def elsewhere(facts: Facts, placing_problem: Problem, reach: Reach) -> tuple[Ints, str]:
        _refuse_staying(facts, rules, reach, site, nodes)
        _refuse_other_number(placing_problem, facts, site, nodes)
        others = facts.placement[facts.placement["site"] != site]
        there = pd.DataFrame({"site": [site] * len(nodes), "node": list(nodes)})
        rows = problem.rows_of(placing_problem, join_partitions(others, there))
        note = f"{site} goes where somebody wants it"
        if against := _wishes_against(placing_problem, rows, facts):
            note += f", against wishes that hold: {first_few(against)}"
        return rows, note

    proposal = plan_of_given_rows(BY_HAND, elsewhere, facts, rules, scratch, publisher, now)
    return _set_reason("moved by hand", proposal)


def refuse_senseless(facts: Facts, site: str, nodes: Sequence[str]) -> None:
    """Raises the error for what no zone has to be asked about: Unknown, BadInput, NoData or
    Infeasible.
    """
    if not facts.base:
        raise NoData(
            _order(site, nodes),
            "no partition is in force yet",
            advice="make the first plan and apply it: `flex plan`, `flex apply`",
        )
    if site not in facts.sites:
        raise pins_for_solvers.unknown_site(site, facts.sites)
    states = {node.name: node.state for node in facts.nodes}
    for node in nodes:
        if node not in states:
            raise pins_for_solvers.unknown_node(node, sorted(states))
    for node in nodes:
        if states[node] != "active":
            raise Infeasible(
                _order(site, nodes),
                f"{node} is {states[node]} and takes no sites",
                advice=f"{pins_for_solvers.back_in_service(node, states[node])}, or name "
                "another node",
            )
    if not nodes or _nodes_of(facts, site) == set(nodes):
        raise BadInput(
            _order(site, nodes),
            "it is there already" if nodes else "no node is named",
            advice="name the node that it is to go to: `flex nodes list` shows every node",
        )


def _nodes_of(facts: Facts, site: str) -> set[str]:
    rows = facts.placement
    return set(texts(rows["node"][rows["site"] == site]))


def _order(site: str, nodes: Sequence[str]) -> str:
    return f"moving {site} to {', '.join(nodes) or 'no node'}"


def _refuse_staying(
    facts: Facts, rules: Rules, reach: Reach, site: str, nodes: Sequence[str]
) -> None:
    """Raises Held where it cannot leave, with the reason."""
    if left := facts.content.away.get(site):
        raise Held(
            _order(site, nodes),
            left.sentence,
            advice=f"bring {left.node} back; or, where its content was brought elsewhere, say "
            f'failover = "always" for it in [[move.site]], and `flex nodes down {left.node}` again',
        )
    if site in facts.unready:
        raise Held(
            _order(site, nodes),
            f"its new node is not ready: {facts.unready[site]}",
            advice=f"make it ready; `flex ready {site} --to {','.join(nodes)}` asks it again",
        )
    if site in facts.held:
        raise Held(
            _order(site, nodes),
            facts.held[site],
            advice=f"`flex moves again {site}` lets it move before that",
        )
    if site in facts.fixed or site in reach.out:
        raise _immovable_error(rules, reach, site, nodes)


def _immovable_error(rules: Rules, reach: Reach, site: str, nodes: Sequence[str]) -> FlexError:
    name = name_of(site)
    why = reach.out.get(site) or next(
        (names[name] for names in reach.foreign.values() if name in names), OUTSIDE
    )
    zone = zone_of(name, reach.states.keys())
    advice = "`flex explain` says what keeps it"
    if why == OUTSIDE:
        sentence, advice = (
            f"it is {OUTSIDE}",
            "name its zone in dns.zones, or have doors lead to it",
        )
    elif is_reason(why):
        sentence, _, advice = stays_here(why, site).partition("; ")
        sentence = f"it {sentence}"
    elif is_told_otherwise(why) or zone is None:
        sentence = f"its name in DNS is not FLEX's to change: {why}"
    else:
        sentence = f"its name in DNS is not FLEX's to change: {why}"
        advice = way_on(name, zone, why, rules.owner)
    return Held(_order(site, nodes), sentence, advice=advice)


def _refuse_other_number(
    placing_problem: Problem, facts: Facts, site: str, nodes: Sequence[str]
) -> None:
    """A site is on as many nodes as its load and its wishes ask for."""
    wanted = int(placing_problem.replicas[placing_problem.sites.index(site)])
    if wanted == len(nodes):
        return
    counted = "1 node" if wanted == 1 else f"{wanted} nodes"
    now = ", ".join(sorted(_nodes_of(facts, site))) or "none"
    raise Infeasible(
        _order(site, nodes),
        f"it is to be on {counted}, and is on {now}",
        advice=f"name {wanted} of the nodes with a comma between them; "
        f"`flex sites pin {site} --min-replicas` or `--max-replicas` changes how many",
    )
