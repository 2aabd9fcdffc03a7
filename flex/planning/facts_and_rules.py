"""What a plan is made from: the facts of a night, and the rules that the operator set.

Takes nothing. Returns nothing: these are values that other modules make and read. Does not decide
anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from flex.frame_schemas import PLACEMENT
from flex.model.dependents_of_moves import Dependents
from flex.model.dns_edits_by_others import Said
from flex.model.led_by_doors_or_dns import Publishing
from flex.model.limits_and_approvals import Limits
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.setting_precedence import SaidOfSites
from flex.model.stranded_sites import NO_CONTENT, ContentOfDeadNodes
from flex.model.stray_requests import Arrival
from flex.model.wish import Pin
from flex.model.zone_plan import Families
from flex.partition import rows_of_other_sites, sites_in
from flex.placing.problem import Budget, Terms
from flex.planning.movement_rules import Guard
from flex.prediction.cache_replay import Sample
from flex.zones.decisions_in_markers import LastWords
from flex.zones.names_not_following import OtherName


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What a proposal is made from. `base` is the plan in force and `placement` where it put every
    site.

    `fixed` sites stay where they are: their records are not ours to change. `remarks` say what was
    left out, and why. `guard` is what may move tonight, `said` what the plan in force said in DNS.
    `others` are other names of sites; once DNS has said where these lead, `parts` is the traffic
    that comes by those that do not move, each of them in the tables like a site. `arrivals` are
    visitors that come to doors of nodes without their site, `doors_alone` the sites that doors lead
    visitors to and whose DNS FLEX does not change. `held` sites are not to move tonight, with the
    reason: they stay where all of their nodes are active. `unready` sites stay, as their new node
    is not ready, with the reason; those without a reason stay with them. `waiting` (PLACEMENT) says
    where they are on nodes that take no sites. `along` are the other names that the plan in force
    gave the addresses of their sites, each with its site. `content` are sites of dead nodes that no
    node without their content may get. `words` are what people said last, for markers that say
    otherwise.
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
    arrivals: tuple[Arrival, ...] = ()
    doors_alone: frozenset[str] = frozenset()
    held: Mapping[str, str] = field(default_factory=dict)
    along: tuple[tuple[str, str], ...] = ()
    unready: Mapping[str, str] = field(default_factory=dict)
    waiting: pd.DataFrame = field(default_factory=PLACEMENT.empty)
    content: ContentOfDeadNodes = NO_CONTENT
    words: LastWords = field(default_factory=LastWords)

    @property
    def sites(self) -> list[str]:
        return sorted(sites_in(self.profiles) | sites_in(self.placement))

    def drop_excluded_sites(self) -> Facts:
        """The same, as if the sites that people keep FLEX away from were not there."""
        pins = tuple(pin for pin in self.pins if not pin.excluded)
        if len(pins) == len(self.pins):
            return self
        left_out = [pin.site for pin in self.pins if pin.excluded]
        placement = rows_of_other_sites(self.placement, left_out)
        return replace(self.drop_traffic_of(left_out), pins=pins, placement=placement)

    def drop_traffic_of(self, sites: Collection[str]) -> Facts:
        """The same, as if nobody had asked for these sites."""
        return replace(
            self,
            profiles=rows_of_other_sites(self.profiles, sites),
            spreads=rows_of_other_sites(self.spreads, sites),
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator decided: how balanced, how much movement, which zones, in whose name.

    Nothing moves while the worst node stays within `trigger`; then the aim is `tolerance`, which is
    narrower, so that the next day's drift does not call for the next move. A plan that betters the
    worst node by less than `margin` is not worth its cold caches. Names to `take_back` get again
    what FLEX said there, whoever changed it. With `follow`, other names of sites get the addresses
    of these. With `below_wildcards`, names for which a wildcard answers get records of their own.
    `families` says whether a site that has IPv4 alone, or IPv6, keeps it so. With
    `address_hints_follow`, hints in HTTPS and SVCB records change with the addresses of their name.
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
    publishing: Publishing = field(default_factory=Publishing)
    dependents: Dependents = field(default_factory=Dependents)
    families: SaidOfSites[Families] = field(default_factory=lambda: SaidOfSites("keep"))
    follow: bool = False
    below_wildcards: bool = False
    address_hints_follow: bool = False
