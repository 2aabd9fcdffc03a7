"""From the logs of each site to a few sources of the settings.

Takes sites with the logs that they write. Returns sources: patterns of files, and how a file's path
names its site. Does not look at a log.

Where the paths of many sites differ in the site's name alone, or in a customer's folder besides,
one pattern stands for all. What is left are logs of single sites, and logs that several sites
share: their lines must name the host.
"""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from flex_logs_ingest.panels.hosted_site_values import HostedSite

MARK = "{site}"
# A folder that is another one for each customer.
ANY = "{any}"
# So many templates that differ in one folder alone are one. A guess: two customers are no pattern.
LEAST_ALIKE = 3
# Ends of names in one folder that one pattern has. Logs of more kinds are no pattern. A guess.
MOST_ENDS = 20
# Sources that a settings file has. More of them nobody could look after. A guess.
MOST_SOURCES = 2_000
# What rotation and packing put behind the name of a log, and ISPConfig before it.
_BEHIND = r"(?:[.-]\d{1,10})?(?:\.(?:gz|bz2|xz|zst))?"
_BEFORE = r"(?:\d{8}-)?"
_DATED = "[0-9]*-"
# The name of a host in the path of a log, and what is none: it has no dot.
_HOST = r"(?P<site>[a-z0-9-]+(?:\.[a-z0-9-]+)+?)"
_NO_HOST = r"[^./]*"
# What lies beside the logs of sites: errors, bytes for bills, transfers by FTP, and how far a panel
# has counted.
_NO_LOG = (
    r".*(?:[._-]error(?:[._-]log)?|[.-]bytes(?:_log)?|-ftp(?:xfer)?_log"
    r"|\.offset\w*|\.bkup\d*)"
)


@dataclass(frozen=True, slots=True)
class LogSource:
    """`globs` are of paths on the machine that has the logs. `site` is set where all files are of
    one, `pattern` where each file's path names its own; else each line does. `sites` counts whose
    logs these are.
    """

    globs: tuple[str, ...]
    site: str = ""
    pattern: str = ""
    sites: int = 1


@dataclass(frozen=True, slots=True)
class Sources:
    """`aliases` are names of logs that a pattern takes for a site's, each with the site that it is.
    `left_out` counts sources beyond those that a settings file takes.
    """

    sources: tuple[LogSource, ...]
    aliases: Mapping[str, str]
    left_out: int = 0


def sources_of(sites: Iterable[HostedSite]) -> Sources:
    templates: dict[str, list[str]] = {}
    single: dict[str, list[str]] = {}
    logs: dict[str, list[str]] = {}
    for site in sites:
        for log in site.logs:
            template = _template(log, site.name)
            kept = templates if template else single
            kept.setdefault(template or log, []).append(site.name)
            logs.setdefault(template, []).append(log)
    patterned: list[LogSource] = []
    for group in _groups(templates):
        if len(group.ends) <= MOST_ENDS:
            patterned.append(_source(group))
            continue
        for template in group.templates:
            for log, name in zip(logs[template], templates[template], strict=True):
                single.setdefault(log, []).append(name)
    patterned.sort(key=lambda source: -source.sites)
    taken = [
        (re.compile(f"(?:.*/)?(?:{log_source.pattern})"), log_source) for log_source in patterned
    ]
    taken = taken[:MOST_ENDS]
    aliases: dict[str, str] = {}
    alone: list[LogSource] = []
    for log, names in single.items():
        if len(names) == 1 and (name := _name_by(taken, log)):
            # One that it is read as already: the two parts of its name are the other way round.
            aliases[name] = names[0]
            continue
        only = names[0] if len(names) == 1 else ""
        alone.append(LogSource((f"{glob.escape(log)}*",), site=only, sites=len(names)))
    every = sorted((*patterned, *alone), key=lambda source: -source.sites)
    return Sources(tuple(every[:MOST_SOURCES]), aliases, max(0, len(every) - MOST_SOURCES))


def _template(log: str, name: str) -> str:
    """The path with a mark in place of the site's name; empty where it has none."""
    template = re.sub(rf"(?<=[/_-]){re.escape(name)}(?![a-z0-9])", MARK, log)
    return template if MARK in template else ""


@dataclass(slots=True)
class _Group:
    """Templates that begin alike up to the last mark: `ends` is what is behind it."""

    before: str
    ends: dict[str, None]
    templates: list[str]
    sites: set[str]


def _groups(templates: Mapping[str, Sequence[str]]) -> Iterable[_Group]:
    """Logs of one folder, whose names begin alike, are one source."""
    groups: dict[tuple[str, bool], _Group] = {}
    general = _mark_customer_folders(list(templates))
    for template, names in templates.items():
        before, _, end = general.get(template, template).rpartition(MARK)
        key = (before, "/" in end)
        group = groups.setdefault(key, _Group(before, {}, [], set()))
        group.ends[end] = None
        group.templates.append(template)
        group.sites.update(names)
    return groups.values()


def _mark_customer_folders(templates: Sequence[str]) -> dict[str, str]:
    """The templates that differ from others in one folder alone, with a mark in its place."""
    alike: Counter[str] = Counter()
    ways: dict[str, list[str]] = {}
    for template in templates:
        parts = template.split("/")
        ways[template] = [
            "/".join((*parts[:at], ANY, *parts[at + 1 :]))
            for at in range(1, len(parts) - 1)
            if MARK not in parts[at]
        ]
        alike.update(ways[template])
    replacements = {}
    for template, general in ways.items():
        best = max(general, key=lambda candidate: alike[candidate], default="")
        if best and alike[best] >= LEAST_ALIKE:
            replacements[template] = best
    return replacements


def _source(group: _Group) -> LogSource:
    head = _glob(group.before)
    globs: list[str] = []
    names: list[str] = []
    for end in group.ends:
        folder, slash, name = end.rpartition("/")
        if slash:
            inner = f"{head}*{_glob(folder)}/"
            globs += [f"{inner}{_glob(name)}*", f"{inner}{_DATED}{_glob(name)}*"]
            names.append(f"{_pattern(folder)}/{_BEFORE}{_pattern(name)}")
        else:
            globs.append(f"{head}*{_glob(end)}*".replace("**", "*"))
            names.append(_pattern(end))
    start = _pattern(group.before.rpartition("/")[2])
    end = f"(?:{'|'.join(names)}){_BEHIND}"
    pattern = f"{start}{_HOST}{end}"
    if not any("/" in name for name in names):
        pattern = f"{_NO_LOG}{_BEHIND}|{start}{_NO_HOST}{end}|{pattern}"
    return LogSource(_widest(globs), pattern=pattern, sites=len(group.sites))


def _glob(text: str) -> str:
    plain = glob.escape(text.replace(MARK, "\0").replace(ANY, "\0"))
    return plain.replace("\0", "*")


def _pattern(text: str) -> str:
    plain = re.escape(text.replace(MARK, "\0").replace(ANY, "\0"))
    return plain.replace("\\\0", "\0").replace("\0", "[^/]+")


def _widest(globs: Sequence[str]) -> tuple[str, ...]:
    """Without those that another one has anyway."""
    kept = [
        pattern
        for pattern in globs
        if not any(
            other != pattern and PurePosixPath(pattern.replace("*", "x")).match(other)
            for other in globs
        )
    ]
    return tuple(dict.fromkeys(kept or globs))


def _name_by(taken: Sequence[tuple[re.Pattern[str], LogSource]], log: str) -> str:
    """The name that a source takes the log to be of."""
    for pattern, source in taken:
        if any(PurePosixPath(log).match(path_glob) for path_glob in source.globs) and (
            site_match := pattern.fullmatch(log)
        ):
            return str(site_match["site"] or "")
    return ""
