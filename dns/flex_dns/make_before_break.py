"""Moves that make before they break: first both nodes answer for a site, and one TTL later only the
new one does.

Takes plans, as every publisher does. Applies each in waves of sites, and each wave in two steps.
Between the two steps every server has to say the first one, resolvers have time to learn of it, and
the nodes that got sites are asked how they are.

DNS itself says where a killed run ended. A name that has both addresses only loses the old one,
after another full wait, because nobody knows how long the killed run had waited. Does not touch a
name that somebody else changes on the way; such names are listed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace

import pandas as pd

from flex.errors import DnsError, Late, OnTheWay, PartlyApplied, Stale
from flex.frame_schemas import RECORDS
from flex.model.dns_update_journal import Journal, JournalRow, RowState
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.zone_plan import ZonePlan
from flex.ports import PublisherAround
from flex.zones import waves, zone_changes
from flex.zones.address_hints import HINTED, hinted_addresses
from flex.zones.marker import site_name
from flex.zones.records_of_partition import ZoneState, sets_by_name
from flex_dns.update.zone_outcomes_as_error import kind
from flex_dns.zone.change_states import SHOWN, conflicts, refuse_outdated

ANEW = "an earlier run ended here; what DNS said then was planned anew"
# New addresses, by the name that gets them.
Coming = Mapping[str, Set[str]]
# Names that are somebody else's by now, with what was found there.
Lost = dict[str, str]


def _unheard(*_: object) -> None:
    """Where nobody warms nodes up, or asks whether they are well."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What else happens on the way. `begins` is told for how many seconds resolvers will be waited
    for in all, and in how many waves. `ahead` hears of what a wave brings before DNS does, and of
    which wave of how many it is; `well` is given the addresses that all waves so far bring, and
    raises where one does not serve. Servers are waited for inside `idle`.
    """

    begins: Callable[[float, int], None] = _unheard
    ahead: Callable[[Coming, int, int], None] = _unheard
    well: Callable[[Collection[str]], None] = _unheard
    idle: Callable[[], AbstractContextManager[object]] = nullcontext


@dataclass(frozen=True, slots=True)
class _Step:
    """`coming` is what the wave brings, in the step that brings it, and `beside` what it brings
    without any change of DNS; `serving` are the addresses of all waves so far.
    """

    zone_plans: tuple[ZonePlan, ...]
    wave: int = 0
    coming: Coming | None = None
    serving: frozenset[str] = frozenset()
    beside: Coming = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        return bool(self.zone_plans or self.beside)


@dataclass(frozen=True, slots=True)
class GentlePublisher(PublisherAround):
    """`wait` is told for how many seconds resolvers may go on with what they know; servers have
    `patience` to agree.

    With a `ttl` what moves has it on the way: it is lowered one old TTL ahead, and the last step of
    each wave restores it. `shares` are those of the first waves in the sites that move; with none
    all move at once. What moves `beside`, without any change of DNS, is in the same waves.
    """

    wait: Callable[[float], None]
    patience: float = 0.0
    ttl: int = 0
    shares: tuple[float, ...] = ()
    hooks: Hooks = Hooks()
    beside: Coming = field(default_factory=dict)

    def apply(self, *zone_plans: ZonePlan, journal: Journal | None = None) -> None:
        """Applies the plans as the publisher does, step by step.

        Raises PartlyApplied where a step is done and the next one cannot be made, and in the end
        where some names were left to others.
        """
        begun, lost = bool(journal and journal.rows()), Lost()
        left = self._what_is_left(zone_plans, lost) if begun else zone_plans
        if not begun:
            self._refuse_outdated(zone_plans)
            self._refuse_denied_hints(zone_plans)
        steps, done_steps = self._steps(zone_plans, left, lost), list[_Step]()
        standing = _standing(steps[0].zone_plans) if begun and steps else []
        again = _wait_after(zone_plans) if standing else 0.0
        if waits := again + sum(_wait_after(step.zone_plans) for step in steps[:-1]):
            self.hooks.begins(waits, len({step.wave for step in steps}))
        for step in steps:
            with _tell_what_is_on_the_way() if done_steps else nullcontext():
                if done_steps:
                    self._settle(done_steps[-1].zone_plans, lost)
                elif standing:
                    self._settle_again(standing, again)
                self._make(step, steps[-1].wave, journal, lost, whole=not (done_steps or begun))
            done_steps.append(step)
        if lost:
            raise _left_to_others(zone_plans, lost)

    def _read(self, zone_plan: ZonePlan) -> ZoneState:
        return self.publisher.read(
            zone_plan.zone,
            zone_changes.changed_names(zone_plan),
            hints=zone_changes.changed_hints(zone_plan),
        )

    def _refuse_outdated(self, zone_plans: Sequence[ZonePlan]) -> None:
        """The last wave, too, is looked at before the first."""
        for zone_plan in zone_plans:
            if zone_plan.changes:
                state = self._read(zone_plan)
                refuse_outdated(zone_changes.what_is_left(zone_plan, state, self.ttl), state)

    def _refuse_denied_hints(self, zone_plans: Sequence[ZonePlan]) -> None:
        """What no step may change is refused before the first one."""
        for zone_plan in zone_plans:
            if sets := zone_changes.changed_hints(zone_plan):
                self.publisher.refuse_hints(zone_plan.zone, sets)

    def _steps(
        self, zone_plans: Sequence[ZonePlan], left: Sequence[ZonePlan], lost: Lost
    ) -> list[_Step]:
        wave_of = waves.waves(zone_plans, self.shares, self.beside)
        steps = [_Step(tuple(zone_changes.lower_ttls(zone_plan, self.ttl) for zone_plan in left))]
        ready = [zone_changes.from_lowered(zone_plan, self.ttl) for zone_plan in left]
        serving = frozenset[str]()
        for number in range(max(wave_of.values(), default=0) + 1):
            coming = coming_by_name(
                waves.part(zone_plan, wave_of, number) for zone_plan in zone_plans
            )
            beside = {name: new for name, new in self.beside.items() if wave_of[name] == number}
            serving |= {
                address
                for addresses in (*coming.values(), *beside.values())
                for address in addresses
            }
            parts = [waves.part(zone_plan, wave_of, number) for zone_plan in ready]
            steps += [
                _Step(
                    tuple(
                        zone_changes.add_new_addresses(zone_plan, self.ttl) for zone_plan in parts
                    ),
                    number,
                    coming,
                    serving,
                    beside,
                ),
                _Step(
                    tuple(
                        zone_changes.take_old_addresses(zone_plan, self.ttl) for zone_plan in parts
                    ),
                    number,
                    None,
                    serving,
                ),
            ]
        return [needed for step in steps if (needed := _drop_lost(step, lost)).is_needed]

    def _make(
        self, step: _Step, last: int, journal: Journal | None, lost: Lost, *, whole: bool
    ) -> None:
        """Without what is others'. The first step is made `whole`, or where nothing of it was made
        not at all.
        """
        step = _drop_lost(step, lost)
        if step.is_needed and step.serving:
            self.hooks.well(step.serving)
        coming = {**(step.coming or {} if step.zone_plans else {}), **step.beside}
        if coming:
            self.hooks.ahead(coming, step.wave + 1, last + 1)
        try:
            self._apply(step, journal)
        except (Stale, PartlyApplied) as error:
            refused = isinstance(error, OnTheWay) or (whole and isinstance(error, Stale))
            if refused or not (overtaken := self._overtaken_names(step.zone_plans)):
                raise
            lost |= overtaken
            self._apply(_drop_lost(step, lost), journal)

    def _apply(self, step: _Step, journal: Journal | None) -> None:
        if step.zone_plans:
            self.publisher.apply(*step.zone_plans, journal=journal and _Anew(journal))

    def _overtaken_names(self, zone_plans: Iterable[ZonePlan]) -> Lost:
        states = ((zone_plan, self._read(zone_plan)) for zone_plan in zone_plans)
        return {
            conflict.name: str(conflict)
            for zone_plan, state in states
            for conflict in conflicts(zone_plan, state)
        }

    def _settle(self, zone_plans: Sequence[ZonePlan], lost: Lost) -> None:
        """Until no resolver can know any more what was there before."""
        with self.hooks.idle():
            try:
                self._refuse_disagreement(_leave_out_lost_names(zone_plans, lost))
            except Late:
                if not (
                    overtaken := self._overtaken_names(
                        map(_as_made, _leave_out_lost_names(zone_plans, lost))
                    )
                ):
                    raise
                lost |= overtaken
                self._refuse_disagreement(_leave_out_lost_names(zone_plans, lost))
        if kept := _leave_out_lost_names(zone_plans, lost):
            self.wait(_wait_after(kept))

    def _settle_again(self, standing: Sequence[ZonePlan], seconds: float) -> None:
        """A run that was killed may have been waiting, and nobody knows since when."""
        with self.hooks.idle():
            self._refuse_disagreement(standing)
        self.wait(seconds)

    def _what_is_left(self, zone_plans: Sequence[ZonePlan], lost: Lost) -> list[ZonePlan]:
        left_plans: list[ZonePlan] = []
        for zone_plan in zone_plans:
            state = self._read(zone_plan)
            left_plans.append(zone_changes.what_is_left(zone_plan, state, self.ttl))
            lost |= {conflict.name: str(conflict) for conflict in conflicts(left_plans[-1], state)}
        return left_plans

    def _refuse_disagreement(self, zone_plans: Sequence[ZonePlan]) -> None:
        for zone_plan in zone_plans:
            wanted = self._wanted_records(zone_plan)
            changed = {(change.name, change.type) for change in zone_plan.changes}
            for verdict in (
                self.publisher.verify(zone_plan.zone, wanted, patience=self.patience)
                if len(wanted)
                else ()
            ):
                wrong = tuple(
                    difference
                    for difference in verdict.wrong
                    if (difference.name, difference.type) in changed
                )
                if verdict.error or wrong:
                    raise _disagrees(zone_plan, replace(verdict, wrong=wrong))

    def _wanted_records(self, zone_plan: ZonePlan) -> pd.DataFrame:
        """What the plan wants of its sets. Servers are to say of others at its names what the
        primary says by now: what somebody writes beside ours is theirs, and stops no move.
        """
        sets = {
            (change.name, change.type): change.after
            for change in zone_plan.changes
            if change.type in zone_changes.ADDRESSES
        }
        changed = {(name, str(kind)) for name, kind in sets}
        rows = list[tuple[str, str, int, str]]()
        rows += [
            (change.name, change.type, change.after.ttl, address)
            for change in zone_plan.changes
            if change.type in HINTED and change.after
            for address in hinted_addresses(change.after.values)
        ]
        rows += [
            (*key, wanted.ttl, value)
            for key, wanted in sets.items()
            if wanted
            for value in wanted.values
        ]
        if rows:
            others = sets_by_name(
                self.publisher.read(zone_plan.zone, sorted({name for name, _ in sets})).records
            )
            beside = {key: record_set for key, record_set in others.items() if key not in changed}
            rows += [
                (*key, ttl, value) for key, (ttl, values) in beside.items() for value in values
            ]
        return RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))


def _wait_after(zone_plans: Iterable[ZonePlan]) -> float:
    return float(max(map(zone_changes.longest_ttl, zone_plans), default=0))


def _drop_lost(step: _Step, lost: Lost) -> _Step:
    """What of the step is not others', in the zones in which that is anything."""
    coming = step.coming and {name: new for name, new in step.coming.items() if name not in lost}
    return replace(step, zone_plans=_leave_out_lost_names(step.zone_plans, lost), coming=coming)


def _leave_out_lost_names(zone_plans: Iterable[ZonePlan], lost: Lost) -> tuple[ZonePlan, ...]:
    parts: list[ZonePlan] = []
    for zone_plan in zone_plans:
        sites = zone_plan.site_of_name
        left = tuple(
            change
            for change in zone_plan.changes
            if (name := site_name(zone_plan.zone, change.name)) not in lost
            # What is a site's other name stays with the site.
            and sites.get(name, name) not in lost
        )
        if left:
            parts.append(replace(zone_plan, changes=left) if lost else zone_plan)
    return tuple(parts)


def coming_by_name(zone_plans: Iterable[ZonePlan]) -> dict[str, set[str]]:
    """By the name of a site the addresses that it, or another of its names, gets and does not
    have.
    """
    coming: dict[str, set[str]] = {}
    for sites, change in (
        (sites, change)
        for zone_plan in zone_plans
        for sites in (zone_plan.site_of_name,)
        for change in zone_plan.changes
        if change.type in zone_changes.ADDRESSES
    ):
        had = change.before.values if change.before else ()
        if new := set(change.after.values if change.after else ()) - set(had):
            coming.setdefault(sites.get(change.name, change.name), set()).update(new)
    return coming


def _standing(step: Sequence[ZonePlan]) -> list[ZonePlan]:
    """What DNS says where a step goes on; nothing where it only adds."""
    standing_plans: list[ZonePlan] = []
    for zone_plan in step:
        as_before = tuple(replace(change, after=change.before) for change in zone_plan.changes)
        standing_plans.append(replace(zone_plan, changes=as_before))
    return (
        standing_plans
        if any(change.after for zone_plan in standing_plans for change in zone_plan.changes)
        else []
    )


def _as_made(zone_plan: ZonePlan) -> ZonePlan:
    """What nobody has changed since."""
    return replace(
        zone_plan,
        changes=tuple(
            replace(change, before=change.after) for change in zone_plan.changes if change.after
        ),
    )


@contextmanager
def _tell_what_is_on_the_way() -> Iterator[None]:
    try:
        yield
    except DnsError as error:
        raise kind(error)(
            error.asked,
            error.answer,
            kept="what moves is on its way, and new nodes serve beside the old ones or instead",
            advice=f"{error.advice}; then `flex apply --resume` goes on, `--undo` "
            "takes the new addresses back",
        ) from error


def _disagrees(zone_plan: ZonePlan, verdict: NameServerVerdict) -> Late:
    reason = verdict.error or f"{len(verdict.wrong)} of {verdict.checked} record sets differ"
    return Late(
        f"going on with what moves in {zone_plan.zone}",
        f"{verdict.server}: {reason}",
        kept="nothing more was changed",
        advice="see why that server does not follow",
    )


def _left_to_others(zone_plans: Sequence[ZonePlan], lost: Lost) -> PartlyApplied:
    more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    return PartlyApplied(
        f"changing {sum(len(zone_plan.changes) for zone_plan in zone_plans)} record sets in "
        f"{len(zone_plans)} zones",
        f"{len(lost)} names are no longer what the plan saw: "
        f"{'; '.join(list(lost.values())[:SHOWN])}{more}",
        kept="all others are as planned; what others wrote was left alone",
        advice="look at the named records; `flex apply --resume` ends this plan, and "
        "`flex plan` makes a new one",
    )


class _Anew:
    """A journal for one more step: earlier rows stay as a record, and what was open of them is
    closed.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        earlier = journal.rows()
        self._from = max((row.number for row in earlier), default=-1) + 1
        journal.became(
            [row.number for row in earlier if row.state in ("planned", "sent")], "refused", ANEW
        )

    def rows(self) -> tuple[JournalRow, ...]:
        return ()

    def intend(self, rows: Sequence[JournalRow]) -> None:
        self._journal.intend([replace(row, number=self._from + row.number) for row in rows])

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        self._journal.became([self._from + number for number in numbers], state, note)
