"""A zone as its master file has it (RFC 1035, section 5), for who may not ask a name server.

Takes a path, and the zone's name where the file does not say it. Returns names with what stands at
them. Does not follow $INCLUDE, and asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import dns.exception
import dns.name
import dns.rdatatype
import dns.zone

from flex.errors import BadInput
from flex.why_file_unreadable import why_unreadable


@dataclass(frozen=True, slots=True)
class ZoneFile:
    """`types` are the record types at each name; names are absolute, in lower case, with the final
    dot.
    """

    zone: str
    types: Mapping[str, frozenset[str]]


def read_zone_file(path: Path) -> ZoneFile:
    """Raises BadInput for what is no zone's file. Without $ORIGIN the name of
    the file is that of the zone, as in `db.example.org` or `example.org.zone`.
    """
    origin = path.name.removeprefix("db.").removesuffix(".zone")
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        parsed_zone = dns.zone.from_text(
            text, origin, relativize=False, check_origin=False, allow_include=False
        )
    except OSError as error:
        raise _unreadable(path, why_unreadable(error)) from error
    except (dns.exception.DNSException, ValueError, UnicodeError) as error:
        raise _unreadable(path, str(error) or type(error).__name__) from error
    types = {
        _absolute(name): frozenset(
            dns.rdatatype.to_text(rdataset.rdtype) for rdataset in node.rdatasets
        )
        for name, node in parsed_zone.nodes.items()
    }
    if not types:
        raise _unreadable(path, "no record stands in it")
    return ZoneFile(_absolute(parsed_zone.origin or dns.name.root), types)


def _absolute(name: dns.name.Name) -> str:
    return name.to_text().lower()


def _unreadable(path: Path, why: str) -> BadInput:
    return BadInput(
        f"the zone's file {path}",
        why[:200],
        kept="nothing was written",
        advice="name a zone's file as name servers read it, called like its zone "
        "or with an $ORIGIN line",
    )
