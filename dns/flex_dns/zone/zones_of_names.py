"""Which zones names lie in, asked of a primary that may serve many of them.

Takes names. Returns the closest zone that the server answers for with authority, for each name that
has one there: the zone of the SOA record in its answer. Does not change anything. The names need
not exist.
"""

from __future__ import annotations

from collections.abc import Sequence

import dns.flags
import dns.message
import dns.rdatatype

from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session


def zones_of(session: Session, server: Server, names: Sequence[str]) -> dict[str, str]:
    """Names that are delegated away, or that the server knows nothing of, are left out. Raises a
    DnsError.
    """
    zones: dict[str, str] = {}
    # Where a name's answer has no SOA (an alias has none), that of the name above tells.
    ancestors = {name: name for name in names}
    while ancestors:
        above = _ask_zones(session, server, sorted(set(ancestors.values())))
        zones |= {name: zone for name, at in ancestors.items() if (zone := above[at])}
        ancestors = {
            name: parent
            for name, at in ancestors.items()
            if above[at] is None and (parent := at.partition(".")[2])
        }
    return zones


def _ask_zones(session: Session, server: Server, names: Sequence[str]) -> dict[str, str | None]:
    """The zone of each; "" where there is none, None where the answer does not tell."""
    queries = [dns.message.make_query(name, "SOA", flags=0) for name in names]
    answers = session.ask_all(queries, f"zones of {len(names)} names at {server}")
    return {name: _zone(answer) for name, answer in zip(names, answers, strict=True)}


def _zone(answer: dns.message.Message) -> str | None:
    if not answer.flags & dns.flags.AA:
        return ""
    rrsets = (*answer.answer, *answer.authority)
    return next(
        (rrset.name.to_text().lower() for rrset in rrsets if rrset.rdtype == dns.rdatatype.SOA),
        None,
    )
