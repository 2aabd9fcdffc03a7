"""Whether a key may change a zone: asked by an update that deletes what is not there.

Takes a session and a zone. Returns a sentence, or raises what the server refused. Nothing is
changed.
"""

from __future__ import annotations

import secrets

import dns.rcode
import dns.update

from flex.errors import Refused
from flex_dns.wire.explain_dns_errors import disowned, not_granted, said_no
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session


def unused_name(zone: str) -> str:
    """A name that is not there."""
    return f"flex-preflight-{secrets.token_hex(8)}.{zone}"


def may_change(session: Session, server: Server, zone: str, name: str, *kinds: str) -> str:
    """Delete what is not there: the policy is asked, the zone and its serial stay as they are."""
    subject = f"right to change {' and '.join(kinds)} in {zone}"
    update = dns.update.UpdateMessage(zone)
    update.absent(name)
    for kind in kinds:
        update.delete(name, kind)
    try:
        rcode = session.ask(update, subject).rcode()
    except Refused as error:
        # Signed questions pass by now: the key is known, and may not do this.
        raise (not_granted(server, zone, subject) if disowned(error) else error) from error
    if rcode == dns.rcode.REFUSED:
        raise not_granted(server, zone, subject)
    if rcode != dns.rcode.NOERROR:
        raise said_no(rcode, server, subject)
    return f"{server.key.name} may change {' and '.join(kinds)}"
