"""Which site a log line belongs to: what its virtual host says, what its file is called, or always the same one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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

    With a `pattern`, the name of the file says it: the pattern matches all of that name, its group `site` is the site.
    `aliases` maps other names of a site to the name it is placed under.
    """

    fixed: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    pattern: str = ""

    def of_file(self, path: str) -> SiteRule | None:
        """The rule for this one file; None when its name does not say which site it is of."""
        if not self.pattern:
            return self
        found = re.fullmatch(self.pattern, Path(path).name)
        name = site_name(os.fsencode(found["site"] or "")) if found else UNKNOWN
        return None if name == UNKNOWN else SiteRule(fixed=self.spelled_aliases.get(name, name))

    @property
    def spelled_aliases(self) -> dict[str, str]:
        """The aliases, with their names spelled as `site_name` spells them."""
        return {site_name(name.encode()): site for name, site in self.aliases.items()}
