"""Which site a log line belongs to: from the name of its virtual host, or always the same one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from flex_logs_ingest.line import unescaped

SITE_LIMIT = 255
UNKNOWN = "(unknown)"

_NOT_HOST = re.compile(rb"[^a-z0-9.:_*\[\]-]")


def site_name(vhost: bytes) -> str:
    """The site a virtual host's name stands for: lower case, without port and final dots.

    Whoever sends requests can send any name: what belongs in no host name is percent-encoded, and a name that says
    nothing (empty, `-`, `_`) or is too long for DNS is one site, `(unknown)`, so that its traffic is still shown.
    """
    name = _without_port(unescaped(vhost)).rstrip(b".").lower()
    if name in (b"", b"-", b"_") or len(name) > SITE_LIMIT:
        return UNKNOWN
    return _NOT_HOST.sub(lambda match: b"%%%02X" % match[0][0], name).decode("ascii")


def _without_port(vhost: bytes) -> bytes:
    if vhost.startswith(b"["):
        return vhost.partition(b"]")[0] + b"]"
    return vhost.partition(b":")[0] if vhost.count(b":") == 1 else vhost


@dataclass(frozen=True, slots=True)
class SiteRule:
    """Which site a line belongs to: always `fixed` where the log has one site, else what its virtual host says.

    `aliases` maps other names of a site to the name it is placed under.
    """

    fixed: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def spelled_aliases(self) -> dict[str, str]:
        """The aliases, with their names spelled as `site_name` spells them."""
        return {site_name(name.encode()): site for name, site in self.aliases.items()}
