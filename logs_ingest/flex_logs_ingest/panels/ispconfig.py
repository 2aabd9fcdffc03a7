"""ISPConfig: the virtual hosts that it writes for Apache or nginx, and logs in a folder of each.

Takes a tree. Returns sites. Every request is logged by a program that sorts lines by their host, so
the virtual hosts name no log. The panel's own hosts are no sites.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from flex_logs_ingest.panels.configuration_files import Tree
from flex_logs_ingest.panels.hosted_site_values import HostedSite, plain_path
from flex_logs_ingest.panels.sites_of_vhosts import sites_of
from flex_logs_ingest.vhosts.read_vhosts import read_what_can_be_read

HOSTS = ("/etc/apache2/sites-enabled", "/etc/httpd/conf/sites-enabled", "/etc/nginx/sites-enabled")
PLACES = ("/etc/apache2", "/etc/httpd", "/etc/nginx")
LOGS = "/var/log/ispconfig/httpd"
SIGNS = ("/usr/local/ispconfig", LOGS)
# Those of the panel itself, of applications that it brings, and of Debian.
_NO_SITE = re.compile(r"(?:\d+-)?(?:ispconfig|apps|default)\.(?:vhost|conf)")


def is_there(tree: Tree) -> bool:
    return any(map(tree.has, SIGNS))


def read(tree: Tree) -> Iterator[HostedSite]:
    files = [
        f"{folder}/{name}"
        for folder in HOSTS
        for name in tree.names_in(folder)
        if name.endswith(".vhost") and not _NO_SITE.fullmatch(name)
    ]
    for site in sites_of(read_what_can_be_read(files, tree), tree):
        log = plain_path(f"{LOGS}/{site.name}/access.log")
        yield replace(site, logs=(log,) if log else ())
