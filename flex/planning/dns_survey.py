"""Which sites FLEX can move, known from DNS before anything is solved.

Takes sites, nodes and zones, how sites are published, and whether anybody wants to know what leans
on their names. Returns the states of the zones, the names in them that FLEX may not change, and the
nodes of their sites. A site that doors lead visitors to can move whatever DNS says. Without zones
every site can move: by doors, or on paper only. Reads DNS. Does not decide anything about the sites
that can move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import pandas as pd

from flex.errors import DnsError
from flex.frame_schemas import PLACEMENT
from flex.model.led_by_doors_or_dns import Publishing
from flex.model.nodes import Node
from flex.model.zone_plan import HintedSet
from flex.planning.dependents_text import is_reason
from flex.ports import Publisher
from flex.zones import (
    address_hints,
    names_going_along,
    names_led_by_wildcards,
    names_not_following,
    records_of_partition,
    single_family_names,
    zone_changes,
)
from flex.zones.decisions_in_markers import STILL_MARKED, LastWords, MarkedDecision, why_excluded
from flex.zones.marker import marker_name
from flex.zones.names_going_along import Pairs
from flex.zones.names_not_following import Followed, OtherName
from flex.zones.records_of_partition import ZoneState
from flex.zones.what_leans_on_names import MOST_ASKED, Leaning, Pointed, PointingRecord, leaning

OUTSIDE = "in no zone of the settings"
DOORS_ALONE = "published by doors alone"


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """`foreign` are the names of each zone that are not ours to change, with the reason.

    `fixed` (PLACEMENT) are those of their sites whose every address is an active node's: there they
    stay. All other sites that no change of ours reaches are `out`, with the reason: nobody can say
    which node serves them. `others` are the other names of sites that do not move with them; they
    are among the `foreign` names, too. `led` are the sites that doors lead visitors to: they are
    never fixed or out. `doors_alone` are those of them that DNS does not follow, with the reason.
    `leaning` is what depends on the names of sites, and on others that go along, by name.
    `unlooked` are the zones that could not be transferred: of those nobody knows all that leans on
    a name. `unasked` are those of them with too many names for asking each of them what it says
    itself, and `asked` the names that were asked after all. `excluded` are the sites that FLEX
    leaves alone as their markers say so. `told_otherwise` are those that people took in again, or
    whose exclusion has ended: they are left alone, too, until their markers do not say so any more.
    `hints` are the HTTPS and SVCB sets whose address hints change with the addresses of their
    names: these do not count as leaning on a name. `denied_hints` are the zones in which FLEX may
    not change such sets, with the reason. `held_hints` are the reasons of sets that do not follow,
    where somebody wants hints to. Where a node died, `dead_hints` are those of them that hint at
    it, with its addresses.
    """

    states: Mapping[str, ZoneState]
    foreign: Mapping[str, Mapping[str, str]]
    fixed: pd.DataFrame
    out: Mapping[str, str]
    others: Followed = field(default_factory=Followed)
    led: frozenset[str] = frozenset()
    doors_alone: Mapping[str, str] = field(default_factory=dict)
    leaning: Mapping[str, Leaning] = field(default_factory=dict)
    unlooked: tuple[str, ...] = ()
    unasked: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    excluded: Mapping[str, MarkedDecision] = field(default_factory=dict)
    told_otherwise: frozenset[str] = frozenset()
    hints: frozenset[HintedSet] = frozenset()
    denied_hints: Mapping[str, str] = field(default_factory=dict)
    held_hints: Mapping[tuple[str, str], str] = field(default_factory=dict)
    dead_hints: Mapping[HintedSet, frozenset[str]] = field(default_factory=dict)

    @property
    def immovable_sites(self) -> frozenset[str]:
        """Every site that FLEX cannot move."""
        return frozenset(self.out) | frozenset(self.fixed["site"])


def look(
    publisher: Publisher,
    sites: Sequence[str],
    nodes: Sequence[Node],
    zones: Sequence[str],
    *,
    adopt: bool,
    others: Sequence[OtherName] = (),
    publishing: Publishing | None = None,
    dependents: bool = False,
    follow: bool = False,
    along: Pairs = (),
    below_wildcards: bool = False,
    words: LastWords | None = None,
    address_hints_follow: bool = False,
    gone: Set[str] = frozenset(),
) -> Reach:
    """With `adopt`, names whose every address is a node's are ours to change though they carry no
    marker. With `dependents`, what leans on the names of sites is looked for. With `follow`, other
    names of sites are ours, too; `along` are those that were so far. Names for which a wildcard
    answers are ours to make with `below_wildcards` alone. With `address_hints_follow`, hints that
    are exactly the addresses of their names change with these, and all lose the addresses of a dead
    node, which are `gone`. A site whose marker says that FLEX leaves it alone is left alone, also
    where later `words` say otherwise: the name server refuses whoever changes it before its marker
    is as it should be.
    """
    publishing = publishing or Publishing()
    led = publishing.sites_led_by_doors(sites)
    # Doors lead by every name of a site, wherever DNS sends visitors first.
    others = [other for other in others if follow or other.site not in led]
    of_zone, outside = records_of_partition.split(sites, zones)
    also = names_not_following.group_names_by_zone(others, zones)
    pointed = _names_to_look_for(of_zone, also if follow else {}) if dependents and zones else None
    states = {
        zone: publisher.read(
            zone,
            _names_to_read(of_zone[zone], also.get(zone, ()), follow=follow),
            also.get(zone, ()),
            pointed=pointed,
        )
        for zone in zones
    }
    marked = _exclusions_in_markers(states, of_zone)
    words = words or LastWords()
    excluded = {
        site: decision for site, decision in marked.items() if words.believe(site, decision)
    }
    told_otherwise = frozenset(marked) - excluded.keys()
    led -= excluded.keys()
    foreign = {
        zone: _foreign(states[zone], of_zone[zone], nodes, adopt=adopt, make=below_wildcards)
        | _names_led_by_doors_alone(publishing, of_zone[zone])
        | _reasons_in_markers(excluded, told_otherwise, zone, of_zone[zone])
        for zone in zones
    }
    reach = _reach(states, foreign, sites, nodes, led)
    unannounced = dict.fromkeys(outside, OUTSIDE) if zones else {}
    out = {site: why for site, why in unannounced.items() if site not in led}
    alone = {site: why for site, why in unannounced.items() if site in led}
    going: tuple[OtherName, ...] = ()
    if follow:
        in_dns = publishing.sites_led_by_dns(sites) - reach.out.keys() - set(outside)
        in_dns -= marked.keys()
        going = names_going_along.names_going_along(
            [other for other in others if other.site in in_dns],
            states,
            nodes,
            {name for names in foreign.values() for name in names},
            adopt=adopt,
            below_wildcards=below_wildcards,
            known={records_of_partition.name_of(name) for name, _ in along},
        )
    taken = set(going)
    stay = [other for other in others if other.site not in led and other not in taken]
    followed = names_not_following.follow(stay, states, nodes) if zones else Followed()
    for stray in followed.strays:
        foreign[stray.zone][records_of_partition.name_of(stray.name)] = stray.why
    hints = (
        _hints_that_follow(states, foreign, nodes, publisher, gone)
        if address_hints_follow
        else _Hints()
    )
    changing = hints.follow | hints.dead.keys()
    return replace(
        reach,
        out={**reach.out, **out},
        others=replace(followed, along=going),
        doors_alone={**reach.doors_alone, **alone},
        leaning=_leaning(states, of_zone, going, changing, publisher) if pointed else {},
        hints=frozenset(hints.follow),
        dead_hints=hints.dead,
        denied_hints=hints.denied,
        held_hints=hints.held,
        unasked=frozenset(
            zone for zone, state in states.items() if pointed and state.pointing is None
        ),
        unlooked=tuple(
            zone
            for zone, state in states.items()
            if pointed and of_zone[zone] and not state.transferred
        ),
        excluded=excluded,
        told_otherwise=told_otherwise,
    )


def _exclusions_in_markers(
    states: Mapping[str, ZoneState], of_zone: Mapping[str, Sequence[str]]
) -> dict[str, MarkedDecision]:
    return {
        site: states[zone].excluded[name]
        for zone, sites in of_zone.items()
        for site in sites
        if (name := records_of_partition.name_of(site)) in states[zone].excluded
    }


def _reasons_in_markers(
    excluded: Mapping[str, MarkedDecision],
    told_otherwise: Set[str],
    zone: str,
    sites: Sequence[str],
) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for site in sites:
        name = records_of_partition.name_of(site)
        if site in excluded:
            reasons[name] = why_excluded(site, marker_name(name, zone), excluded[site])
        elif site in told_otherwise:
            reasons[name] = STILL_MARKED
    return reasons


def asked_about(reach: Reach, names: Set[str], publisher: Publisher) -> Reach:
    """The same, with what these names themselves say where too many were there to ask all. Asks
    about each name once.
    """
    more: list[PointingRecord] = []
    asked_names = set[str]()
    new = names - reach.asked
    zones = reach.states.keys()
    for zone in sorted(reach.unasked):
        here = sorted(name for name in new if records_of_partition.zone_of(name, zones) == zone)
        for first in range(0, len(here), MOST_ASKED):
            part = here[first : first + MOST_ASKED]
            pointed = Pointed(frozenset(part), frozenset(zones))
            pointing_records = publisher.read(zone, part, pointed=pointed).pointing
            if pointing_records is not None:
                more += pointing_records
                asked_names.update(part)
    leant_on = leaning(more, asked_names)
    return replace(reach, leaning={**reach.leaning, **leant_on}, asked=reach.asked | asked_names)


@dataclass(frozen=True, slots=True, eq=False)
class _Hints:
    """The sets of names that are ours whose hints `follow`; those that hint at a `dead` node; the
    zones in which the name server does not let FLEX change them, with the reason; and the reason of
    each set that does not follow.
    """

    follow: set[HintedSet] = field(default_factory=set)
    dead: dict[HintedSet, frozenset[str]] = field(default_factory=dict)
    denied: dict[str, str] = field(default_factory=dict)
    held: dict[tuple[str, str], str] = field(default_factory=dict)


def _hints_that_follow(
    states: Mapping[str, ZoneState],
    foreign: Mapping[str, Mapping[str, str]],
    nodes: Sequence[Node],
    publisher: Publisher,
    gone: Set[str],
) -> _Hints:
    hints = _Hints()
    families = single_family_names.families_of_every(nodes)
    for zone, state in states.items():
        whys = address_hints.reasons_to_hold(state, families)
        follow = {
            hinted_set
            for hinted_set, why in whys.items()
            if not why and hinted_set[0] not in foreign[zone]
        }
        theirs = [
            hinted_set
            for hinted_set, why in whys.items()
            if not why and hinted_set[0] in foreign[zone]
        ]
        whys |= dict.fromkeys(theirs, "FLEX does not change this name")
        dead = {
            hinted_set: addresses
            for hinted_set, addresses in address_hints.sets_hinting_at(state, gone).items()
            if hinted_set not in follow and hinted_set[0] not in foreign[zone]
        }
        changing = {*follow, *dead}
        try:
            if changing:
                publisher.refuse_hints(zone, sorted(changing))
        except DnsError as error:
            # Off a dead node addresses move all the same.
            hints.denied[zone] = error.answer
            whys |= dict.fromkeys(changing, f"FLEX may not change them in {zone}")
        else:
            hints.follow.update(follow)
            hints.dead.update(dead)
        other = (
            "they are at another name than the site's own"
            if state.transferred
            else f"{zone} cannot be transferred"
        )
        hints.held.update(
            ((record.owner, record.type), other)
            for record in state.pointing or ()
            if record.type in address_hints.HINTED
        )
        hints.held.update((hinted_set, why) for hinted_set, why in whys.items() if why)
    return hints


def _names_to_look_for(
    of_zone: Mapping[str, Sequence[str]], also: Mapping[str, Sequence[str]]
) -> Pointed:
    """Sites, and other names that may go along with them."""
    others = (name for names in also.values() for name in names)
    return Pointed(frozenset((*_names(of_zone), *others)), frozenset(of_zone))


def _names(of_zone: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for sites in of_zone.values():
        yield from map(records_of_partition.name_of, sites)


def _leaning(
    states: Mapping[str, ZoneState],
    of_zone: Mapping[str, Sequence[str]],
    going: Iterable[OtherName],
    hints: Set[tuple[str, str]],
    publisher: Publisher,
) -> Mapping[str, Leaning]:
    """All zones count together: mail of one may lean on a name of another. These `hints` go along
    with their names.
    """
    others = (records_of_partition.name_of(one.name) for one in going)
    names = frozenset((*_names(of_zone), *others))
    records = [
        one
        for state in states.values()
        for one in state.pointing or ()
        if (one.owner, one.type) not in hints
    ]
    along = names_led_by_wildcards.led_by_wildcards(
        records,
        names,
        states.keys(),
        lambda zone, wanted_names: publisher.read(zone, [], wanted_names).answers,
    )
    return leaning(records, names, along=along) if records else {}


def _names_to_read(sites: Sequence[str], also: Sequence[str], *, follow: bool) -> list[str]:
    """Those of sites; with `follow`, other names can have records of ours, too."""
    names = list(map(records_of_partition.name_of, sites))
    return list(dict.fromkeys((*names, *also))) if follow else names


def leave_out_names(
    reach: Reach, reasons: Mapping[str, str], sites: Sequence[str], nodes: Sequence[Node]
) -> Reach:
    """The same, when these names are not ours to change either."""
    if not reasons:
        return reach
    foreign = {}
    for zone, names in reach.foreign.items():
        ours = [
            name
            for name in reasons
            if records_of_partition.zone_of(name, reach.states.keys()) == zone
        ]
        foreign[zone] = dict(names) | {name: reasons[name] for name in ours}
    less = _reach(reach.states, foreign, sites, nodes, reach.led)
    return replace(
        less,
        out={**reach.out, **less.out},
        others=_staying(reach, reasons, less.out, nodes),
        doors_alone={**reach.doors_alone, **less.doors_alone},
        leaning=reach.leaning,
        unlooked=reach.unlooked,
        unasked=reach.unasked,
        asked=reach.asked,
        excluded=reach.excluded,
        told_otherwise=reach.told_otherwise,
        hints=reach.hints,
        denied_hints=reach.denied_hints,
        held_hints=reach.held_hints,
        dead_hints=reach.dead_hints,
    )


def _staying(
    reach: Reach, reasons: Mapping[str, str], out: Mapping[str, str], nodes: Sequence[Node]
) -> Followed:
    """With the names for which there are reasons among those that stay where they are, and with
    those of sites that are out.
    """
    left = [
        other
        for other in reach.others.along
        if other.site not in reach.led
        and (other.site in out or records_of_partition.name_of(other.name) in reasons)
    ]
    if not left:
        return reach.others
    more = names_not_following.follow(left, reach.states, nodes)
    strays = (
        replace(stray, leant_on=why)
        if is_reason(why := reasons.get(records_of_partition.name_of(stray.name), ""))
        else stray
        for stray in more.strays
    )
    return replace(reach.others, strays=(*reach.others.strays, *strays))


def _names_led_by_doors_alone(publishing: Publishing, sites: Sequence[str]) -> dict[str, str]:
    """The names whose records FLEX leaves as they are, as somebody wishes it."""
    by_dns = publishing.sites_led_by_dns(sites)
    return {records_of_partition.name_of(site): DOORS_ALONE for site in sites if site not in by_dns}


def _reach(
    states: Mapping[str, ZoneState],
    foreign: Mapping[str, Mapping[str, str]],
    sites: Sequence[str],
    nodes: Sequence[Node],
    led: frozenset[str],
) -> Reach:
    reasons = {name: reason for of_names in foreign.values() for name, reason in of_names.items()}
    unchanged = [site for site in sites if records_of_partition.name_of(site) in reasons]
    beyond = [site for site in unchanged if site not in led]
    fixed = _partition_in_dns(states, beyond, [node for node in nodes if node.takes_sites])
    lost = sorted(set(beyond) - set(fixed["site"]))
    return Reach(
        states,
        foreign,
        fixed,
        {site: reasons[records_of_partition.name_of(site)] for site in lost},
        led=led,
        doors_alone={
            site: reasons[records_of_partition.name_of(site)] for site in unchanged if site in led
        },
    )


def start(
    reach: Reach, sites: Sequence[str], nodes: Sequence[Node], *, adopt: bool
) -> pd.DataFrame:
    """Where a cluster begins that knows of no partition: where DNS has the names that carry our
    marker already.

    With `adopt`, where it has any others that are ours to take over, too; and those that doors
    lead visitors to.
    """
    marked = {name for state in reach.states.values() for name in state.owned}
    return _partition_in_dns(
        reach.states,
        [
            site
            for site in sites
            if adopt or site in reach.led or records_of_partition.name_of(site) in marked
        ],
        nodes,
    )


def leading_to(reach: Reach, addresses: Set[str], *, hints: bool = False) -> dict[str, str]:
    """The names that have one of the addresses and are not ours to change, with the reason; where
    `hints` follow, also those that only hint at one.
    """
    left: dict[str, str] = {}
    for zone, names in reach.foreign.items():
        state = reach.states[zone]
        others = {
            name for name, answer in state.answers.items() if addresses & set(answer.addresses)
        }
        leading = zone_changes.names_with(state.records, addresses) | others
        leading |= {
            name
            for name, below in state.below_wildcards.items()
            if addresses & set(below.addresses)
        }
        if hints:
            leading |= address_hints.names_hinting_at(state, addresses)
        left |= {name: names[name] for name in sorted(names.keys() & leading)}
    return left


def _partition_in_dns(
    states: Mapping[str, ZoneState], sites: Sequence[str], nodes: Sequence[Node]
) -> pd.DataFrame:
    tables = [
        table
        for state in states.values()
        for table in (
            state.records,
            records_of_partition.records_below_wildcards(state.below_wildcards),
        )
    ]
    return (
        records_of_partition.partition_from(pd.concat(tables, ignore_index=True), sites, nodes)
        if tables
        else PLACEMENT.empty()
    )


def _foreign(
    state: ZoneState, sites: Sequence[str], nodes: Sequence[Node], *, adopt: bool, make: bool
) -> dict[str, str]:
    adopted = (
        records_of_partition.partition_from(state.records, sites, nodes)["site"] if adopt else ()
    )
    ours = frozenset(map(records_of_partition.name_of, adopted))
    names = [records_of_partition.name_of(site) for site in sites]
    below = {} if make else state.below_wildcards
    return zone_changes.foreign(state, names, ours=ours) | {
        name: below[name].why for name in names if name in below
    }
