"""Moves that make before they break: first both nodes answer for a site, and a TTL later only the new one does.

In go plans, as to any target; each is applied in waves of sites, and each wave in two steps. Between two steps every
server has to say the first, resolvers have time to learn of it, and the nodes that got sites are asked how they are.
Where a run was killed is read from DNS: what has both addresses only loses the old, after another wait, for nobody
knows how long the killed one was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import pandas as pd

from flex import plan, rollout
from flex.domain import Change, Plan, Verdict
from flex.errors import DnsError, Late
from flex.journal import JournalRow, RowState
from flex.ports import DnsTarget, Journal
from flex.records import ZoneState
from flex.tables import RECORDS
from flex_dns.outcome import kind
from flex_dns.standing import refuse_outdated

ANEW = "an earlier run ended here; what DNS said then was planned anew"
# New addresses, by the name that gets them.
Coming = Mapping[str, Set[str]]


def _unheard(*_: object) -> None:
    """Where nobody warms nodes up, or asks whether they are well."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What else happens on the way. `ahead` hears of what a wave brings before DNS does, and of which wave of how many
    it is; `well` is given the addresses that all waves so far bring, and raises where one does not serve.
    """

    ahead: Callable[[Coming, int, int], None] = _unheard
    well: Callable[[Collection[str]], None] = _unheard


@dataclass(frozen=True, slots=True)
class _Step:
    """`coming` is what the wave brings, in the step that brings it; `serving` are the addresses of all waves so far."""

    plans: tuple[Plan, ...]
    wave: int = 0
    coming: Coming | None = None
    serving: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GentleTarget:
    """`wait` is told for how many seconds resolvers may go on with what they know; servers have `patience` to agree.

    With a `ttl` what moves has it on the way: it is lowered one old TTL ahead, and the last step of each wave restores
    it. `shares` are those of the first waves in the sites that move; with none all move at once.
    """

    target: DnsTarget
    wait: Callable[[float], None]
    patience: float = 0.0
    ttl: int = 0
    shares: tuple[float, ...] = ()
    hooks: Hooks = Hooks()

    def read(self, zone: str, names: Sequence[str]) -> ZoneState:
        return self.target.read(zone, names)

    def verify(self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0) -> tuple[Verdict, ...]:
        return self.target.verify(zone, wanted, patience=patience)

    def apply(self, *plans: Plan, journal: Journal | None = None) -> None:
        """As the target does it, step by step. Raises PartlyApplied where one is done and the next cannot be made."""
        begun = bool(journal and journal.rows())
        if not begun:
            self._refuse_outdated(plans)
        steps = self._steps(plans, begun=begun)
        for step in steps[:1]:
            if begun:
                self._settle_again(step.plans, plans)
            self._make(step, steps[-1].wave, journal)
        with _on_the_way():
            for before, step in pairwise(steps):
                self._settle(before.plans)
                self._make(step, steps[-1].wave, journal)

    def _refuse_outdated(self, plans: Sequence[Plan]) -> None:
        """The last wave, too, is looked at before the first."""
        for made in plans:
            if made.changes:
                state = self.target.read(made.zone, plan.addressed(made))
                refuse_outdated(plan.left(made, state, self.ttl), state)

    def _steps(self, plans: Sequence[Plan], *, begun: bool) -> list[_Step]:
        wave_of = rollout.waves(plans, self.shares)
        left = [self._left(made) for made in plans] if begun else list(plans)
        steps = [_Step(tuple(plan.lowered(made, self.ttl) for made in left))]
        ready = [plan.from_lowered(made, self.ttl) for made in left]
        serving = frozenset[str]()
        for number in range(max(wave_of.values(), default=0) + 1):
            coming = _coming(rollout.part(made, wave_of, number) for made in plans)
            serving |= {address for addresses in coming.values() for address in addresses}
            parts = [rollout.part(made, wave_of, number) for made in ready]
            steps += [
                _Step(tuple(plan.widened(made, self.ttl) for made in parts), number, coming, serving),
                _Step(tuple(plan.narrowed(made, self.ttl) for made in parts), number, None, serving),
            ]
        return [step for step in map(_needed, steps) if step.plans]

    def _make(self, step: _Step, last: int, journal: Journal | None) -> None:
        if step.serving:
            self.hooks.well(step.serving)
        if step.coming:
            self.hooks.ahead(step.coming, step.wave + 1, last + 1)
        self.target.apply(*step.plans, journal=journal and _Anew(journal))

    def _settle(self, made: Sequence[Plan]) -> None:
        """Until no resolver can know any more what was there before."""
        self._refuse_disagreement(made)
        self.wait(float(max(map(plan.longest_ttl, made))))

    def _settle_again(self, step: Sequence[Plan], plans: Sequence[Plan]) -> None:
        """A run that was killed may have been waiting, and nobody knows since when."""
        standing = [replace(made, changes=tuple(map(_as_it_is, made.changes))) for made in step]
        if any(change.after for made in standing for change in made.changes):
            self._refuse_disagreement(standing)
            self.wait(float(max(map(plan.longest_ttl, plans))))

    def _left(self, made: Plan) -> Plan:
        return plan.left(made, self.target.read(made.zone, plan.addressed(made)), self.ttl)

    def _refuse_disagreement(self, plans: Sequence[Plan]) -> None:
        for made in plans:
            rows = [
                (rrset.name, rrset.type, rrset.ttl, value)
                for change in made.changes
                if (rrset := change.after) and rrset.type in plan.ADDRESSES
                for value in rrset.values
            ]
            wanted = RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
            for verdict in self.target.verify(made.zone, wanted, patience=self.patience) if rows else ():
                if not verdict.agrees:
                    raise _disagrees(made, verdict)


def _needed(step: _Step) -> _Step:
    return replace(step, plans=tuple(made for made in step.plans if made.changes))


def _coming(plans: Iterable[Plan]) -> dict[str, set[str]]:
    """The addresses that names get and do not have."""
    found: dict[str, set[str]] = {}
    for change in (change for made in plans for change in made.changes if change.type in plan.ADDRESSES):
        had = change.before.values if change.before else ()
        if new := set(change.after.values if change.after else ()) - set(had):
            found.setdefault(change.name, set()).update(new)
    return found


def _as_it_is(change: Change) -> Change:
    return replace(change, after=change.before)


@contextmanager
def _on_the_way() -> Iterator[None]:
    try:
        yield
    except DnsError as error:
        raise kind(error)(
            error.asked,
            error.answer,
            kept="what moves is on its way, and new nodes serve beside the old ones or instead",
            advice=f"{error.advice}; then `flex apply --resume` goes on, `--undo` takes the new addresses back",
        ) from error


def _disagrees(made: Plan, verdict: Verdict) -> Late:
    said = verdict.error or f"{len(verdict.wrong)} of {verdict.checked} record sets differ"
    return Late(
        f"going on with what moves in {made.zone}",
        f"{verdict.server}: {said}",
        kept="nothing more was changed",
        advice="see why that server does not follow",
    )


class _Anew:
    """A journal for one more step: earlier rows stay as a record, and what was open of them is closed."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        earlier = journal.rows()
        self._from = max((row.number for row in earlier), default=-1) + 1
        journal.became([row.number for row in earlier if row.state in ("planned", "sent")], "refused", ANEW)

    def rows(self) -> tuple[JournalRow, ...]:
        return ()

    def intend(self, rows: Sequence[JournalRow]) -> None:
        self._journal.intend([replace(row, number=self._from + row.number) for row in rows])

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        self._journal.became([self._from + number for number in numbers], state, note)
