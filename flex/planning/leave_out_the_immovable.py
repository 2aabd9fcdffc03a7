"""What a proposal is made from, and how much of it FLEX may decide.

Takes the facts of a night, the operator's rules and a name server to read. Returns the same facts
without what FLEX cannot move, and with a remark on everything that was left out. Does not plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pandas as pd

from flex.errors import BadInput
from flex.model.dns_edits_by_others import Said
from flex.model.limits_and_approvals import Limits
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.pin import Pin
from flex.placing.problem import Budget, Terms
from flex.planning import movable_sites as reach
from flex.planning import remarks, traffic_by_other_names
from flex.planning.decide import Guard, Reins
from flex.planning.movable_sites import Reach
from flex.ports import Publisher
from flex.prediction.replay_accesses_through_caches import Sample
from flex.table_schemas import PLACEMENT, texts
from flex.wishes import suspended_wishes
from flex.zones.other_names import OtherName


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What a proposal is made from. `base` is the plan in force and `placement` where it put every
    site.

    `fixed` sites stay where they are: their records are not ours to change. `remarks` say what was
    left out, and why. `guard` is what may move tonight, `said` what the plan in force said in DNS.
    `others` are other names of sites; once DNS has said where these lead, `parts` is the traffic
    that comes by those that do not move, each of them in the tables like a site.
    """

    period: Period
    profiles: pd.DataFrame
    spreads: pd.DataFrame
    sample: Sample
    nodes: tuple[Node, ...]
    pins: tuple[Pin, ...]
    base: str
    placement: pd.DataFrame
    fixed: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()
    guard: Guard = field(default_factory=Guard)
    others: tuple[OtherName, ...] = ()
    parts: frozenset[str] = frozenset()
    said: Said = field(default_factory=Said)

    @property
    def sites(self) -> list[str]:
        return sorted({*texts(self.profiles["site"]), *texts(self.placement["site"])})

    def without_excluded(self) -> Facts:
        """The same, as if the sites that people keep FLEX away from were not there."""
        pins = tuple(pin for pin in self.pins if not pin.excluded)
        if len(pins) == len(self.pins):
            return self
        left_out = [pin.site for pin in self.pins if pin.excluded]
        kept = {
            name: getattr(self, name) for name in ("profiles", "spreads", "placement")
        }
        kept = {
            name: rows[~rows["site"].isin(left_out)].reset_index(drop=True)
            for name, rows in kept.items()
        }
        return replace(self, pins=pins, **kept)

    @property
    def placed_sites(self) -> frozenset[str]:
        """The sites that have a node and may be given another: none before the first partition."""
        return frozenset(texts(self.placement["site"])) - self.fixed


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator decided: how balanced, how much movement, which zones, in whose name.

    Nothing moves while the worst node stays within `trigger`; then the aim is `tolerance`, which is
    narrower, so that the next day's drift does not call for the next move. A plan that betters the
    worst node by less than `margin` is not worth its cold caches. Names to `take_back` get again
    what FLEX said there, whoever changed it.
    """

    tolerance: float
    trigger: float
    margin: float
    replicate_above: float
    limits: Limits
    zones: tuple[str, ...]
    owner: str
    ttl: int
    adopt: bool
    budget: Budget
    terms: Terms = field(default_factory=Terms)
    take_back: frozenset[str] = frozenset()

    def reins(self, guard: Guard) -> Reins:
        """All rules of movement of a night."""
        return Reins(self.trigger, self.margin, guard)


def look_at_zones(facts: Facts, rules: Rules, publisher: Publisher) -> Reach:
    """What DNS says of the sites. Raises BadInput where none of them is ours to move: there is
    nothing to plan.
    """
    sites = facts.sites
    known = set(sites)
    others = [
        other
        for other in facts.others
        if other.site in known and other.name not in known
    ]
    found = reach.look(
        publisher, sites, facts.nodes, rules.zones, adopt=rules.adopt, others=others
    )
    if sites and len(found.beyond) == len(sites):
        first = next(remarks.of_reach(found, facts.profiles))
        raise BadInput(
            f"a plan for {len(sites)} sites",
            f"none of them is FLEX's to move; {first}",
            kept="nothing was changed",
            advice="check dns.zones and dns.owner; dns.adopt = true takes over names "
            "whose addresses are all your "
            "nodes'; without dns.zones a plan is made on paper only",
        )
    return found


def start_from_dns(found: Reach, facts: Facts, rules: Rules) -> Facts:
    """Where no placement is in force, where DNS has the sites is the one to start from."""
    if facts.base or not found.states:
        return facts
    start = reach.start(found, facts.sites, facts.nodes, adopt=rules.adopt)
    said = (*facts.remarks, *remarks.of_start(set(start["site"])))
    return replace(facts, placement=start, remarks=said)


def within(found: Reach, facts: Facts) -> Facts:
    """Sites beyond our reach stay where they are, or are left out where nobody can say where that
    is. What comes by other names that do not move with their site counts where these lead.
    """
    movable = facts.placement[~facts.placement["site"].isin(list(found.beyond))]
    known = facts.profiles[~facts.profiles["site"].isin(list(found.out))].reset_index(
        drop=True
    )
    placement = PLACEMENT.make(pd.concat([movable, found.fixed], ignore_index=True))
    within = replace(
        facts, profiles=known, placement=placement, fixed=frozenset(found.fixed["site"])
    )
    kept = suspended_wishes.possible(
        facts.pins, set(within.sites) - within.fixed, facts.nodes
    )
    said = (
        *facts.remarks,
        *remarks.of_reach(found, facts.profiles),
        *remarks.of_other_names(found.others, facts.profiles),
        *remarks.of_wishes(kept.suspended),
    )
    return _split(found, replace(within, pins=kept.pins, remarks=said))


def _split(found: Reach, facts: Facts) -> Facts:
    """The traffic of other names, each at the nodes that its addresses are of."""
    parts = traffic_by_other_names.parts_of(found.others.strays, facts.nodes)
    if not parts:
        return facts
    profiles, spreads = traffic_by_other_names.profiles_with(
        parts, facts.profiles, facts.spreads
    )
    placed = traffic_by_other_names.placement_of_parts(parts)
    names = frozenset(texts(placed["site"])) & frozenset(texts(profiles["site"]))
    placed = placed[placed["site"].isin(list(names))]
    return replace(
        facts,
        profiles=profiles,
        spreads=spreads,
        sample=traffic_by_other_names.sample_with(parts, facts.sample),
        placement=PLACEMENT.make(
            pd.concat([facts.placement, placed], ignore_index=True)
        ),
        fixed=facts.fixed | names,
        parts=names,
    )
