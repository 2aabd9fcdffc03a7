"""What a machine hosts: by its control panel, or where there is none by the files of its web
server.

Takes a folder with the machine's files, this machine's own root among them, or patterns of files.
Returns sites, and what was not read with the reason. Does not ask a database of a panel, nor the
panel.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flex_logs_ingest.panels import cpanel, directadmin, hestia, ispconfig, plesk
from flex_logs_ingest.panels.configuration_files import Tree
from flex_logs_ingest.panels.hosted_site_values import HostedSite
from flex_logs_ingest.panels.sites_of_vhosts import sites_of
from flex_logs_ingest.vhosts.read_vhosts import read_what_can_be_read


@dataclass(frozen=True, slots=True)
class Panel:
    """`places` are the folders that are read, and nothing else is."""

    is_there: Callable[[Tree], bool]
    read: Callable[[Tree], Iterator[HostedSite]]
    places: tuple[str, ...]


PANELS: Mapping[str, Panel] = {
    "cPanel": Panel(cpanel.is_there, cpanel.read, cpanel.PLACES),
    "Plesk": Panel(plesk.is_there, plesk.read, plesk.PLACES),
    "ISPConfig": Panel(ispconfig.is_there, ispconfig.read, ispconfig.PLACES),
    "DirectAdmin": Panel(directadmin.is_there, directadmin.read, directadmin.PLACES),
    "HestiaCP": Panel(hestia.is_there, hestia.read, hestia.PLACES),
}
# Where web servers without a panel have their configuration.
SERVERS = (
    "/etc/nginx",
    "/etc/apache2",
    "/etc/httpd",
    "/usr/local/nginx/conf",
    "/usr/local/etc/nginx",
    "/usr/local/etc/apache24",
)
# The first file of each, and where hosts lie that no other file includes.
HOSTS = (
    "/etc/nginx/nginx.conf",
    "/etc/nginx/sites-enabled/*",
    "/etc/nginx/conf.d/*.conf",
    "/etc/apache2/sites-enabled/*",
    "/etc/apache2/conf.d/*.conf",
    "/etc/httpd/conf/httpd.conf",
    "/etc/httpd/conf.d/*.conf",
    "/usr/local/nginx/conf/nginx.conf",
    "/usr/local/etc/nginx/nginx.conf",
    "/usr/local/etc/apache24/httpd.conf",
    "/usr/local/etc/apache24/Includes/*.conf",
)


@dataclass(frozen=True, slots=True)
class Hosting:
    """`found_by` names the panels, or says that it was the web server's own files. `unread` and
    `left_alone` have the reason of each path; `not_kept` counts those beyond what is kept.
    `patterns` are names that stand for several.
    """

    sites: tuple[HostedSite, ...]
    found_by: tuple[str, ...]
    unread: Mapping[str, str]
    left_alone: Mapping[str, str]
    not_kept: int = 0
    patterns: tuple[str, ...] = ()


VHOSTS = "files of nginx and Apache"


def read_hosting(folder: Path, patterns: Sequence[str] = ()) -> Hosting:
    """With patterns only the files that match, of this machine wherever they are."""
    root = os.path.abspath(folder).rstrip("/")  # noqa: PTH100 - strings all the way
    if patterns:
        return _read_by_vhosts(patterns, root, _folders_of(patterns))
    there = [name for name, panel in PANELS.items() if panel.is_there(Tree(root, panel.places))]
    if not there:
        return _read_by_vhosts(HOSTS, root, SERVERS)
    trees = [Tree(root, PANELS[name].places) for name in there]
    sites: list[HostedSite] = []
    for name, tree in zip(there, trees, strict=True):
        sites += PANELS[name].read(tree)
    hosting = _hosting(sites, there, trees)
    if hosting.sites:
        return hosting
    # A panel that was taken off, or that cannot be read, leaves folders.
    other = _read_by_vhosts(HOSTS, root, SERVERS)
    return replace(
        other,
        found_by=(*there, VHOSTS),
        unread={**hosting.unread, **other.unread},
        left_alone={**hosting.left_alone, **other.left_alone},
    )


def _read_by_vhosts(patterns: Sequence[str], root: str, places: Sequence[str]) -> Hosting:
    tree = Tree(root, tuple(places))
    sites = list(sites_of(read_what_can_be_read(patterns, tree), tree))
    return _hosting(sites, [VHOSTS], [tree])


def _folders_of(patterns: Sequence[str]) -> tuple[str, ...]:
    """Those that somebody named, up to the first wildcard, and those of web servers."""
    named = []
    for pattern in patterns:
        parts = pattern.split("/")
        plain = next(
            (at for at, part in enumerate(parts) if set(part) & set("*?[")), len(parts) - 1
        )
        named.append("/".join(parts[:plain]))
    return (*filter(None, named), *SERVERS)


def _hosting(
    hosted_sites: Iterable[HostedSite], by: Sequence[str], trees: Sequence[Tree]
) -> Hosting:
    sites: dict[str, HostedSite] = {}
    for site in hosted_sites:
        known = sites.get(site.name)
        sites[site.name] = known.and_(site) if known else site
    return Hosting(
        tuple(_each_name_once(sites)),
        tuple(by),
        {path: why for tree in trees for path, why in tree.unread.items()},
        {path: why for tree in trees for path, why in tree.left_alone.items()},
        sum(tree.not_kept for tree in trees),
        tuple(dict.fromkeys(pattern for tree in trees for pattern in tree.patterns)),
    )


def _each_name_once(sites: Mapping[str, HostedSite]) -> Iterator[HostedSite]:
    """A name that is a site is no other name of another one, and of two sites the first has it."""
    taken = dict.fromkeys(sites)
    for site in sites.values():
        others = [name for name in site.names[1:] if name not in taken]
        taken.update(dict.fromkeys(others))
        yield HostedSite((site.name, *others), site.root, site.logs, site.addresses)
