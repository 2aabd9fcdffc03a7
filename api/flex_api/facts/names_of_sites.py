"""All other names of each site: where each was learned, and whether it moves with the site.

Takes the settings, the newest plan and sites. Returns names by site. Asks no name server: what DNS
says of a name is what the newest plan found there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from flex.errors import BadSetting
from flex.model.plan import Plan
from flex.model.zone_plan import ZonePlan
from flex.zones.names_not_following import NOT_KNOWN
from flex.zones.records_of_partition import name_of, zone_of
from flex_api import other_names_in_settings
from flex_api.facts import other_names
from flex_api.names_of_two_sites import Claim
from flex_api.other_names_in_settings import NamesInSettings
from flex_api.settings.file import Settings
from flex_api.wiring import site_names

# Who moves a name with its site: FLEX in DNS, a CNAME to the site, or doors. It `stays`; nobody
# keeps an address of its own for it (`no_address`); or it is `unknown`.
Moves = Literal["dns", "cname", "doors", "stays", "no_address", "unknown"]
# Where a name was learned that nobody wrote down.
WWW = "ingest.www"

WHY: Mapping[Moves, str] = {
    "dns": "FLEX gives it the addresses of its site",
    "cname": "it is a CNAME to its site",
    "doors": "doors lead visitors to the node of its site",
    "no_address": (
        "by the newest plan it is not in DNS, or a CNAME to its site, or was no name of it yet"
    ),
    "unknown": "no plan has looked at DNS yet",
}
OUTSIDE = f"it is in no zone of the settings, so {NOT_KNOWN}"
ON_PAPER = "no zone is FLEX's to change, and no door leads to the site"


@dataclass(frozen=True, slots=True)
class Learned:
    """`source` is settings, aliases_file, vhosts or www; `where` says the place."""

    source: str
    where: str


@dataclass(frozen=True, slots=True)
class NameOfSite:
    name: str
    learned: tuple[Learned, ...]
    moves: Moves
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class ReadNames:
    """What the settings say, or why nobody can tell."""

    names: NamesInSettings = field(default_factory=lambda: NamesInSettings({}))
    not_known: str = ""

    @property
    def state(self) -> str:
        """The same as long as nothing of it has changed and it is kept."""
        return self.not_known or str(id(self.names.aliases))


@dataclass(frozen=True, slots=True, eq=False)
class InPlan:
    """What a plan says of other names of sites; none of them where there is no plan."""

    going: frozenset[str] = frozenset()
    staying: Mapping[str, str] = field(default_factory=dict)
    cnames: frozenset[str] = frozenset()
    is_there: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class NamesOfSites:
    """`not_known` says why nobody can tell the names: two sites claim one, or a file cannot be
    read.
    """

    by_site: Mapping[str, list[str]] = field(default_factory=dict)
    places: Mapping[str, list[Claim]] = field(default_factory=dict)
    plan: InPlan = field(default_factory=InPlan)
    zones: frozenset[str] = frozenset()
    led: frozenset[str] = frozenset()
    not_known: str = ""
    read: ReadNames | None = None

    def names_of_site(self, site: str) -> list[NameOfSite]:
        return [self._name(site, name) for name in self.by_site.get(site, ())]

    def _name(self, site: str, name: str) -> NameOfSite:
        moves, why = self._moves(site, name)
        learned = tuple(Learned(claim.source, claim.where) for claim in self.places.get(name, ()))
        return NameOfSite(name, learned or (Learned("www", WWW),), moves, why)

    def _moves(self, site: str, name: str) -> tuple[Moves, str]:
        moves: Moves
        if name in self.plan.going:
            moves = "dns"
        elif site in self.led:
            moves = "doors"
        elif why := self.plan.staying.get(name):
            return ("unknown" if NOT_KNOWN in why else "stays"), why
        elif not self.zones:
            return "unknown", ON_PAPER
        elif zone_of(name_of(name), self.zones) is None:
            return "unknown", OUTSIDE
        elif name in self.plan.cnames:
            moves = "cname"
        else:
            moves = "no_address" if self.plan.is_there else "unknown"
        return moves, WHY[moves]


def read_names(settings: Settings) -> ReadNames:
    """What the files of the settings say now."""
    ingest = settings.ingest
    try:
        listed = other_names_in_settings.listed_sites(ingest)
        return ReadNames(other_names_in_settings.names_in_settings(ingest, listed))
    except BadSetting as error:
        return ReadNames(not_known=f"{error}; {error.advice}")


def names_of_sites(
    settings: Settings, plan: Plan | None, sites: Collection[str], read: ReadNames | None = None
) -> NamesOfSites:
    """Where names cannot be told, none, and why."""
    read = read or read_names(settings)
    try:
        rule = site_names(settings)
        alone = other_names.sites_with_own_logs(settings, sites)
    except BadSetting as error:
        return NamesOfSites(not_known=f"{error}; {error.advice}", read=read)
    by_site: dict[str, list[str]] = {}
    for site, name in rule.others(frozenset(sites), alone):
        by_site.setdefault(site, []).append(name)
    return NamesOfSites(
        by_site,
        read.names.places(),
        _read_plan_names(plan),
        frozenset(settings.dns.every_zone),
        settings.routing.publishing().sites_led_by_doors(by_site),
        read.not_known,
        read,
    )


def _read_plan_names(plan: Plan | None) -> InPlan:
    if plan is None:
        return InPlan()
    zone_plans = plan.zone_plans
    going = frozenset(name for zone_plan in zone_plans for name, _ in zone_plan.go_along)
    cnames = frozenset(
        each.owner.rstrip(".")
        for zone_plan in zone_plans
        for each in zone_plan.leaning
        if each.kind == "CNAME"
    )
    staying = {
        name: why for zone_plan in zone_plans for name, why in why_staying(zone_plan).items()
    }
    return InPlan(going, staying, cnames, is_there=bool(zone_plans))


def why_staying(plan: ZonePlan) -> dict[str, str]:
    """By name why it does not move with its site, as the plan says it."""
    if not plan.stay_behind:
        return {}
    reasons = plan.why_foreign
    return {
        other_name.name: reasons.get(name_of(other_name.name), "")
        for other_name in plan.stay_behind
    }
