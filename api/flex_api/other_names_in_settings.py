"""Which other names sites have by the settings: those of `ingest.aliases`, of `ingest.aliases_file`
and of the virtual hosts of `ingest.vhosts`.

Takes settings and the sites that are listed. Returns the site of each other name, and every place
that says so. Does not ask DNS, and does not look into logs. The same file is read again only after
it has changed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from flex.errors import BadSetting, FlexError
from flex.why_file_unreadable import why_unreadable
from flex_api import names_of_two_sites, which_names_are_sites
from flex_api.names_of_two_sites import ALIASES, Claim, refusal
from flex_api.settings.whole_settings import Ingest
from flex_logs_ingest.scan.site_rules import UNKNOWN, SiteRule, spelling_in_logs
from flex_logs_ingest.vhosts.read_vhosts import Vhost, Vhosts, files_of, read_vhosts, stamp_of

VHOSTS = "ingest.vhosts"


@dataclass(frozen=True, slots=True)
class NamesInSettings:
    """`claims` are those of `aliases_file` and `vhosts`, `written` those of `ingest.aliases`.
    `aliases` are all other names, with their sites.
    """

    aliases: Mapping[str, str]
    claims: tuple[Claim, ...] = ()
    vhosts: Vhosts = field(default_factory=Vhosts)
    written: tuple[Claim, ...] = ()

    def places(self) -> dict[str, list[Claim]]:
        """By name every place that says whose it is."""
        by_name: dict[str, list[Claim]] = {}
        for claim in (*self.written, *self.claims):
            by_name.setdefault(claim.name, []).append(claim)
        return by_name


def site_rule(ingest: Ingest) -> SiteRule:
    """What all logs have in common in how their sites are named. Raises BadSetting."""
    listed = listed_sites(ingest)
    names = names_in_settings(ingest, listed)
    return SiteRule(aliases=names.aliases, listed=listed or None, www=ingest.www)


def listed_sites(ingest: Ingest) -> frozenset[str]:
    """None where no file lists them. Raises BadSetting."""
    path = ingest.sites_file
    return frozenset(which_names_are_sites.read_site_list(path) if path else ())


def names_in_settings(ingest: Ingest, listed: Set[str]) -> NamesInSettings:
    """Raises BadSetting where a file cannot be read or two sites claim one name."""
    if not ingest.aliases_file and not ingest.vhosts:
        written = _claims_of_settings(ingest)
        names_of_two_sites.refuse(written, frozenset())
        return NamesInSettings(ingest.aliases, written=written)
    vhosts = _read_vhosts(ingest.vhosts)
    return _LAST_NAMES.read(ingest, frozenset(listed), vhosts)


def names_despite_faults(ingest: Ingest) -> Mapping[str, str]:
    """All other names, for who must act whatever is wrong with them: as this process read them when
    nothing was wrong; else each name with the site that is named first, in `ingest.aliases`, in
    `aliases_file`, in `vhosts`, without what cannot be read. Raises nothing.
    """
    if good := _LAST_NAMES.good(ingest):
        return good.aliases
    claims = list(_claims_of_settings(ingest))
    with suppress(FlexError):
        if ingest.aliases_file:
            claims += _claims_of_file(ingest.aliases_file)
    aliases = _first_of_each(claims)
    with suppress(FlexError):
        listed = listed_sites(ingest) or None
        rule = SiteRule(aliases=aliases, listed=listed, www=ingest.www)
        hosts = _read_vhosts(ingest.vhosts).hosts
        claims += _claims_of_vhosts(hosts, rule)
    return _first_of_each(claims)


def rule_despite_faults(ingest: Ingest) -> SiteRule:
    """How sites are named, for who only shows what was counted by name."""
    try:
        return site_rule(ingest)
    except BadSetting:
        return SiteRule(aliases=names_despite_faults(ingest), www=ingest.www)


def _first_of_each(claims: Iterable[Claim]) -> dict[str, str]:
    aliases: dict[str, str] = {}
    for claim in claims:
        aliases.setdefault(claim.name, claim.site)
    return aliases


def _claims_of_settings(ingest: Ingest) -> tuple[Claim, ...]:
    """A name that leads to itself says nothing."""
    claims = (
        Claim(spelling_in_logs(name), _spelling(site), ALIASES, "settings")
        for name, site in ingest.aliases.items()
    )
    return tuple(claim for claim in claims if claim.name != claim.site)


def _names(ingest: Ingest, listed: frozenset[str], vhosts: Vhosts) -> NamesInSettings:
    claims = list(_claims_of_file(ingest.aliases_file)) if ingest.aliases_file else []
    written = _claims_of_settings(ingest)
    names_of_two_sites.refuse((*written, *claims), listed)
    if vhosts.hosts:
        known = ingest.aliases | {claim.name: claim.site for claim in claims}
        rule = SiteRule(aliases=known, listed=listed or None, www=ingest.www)
        claims += _claims_of_vhosts(vhosts.hosts, rule)
        names_of_two_sites.refuse((*written, *claims), listed)
    every = ingest.aliases | {claim.name: claim.site for claim in claims if not claim.is_known}
    return NamesInSettings(every, tuple(claims), vhosts, written)


def _claims_of_file(path: Path) -> Iterator[Claim]:
    """A name and its site on each line; # begins a comment. Names beyond ASCII become those of
    DNS.
    """
    setting = f"ingest.aliases_file = {str(path)!r}"
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise refusal(setting, why_unreadable(error)) from error
    for number, row in enumerate(rows, start=1):
        words = row.partition("#")[0].split()
        if not words:
            continue
        where = f"line {number}"
        if len(words) != 2:
            raise refusal(setting, f"{where} is not a name and its site: {row.strip()!r:.200}")
        try:
            name, site = map(which_names_are_sites.site_name, words)
        except FlexError as error:
            raise refusal(setting, f"{where}: {error.asked}: {error.answer}") from error
        name = spelling_in_logs(name)
        if not name:
            raise refusal(setting, f"{where}: {words[0]!r:.200} can be no name in a log")
        if name != site:
            yield Claim(name, _spelling(site), f"{path}, {where}", "aliases_file")


def _claims_of_vhosts(hosts: tuple[Vhost, ...], rule: SiteRule) -> Iterator[Claim]:
    """The main name of a host is its site, or the first that is known as one. A host of no site of
    ours has no other names.

    Names that are known already keep their site. Only a host that has the name of its site itself
    claims such names for that site: others, as those that lead the names of many sites to https,
    are no site's own.
    """
    site_of = rule.naming_of_names()
    known = {*rule.aliases, *map(_spelling, rule.aliases.values()), *(rule.listed or ())}
    # Of these only `ingest.www` says whose they are.
    twins: list[Claim] = []
    own_names: dict[str, str] = {}
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
                yield Claim(name, main, host.where, "vhosts")
            elif name in ours and name != ours[name] and main in sites:
                site = ours[name]
                claim = Claim(name, main, host.where, "vhosts", is_known=True)
                if site == main:
                    own_names[name] = site
                    yield claim
                elif site not in sites:
                    twins.append(claim)
    written = frozenset(map(spelling_in_logs, rule.aliases))
    yield from (twin for twin in twins if twin.name in own_names or twin.name in written)


def _spelling(site: str) -> str:
    return spelling_in_logs(site) or site


class _LastNames:
    """What was read last. It counts while settings, the list of sites and all files are as they
    were.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: object = None
        self._kept = NamesInSettings({})
        self._of: object = None

    def good(self, ingest: Ingest) -> NamesInSettings | None:
        """Those in which nothing was wrong, of the same places."""
        with self._lock:
            return self._kept if self._of == _places(ingest) else None

    def read(self, ingest: Ingest, listed: frozenset[str], vhosts: Vhosts) -> NamesInSettings:
        with self._lock:
            # Before it is read: who writes meanwhile is seen the next time.
            key = (
                dict(ingest.aliases),
                ingest.www,
                ingest.aliases_file,
                _stamp(ingest.aliases_file),
                listed,
                id(vhosts),
            )
            if key != self._key:
                self._kept = _names(ingest, listed, vhosts)
                self._key, self._of = key, _places(ingest)
            return self._kept


def _places(ingest: Ingest) -> object:
    return dict(ingest.aliases), ingest.aliases_file, ingest.vhosts, ingest.www


def _stamp(path: Path | None) -> object:
    """None where it cannot be read: then reading it says why."""
    try:
        return stamp_of(path.stat()) if path else None
    except OSError:
        return None


_LAST_NAMES = _LastNames()


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
                or around != _state_of_files(kept, patterns)
            ):
                kept = read_vhosts(patterns, VHOSTS)
                self._kept = {patterns: (kept, _state_of_files(kept, patterns))}
            return kept


def _is_unchanged(kept: Vhosts) -> bool:
    try:
        return all(stamp_of(os.stat(path)) == stamp for path, stamp in kept.files)  # noqa: PTH116
    except OSError:
        return False


def _state_of_files(kept: Vhosts, patterns: tuple[str, ...]) -> object:
    """Which files there are: what the patterns match, and when the folders of all were changed."""
    folders = sorted({os.path.dirname(path) for path, _ in kept.files})  # noqa: PTH120
    try:
        changed = [os.stat(folder).st_mtime_ns for folder in folders]  # noqa: PTH116
    except OSError:
        changed = []
    return [files_of(pattern) for pattern in patterns], changed


_LAST = _LastRead()
_NO_VHOSTS = Vhosts()


def _read_vhosts(patterns: tuple[str, ...]) -> Vhosts:
    return _LAST.read(patterns) if patterns else _NO_VHOSTS
