"""Moves that make before they break: first both nodes answer for a site, and a TTL later only the new one does.

In go plans, as to any target; each is applied in two steps, and between them every server has to say the first and
resolvers have time to learn of it. Where a run was killed is read from DNS: what has both addresses only loses the old,
after another wait, for nobody knows how long the killed one was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import pandas as pd

from flex import plan
from flex.domain import Change, Plan, Verdict
from flex.errors import DnsError, PartlyApplied
from flex.journal import JournalRow, RowState
from flex.ports import DnsTarget, Journal
from flex.records import ZoneState
from flex.tables import RECORDS

ANEW = "an earlier run ended here; what DNS said then was planned anew"


@dataclass(frozen=True, slots=True)
class GentleTarget:
    """`wait` is told for how many seconds resolvers may go on with what they know; servers have `patience` to agree.

    With a `ttl` what moves has it on the way: it is lowered one old TTL ahead, and the last step restores it.
    """

    target: DnsTarget
    wait: Callable[[float], None]
    patience: float = 0.0
    ttl: int = 0

    def read(self, zone: str, names: Sequence[str]) -> ZoneState:
        return self.target.read(zone, names)

    def verify(self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0) -> tuple[Verdict, ...]:
        return self.target.verify(zone, wanted, patience=patience)

    def apply(self, *plans: Plan, journal: Journal | None = None) -> None:
        """As the target does it, step by step. Raises PartlyApplied where one is done and the next cannot be made."""
        begun = bool(journal and journal.rows())
        steps = _steps([self._left(made) for made in plans] if begun else plans, self.ttl)
        for step in steps[:1]:
            if begun:
                self._settle_again(step, plans)
            self._make(step, journal)
        with _on_the_way():
            for before, step in pairwise(steps):
                self._settle(before)
                self._make(step, journal)

    def _make(self, step: Sequence[Plan], journal: Journal | None) -> None:
        self.target.apply(*step, journal=journal and _Anew(journal))

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


def _steps(plans: Sequence[Plan], ttl: int) -> list[list[Plan]]:
    """A plan for each zone, step by step; what only comes, or only goes, is one step."""
    low = [plan.lowered(made, ttl) for made in plans]
    left = [plan.from_lowered(made, ttl) for made in plans]
    steps = (low, [plan.widened(made, ttl) for made in left], [plan.narrowed(made, ttl) for made in left])
    return [step for step in steps if any(made.changes for made in step)]


def _as_it_is(change: Change) -> Change:
    return replace(change, after=change.before)


@contextmanager
def _on_the_way() -> Iterator[None]:
    try:
        yield
    except DnsError as error:
        raise PartlyApplied(
            error.asked,
            error.answer,
            kept="what moves is on its way: of the old addresses none was taken away",
            advice=f"{error.advice}; then `flex apply --resume` goes on, `--undo` takes the new addresses back",
        ) from error


def _disagrees(made: Plan, verdict: Verdict) -> DnsError:
    said = verdict.error or f"{len(verdict.wrong)} of {verdict.checked} record sets differ"
    return DnsError(
        f"adding new addresses in {made.zone} before the old ones go",
        f"{verdict.server}: {said}",
        kept="of the old addresses none was taken away",
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
