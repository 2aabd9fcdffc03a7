"""A freeze, and sites that FLEX leaves alone, are in the zones too: so they outlive the database.

Takes a world whose lease is held. Writes into the zones that we hold what people decided, and takes
out what they took back; a freeze is no reason not to. Believes what a zone says where the database
was told of nothing since: a database that is new, or older than the decision. Says what is not in
the zones yet. A name server that refuses a record stops nothing: the decision counts by the
database alone then. One that cannot be read stops what was to be applied, for nobody knows whether
changes are frozen.

The audit log says which sites have such a record, so that nobody has to look for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from flex.errors import DnsError, OnTheWay
from flex.model.audit_chain import Entry
from flex.model.operator_orders import Freeze
from flex.model.wish import Pin
from flex.planning.propose_plan import Proposal
from flex.ports import Store
from flex.site_names_in_words import first_few
from flex.wishes.wishes_in_force_now import beside
from flex.zones.decisions_in_markers import (
    EXCLUDED,
    FROZEN,
    LastWords,
    MarkedDecision,
    because,
    decision_in,
    decision_text,
    freeze_name,
)
from flex.zones.marker import marker_name, marker_owner
from flex.zones.records_of_partition import name_of, split
from flex_api import wiring
from flex_api.facts.last_words_on_sites import last_words
from flex_api.night import still_holding_lease, who_holds_zones
from flex_api.settings.file import Settings
from flex_api.wiring import World
from flex_dns.memory import MemoryPublisher
from flex_dns.update import fence
from flex_dns.update.decision_records import Texts, replace_texts, texts_at
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.wire.zone_names_and_owners import unfit

# Actions of the audit log: which text a zone, or the marker of a site, has from now on.
FREEZE_IN_ZONE = "zone.freeze"
EXCLUSION_IN_ZONE = "zone.exclude"
_NEXT = "the next `flex run` or `flex apply` writes it"


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A decision that the zones do not say, or say still, and why."""

    zone: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}, in {self.zone.rstrip('.')}: {self.why}"


@dataclass(frozen=True, slots=True)
class _Zone:
    """Who holds a zone, with the epoch, and what it says of a freeze."""

    holder: str
    freeze: Texts


@dataclass(frozen=True, slots=True)
class _Record:
    """A name, what stands there and what should. `why_not` says why it stays as it is."""

    zone: str
    name: str
    what: str
    noted: tuple[str, str]
    was: Texts
    wanted: frozenset[str]
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class _Decisions:
    """What people decided so far: of each site whether it is left alone, where that has been in a
    zone.
    """

    freeze: MarkedDecision | None
    excluded: Mapping[str, MarkedDecision | None]


def settle(world: World) -> None:
    """Let the zones say what people decided. Raises a DnsError where they cannot be read."""
    if world.settings.cluster.mode == "shadow" or isinstance(
        world.publisher, MemoryPublisher
    ):
        # Zones in this process end with it, and nobody holds them.
        return
    standing = _read_or_refuse(world)
    _believe_freeze(world, standing)
    now = world.time_of_day()
    decided = _decisions(world.store, now)
    left: list[Unsaid] = []
    us = wiring.controller(world.settings, world.store)
    for server, zones, session in who_holds_zones.sessions(world.settings):
        sites = _sites_in(world.settings, zones, decided)
        texts = _texts_in(session, server, sites, standing)
        for record in _records(world.settings, sites, decided, texts):
            why_not = record.why_not or _why_not_held(standing[record.zone].holder, us)
            if not why_not:
                still_holding_lease.refuse_lost(world)
                error = replace_texts(
                    session,
                    server,
                    record.zone,
                    standing[record.zone].holder,
                    record.name,
                    record.was,
                    record.wanted,
                )
                why_not = f"{error.answer}; {error.advice}" if error else ""
            if why_not:
                left.append(Unsaid(record.zone, record.what, why_not))
            else:
                _note(world.store, record)
        _forget(world.store, sites, decided, texts)
    if left:
        world.say(f"Not in DNS: {first_few(list(map(str, left)), between='; ')}.")


def _read_or_refuse(world: World) -> dict[str, _Zone]:
    """Raises OnTheWay where a plan stays half applied for that."""
    try:
        try:
            return _freezes(world.settings)
        except DnsError:
            # Who reads the zones says best what is wrong with a name server.
            for zone in world.settings.dns.every_zone:
                world.publisher.read(zone, [])
            raise
    except DnsError as error:
        begun = world.store.plans(state="applying")
        if not begun:
            raise
        raise OnTheWay(
            error.asked,
            error.answer,
            kept=f"some of plan {begun[0].id}, which an earlier run began, may be in DNS",
            advice=f"{error.advice}; then `flex apply --resume` finishes it",
        ) from error


def unsaid(settings: Settings, store: Store, now: datetime) -> tuple[list[Unsaid], int]:
    """What the zones do not say of what people decided, and how many decisions they should say."""
    decided = _decisions(store, now)
    zones = settings.dns.every_zone
    alone = [site for site, said in decided.excluded.items() if said]
    outside = split(alone, zones)[1]
    left = [
        Unsaid(
            "no zone", f"that {site} is excluded", "it is in no zone of the settings"
        )
        for site in outside
    ]
    us = wiring.controller(settings, store)
    standing = _freezes(settings)
    if one := _freeze_to_believe(store, us, standing, now):
        what = f"that changes are frozen{because(one)}"
        said = "the zones alone say so, and the next `flex run` or `flex apply` believes them"
        left.append(Unsaid("the zones", what, said))
        decided = replace(decided, freeze=one)
    later = "mode shadow writes nothing" if settings.cluster.mode == "shadow" else _NEXT
    for server, of_primary, session in who_holds_zones.sessions(settings):
        sites = _sites_in(settings, of_primary, decided)
        texts = _texts_in(session, server, sites, standing)
        left += [
            Unsaid(
                record.zone,
                record.what,
                record.why_not
                or _why_not_held(standing[record.zone].holder, us)
                or later,
            )
            for record in _records(settings, sites, decided, texts)
        ]
    return left, len(alone) + bool(decided.freeze)


def _freezes(settings: Settings) -> dict[str, _Zone]:
    """Two questions a zone: a freeze is looked for wherever it may be."""
    found: dict[str, _Zone] = {}
    for server, zones, session in who_holds_zones.sessions(settings):
        holders = fence.controller_records(session, server, zones)
        texts = texts_at(session, server, {freeze_name(zone): zone for zone in zones})
        found |= {
            zone: _Zone(holders[zone], texts[freeze_name(zone)]) for zone in zones
        }
    return found


def _freeze_to_believe(
    store: Store, us: str, standing: Mapping[str, _Zone], now: datetime
) -> MarkedDecision | None:
    """A freeze that the zones tell of, and the database does not, was lost with it."""
    told = store.last_of_each("freeze").get("")
    words = LastWords({"": told.time} if told else {}, now)
    found = [
        one
        for zone in standing.values()
        if fence.controller_of(zone.holder) in ("", us)
        for text in zone.freeze.values
        if (one := decision_in(FROZEN, text)) and words.believe("", one)
    ]
    return max(found, key=lambda said: said.since, default=None)


def _believe_freeze(world: World, standing: Mapping[str, _Zone]) -> None:
    us, now = wiring.controller(world.settings, world.store), world.time_of_day()
    if one := _freeze_to_believe(world.store, us, standing, now):
        since = min(one.since, now)
        world.store.put_freeze(Freeze(since, one.until, one.reason, one.author))
        world.say(
            f"The zones say that changes are frozen{because(one)}, which the database did not "
            "know: it does now, and nothing is applied. `flex thaw` ends it."
        )


def believe_exclusions(world: World, made: Proposal) -> None:
    """Sites that a plan left alone for their markers are left alone by the database, too, from now
    on; and it knows which markers say more than they should.
    """
    store = world.store
    known = _sites_with_records(store).keys()
    for site, said in made.excluded.items():
        wish = Pin(
            site,
            until=said.until,
            reason=said.reason,
            author=said.author,
            excluded=True,
        )
        store.put_pin(beside(store.pin(site), wish))
        world.say(
            f"The marker of {site} says that it is excluded{because(said)}, which the database "
            f"did not know: it does now. `flex sites unpin {site}` takes the site in again."
        )
        store.note(EXCLUSION_IN_ZONE, site, None, decision_text(EXCLUDED, said))
    for site in sorted(made.told_otherwise - known):
        store.note(EXCLUSION_IN_ZONE, site, None, EXCLUDED)


def _decisions(store: Store, now: datetime) -> _Decisions:
    freeze = store.freeze()
    told = last_words(store, now).of_sites
    noted = _sites_with_records(store)
    excluded: dict[str, MarkedDecision | None] = dict.fromkeys(noted)
    pins = (pin for pin in store.pins() if pin.excluded and pin.holds(now))
    # The one that lasts longest is written last.
    for pin in sorted(pins, key=lambda pin: (pin.until is None, pin.until or now)):
        since = told.get(pin.site, now)
        if pin.site in noted and noted[pin.site].time >= since:
            # What was written for the last word, or was itself the last word, is as old as it says.
            there = decision_in(EXCLUDED, json.loads(noted[pin.site].after))
            since = min(since, there.since) if there else since
        excluded[pin.site] = MarkedDecision(since, pin.until, pin.author, pin.reason)
    return _Decisions(
        MarkedDecision(freeze.since, freeze.until, freeze.author, freeze.reason)
        if freeze and freeze.holds(now)
        else None,
        excluded,
    )


def _sites_with_records(store: Store) -> dict[str, Entry]:
    """The sites at whose markers there is such a record, as far as the database knows, each with
    the entry that has its text.
    """
    noted = store.last_of_each(EXCLUSION_IN_ZONE)
    return {site: entry for site, entry in noted.items() if entry.after != "null"}


def _sites_in(
    settings: Settings, zones: Sequence[str], decided: _Decisions
) -> dict[str, list[str]]:
    """Those of these zones. A site of a zone within another of ours is in the inner one, on
    whatever primary that is.
    """
    of_zone = split(list(decided.excluded), settings.dns.every_zone)[0]
    return {zone: of_zone[zone] for zone in zones}


def _texts_in(
    session: Session,
    server: Server,
    sites: Mapping[str, Sequence[str]],
    standing: Mapping[str, _Zone],
) -> dict[str, Texts]:
    """What stands at each name of a decision: markers are asked for where there may be one."""
    markers = {
        marker_name(name_of(site), zone): zone
        for zone, of_zone in sites.items()
        for site in of_zone
        if not unfit(zone, name_of(site))
    }
    freezes = {freeze_name(zone): standing[zone].freeze for zone in sites}
    return freezes | texts_at(session, server, markers)


def _records(
    settings: Settings,
    sites: Mapping[str, Sequence[str]],
    decided: _Decisions,
    texts: Mapping[str, Texts],
) -> Iterator[_Record]:
    """Those that do not say what they should."""
    for zone in sites:
        name = freeze_name(zone)
        was = texts[name]
        if not any(decision_in(FROZEN, text) for text in was.values):
            # A wildcard may answer for a name that is not there.
            was = Texts()
        wanted = _texts_to_have(FROZEN, was.values, decided.freeze)
        if wanted != was.values:
            what = f"that changes are {'' if decided.freeze else 'no longer '}frozen"
            yield _Record(zone, name, what, (FREEZE_IN_ZONE, zone), was, wanted)
    for zone, of_zone in sites.items():
        for site in of_zone:
            said = decided.excluded[site]
            what = f"that {site} is {'' if said else 'no longer '}excluded"
            noted = (EXCLUSION_IN_ZONE, site)
            if why := unfit(zone, name_of(site)):
                yield _Record(zone, "", what, noted, Texts(), frozenset(), f"it {why}")
                continue
            name = marker_name(name_of(site), zone)
            was = texts[name]
            wanted = _texts_to_have(EXCLUDED, was.values, said)
            if wanted != was.values:
                why = _why_not_ours(was.values, settings.owner)
                yield _Record(zone, name, what, noted, was, wanted, why)


def _texts_to_have(
    kind: str, was: frozenset[str], said: MarkedDecision | None
) -> frozenset[str]:
    """What says the same, and not from before, may stay: who wrote it may have known more."""
    there = {text: one for text in was if (one := decision_in(kind, text))}
    others = was - there.keys()
    if said is None:
        return others
    text = decision_text(kind, said)
    new = decision_in(kind, text)
    assert new, "what is written is read"
    fits = [
        old
        for old, one in there.items()
        if one.since >= new.since
        and (one.until, one.author, one.reason) == (new.until, new.author, new.reason)
    ]
    return others | {max(fits, default=text)}


def _why_not_ours(texts: Iterable[str], owner: str) -> str:
    """Who else reads the record requires that it is as they wrote it."""
    others = [text for text in texts if not decision_in(EXCLUDED, text)]
    for text in others:
        if (by := marker_owner(text)) != owner:
            whose = "no marker" if by is None else f'the marker of another owner "{by}"'
            return f"a TXT record that is {whose} stands at its marker, so no FLEX takes it"
    return ""


def _why_not_held(holder: str, us: str) -> str:
    by = fence.controller_of(holder)
    if by == us:
        return ""
    if not by:
        return f"nobody holds the zone yet; the first plan that changes it takes it, then {_NEXT}"
    return f"another controller holds the zone: {by}; `flex dns takeover --from '{by}'`"


def _note(store: Store, record: _Record) -> None:
    (action, subject) = record.noted
    kind = FROZEN if action == FREEZE_IN_ZONE else EXCLUDED
    store.note(
        action, subject, _text(kind, record.was.values), _text(kind, record.wanted)
    )


def _text(kind: str, texts: Iterable[str]) -> str | None:
    return next((text for text in sorted(texts) if decision_in(kind, text)), None)


def _forget(
    store: Store,
    sites: Mapping[str, Sequence[str]],
    decided: _Decisions,
    texts: Mapping[str, Texts],
) -> None:
    """Nobody looks again for the record of a site that is not left alone any more, once it is
    gone.
    """
    noted = _sites_with_records(store)
    for zone, of_zone in sites.items():
        for site in of_zone:
            there = texts.get(marker_name(name_of(site), zone), Texts()).values
            is_over = decided.excluded[site] is None and site in noted
            if is_over and not _text(EXCLUDED, there):
                was = json.loads(noted[site].after)
                store.note(EXCLUSION_IN_ZONE, site, was, None)
