"""A freeze, and sites that FLEX leaves alone, are in the zones too: so they outlive the database.

Takes a world whose lease is held. Writes into the zones that we hold what people decided, and takes
out what they took back; a freeze is no reason not to. Believes what a zone says where the database
was told of nothing since: a database that is new, or older than the decision. Says what is not in
the zones yet. A name server that refuses a record stops nothing: the decision counts by the
database alone then. A zone that cannot be read stops plans that change it, and all plans of a new
database, for nobody knows whether changes are frozen there.

The audit log says which sites have such a record, so that nobody has to look for them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from flex.errors import DnsError, OnTheWay, Unreachable
from flex.model.audit_chain import Entry
from flex.model.drains_and_freezes import Freeze
from flex.model.limits_and_approvals import FREEZE
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.planning.propose_plan import Proposal
from flex.site_names_in_words import first_few
from flex.store import Store
from flex.wishes.wishes_in_force_now import pin_beside_standing
from flex.zones import zone_changes
from flex.zones.decisions_in_markers import (
    EXCLUDED,
    FROZEN,
    LastWords,
    MarkedDecision,
    decision_in,
    decision_text,
    freeze_name,
    printable,
    who_when_why,
)
from flex.zones.marker import marker_name
from flex.zones.records_of_partition import name_of, split
from flex_api import wiring
from flex_api.facts.left_alone_times import last_entries
from flex_api.night import controller_of_zones, still_holding_lease
from flex_api.settings.file import Settings
from flex_api.wiring import World
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.several_primaries import SeveralPublishers
from flex_dns.update import fence
from flex_dns.update.decision_records import TextsToReplace, replace_texts
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.wire.txt_records import Texts, texts_at
from flex_dns.wire.zone_contents import Contents, unfit, why_not_ours

# Actions of the audit log: which text a zone, or the marker of a site, has from now on.
FREEZE_IN_ZONE = "zone.freeze"
EXCLUSION_IN_ZONE = "zone.exclude"
_NEXT = "the next `flex run` or `flex apply` brings it in step"
# Bytes of texts in one message: larger ones keep the name server from answering visitors (measured
# with BIND, which takes them all).
MOST_BYTES = 16_000
# Of more excluded sites a run asks only for the markers that should change: somebody else may have
# changed the others, and `flex doctor` says so. A guess: so many take less than a second.
MOST_ASKED = 1000


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
    """What stands at a name, and what should. `why_not` says why it stays as it is."""

    zone: str
    texts: TextsToReplace
    what: str
    kind: str
    # The action of the audit log, and its subject.
    noted: tuple[str, str]
    why_not: str = ""
    # Whether the database knows what should stand there as what stands there.
    is_known: bool = True

    @property
    def is_said(self) -> bool:
        return self.texts.was.values == self.texts.wanted and not self.why_not


@dataclass(frozen=True, slots=True)
class _Decisions:
    """What people decided until now. A site is there if it is excluded, or its marker may still
    say so; then it has None. `noted` are the texts that the database knows to be at markers.
    """

    freeze: MarkedDecision | None
    excluded: Mapping[str, MarkedDecision | None]
    noted: Mapping[str, str]
    now: datetime

    def needs_a_look(self, site: str) -> bool:
        """Whether the marker may say anything else than it should."""
        decision, noted = self.excluded[site], self.noted.get(site)
        return decision is None or not noted or not _fits(EXCLUDED, noted, decision, self.now)


# Zones that could not be read, each with the error.
Unread = Mapping[str, DnsError]
_At = tuple[Server, Session]


def settle(world: World, force: Collection[str] = ()) -> Unread:
    """Write the decisions of people into the zones, and learn of a freeze from them. Return the
    zones that could not be read, unless a freeze would be gone over by `force`: what they say of a
    freeze is not known. Raise the error of one where the database is new, so that it knows of no
    freeze itself, and OnTheWay where a half-applied plan changes it.
    """
    if not has_zones_to_write(world):
        return {}
    store, now = world.store, world.time_of_day()
    is_new = not store.in_force() and not store.last_of_each(FREEZE)
    standing, unread = _freezes(world.settings, world.settings.dns.every_zone)
    if FREEZE in force:
        unread = {}
    elif is_new and unread:
        error = next(iter(unread.values()))
        for plan in store.plans(state="applying"):
            raise _half_applied_error(plan, error)
        raise error
    _believe_freeze(world, standing)
    decided = _decisions(store, now)
    every = len(decided.excluded) <= MOST_ASKED
    by_primary = _records(world.settings, store, decided, standing, every=every)
    if left := _write(world, standing, by_primary):
        world.say(f"Not in DNS: {first_few(list(map(str, left)), between='; ')}.")
    refuse_unread(store.plans(state="applying"), unread)
    return unread


def has_zones_to_write(world: World) -> bool:
    """Whether there are name servers, and this controller may be who holds their zones."""
    return world.settings.cluster.mode != "shadow" and isinstance(
        world.publisher, Rfc2136Publisher | SeveralPublishers
    )


def refuse_unread(plans: Iterable[Plan], unread: Unread) -> None:
    """Raise the error of a zone that one of the plans changes: nobody knows whether that is frozen.
    A plan that is half applied is OnTheWay.
    """
    for plan in plans:
        zones = [zone_plan.zone for zone_plan in plan.zone_plans if zone_plan.changes]
        error = next((unread[zone] for zone in zones if zone in unread), None)
        if error is not None:
            raise _half_applied_error(plan, error) if plan.state == "applying" else error


def _half_applied_error(plan: Plan, error: DnsError) -> OnTheWay:
    return OnTheWay(
        error.asked,
        error.answer,
        kept=f"some of plan {plan.id}, which an earlier run began, may be in DNS",
        advice=f"{error.advice}; then `flex apply --resume` finishes it",
    )


def take_out(world: World, sites: Collection[str]) -> bool:
    """Take out what the markers of sites still say that people took in again. Return whether
    anything went; what cannot be done at once stays for the next run.
    """
    if not has_zones_to_write(world):
        return False
    settings, store = world.settings, world.store
    excluded = dict.fromkeys(sites)
    of_zone = split(list(excluded), settings.dns.every_zone)[0]
    standing, _ = _freezes(settings, [zone for zone in of_zone if of_zone[zone]])
    marker_count = sum(len(of_zone[zone]) for zone in standing)
    decided = replace(_decisions(store, world.time_of_day()), excluded=excluded)
    by_primary = (
        (at, [record for record in records if record.kind == EXCLUDED])
        for at, records in _records(settings, store, decided, standing, every=False)
    )
    return len(_write(world, standing, by_primary)) < marker_count


def unsaid_decisions(settings: Settings, store: Store, now: datetime) -> tuple[list[Unsaid], int]:
    """What the zones do not say of the decisions of people, and how many decisions they should
    say. Raises a DnsError where one of them cannot be read.
    """
    decided = _decisions(store, now)
    zones = settings.dns.every_zone
    alone = [site for site, said in decided.excluded.items() if said]
    outside = split(alone, zones)[1]
    left = [
        Unsaid("no zone", f"that {site} is excluded", "it is in no zone of the settings")
        for site in outside
    ]
    us = wiring.controller(settings, store)
    standing, unread = _freezes(settings, zones)
    if unread:
        raise next(iter(unread.values()))
    if freeze := _freeze_to_believe(store, us, standing, now):
        what = f"that changes are frozen{who_when_why(freeze)}"
        said = "the zones alone say so, and the next `flex run` or `flex apply` believes them"
        left.append(Unsaid("the zones", what, said))
        decided = replace(decided, freeze=freeze)
    later = "mode shadow writes nothing" if settings.cluster.mode == "shadow" else _NEXT
    left += [
        Unsaid(record.zone, record.what, record.why_not or later)
        for _, records in _records(settings, store, decided, standing, every=True)
        for record in records
        if not record.is_said
    ]
    return left, len(alone) + bool(decided.freeze)


def _freezes(
    settings: Settings, zones: Collection[str]
) -> tuple[dict[str, _Zone], dict[str, DnsError]]:
    """What these zones say of a freeze, wherever it may be, and those that cannot be read. Two
    questions a zone.
    """
    wanted = frozenset(zones)
    standing: dict[str, _Zone] = {}
    unread: dict[str, DnsError] = {}
    for server, of_primary, session in controller_of_zones.sessions(settings):
        here = [zone for zone in of_primary if zone in wanted]
        names = {fence.fence_name(zone): zone for zone in here}
        names |= {freeze_name(zone): zone for zone in here}
        texts = texts_at(session, server, names, "what people decided")
        for zone in here:
            held, freeze = texts[fence.fence_name(zone)], texts[freeze_name(zone)]
            if isinstance(held, DnsError):
                unread[zone] = held
            elif isinstance(freeze, DnsError):
                unread[zone] = freeze
            else:
                standing[zone] = _Zone(fence.holder_in(held.values), freeze)
    return standing, unread


def _freeze_to_believe(
    store: Store, us: str, standing: Mapping[str, _Zone], now: datetime
) -> MarkedDecision | None:
    """A freeze that the zones tell of, and the database does not, was lost with it."""
    told = store.last_of_each("freeze").get("")
    words = LastWords({"": told.time} if told else {}, now)
    freezes = [
        freeze
        for zone in standing.values()
        if fence.controller_of(zone.holder) in ("", us)
        for text in zone.freeze.values
        if (freeze := decision_in(FROZEN, text)) and words.believe("", freeze)
    ]
    return max(freezes, key=lambda candidate: candidate.since, default=None)


def _believe_freeze(world: World, standing: Mapping[str, _Zone]) -> None:
    us, now = wiring.controller(world.settings, world.store), world.time_of_day()
    if freeze := _freeze_to_believe(world.store, us, standing, now):
        since = min(freeze.since, now)
        world.store.put_freeze(Freeze(since, freeze.until, freeze.reason, freeze.author))
        world.say(
            f"The zones say that changes are frozen{who_when_why(freeze)}, which the database did "
            "not know: it does now. `flex thaw` ends it."
        )


def zones_to_believe(world: World, proposal: Proposal) -> frozenset[str]:
    """The zones of which the database may keep what their markers say, as no other controller
    holds them. In mode shadow none are.
    """
    sites = [*proposal.excluded, *proposal.told_otherwise]
    if not sites or not has_zones_to_write(world):
        return frozenset()
    of_zone = split(sites, world.settings.dns.every_zone)[0]
    standing, _ = _freezes(world.settings, [zone for zone in of_zone if of_zone[zone]])
    us = wiring.controller(world.settings, world.store)
    return frozenset(
        zone
        for zone, zone_state in standing.items()
        if fence.controller_of(zone_state.holder) in ("", us)
    )


def believe_exclusions(world: World, proposal: Proposal, zones: Collection[str]) -> None:
    """Sites of these zones that a plan left alone for their markers are left alone by the database,
    too, from now on; and it knows which markers say more than they should.
    """
    store = world.store
    known = _sites_with_records(store).keys()
    sites = [*proposal.excluded, *proposal.told_otherwise]
    of_zone = split(sites, world.settings.dns.every_zone)[0]
    ours = {site for zone in zones for site in of_zone[zone]}
    for site, decision in proposal.excluded.items():
        if site not in ours:
            continue
        wish = Pin(
            site,
            until=decision.until,
            reason=decision.reason,
            author=decision.author,
            excluded=True,
        )
        store.put_pin(pin_beside_standing(store.pin(site), wish))
        world.say(
            f"The marker of {site} says that it is excluded{who_when_why(decision)}, which the "
            f"database did not know: it does now. `flex sites unpin {site}` takes the site in "
            "again."
        )
        store.note(EXCLUSION_IN_ZONE, site, None, decision_text(EXCLUDED, decision))
    for site in sorted(proposal.told_otherwise & ours - known):
        store.note(EXCLUSION_IN_ZONE, site, None, EXCLUDED)


def _decisions(store: Store, now: datetime) -> _Decisions:
    freeze = store.freeze()
    told = last_entries(store)
    noted = _sites_with_records(store)
    excluded: dict[str, MarkedDecision | None] = dict.fromkeys(noted)
    pins = (pin for pin in store.pins() if pin.excluded and pin.holds(now))
    # The one that lasts longest is written last.
    for pin in sorted(pins, key=lambda pin: (pin.until is None, pin.until or now)):
        last, there = told.get(pin.site), noted.get(pin.site)
        # A clock may have been ahead.
        since = min(last.time, now) if last else now
        if there and (last is None or there.number > last.number):
            # What was written for the last word, or was itself the last word, is as old as it says.
            old = decision_in(EXCLUDED, json.loads(there.after))
            since = min(since, old.since) if old else since
        excluded[pin.site] = MarkedDecision(since, pin.until, pin.author, pin.reason)
    return _Decisions(
        MarkedDecision(freeze.since, freeze.until, freeze.author, freeze.reason)
        if freeze and freeze.holds(now)
        else None,
        excluded,
        {site: json.loads(entry.after) for site, entry in noted.items()},
        now,
    )


def _sites_with_records(store: Store) -> dict[str, Entry]:
    """The sites at whose markers there is such a record, as far as the database knows, each with
    the entry that has its text.
    """
    noted = store.last_of_each(EXCLUSION_IN_ZONE)
    return {site: entry for site, entry in noted.items() if entry.after != "null"}


def _records(
    settings: Settings,
    store: Store,
    decided: _Decisions,
    standing: Mapping[str, _Zone],
    *,
    every: bool,
) -> Iterator[tuple[_At, list[_Record]]]:
    """What stands at the names of decisions, and what should, for each primary. Of sites only those
    that need a look, unless `every` one is wanted. Another controller's freeze is its own.
    """
    us = wiring.controller(settings, store)
    changing = _names_on_their_way(store)
    of_zone = split(
        [one for one in decided.excluded if every or decided.needs_a_look(one)],
        settings.dns.every_zone,
    )[0]
    for server, zones, session in controller_of_zones.sessions(settings):
        sites = {zone: of_zone[zone] for zone in zones if zone in standing}
        records = [
            _freeze_record(zone, standing[zone].freeze, decided)
            for zone in sites
            if decided.freeze or fence.controller_of(standing[zone].holder) in ("", us)
        ]
        texts = texts_at(session, server, _markers(sites), "which sites are excluded")
        for zone, here in sites.items():
            for site in here:
                one = _site_record(settings.owner, zone, site, decided, texts)
                is_new = not _text(EXCLUDED, one.texts.was.values)
                busy = changing.get(name_of(site), "")
                if is_new and busy and decided.excluded[site] and not one.why_not:
                    one = replace(one, why_not=f"{busy}; once that is over, {_NEXT}")
                records.append(one)
        yield (
            (server, session),
            [
                one
                if one.why_not or one.is_said
                else replace(one, why_not=_why_not_held(standing[one.zone].holder, us, one.texts))
                for one in records
            ],
        )


def _markers(sites: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The markers of the sites that can have one, with their zones."""
    return {
        marker_name(name_of(site), zone): zone
        for zone, of_zone in sites.items()
        for site in of_zone
        if not unfit(zone, name_of(site))
    }


def _names_on_their_way(store: Store) -> dict[str, str]:
    """The names that half-applied plans change, each with the reason for which its marker gets no
    exclusion meanwhile: with one, nobody could finish the plan.
    """
    reasons: dict[str, str] = {}
    for plan in store.plans(state="applying"):
        names = {name_of(move.site) for move in plan.moves}
        for zone_plan in plan.zone_plans:
            names.update(zone_changes.changed_names(zone_plan))
        why = f"plan {plan.id}, which changes it, is half applied"
        reasons |= dict.fromkeys(names, why)
    return reasons


def _freeze_record(zone: str, was: Texts, decided: _Decisions) -> _Record:
    if not _text(FROZEN, was.values):
        # A wildcard may answer for a name that is not there.
        was = Texts()
    wanted = _texts_to_have(FROZEN, was.values, decided.freeze, decided.now)
    what = f"that changes are {'' if decided.freeze else 'no longer '}frozen"
    texts = TextsToReplace(freeze_name(zone), was, wanted)
    return _Record(zone, texts, what, FROZEN, (FREEZE_IN_ZONE, zone))


def _site_record(
    owner: str, zone: str, site: str, decided: _Decisions, texts: Mapping[str, Texts | DnsError]
) -> _Record:
    decision = decided.excluded[site]
    what = f"that {site} is {'' if decision else 'no longer '}excluded"
    if why := unfit(zone, name_of(site)):
        return _unwritten_record(zone, what, f"it {why}")
    name = marker_name(name_of(site), zone)
    was = texts[name]
    if isinstance(was, DnsError):
        return _unwritten_record(zone, what, f"{was.answer}; {was.advice}")
    wanted = _texts_to_have(EXCLUDED, was.values, decision, decided.now)
    if wanted != was.values:
        there = Contents(0, {(name, "TXT"): (was.ttl, tuple(was.values))}, {})
        why = why_not_ours(zone, name_of(site), owner, there)
    return _Record(
        zone,
        TextsToReplace(name, was, wanted),
        what,
        EXCLUDED,
        (EXCLUSION_IN_ZONE, site),
        f"it {why}" if why else "",
        is_known=not decided.needs_a_look(site),
    )


def _unwritten_record(zone: str, what: str, why_not: str) -> _Record:
    texts = TextsToReplace("", Texts(), frozenset())
    return _Record(zone, texts, what, EXCLUDED, (EXCLUSION_IN_ZONE, ""), why_not)


def _texts_to_have(
    kind: str, was: frozenset[str], decision: MarkedDecision | None, now: datetime
) -> frozenset[str]:
    """The texts that should stand at a name where there are these. A text that says the same stays,
    unless it is older than the decision.
    """
    of_kind = {text for text in was if decision_in(kind, text)}
    others = was - of_kind
    if decision is None:
        return others
    fitting = [text for text in of_kind if _fits(kind, text, decision, now)]
    return others | {max(fitting, default=decision_text(kind, decision))}


def _fits(kind: str, text: str, decision: MarkedDecision, now: datetime) -> bool:
    """Whether a text says a decision, is no older than that and not from times to come."""
    old, new = decision_in(kind, text), decision_in(kind, decision_text(kind, decision))
    assert new, "what is written is read"
    return old is not None and (
        new.since <= old.since <= max(new.since, now)
        and (old.until, old.author, old.reason) == (new.until, new.author, new.reason)
    )


def _write(
    world: World, standing: Mapping[str, _Zone], by_primary: Iterable[tuple[_At, Sequence[_Record]]]
) -> list[Unsaid]:
    """Write the records and note that it was done. Return those that could not be written."""
    left: list[Unsaid] = []
    for at, records in by_primary:
        of_zone: dict[str, list[_Record]] = {}
        for record in records:
            if record.why_not:
                left.append(Unsaid(record.zone, record.what, record.why_not))
            elif not record.is_said:
                of_zone.setdefault(record.zone, []).append(record)
            elif not record.is_known:
                _note(world.store, record)
        for zone, wanted in of_zone.items():
            left += _write_zone(world, at, standing[zone].holder, wanted)
    return left


def _write_zone(world: World, at: _At, holder: str, records: Sequence[_Record]) -> Iterator[Unsaid]:
    """Several names in one message, and each alone where somebody is in the way of one of them."""
    for together in _batches(records):
        error = _send(world, at, holder, together)
        if error and len(together) > 1 and not isinstance(error, Unreachable):
            alone = [(record, _send(world, at, holder, [record])) for record in together]
        else:
            alone = [(record, error) for record in together]
        for record, why_not in alone:
            if why_not:
                yield Unsaid(record.zone, record.what, f"{why_not.answer}; {why_not.advice}")


def _batches(records: Sequence[_Record]) -> Iterator[list[_Record]]:
    together: list[_Record] = []
    size = 0
    for record in records:
        if together and size + record.texts.size > MOST_BYTES:
            yield together
            together, size = [], 0
        together.append(record)
        size += record.texts.size
    yield together


def _send(world: World, at: _At, holder: str, records: Sequence[_Record]) -> DnsError | None:
    server, session = at
    still_holding_lease.refuse_lost(world)
    texts = [record.texts for record in records]
    error = replace_texts(session, server, records[0].zone, holder, texts)
    if error is None:
        with world.store.together():
            for record in records:
                _note(world.store, record)
    return error


def _why_not_held(holder: str, us: str, texts: TextsToReplace) -> str:
    if fence.controller_of(holder) == us:
        return ""
    if by := printable(fence.controller_of(holder)):
        return f"another controller holds the zone: {by}; `flex dns takeover --from '{by}'`"
    way = f"the first plan that changes it takes it, then {_NEXT}"
    if texts.was.values > texts.wanted:
        way += f"; where no plan can, take it out of the TXT of {texts.name} by hand"
    return f"nobody holds the zone yet; {way}"


def _note(store: Store, record: _Record) -> None:
    action, subject = record.noted
    was, now = record.texts.was.values, record.texts.wanted
    store.note(action, subject, _text(record.kind, was), _text(record.kind, now))


def _text(kind: str, texts: Iterable[str]) -> str | None:
    """The latest decision among the texts, as FLEX writes it: others may have written anything."""
    decisions = [decision for text in texts if (decision := decision_in(kind, text))]
    latest = max(decisions, key=lambda candidate: candidate.since, default=None)
    return decision_text(kind, latest) if latest else None
