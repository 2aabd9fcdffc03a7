"""Takes a dead node out of DNS now. Does not read logs, seek balance or count limits.

Takes a world whose lease is held, and a node. Returns the plan that was carried out: first the
sites that have other nodes lose the dead one's addresses, then the other sites get a new node. It
is verified on every name server. Names that FLEX may not change stay as they are, and are named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from flex.errors import DnsError, FlexError, Held, NoData, Unverified
from flex.model.drains_and_freezes import NodeOrder
from flex.model.plan import Plan
from flex.partition import sites_in
from flex.placing.failover import SOLVER
from flex.planning import carry_out_plan, outdated_plans, propose_plan
from flex.planning.facts_and_rules import Facts
from flex.planning.propose_plan import Proposal
from flex.prediction.cache_replay import no_sample
from flex.zones import records_of_partition, zone_changes
from flex.zones.address_hints import names_hinting_at
from flex.zones.names_going_along import pairs_of
from flex.zones.records_of_partition import name_of
from flex_api.facts import other_names
from flex_api.facts.left_alone_times import last_words
from flex_api.night import (
    change_nodes,
    failover_attempts,
    human_decision_records,
    recovery,
    route_and_publish_plan,
    route_requests_by_plan,
    stranded_sites,
)
from flex_api.night.fallback_site_names import settle_names
from flex_api.night.leases import RunWithLease
from flex_api.night.record_stages import Steps
from flex_api.wiring import World

EXCLUDED = "it was excluded: `flex sites exclude`"
# What a command ends with where names still lead to the dead node.
LEFT_CODE = 33


@dataclass(frozen=True, slots=True)
class Taken:
    """The plan that was carried out, None where no site of ours left the node; the names that lead
    there still, and the sites that stay there with their content, with the reason.
    """

    plan: Plan | None = None
    left: Mapping[str, str] = field(default_factory=dict)
    staying: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        return not self.left and not self.staying

    @property
    def outcome(self) -> str:
        """What the plan did, said of the node."""
        return "is out of DNS" if self.is_whole else "lost sites"


# Hears what is known of a failover that does not end well, before the error says why.
Tell = Callable[[Taken], None]


def untold(_: Taken) -> None:
    """Where the error says enough."""


def take_down(
    world: World,
    order: NodeOrder,
    enters: Callable[[str], None] = carry_out_plan.unheard,
    tell: Tell = untold,
    *,
    is_given: bool = False,
) -> Taken:
    """The node is marked as down, whatever comes then: as long as sites are on it, the health watch
    and each night try again. Where the order `is_given` already it is not given anew: somebody may
    have said otherwise since. Raises BadInput where no other node could take them.
    """
    node = order.node
    world = settle_names(world)
    if world.settings.cluster.mode == "shadow":
        raise Held(
            f"taking {node} out of DNS",
            "the mode is shadow, which never writes to DNS",
            advice="set cluster.mode to review or auto",
        )
    change_nodes.refuse_last(world, node)
    if not is_given:
        world.store.order_node(order)
    # Visitors are led around it before anybody is asked who may have died with it.
    route_requests_by_plan.order_doors(world)
    try:
        with failover_attempts.note_failure(world, node):
            taken = _taken_down(world, node, enters, tell)
    except DnsError as error:
        raise type(error)(
            error.asked,
            error.answer,
            kept=f"{node} is marked as down, and its sites are on it still; in DNS {error.kept}",
            advice=f"{error.advice}; then `flex nodes down {node}` again",
        ) from error
    try:
        failover_attempts.note_left(world, node, taken.left, taken.staying)
    except FlexError:
        tell(taken)
        raise
    return taken


def take_down_as(
    held: RunWithLease,
    world: World,
    order: NodeOrder,
    tell: Tell = untold,
    *,
    is_given: bool = False,
) -> Taken:
    """The same as the run that holds the lease, which its stages and its plan are recorded of."""
    step = Steps(world, held.run)

    def hear(known: Taken) -> None:
        if known.plan:
            held.concerns(known.plan)
        tell(known)

    taken = step.run_work(
        lambda: take_down(world, order, step.enter, hear, is_given=is_given), lambda _: "done"
    )
    if taken.plan:
        held.concerns(taken.plan)
    return taken


def look(world: World, node: str) -> Taken | None:
    """What is left for others to change, where nothing is left for us; None where there is
    something to do.
    """
    if world.store.plans(state="applying"):
        return None
    world = settle_names(world)
    proposal = _plan_failover(world, node)
    if _has_work(proposal.plan):
        return None
    return Taken(left=_names_left(world, proposal, node), staying=staying(world, node))


def staying(world: World, node: str) -> dict[str, str]:
    """The sites that stay at a dead node, or would stay there, as their content is at no other."""
    nodes = tuple(replace(one, state="down") if one.name == node else one for one in world.nodes)
    away = stranded_sites.find_in_force(world, nodes).away
    return {site: one.why for site, one in sorted(away.items()) if one.node == node}


def _taken_down(world: World, node: str, enters: Callable[[str], None], tell: Tell) -> Taken:
    unverified = recovery.make_way(world, node)
    known = Taken(staying=staying(world, node))
    try:
        proposal = _plan_failover(world, node)
        marked = {site for site in proposal.told_otherwise if name_of(site) in proposal.left}
        if marked and human_decision_records.take_out(world, marked):
            proposal = _plan_failover(world, node)
        known = replace(known, left=_names_left(world, proposal, node))
        if not _has_work(proposal.plan):
            if unverified:
                # What was finished has taken it out already.
                raise unverified
            return known
        plan = _tried_before(world, proposal.plan)
        if plan is None:
            world.store.propose(proposal.plan, proposal.placement)
        done = route_and_publish_plan.carry_out(world, plan or proposal.plan, enters)
    except Unverified:
        # Its plan is in force; who answers otherwise is late.
        tell(replace(known, plan=world.store.plan(world.store.in_force())))
        failover_attempts.note_left(world, node, known.left, known.staying)
        raise
    except FlexError:
        if not known.is_whole:
            tell(known)
        raise
    return replace(known, plan=done)


def _plan_failover(world: World, node: str) -> Proposal:
    return propose_plan.fail_over(
        facts(world), world.rules, node, publisher=world.publisher, now=world.clock()
    )


def _has_work(plan: Plan) -> bool:
    """Whether sites leave the node, or hints of sites elsewhere that lead there."""
    return bool(plan.moves) or any(map(zone_changes.changed_hints, plan.zone_plans))


def _names_left(world: World, proposal: Proposal, node: str) -> dict[str, str]:
    return {**proposal.left, **_excluded_names(world, node)}


def _tried_before(world: World, new_plan: Plan) -> Plan | None:
    """The same plan where it was tried and nothing of it was made: each attempt is not another
    plan.
    """
    same = [
        earlier.id
        for earlier in world.store.headlines()
        if (earlier.digest, earlier.base) == (new_plan.digest, new_plan.base)
    ]
    plans = (world.store.plan(plan) for plan in same)
    return next(
        (
            earlier
            for earlier in plans
            if earlier.state in outdated_plans.WAITING and earlier.quality.solver == SOLVER
        ),
        None,
    )


def facts(world: World) -> Facts:
    latest_profiles, (base, partition) = world.store.profiles(), world.store.placement()
    if latest_profiles is None or not base:
        raise NoData(
            "taking a node out of DNS",
            "no partition is in force yet, so no site is on it",
            kept="the node is marked as down; DNS is as it was",
            advice="`flex plan`, then `flex apply`",
        )
    period, profiles, spreads = latest_profiles
    others = other_names.list_other_names(world.settings, sites_in(profiles) | sites_in(partition))
    every = Facts(
        period,
        profiles,
        spreads,
        no_sample(),
        world.nodes,
        world.pins,
        base,
        partition,
        others=others,
        content=stranded_sites.find_in_force(world, world.nodes),
        words=last_words(world.store, world.time_of_day()),
    )
    base_plan = world.store.plan(base)
    every = replace(every, said=base_plan.said, along=pairs_of(base_plan.zone_plans))
    # What people keep FLEX away from is theirs, whatever dies.
    return every.drop_excluded_sites()


def _excluded_names(world: World, node: str) -> dict[str, str]:
    """Those of the excluded sites that DNS has on the node, or whose hints lead there where hints
    follow.
    """
    gone = records_of_partition.addresses_of(world.nodes, node)
    of_zone, _ = records_of_partition.split(
        [pin.site for pin in world.pins if pin.excluded], world.settings.dns.every_zone
    )
    names = set[str]()
    for zone, sites in of_zone.items():
        if sites:
            state = world.publisher.read(zone, list(map(name_of, sites)))
            names |= zone_changes.names_with(state.records, gone)
            if world.rules.address_hints_follow:
                names |= names_hinting_at(state, gone)
    return dict.fromkeys(sorted(names), EXCLUDED)
