"""The other host names of sites, by which visitors ask for them, too.

Takes the settings and sites. Returns by site its other names. Does not read DNS or logs: the names
are those that logs are counted under.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from flex.routing.member_pools import is_host
from flex_api.settings.file import Settings
from flex_api.wiring import site_names
from flex_logs_ingest.scan.site_rules import spelling_in_logs


def other_names(settings: Settings, sites: Collection[str]) -> dict[str, list[str]]:
    """By site the other host names that its logs are counted under: each is one site's alone, and
    none is a site.
    """
    names_of: dict[str, list[str]] = {site: [] for site in sites}
    rule = site_names(settings) if names_of else None
    if rule is None or rule.every_host:
        return names_of
    site_of = rule.naming_of_names()
    written = {spelling_in_logs(name) for name in rule.aliases if not name.startswith("/")}
    candidates = {twin for host in (*written, *names_of) for twin in _twins(host)}
    for name in sorted(candidates - names_of.keys()):
        if is_host(name) and (site := site_of(name)) in names_of:
            names_of[site].append(name)
    return names_of


def _twins(name: str) -> Iterator[str]:
    yield name
    yield name.removeprefix("www.") if name.startswith("www.") else f"www.{name}"
