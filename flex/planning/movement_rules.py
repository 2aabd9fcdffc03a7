"""The rules that keep sites where they are, by the names that settings and `--force` have for them.

Takes the rules of a night. Returns them without those that somebody goes over by name. Does not
apply them: decide_moves_of_tonight.py does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

from flex.model.limits_and_approvals import Limits
from flex.placing.problem import Lately

TRIGGER = "safety.trigger_imbalance"
HOLD = "safety.hold_runs"
MARGIN = "safety.min_improvement"
COOLDOWN = "safety.site_cooldown"
OFTEN = "safety.max_moves_per_site"

# What keeps a site whose move failed.
REST = "move.rest"

# What each limit of a night is without the rule.
LIFTED: dict[str, dict[str, float]] = {
    "safety.max_moved_sites": {"moved_sites": 2**60},
    "safety.max_moved_sites_ratio": {"moved_share": 1.0},
    "safety.max_moved_working_set": {"cold_bytes": 2**60},
    "safety.max_inflow_per_node": {"inflow": 2**60},
}
# All that can keep moves from being made.
RULES = (TRIGGER, HOLD, MARGIN, COOLDOWN, OFTEN, REST, *LIFTED)


@dataclass(frozen=True, slots=True)
class Resting:
    """The sites that a rule keeps where they are, as they moved lately or often, each with the
    reason.

    `needed` is how many replicas sites needed in the nights that the rule looks back on: they keep
    as many. `until` is when each of the sites may move again.
    """

    rule: str
    limit: str
    sites: Mapping[str, str]
    needed: Mapping[str, int] = field(default_factory=dict)
    until: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Guard:
    """What a night may do. The worst node was over the trigger in `over` nights running, tonight
    among them.

    `resting` sites moved lately and stay where they are; `came` says when sites came to nodes, as
    far as that is known. `due` nodes must be empty tonight, whatever the limits say, which are
    those of one night (None: of a plan that somebody looks at). Wishes for `urgent` sites go before
    others: tomorrow is too late for them. Where the cluster is `adopted` tonight, no partition was
    in force before.
    """

    hold: int = 1
    over: int = 1
    resting: tuple[Resting, ...] = ()
    came: Mapping[str, Mapping[str, datetime]] = field(default_factory=dict)
    due: frozenset[str] = frozenset()
    limits: Limits | None = None
    urgent: frozenset[str] = frozenset()
    adopted: bool = False

    @property
    def staying(self) -> Mapping[str, str]:
        """Every site that rests, with the reason."""
        return {site: why for each in self.resting for site, why in each.sites.items()}

    @property
    def lately(self) -> Lately:
        needed: dict[str, int] = {}
        for site, count in (pair for each in self.resting for pair in each.needed.items()):
            needed[site] = max(count, needed.get(site, 0))
        return Lately(needed, self.staying)


# The guard of a night that may do everything.
NO_GUARD = Guard()


@dataclass(frozen=True, slots=True)
class Reins:
    """All rules of movement: nothing moves within the `trigger`, or for less than the `margin`."""

    trigger: float
    margin: float
    guard: Guard = NO_GUARD

    def lift_rules(self, rules: Collection[str]) -> Reins:
        """As if somebody had gone over these rules by name: what is found so is what `--force`
        does.
        """
        guard, limits = self.guard, self.guard.limits
        return Reins(
            trigger=0.0 if TRIGGER in rules else self.trigger,
            margin=-1.0 if MARGIN in rules else self.margin,
            guard=replace(
                guard,
                hold=1 if HOLD in rules else guard.hold,
                resting=tuple(each for each in guard.resting if each.rule not in rules),
                limits=limits_without(limits, rules) if limits else None,
            ),
        )


def limits_without(limits: Limits, rules: Collection[str]) -> Limits:
    """The limits of a night without those of these rules."""
    values = {name: value for rule in rules for name, value in LIFTED.get(rule, {}).items()}
    return Limits(**{**asdict(limits), **values})
