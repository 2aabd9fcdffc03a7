"""Plesk: the virtual hosts that it writes for Apache and nginx, a folder for each domain.

Takes a tree. Returns sites. What a domain's owner adds in files of its own is not read: Plesk keeps
names out of there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flex_logs_ingest.panels.configuration_files import Tree
from flex_logs_ingest.panels.hosted_site_values import HostedSite
from flex_logs_ingest.panels.sites_of_vhosts import sites_of
from flex_logs_ingest.vhosts.read_vhosts import read_what_can_be_read

SYSTEM = "/var/www/vhosts/system"
PLACES = (SYSTEM,)
# Plesk's own statistics empty each log every day and append its lines to a file of this name: there
# they all are, and each once.
COUNTED = ".processed"
# What Plesk wrote last; older versions called it otherwise.
_APACHE = ("httpd.conf", "last_httpd.conf")
_NGINX = ("nginx.conf", "last_nginx.conf")


def is_there(tree: Tree) -> bool:
    return tree.has(SYSTEM)


def read(tree: Tree) -> Iterator[HostedSite]:
    files = []
    for domain in tree.names_in(SYSTEM):
        there = tree.names_in(f"{SYSTEM}/{domain}/conf")
        for names in (_APACHE, _NGINX):
            files += [f"{SYSTEM}/{domain}/conf/{name}" for name in names if name in there][:1]
    sites = list(sites_of(read_what_can_be_read(files, tree), tree))
    counted = any(tree.has(f"{log}{COUNTED}") for site in sites for log in site.logs)
    for site in sites:
        logs = tuple(f"{log}{COUNTED}" for log in site.logs)
        yield replace(site, logs=logs) if counted else site
