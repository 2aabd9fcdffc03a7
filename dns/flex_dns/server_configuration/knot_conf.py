"""What Knot DNS has to be told, as sections to paste into knot.conf.

Takes a PrimarySetup. Returns text. Does not contain a secret: in its place stands the name of the
file that has it, and `knotc conf-check` refuses the configuration until the secret is filled in.

Knot looks at a message as a whole: a rule fits when all records of the message fit it, and the
first rule that fits decides. A new name comes with its marker in one message, so one rule must
grant A, AAAA and TXT together. The rules before it refuse other changes that come by themselves.
They do not see such a change among other records.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from flex.zones.marker import LABEL
from flex_dns.server_configuration.primary_setup_values import KeyFile, PrimarySetup, ZoneRights

# Stands where a secret belongs. It is no valid secret, so Knot refuses it.
UNFILLED = "FILL-IN-THE-SECRET-OF"
# What the rules for questions and for transfers are called in knot.conf.
ASK = "flex-ask"
READ = "flex-read"


def configuration(setup: PrimarySetup) -> str:
    """The sections for the knot.conf of one primary, with the reasons beside them."""
    sections = [
        _section("key", [line for file in setup.files for line in _keys(file)]),
        _section("remote", list(_remotes(setup))),
        _section(
            "acl",
            [*_everywhere(setup), *(line for zone in setup.zones for line in _rules(setup, zone))],
        ),
        _section("zone", [line for zone in setup.zones for line in _zone(setup, zone)]),
    ]
    return "\n".join(section for section in sections if section)


def _section(name: str, lines: list[str]) -> str:
    if not lines:
        return ""
    return f"{name}:\n" + "".join(f"  {line}\n" for line in lines)


def _keys(file: KeyFile) -> Iterator[str]:
    for name in file.names:
        yield f"- id: {name}"
        yield f"  algorithm: {file.algorithms.get(name, 'hmac-sha256')}"
        yield f'  secret: "{UNFILLED} {file.path}"'


def _remotes(setup: PrimarySetup) -> Iterator[str]:
    """Knot notifies nobody whom it was not told of."""
    for number, (host, port) in enumerate(setup.followers, start=1):
        if _is_address(host):
            yield f"- id: flex-follower-{number}"
            yield f"  address: {host}@{port}"
            yield f"  key: {setup.readers[0]}"
        else:
            yield (
                f"# {host} is a name, and Knot wants addresses: add it here as "
                f"flex-follower-{number}, and in notify."
            )


def _everywhere(setup: PrimarySetup) -> Iterator[str]:
    names = dict.fromkeys((*setup.keys.names, *setup.readers))
    yield (
        "# FLEX signs its questions too; without this rule Knot refuses them, as "
        "it knows no use for the key."
    )
    yield f"- id: {ASK}"
    yield f"  key: [ {', '.join(names)} ]"
    yield "  action: query"
    yield "# FLEX reads zones by transfer, with a key that may do nothing else."
    yield f"- id: {READ}"
    yield f"  key: [ {', '.join(setup.readers)} ]"
    yield "  action: transfer"


def _rules(setup: PrimarySetup, zone: ZoneRights) -> Iterator[str]:
    """In the order in which they are tried."""
    subtrees = [*zone.servers, *zone.below]
    yield (
        f"# {zone.zone} The first rule that fits all records of a message decides: "
        f"FLEX's markers, and {zone.types_in_words} of"
    )
    yield (
        "# every name but those of the first rule: each name server whose address "
        "is in this zone, and zones in it."
    )
    yield (
        "# Beside other records in one message Knot lets them pass, and other TXT: "
        "nobody but FLEX may have this key."
    )
    yield from _rule(setup, zone, "keep", "deny: on", *_owners("sub-or-equal", *subtrees))
    yield from _rule(
        setup,
        zone,
        "mark",
        "update-type: [ TXT ]",
        *_owners("sub-or-equal", f"{LABEL}.{zone.zone}"),
    )
    yield from _rule(setup, zone, "text", "deny: on", "update-type: [ TXT ]")
    if zone.own_name:
        yield (
            f"# A site is called {zone.zone} so its addresses may be changed; else "
            "it is `sub`, which leaves it out."
        )
    match = "sub-or-equal" if zone.own_name else "sub"
    types = ", ".join((*zone.types, "TXT"))
    yield from _rule(setup, zone, "name", f"update-type: [ {types} ]", *_owners(match, zone.zone))


def _rule(setup: PrimarySetup, zone: ZoneRights, kind: str, *limits: str) -> Iterator[str]:
    yield f"- id: flex-{kind}-{zone.zone}"
    yield f"  key: [ {', '.join(setup.keys.names)} ]"
    yield "  action: update"
    yield from (f"  {limit}" for limit in limits)


def _owners(match: str, *names: str) -> Iterator[str]:
    yield "update-owner: name"
    yield f"update-owner-match: {match}"
    yield f"update-owner-name: [ {', '.join(names)} ]"


def _zone(setup: PrimarySetup, zone: ZoneRights) -> Iterator[str]:
    """A zone that is there already keeps its entry: `acl` and `notify` go into it."""
    kinds = (f"flex-{kind}-{zone.zone}" for kind in ("keep", "mark", "text", "name"))
    followers = [
        f"flex-follower-{number}"
        for number, (host, _) in enumerate(setup.followers, start=1)
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
