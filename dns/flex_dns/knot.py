"""What Knot DNS has to be told, as the sections to paste into knot.conf.

In goes a Part, out comes text. No secret is in it: where one belongs stands which file has it, and
until it is filled in `knotc conf-check` refuses the whole.

Knot looks at a message as a whole: a rule fits where all records of the message fit it, and the
first that fits decides. A new name comes with its marker in one message, so there must be a rule
that grants A, AAAA and TXT together; the rules before it refuse all that comes by itself and is
none of FLEX's. What is hidden among other records is not.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from flex.zones.marker import LABEL
from flex_dns.part import KeyFile, Part, ZonePart

UNFILLED = "FILL-IN-THE-SECRET-OF"
ASK, READ = "flex-ask", "flex-read"


def configuration(part: Part) -> str:
    """The sections for the knot.conf of one primary, with the reasons beside them."""
    sections = [
        _section("key", [line for file in part.files for line in _keys(file)]),
        _section("remote", list(_remotes(part))),
        _section(
            "acl",
            [
                *_everywhere(part),
                *(line for zone in part.zones for line in _rules(part, zone)),
            ],
        ),
        _section("zone", [line for zone in part.zones for line in _zone(part, zone)]),
    ]
    return "\n".join(section for section in sections if section)


def _section(name: str, lines: list[str]) -> str:
    return (
        "".join(f"{line}\n" for line in (f"{name}:", *(f"  {line}" for line in lines)))
        if lines
        else ""
    )


def _keys(file: KeyFile) -> Iterator[str]:
    for name in file.names:
        yield f"- id: {name}"
        yield f"  algorithm: {file.algorithms.get(name, 'hmac-sha256')}"
        yield f'  secret: "{UNFILLED} {file.path}"'


def _remotes(part: Part) -> Iterator[str]:
    """Knot notifies nobody whom it was not told of."""
    for number, (host, port) in enumerate(part.followers, start=1):
        if _is_address(host):
            yield f"- id: flex-follower-{number}"
            yield f"  address: {host}@{port}"
            yield f"  key: {part.readers[0]}"
        else:
            yield (
                f"# {host} is a name, and Knot wants addresses: add it here as "
                f"flex-follower-{number}, and in notify."
            )


def _everywhere(part: Part) -> Iterator[str]:
    names = dict.fromkeys((*part.keys.names, *part.readers))
    yield (
        "# FLEX signs its questions too; without this rule Knot refuses them, as "
        "it knows no use for the key."
    )
    yield f"- id: {ASK}"
    yield f"  key: [ {', '.join(names)} ]"
    yield "  action: query"
    yield "# FLEX reads zones by transfer, with a key that may do nothing else."
    yield f"- id: {READ}"
    yield f"  key: [ {', '.join(part.readers)} ]"
    yield "  action: transfer"


def _rules(part: Part, zone: ZonePart) -> Iterator[str]:
    """In the order in which they are tried."""
    subtrees = [*zone.servers, *zone.below]
    yield (
        f"# {zone.zone} The first rule that fits all records of a message decides: "
        "FLEX's markers, and A and AAAA of"
    )
    yield (
        "# every name but those of the first rule: each name server whose address "
        "is in this zone, and zones in it."
    )
    yield (
        "# Beside other records in one message Knot lets them pass, and other TXT: "
        "nobody but FLEX may have this key."
    )
    yield from _rule(
        part, zone, "keep", "deny: on", *_owners("sub-or-equal", *subtrees)
    )
    yield from _rule(
        part,
        zone,
        "mark",
        "update-type: [ TXT ]",
        *_owners("sub-or-equal", f"{LABEL}.{zone.zone}"),
    )
    yield from _rule(part, zone, "text", "deny: on", "update-type: [ TXT ]")
    if zone.own_name:
        yield (
            f"# A site is called {zone.zone} so its addresses may be changed; else "
            "it is `sub`, which leaves it out."
        )
    match = "sub-or-equal" if zone.own_name else "sub"
    yield from _rule(
        part, zone, "name", "update-type: [ A, AAAA, TXT ]", *_owners(match, zone.zone)
    )


def _rule(part: Part, zone: ZonePart, kind: str, *limits: str) -> Iterator[str]:
    yield f"- id: flex-{kind}-{zone.zone}"
    yield f"  key: [ {', '.join(part.keys.names)} ]"
    yield "  action: update"
    yield from (f"  {limit}" for limit in limits)


def _owners(match: str, *names: str) -> Iterator[str]:
    yield "update-owner: name"
    yield f"update-owner-match: {match}"
    yield f"update-owner-name: [ {', '.join(names)} ]"


def _zone(part: Part, zone: ZonePart) -> Iterator[str]:
    """A zone that is there already keeps its entry: `acl` and `notify` go into it."""
    kinds = (f"flex-{kind}-{zone.zone}" for kind in ("keep", "mark", "text", "name"))
    followers = [
        f"flex-follower-{number}"
        for number, (host, _) in enumerate(part.followers, start=1)
        if _is_address(host)
    ]
    yield f"- domain: {zone.zone}"
    yield f"  file: {zone.zone}zone"
    yield f"  acl: [ {', '.join((ASK, READ, *kinds))} ]   # beside those of your secondaries"
    if followers:
        yield f"  notify: [ {', '.join(followers)} ]"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
