"""A zone on a real name server, changed by signed updates (RFC 2136) as a compare-and-swap.

In go plans; out come zones that hold them, or an error that says what is not so. Each `before` is a prerequisite
that the server itself checks, so what others wrote in the meantime is never overwritten. An answer that does not
come leaves open whether the change was made: the zone is read, and only what is still to do is sent again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import dns.rcode
import pandas as pd

from flex.domain import Change, Plan, Verdict
from flex.errors import DnsError, PartlyApplied, Unreachable
from flex.records import ZoneState
from flex_dns import reading, update, verify
from flex_dns.contents import Contents, Question, questions, state
from flex_dns.server import Address, Server
from flex_dns.session import Clock, Session
from flex_dns.standing import Standing, overtaken, standing
from flex_dns.trouble import not_granted, said_no

# Answers after which only the zone itself can say what happened.
OPEN = (dns.rcode.NXRRSET, dns.rcode.YXRRSET, dns.rcode.NXDOMAIN, dns.rcode.YXDOMAIN, dns.rcode.SERVFAIL)
# Between one attempt to send a message and the next.
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)
LOOK_SECONDS = 0.1
LONGEST_LOOK = 2.0
NOTHING = Contents(0, {}, {})


@dataclass(frozen=True, slots=True)
class Rfc2136Target:
    """`owner` is the name this controller marks its names with; `verify_servers` are all that answer for the
    zones, the primary where none are given. `patience` is how many seconds to wait for a server that went away
    in the middle of a plan.
    """

    server: Server
    owner: str
    verify_servers: tuple[Address, ...] = ()
    patience: float = 30.0
    clock: Clock = field(default=time.time, repr=False)

    def read(self, zone: str, names: Sequence[str]) -> ZoneState:
        """Complete, or a DnsError: a failed read never looks like an empty zone."""
        asked = [name.lower() for name in names]
        with self._session() as session:
            return state(zone, asked, self.owner, reading.read(session, self.server, zone, questions(zone, asked)))

    def apply(self, plan: Plan) -> None:
        """Make every change of the plan true, or say exactly what is not.

        What already holds is not sent. Raises Stale when a record is neither `before` nor `after` and nothing of
        the plan holds, PartlyApplied when some of it does, another DnsError when the server did not do as asked.
        """
        with self._session() as session:
            found = self._standing(session, plan.zone, plan.changes)
            if found.conflicts:
                raise overtaken(plan, len(found.done), found.conflicts)
            done = len(found.done)
            for batch in update.batches(plan.zone, found.pending):
                try:
                    found = self._carry(session, plan.zone, batch)
                except DnsError as error:
                    raise (_halfway(error, plan, done) if done else error) from error
                done += len(found.done)
                if found.conflicts:
                    raise overtaken(plan, done, found.conflicts)

    def verify(self, zone: str, wanted: pd.DataFrame) -> tuple[Verdict, ...]:
        """Ask each authoritative server for the wanted RECORDS. Silence is a verdict with an error."""
        servers = self.verify_servers or (self.server.address,)
        return tuple(verify.verdict(address, zone, wanted, self.server.timeout) for address in servers)

    def _session(self) -> Session:
        return Session(self.server, self.clock)

    def _standing(self, session: Session, zone: str, changes: Sequence[Change]) -> Standing:
        asked: list[Question] = [(change.name, change.type) for change in changes]
        return standing(changes, reading.read(session, self.server, zone, asked) if asked else NOTHING)

    def _carry(self, session: Session, zone: str, batch: tuple[Change, ...]) -> Standing:
        """Send the changes until they hold or somebody else turns out to have overtaken them."""
        deadline = time.monotonic() + self.patience
        pauses = iter(PAUSES)
        found = Standing((), batch, ())
        while trouble := self._send(session, zone, found.pending):
            found = self._settled(session, zone, batch, deadline, trouble)
            if found.conflicts or not found.pending:
                return found
            pause = next(pauses, None)
            if pause is None:
                raise trouble
            time.sleep(pause)
        return Standing(batch, (), ())

    def _send(self, session: Session, zone: str, changes: tuple[Change, ...]) -> DnsError | None:
        """None when the server says it is done; what leaves it open is returned, a plain no is raised."""
        asked = f"update of {len(changes)} record sets in {zone}"
        try:
            rcode = session.ask(update.message(zone, changes), asked).rcode()
        except Unreachable as error:
            session.close()
            return error
        if rcode == dns.rcode.NOERROR:
            return None
        if rcode == dns.rcode.REFUSED:
            raise not_granted(self.server, zone, asked)
        trouble = said_no(rcode, self.server, asked)
        if rcode in OPEN:
            return trouble
        raise trouble

    def _settled(
        self, session: Session, zone: str, batch: tuple[Change, ...], deadline: float, trouble: DnsError
    ) -> Standing:
        """Where the batch stands, as soon as the server answers with authority again."""
        pause = LOOK_SECONDS
        while True:
            try:
                reading.soa_serial(session, self.server, zone)
                return self._standing(session, zone, batch)
            except DnsError:
                session.close()
                if time.monotonic() + pause > deadline:
                    raise _unknown(trouble, batch) from trouble
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)


def _unknown(trouble: DnsError, batch: tuple[Change, ...]) -> PartlyApplied:
    return PartlyApplied(
        trouble.asked,
        trouble.answer,
        kept=f"whether the last {len(batch)} record sets were changed is not known",
        advice=f"{trouble.advice}; then `flex apply --resume` finishes it",
    )


def _halfway(trouble: DnsError, plan: Plan, done: int) -> PartlyApplied:
    return PartlyApplied(
        trouble.asked,
        trouble.answer,
        kept=f"{done} of the {len(plan.changes)} record sets in {plan.zone} are as planned, the others as they were",
        advice=f"{trouble.advice}; then `flex apply --resume` finishes it",
    )
