"""A site as a web server or its panel has it: names, where its files are, what it logs to.

Only values. Does not read a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flex_logs_ingest.scan.site_rules import ascii_name, is_host

# Characters of a path that is taken. Linux has no longer ones (PATH_MAX).
LONGEST_PATH = 4096
# Where accounts of panels have their files, unless a file says otherwise.
HOMES = "/home"


@dataclass(frozen=True, slots=True)
class HostedSite:
    """`names` as DNS spells them, the main one first. `root` and `logs` are paths on the machine
    that the tree is of. `addresses` are what its panel says it has.
    """

    names: tuple[str, ...]
    root: str = ""
    logs: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.names[0]

    def and_(self, other: HostedSite) -> HostedSite:
        """One site of two blocks: that of HTTP and that of HTTPS, say."""
        return replace(
            self,
            names=tuple(dict.fromkeys((*self.names, *other.names))),
            root=self.root or other.root,
            logs=tuple(dict.fromkeys((*self.logs, *other.logs))),
            addresses=tuple(dict.fromkeys((*self.addresses, *other.addresses))),
        )


def host_name(written: str) -> str:
    """As DNS spells it; empty where it is no host's name below a domain, such as a wildcard."""
    text = written.strip().lower().rstrip(".")
    if text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        name = ascii_name(text)
    except UnicodeError:
        return ""
    return name if "." in name and is_host(name) else ""


def site_of(
    main: str,
    others: Sequence[str] = (),
    *,
    root: str = "",
    logs: Sequence[str] = (),
    addresses: Sequence[str] = (),
) -> HostedSite | None:
    """None where none of the names is that of a host. Empty paths and addresses are left out."""
    names = dict.fromkeys(filter(None, map(host_name, (main, *others))))
    if not names:
        return None
    return HostedSite(tuple(names), root, tuple(filter(None, logs)), tuple(filter(None, addresses)))


def plain_path(written: str) -> str:
    """The path where it is an absolute one that a settings file can hold; else empty."""
    text = written.strip().strip("\"'")
    is_plain = text.isprintable() and len(text) <= LONGEST_PATH
    return text if text.startswith("/") and is_plain and "/../" not in text else ""
