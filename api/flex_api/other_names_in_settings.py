"""Which other names sites have by the settings: those of `ingest.aliases`, of `ingest.aliases_file`
and of the virtual hosts of `ingest.vhosts`.

Takes settings and the sites that are listed. Returns the site of each other name. Does not ask DNS,
and does not look into logs. The same file is read again only after it has changed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from flex.errors import BadSetting, FlexError
from flex.why_file_unreadable import why_unreadable
from flex_api import which_names_are_sites
from flex_api.settings.whole_settings import Ingest
from flex_logs_ingest.scan.site_rules import UNKNOWN, SiteRule, spelling_in_logs
from flex_logs_ingest.vhosts.read_vhosts import (
    Vhost,
    Vhosts,
    files_of,
    read_vhosts,
    stamp_of,
)

ALIASES = "ingest.aliases"
VHOSTS = "ingest.vhosts"


@dataclass(frozen=True, slots=True)
class Claim:
    """That a name is another one of a site, and where that is written; `is_of_file` where that is
    `aliases_file`.
    """

    name: str
    site: str
    where: str
    is_of_file: bool = False


@dataclass(frozen=True, slots=True)
class NamesInSettings:
    """`claims` are those of `aliases_file` and `vhosts`. `aliases` are all other names, with their
    sites.
    """

    aliases: Mapping[str, str]
    claims: tuple[Claim, ...] = ()
    vhosts: Vhosts = field(default_factory=Vhosts)


def site_rule(ingest: Ingest) -> SiteRule:
    """What all logs have in common in how their sites are named. Raises BadSetting."""
    listed = (
        frozenset(which_names_are_sites.read_site_list(ingest.sites_file))
        if ingest.sites_file
        else None
    )
    names = names_in_settings(ingest, listed or frozenset())
    return SiteRule(aliases=names.aliases, listed=listed or None, www=ingest.www)


def names_in_settings(ingest: Ingest, listed: Set[str]) -> NamesInSettings:
    """Raises BadSetting where a file cannot be read or two sites claim one name."""
    if not ingest.aliases_file and not ingest.vhosts:
        return NamesInSettings(ingest.aliases)
    claims = list(_of_file(ingest.aliases_file)) if ingest.aliases_file else []
    written = [
        Claim(spelling_in_logs(name), _spelling(site), ALIASES)
        for name, site in ingest.aliases.items()
    ]
    _refuse_contradiction((*written, *claims), listed)
    vhosts = _read_vhosts(ingest.vhosts)
    if vhosts.hosts:
        known = ingest.aliases | {claim.name: claim.site for claim in claims}
        rule = SiteRule(aliases=known, listed=frozenset(listed) or None, www=ingest.www)
        claims += _of_vhosts(vhosts.hosts, rule)
        _refuse_contradiction((*written, *claims), listed)
    every = ingest.aliases | {claim.name: claim.site for claim in claims}
    return NamesInSettings(every, tuple(claims), vhosts)


def _of_file(path: Path) -> Iterator[Claim]:
    """A name and its site on each line; # begins a comment. Names beyond ASCII become those of
    DNS.
    """
    asked = f"ingest.aliases_file = {str(path)!r}"
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(asked, why_unreadable(error)) from error
    for number, row in enumerate(rows, start=1):
        words = row.partition("#")[0].split()
        if not words:
            continue
        where = f"line {number}"
        if len(words) != 2:
            raise _refusal(
                asked, f"{where} is not a name and its site: {row.strip()!r:.200}"
            )
        try:
            name, site = map(which_names_are_sites.site_name, words)
        except FlexError as error:
            raise _refusal(asked, f"{where}: {error.asked}: {error.answer}") from error
        name = spelling_in_logs(name)
        if not name:
            raise _refusal(asked, f"{where}: {words[0]!r:.200} can be no name in a log")
        if name != site:
            yield Claim(name, _spelling(site), f"{path}, {where}", is_of_file=True)


def _of_vhosts(hosts: tuple[Vhost, ...], rule: SiteRule) -> Iterator[Claim]:
    """The main name of a host is its site, or the first that is known as one. Names that are known
    already keep their site. A host of no site of ours has no other names.
    """
    site_of = rule.naming_of_names()
    known = {
        *rule.aliases,
        *map(_spelling, rule.aliases.values()),
        *(rule.listed or ()),
    }
    for host in hosts:
        sites = {name: site_of(name) for name in host.names}
        ours = {
            name: site
            for name, site in sites.items()
            if site != UNKNOWN and (rule.listed or {name, site} & known)
        }
        main = next(iter(ours.values()), "" if rule.listed else sites[host.names[0]])
        for name in host.names if main not in ("", UNKNOWN) else ():
            if name not in ours and name != main:
                yield Claim(name, main, host.where)


def _spelling(site: str) -> str:
    return spelling_in_logs(site) or site


def _refuse_contradiction(claims: tuple[Claim, ...], listed: Set[str]) -> None:
    """Only `ingest.aliases` by itself may say what it likes, as it always could."""
    by_name: dict[str, Claim] = {}
    for claim in claims:
        other = by_name.setdefault(claim.name, claim)
        if other.site != claim.site and {other.where, claim.where} != {ALIASES}:
            raise _refusal(
                f"the name {claim.name!r:.255}",
                f"it is another name of two sites: of {other.site} ({other.where}) and of "
                f"{claim.site} ({claim.where})",
            )
    # Those of `ingest.aliases` come first, so that what a file says counts.
    sites = {claim.site: claim for claim in claims}
    for claim in claims:
        of_it = sites.get(claim.name)
        if claim.where != ALIASES and claim.name in listed:
            raise _refusal(
                f"the name {claim.name!r:.255}",
                f"it is another name of {claim.site} ({claim.where}), and a site itself "
                "(ingest.sites_file)",
            )
        if of_it and {of_it.where, claim.where} != {ALIASES}:
            raise _refusal(
                f"the name {claim.name!r:.255}",
                f"it is another name of {claim.site} ({claim.where}), and a site itself, "
                f"which {of_it.name} is another name of ({of_it.where})",
            )


def _refusal(asked: str, answer: str) -> BadSetting:
    return BadSetting(
        asked,
        answer,
        kept="the partition in force stays",
        advice="correct that place: each name is a site or another name of one site alone; "
        "`flex config check` reads all of it again",
    )


class _LastRead:
    """What was read last for some patterns. It counts while every file, and every folder of one, is
    as it was.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, ...], tuple[Vhosts, object]] = {}

    def read(self, patterns: tuple[str, ...]) -> Vhosts:
        with self._lock:
            kept, around = self._kept.get(patterns, (Vhosts(), None))
            if (
                around is None
                or not _is_unchanged(kept)
                or around != _around(kept, patterns)
            ):
                kept = read_vhosts(patterns, VHOSTS)
                self._kept = {patterns: (kept, _around(kept, patterns))}
            return kept


def _is_unchanged(kept: Vhosts) -> bool:
    try:
        return all(stamp_of(os.stat(path)) == stamp for path, stamp in kept.files)  # noqa: PTH116
    except OSError:
        return False


def _around(kept: Vhosts, patterns: tuple[str, ...]) -> object:
    """Which files there are: what the patterns match, and when the folders of all were changed."""
    folders = sorted({os.path.dirname(path) for path, _ in kept.files})  # noqa: PTH120
    try:
        changed = [os.stat(folder).st_mtime_ns for folder in folders]  # noqa: PTH116
    except OSError:
        changed = []
    return [files_of(pattern) for pattern in patterns], changed


_LAST = _LastRead()


def _read_vhosts(patterns: tuple[str, ...]) -> Vhosts:
    return _LAST.read(patterns) if patterns else Vhosts()
