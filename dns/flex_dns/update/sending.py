"""Changes sent to a primary until each is made, overtaken by somebody else, or refused.

Takes rows of the journal. Returns a Tally for each zone. A message that is refused for its contents
is halved until the name at fault is found; the other names are applied. After an answer that leaves
open whether a change was made, the zone is read and only the rest is sent again. Does not decide
what to change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import dns.rcode

from flex.errors import DnsError, Unreachable
from flex.model.dns_update_journal import Journal, JournalRow
from flex.model.zone_plan import Change
from flex.zones.address_hints import HINTED
from flex_dns.update import change_messages, fence, key_permissions, message_pipeline
from flex_dns.update.change_messages import NOBODY, Claim, Message
from flex_dns.update.journal_outcomes import Ledger, Tally
from flex_dns.wire.explain_dns_errors import not_granted, said_no
from flex_dns.wire.name_server_and_key import Address, Server
from flex_dns.wire.session import Clock, Session
from flex_dns.wire.zone_contents import Contents, Question
from flex_dns.zone import sets_from_primary
from flex_dns.zone.change_states import questions, standing

# Answers after which only the zone itself can say what happened.
OPEN = (
    dns.rcode.NXRRSET,
    dns.rcode.YXRRSET,
    dns.rcode.NXDOMAIN,
    dns.rcode.YXDOMAIN,
    dns.rcode.SERVFAIL,
)
# Answers that can be due to one record of many.
FAULTY = (dns.rcode.REFUSED, dns.rcode.NOTZONE, dns.rcode.FORMERR)
# Seconds between one round and the next, while nothing moves. A guess.
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)
# Seconds before the first look whether a server that went away is back; each next pause is twice as
# long. A guess.
LOOK_SECONDS = 0.1
# Seconds that such a pause has at most. A guess.
LONGEST_LOOK = 2.0
# Names that are looked for one by one among those refused. Where there are more, it is not the
# fault of a name. A guess.
MOST_FAULTS = 20
WHOLE = "somebody else changed a record, and an outdated plan is refused whole"


def carry(
    server: Server,
    rows: Sequence[tuple[JournalRow, tuple[Change, ...]]],
    journal: Journal,
    clock: Clock,
    patience: float,
    claim: Claim = NOBODY,
    secondaries: Sequence[Address] = (),
    sites: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, Tally]:
    """`patience` is how many seconds a server that went away in the middle is waited for;
    `secondaries` are to follow.

    Each zone must be held by us, and each name be ours, as far as the `claim` goes. `sites` has
    zone by zone the sites of other names.
    """
    ledger = Ledger(journal, rows)
    todo = [
        Message(row.zone, changes, row.number, claim, (sites or {}).get(row.zone, {}))
        for row, changes in rows
    ]
    pauses = iter(PAUSES)
    while todo:
        before = ledger.open_changes, len(todo)
        sent = _send(server, todo, ledger, clock, secondaries)
        todo = [*sent.unsent, *_halve(server, sent.refused, ledger, clock)]
        todo += _looked_after(server, sent.opened, ledger, clock, patience)
        todo = [message for message in todo if not ledger.tallies[message.zone].is_stopped]
        if todo and sent.opened and before == (ledger.open_changes, len(todo)):
            pause = next(pauses, None)
            if pause is None:
                ledger.stop({message.zone for message in todo}, sent.opened[-1][1])
                break
            time.sleep(pause)
    ledger.flush()
    return ledger.tallies


@dataclass(slots=True)
class _Sent:
    """What is left of a round: messages whose fate only the zone knows, those refused, those not
    sent at all.
    """

    opened: list[tuple[Message, DnsError]] = field(default_factory=list)
    refused: list[tuple[Message, dns.rcode.Rcode]] = field(default_factory=list)
    unsent: list[Message] = field(default_factory=list)


def _send(
    server: Server,
    messages: Sequence[Message],
    ledger: Ledger,
    clock: Clock,
    secondaries: Sequence[Address],
) -> _Sent:
    left = {id(message): message for message in messages}
    sent = _Sent()
    for message, outcome in message_pipeline.deliver(
        server, messages, clock, ledger.note_sent, secondaries
    ):
        del left[id(message)]
        if isinstance(outcome, Unreachable):
            sent.opened.append((message, outcome))
        elif isinstance(outcome, DnsError):
            # It is not about this message: the key, or the time.
            ledger.stop(ledger.tallies.keys(), outcome)
        elif outcome == dns.rcode.NOERROR:
            ledger.note_done(message, message.changes)
        elif outcome in OPEN:
            sent.opened.append((message, _no(server, message, outcome)))
        elif outcome in FAULTY:
            sent.refused.append((message, outcome))
        else:
            ledger.stop([message.zone], _no(server, message, outcome))
    sent.unsent = list(left.values())
    return sent


def _no(server: Server, message: Message, rcode: dns.rcode.Rcode) -> DnsError:
    subject = f"update of {len(message.changes)} record sets in {message.zone}"
    if rcode == dns.rcode.REFUSED:
        return not_granted(
            server,
            message.zone,
            subject,
            {change.name for change in message.changes},
            hints_sent=any(change.type in HINTED for change in message.changes),
        )
    return said_no(rcode, server, subject)


def _halve(
    server: Server, refused: Sequence[tuple[Message, dns.rcode.Rcode]], ledger: Ledger, clock: Clock
) -> Iterator[Message]:
    """Halves of what was refused. A name by itself is at fault; so is the zone when it takes
    nothing at all.
    """
    tried: set[str] = set()
    for message, rcode in refused:
        tally, halves = ledger.tallies[message.zone], change_messages.halves(message)
        first, tried = message.zone not in tried, tried | {message.zone}
        takes_none = (
            halves
            and first
            and not tally.done
            and not _takes_updates(server, message.zone, rcode, clock)
        )
        if takes_none or tally.faults >= MOST_FAULTS:
            ledger.stop([message.zone], _no(server, message, rcode))
        elif halves:
            yield from halves
        else:
            ledger.note_refused(message, _no(server, message, rcode))


def _takes_updates(server: Server, zone: str, rcode: dns.rcode.Rcode, clock: Clock) -> bool:
    """Whether the key may change anything in the zone, asked by an update that changes nothing."""
    if rcode != dns.rcode.REFUSED:
        return True
    try:
        with Session(server, clock) as session:
            key_permissions.may_change(
                session, server, zone, key_permissions.unused_name(zone), "A"
            )
    except DnsError:
        return False
    return True


def _looked_after(
    server: Server,
    opened: Sequence[tuple[Message, DnsError]],
    ledger: Ledger,
    clock: Clock,
    patience: float,
) -> Iterator[Message]:
    """Where the changes stand of which nobody knows; those that were not made are to be sent
    again.
    """
    deadline = time.monotonic() + patience
    for zone in dict.fromkeys(message.zone for message, _ in opened):
        messages = [message for message, _ in opened if message.zone == zone]
        changes = [change for message in messages for change in message.changes]
        try:
            contents = _contents(server, zone, questions(zone, changes), clock, deadline)
            lost = _error_of_lost_zone(server, messages[0], clock)
        except DnsError:
            ledger.lose(
                zone, len(changes), next(error for message, error in opened if message.zone == zone)
            )
            continue
        pending = [again for message in messages for again in _settle(message, contents, ledger)]
        tally = ledger.tallies[zone]
        if pending and lost:
            ledger.stop([zone], lost)
        elif tally.conflicts and not tally.done:
            ledger.stop([zone], None, WHOLE)
        yield from pending


def _settle(message: Message, contents: Contents, ledger: Ledger) -> Iterator[Message]:
    message_standing = standing(
        message.zone, message.changes, contents, message.claim.owner, message.sites
    )
    ledger.note_done(message, message_standing.done)
    ledger.note_overtaken(message, message_standing.conflicts, message_standing.withheld)
    if message_standing.pending:
        yield message.only(message_standing.pending)


def _error_of_lost_zone(server: Server, message: Message, clock: Clock) -> DnsError | None:
    """Whether another controller holds the zone by now, or another run of ours began a new epoch
    there.
    """
    if not message.claim.controller:
        return None
    with Session(server, clock) as session:
        record = fence.controller_records(session, server, [message.zone])[message.zone]
    if record == message.claim.holder(message.zone):
        return None
    is_ours = fence.controller_of(record) == message.claim.controller
    return (
        fence.ended_by_another_run(server, message.zone)
        if is_ours
        else fence.held_error(server, message.zone, record)
    )


def _contents(
    server: Server, zone: str, wanted_sets: Sequence[Question], clock: Clock, deadline: float
) -> Contents:
    """What the zone holds, as soon as the server answers with authority again."""
    pause = LOOK_SECONDS
    with Session(server, clock) as session:
        while True:
            try:
                sets_from_primary.soa_serial(session, server, zone)
                return sets_from_primary.read(session, server, zone, wanted_sets)
            except DnsError:
                session.close()
                if time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)
