"""Which site a log line belongs to: the one that its virtual host, its path or its file names, or
always the same one.

Takes names as visitors sent them. Returns sites. Whoever sends requests can send any name. A name
stands for the one site `(unknown)` when it says nothing (empty, `-`, `_`), when no host can have it
(an address, a wildcard, stray characters), or when it is not among the hosted sites where those are
listed. The traffic of `(unknown)` is counted and shown, and no invented name makes a table longer.
Does not count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote_to_bytes

from flex_logs_ingest.lines.field_meanings import spell_path, unescape

# The site that stands for all names that are no site of ours.
UNKNOWN = "(unknown)"
Www = Literal["listed", "same", "apart"]
Naming = Callable[[bytes], str]

# Characters of a site's name. DNS has no longer names (RFC 1035).
SITE_LIMIT = 253
# No label begins or ends with anything but a letter or a digit: names such as _flex.example.org are
# never sites.
LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_LABELS = re.compile(rf"{LABEL}(?:\.{LABEL})*")
_NOT_HOST = re.compile(rb"[^a-z0-9.:_*\[\]-]")
# The standard library spells names by IDNA 2003, where these become others or vanish; browsers keep
# them.
_READ_IN_TWO_WAYS = frozenset("ßς\u200c\u200d")


def is_host(name: str) -> bool:
    """Whether a host can have the name: labels of letters, digits and -, the last of them no
    number.
    """
    return (
        len(name) <= SITE_LIMIT
        and bool(_LABELS.fullmatch(name))
        and not name.rpartition(".")[2].isdigit()
    )


def site_name(vhost: bytes) -> str:
    """A virtual host's name in one spelling: lower case, without port and final dots, as DNS has
    it.

    A name beyond ASCII, in UTF-8 or percent-encoded, becomes `xn--bcher-kva.example`. What belongs
    in no host name is percent-encoded. A name that says nothing (empty, `-`, `_`) or that is too
    long for DNS is empty.
    """
    plain = _strip_port(unescape(vhost[: 8 * SITE_LIMIT]))
    name = unquote_to_bytes(plain) if b"%" in plain else plain
    name = (name if name.isascii() else _spell_as_dns(name)).rstrip(b".").lower()
    if name in (b"", b"-", b"_") or len(name) > SITE_LIMIT:
        return ""
    return _NOT_HOST.sub(lambda match: b"%%%02X" % match[0][0], name).decode("ascii")


def ascii_name(name: str) -> str:
    """`xn--bcher-kva.example` for `bücher.example`. Raises UnicodeError for what DNS cannot have,
    or in two ways.
    """
    if name.isascii():
        return name
    if _READ_IN_TWO_WAYS.intersection(name):
        raise UnicodeError("it has a letter that the two standards of such names spell differently")
    return name.encode("idna").decode("ascii")


def spelling_of_site(written: str) -> str:
    """The one name by which a site is known, from what a person wrote. Raises UnicodeError.

    Host names do not tell case or final dot apart; directories, which begin with a slash, do.
    """
    name = written.strip()
    if name.startswith("/"):
        return spelling_in_logs(f"{name.rstrip('/')}/")
    return ascii_name(name.lower().rstrip("."))


def _spell_as_dns(name: bytes) -> bytes:
    try:
        return ascii_name(name.decode()).encode()
    except UnicodeError:
        return name


def _strip_port(vhost: bytes) -> bytes:
    if vhost.startswith(b"["):
        return vhost.partition(b"]")[0] + b"]"
    return vhost.partition(b":")[0] if vhost.count(b":") == 1 else vhost


def directory_name(path: bytes) -> str:
    """The first directory of a path, `/shop/` of `/shop/a.png`; `/` for what lies in none. Too long
    a name is empty.
    """
    end = spell_path(path).find(b"/", 1) + 1
    return spell_path(path)[: end or 1].decode("ascii") if end <= SITE_LIMIT else ""


def spelling_in_logs(site: str) -> str:
    """A site's name as an operator writes it, host or directory, in the spelling that logs are
    counted under.
    """
    if is_host(site):
        # Most names are so written, and there may be a hundred thousand.
        return site
    encoded = site.encode(errors="surrogateescape")
    return directory_name(encoded) if site.startswith("/") else site_name(encoded)


@dataclass(frozen=True, slots=True)
class SiteRule:
    """Which site a line belongs to: always `fixed` where the log has one site, else what its
    virtual host says.

    With a `pattern`, the name of the file says it: the pattern matches all of that name, or with a
    slash in it the end of the path. Its group `site` is the site; a file that it matches without a
    site is no log. With `directory`, the first directory of the path does.

    `aliases` maps other names of a site to the name it is placed under. Where the sites are
    `listed`, what is not among them is `(unknown)`. `www` says when `www.a.example` and `a.example`
    are one site: where only one of them is listed or in an alias, always (the `same`, by the
    shorter name), or never (`apart`).
    """

    fixed: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    pattern: str = ""
    directory: bool = False
    listed: frozenset[str] | None = None
    www: Www = "listed"

    @property
    def every_host(self) -> bool:
        """Whether every name that a host can have is a site of that name."""
        return (
            not self.aliases and self.listed is None and not self.directory and self.www != "same"
        )

    def rule_of_file(self, path: str) -> SiteRule | None:
        """The rule for this one file; None when its name does not say which site it is of."""
        return self.rule_finder()(path)

    def rule_finder(self) -> Callable[[str], SiteRule | None]:
        """As `rule_of_file`, for many: what all of them have in common is worked out once."""
        if not self.pattern:
            return lambda _: self
        match, main_name = self._matching(), self._renaming()

        def rule_of(path: str) -> SiteRule | None:
            matched = match(path)
            name = site_name(os.fsencode(matched["site"] or "")) if matched else ""
            return SiteRule(fixed=main_name(name)) if name else None

        return rule_of

    def drop_other_files(self, paths: Iterable[str]) -> Iterable[str]:
        """Those of the paths that may be logs: without files that the pattern matches and that name
        no site.
        """
        if not self.pattern:
            return paths
        match = self._matching()
        return (path for path in paths if not (matched := match(path)) or matched["site"])

    def _matching(self) -> Callable[[str], re.Match[str] | None]:
        """A pattern with a slash matches the shortest end of a path that it can."""
        if "/" in self.pattern:
            return re.compile(f"(?s:.*/)?(?:{self.pattern})").fullmatch
        match = re.compile(self.pattern).fullmatch
        return lambda path: match(os.path.basename(path))  # noqa: PTH119 - a third of the time

    def naming(self) -> Naming:
        """What tells the site from the bytes of a virtual host's name, or of a path where its
        directory is the site.
        """
        name_of = directory_name if self.directory else site_name
        site_of_name = self.naming_of_names()
        return lambda text: site_of_name(name_of(text))

    def naming_of_names(self) -> Callable[[str], str]:
        """The same for names in the one spelling of `site_name`, as every name that a host can have
        is already.
        """
        can_be = bool if self.directory else is_host
        main_name, listed = self._renaming(), self.listed
        targets = frozenset(map(_target, self.aliases.values()))

        def site_of(name: str) -> str:
            site = main_name(name)
            hosted = site in targets or can_be(site) if listed is None else site in listed
            return site if hosted else UNKNOWN

        return site_of

    def other_naming(self) -> Naming:
        """What tells by which other name a virtual host's name calls its site; empty where it is
        the site's own.
        """
        site_of = self.naming()

        def other_of(text: bytes) -> str:
            name, site = site_name(text), site_of(text)
            return "" if self.directory or site in (UNKNOWN, name) else name

        return other_of

    def others(self, sites: Set[str], alone: Set[str] = frozenset()) -> list[tuple[str, str]]:
        """Other names of these sites, each behind its site: host names that logs count as the
        site's.

        Every line is of its site where that is `alone`, in logs of its own, whichever name was
        asked for.
        """
        if self.directory:
            return []
        site_of = self.naming_of_names()
        twins = {
            f"www.{site}" if site == site.removeprefix("www.") else site.removeprefix("www.")
            for site in sites
        }
        pairs: list[tuple[str, str]] = []
        every = {*twins, *map(spelling_in_logs, self.aliases)} - sites
        for name in sorted(filter(is_host, every)):
            of_alone = name.removeprefix("www.") if name.startswith("www.") else f"www.{name}"
            site = of_alone if of_alone in alone and self.www != "apart" else site_of(name)
            if site in sites and site != name:
                pairs.append((site, name))
        return sorted(pairs)

    def _renaming(self) -> Callable[[str], str]:
        """The name that a site is placed under, of any of its names."""
        aliases = {spelling_in_logs(name): _target(site) for name, site in self.aliases.items()}
        known = {*aliases, *aliases.values(), *(self.listed or ())}

        def main_name(name: str) -> str:
            if name not in aliases and not self.directory:
                name = _fold(name, known, self.www)
            return aliases.get(name, name)

        return main_name


def _target(site: str) -> str:
    """The site of an alias: an operator may call it anything."""
    return spelling_in_logs(site) or site


def _fold(name: str, known: Set[str], www: Www) -> str:
    """With `www.` or without it, as the site is called."""
    bare = name.removeprefix("www.")
    if www == "same" and "." in bare:
        name = bare
    twin = f"www.{name}" if name == bare else bare
    return twin if www != "apart" and name not in known and twin in known else name
