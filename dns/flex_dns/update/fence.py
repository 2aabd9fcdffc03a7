"""The record that keeps a second controller out: who may change a zone, written in the zone itself.

Takes a zone and who we are. Returns the prerequisite that every message carries. If somebody copied
our settings and database to another machine, the name server refuses that machine's updates,
whatever it believes. Does not take a zone away from anybody.

An epoch may stand behind the controller. A run that continues or undoes another one begins an
epoch, and the server then refuses what the earlier run sent and the server had not got to.

Each change of the record is a compare-and-swap. The question whether a run still may change
anything is asked after the record was read: a run that takes over begins an epoch before anything
else, so the record is then another one than was read.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence

import dns.message
import dns.rcode
import dns.update

from flex.errors import Refused
from flex.zones.marker import LABEL
from flex_dns.wire.explain_dns_errors import UNCHANGED, not_granted, said_no
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.wire.txt_records import record_of, texts_in

# What the text of the record begins with.
PREFIX = "flex controller="
# The first label of the record's name.
NAME = "_controller"
# Seconds. Nobody caches this record for long: only controllers ask for it. A guess.
TTL = 60
# Stands between the controller and its epoch. Records from before there was an undo have no epoch.
EPOCH = " epoch="
# Raises where the run that asks may change nothing any more.
Ask = Callable[[], None]
# How often a new epoch is tried while another run of ours begins one, too. A guess.
TRIES = 5


def always() -> None:
    """Where nobody can lose the right to change anything."""


def fence_name(zone: str) -> str:
    """Among our markers, where the key may write; no host name begins so, so it is no site's
    marker.
    """
    return f"{NAME}.{LABEL}.{zone}"


def fence_text(holder: str) -> str:
    """The text of the record for a controller, or for a controller and its epoch."""
    return f"{PREFIX}{holder}"


def holder_in(texts: Iterable[str]) -> str:
    """The holder of a zone, by the texts of its record; empty where it is free. A text of another
    form is no controller's: a wildcard's stands for all names that are not there.
    """
    holder_texts = (text for text in sorted(texts) if text.startswith(PREFIX))
    text = next(holder_texts, PREFIX).removeprefix(PREFIX)
    return text.encode(errors="surrogateescape").decode(errors="replace")


def controller_of(holder: str) -> str:
    return holder.partition(EPOCH)[0]


def holders(session: Session, server: Server, zones: Sequence[str]) -> dict[str, str]:
    """The controller that each zone is held by; empty where it is free."""
    return {
        zone: controller_of(holder)
        for zone, holder in controller_records(session, server, zones).items()
    }


def controller_records(session: Session, server: Server, zones: Sequence[str]) -> dict[str, str]:
    """The same with the epoch: what a message for the zone has to require."""
    if not zones:
        return {}
    subject = f"controller of {zones[0]}"
    queries = [dns.message.make_query(fence_name(zone), "TXT", flags=0) for zone in zones]
    return {
        zone: _controller_text(server, zone, answer)
        for zone, answer in zip(zones, session.ask_all(queries, subject), strict=True)
    }


def hold(
    session: Session,
    server: Server,
    zones: Sequence[str],
    controller: str,
    refuse_lost: Ask = always,
) -> dict[str, str]:
    """Make sure that each zone is ours, or free and then ours. Raises Refused where another
    controller holds one.

    Out comes what messages require: us, in the epoch of each zone.
    """
    records = ours(session, server, zones, controller)
    nobodys = [zone for zone, by in records.items() if not by]
    for zone in nobodys:
        refuse_lost()
        _take(session, server, zone, controller)
    records |= ours(session, server, nobodys, controller)
    for zone in nobodys:
        if not records[zone]:
            raise held_error(server, zone, "")
    return records


def free(session: Session, server: Server, zones: Sequence[str], controller: str) -> list[str]:
    """Those of the zones that nobody holds. Raises Refused where another controller holds one."""
    return [zone for zone, by in ours(session, server, zones, controller).items() if not by]


def begin_epoch(
    session: Session,
    server: Server,
    zones: Sequence[str],
    controller: str,
    refuse_lost: Ask = always,
) -> None:
    """From the answer on the server refuses what an earlier run sent to the zones and it did not
    get to.

    In one that we do not hold it refuses all that is ours already.
    """
    for zone, was in controller_records(session, server, zones).items():
        _begin_epoch(session, server, zone, was, controller, refuse_lost)


def _begin_epoch(
    session: Session, server: Server, zone: str, was: str, controller: str, refuse_lost: Ask
) -> None:
    for _ in range(TRIES):
        if controller_of(was) != controller:
            return
        refuse_lost()
        if _replaced(session, server, zone, was, f"{controller}{EPOCH}{secrets.token_hex(8)}"):
            return
        was = controller_records(session, server, [zone])[zone]
    raise ended_by_another_run(server, zone)


def ours(session: Session, server: Server, zones: Sequence[str], controller: str) -> dict[str, str]:
    """Return what `controller_records` gives. Raises Refused where another controller holds one."""
    records = controller_records(session, server, zones)
    for zone, by in records.items():
        if controller_of(by) not in ("", controller):
            raise held_error(server, zone, by)
    return records


def take_over(
    session: Session,
    server: Server,
    zone: str,
    controller: str,
    was: str,
    refuse_lost: Ask = always,
) -> None:
    """The zone is ours from now on, if it is `was` who holds it still. Raises Refused otherwise."""
    record = controller_records(session, server, [zone])[zone]
    refuse_lost()
    if controller_of(record) != was or not _replaced(session, server, zone, record, controller):
        raise held_error(server, zone, holders(session, server, [zone])[zone])


def _replaced(session: Session, server: Server, zone: str, was: str, holder: str) -> bool:
    """Whether the record said `was` until now; it says `holder` then."""
    subject = f"taking {zone} over from {controller_of(was)}"
    update = dns.update.UpdateMessage(zone)
    update.present(fence_name(zone), record_of(fence_text(was)))
    update.replace(fence_name(zone), TTL, record_of(fence_text(holder)))
    rcode = session.ask(update, subject).rcode()
    if rcode == dns.rcode.REFUSED:
        raise not_granted(server, zone, subject)
    if rcode not in (dns.rcode.NOERROR, dns.rcode.NXRRSET):
        raise said_no(rcode, server, subject)
    return rcode == dns.rcode.NOERROR


def _controller_text(server: Server, zone: str, answer: dns.message.Message) -> str:
    if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        raise said_no(answer.rcode(), server, f"controller of {zone}")
    return holder_in(texts_in(answer, fence_name(zone)).values)


def held_error(server: Server, zone: str, by: str) -> Refused:
    by = controller_of(by)
    return Refused(
        f"asking {server}: whether we may change {zone}",
        f"another controller holds it: {by or 'somebody took our record away'}",
        kept=UNCHANGED,
        advice="stop one of the two; if that one is gone for good: `flex dns "
        f"takeover --from '{by}'`"
        if by
        else "another controller may be about to take it; `flex dns holders` says who has it",
    )


def ended_by_another_run(server: Server, zone: str) -> Refused:
    return Refused(
        f"asking {server}: whether we may change {zone}",
        "another run of this controller ended what this one began",
        kept="what this run sent and the server had not got to by then is not made",
        advice="`flex plan show` says what became of the plan",
    )


def _take(session: Session, server: Server, zone: str, controller: str) -> None:
    """Whoever comes first has it: the name server sees to that."""
    subject = f"taking {zone} for {controller}"
    update = dns.update.UpdateMessage(zone)
    update.absent(fence_name(zone), "TXT")
    update.add(fence_name(zone), TTL, record_of(fence_text(controller)))
    rcode = session.ask(update, subject).rcode()
    if rcode == dns.rcode.REFUSED:
        raise not_granted(server, zone, subject)
    if rcode not in (dns.rcode.NOERROR, dns.rcode.YXRRSET):
        raise said_no(rcode, server, subject)
