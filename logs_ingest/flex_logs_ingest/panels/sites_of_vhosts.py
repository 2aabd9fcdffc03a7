"""Sites from virtual hosts: the blocks of one name together, with paths that a settings file takes.

Takes what was read of virtual hosts. Returns sites, in the order of their files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flex_logs_ingest.files.find_and_unpack_logs import path_text
from flex_logs_ingest.panels.configuration_files import Tree
from flex_logs_ingest.panels.hosted_site_values import HostedSite, plain_path
from flex_logs_ingest.vhosts.read_vhosts import Vhost, Vhosts

# What Debian's Apache calls the folder of its logs.
_FOLDERS = {"${APACHE_LOG_DIR}": "/var/log/apache2", "$APACHE_LOG_DIR": "/var/log/apache2"}
# By these nginx writes a log for each host.
_HOST = re.compile(r"\$\{?(?:host|http_host|server_name|ssl_server_name)\}?")


def sites_of(vhosts: Vhosts, tree: Tree) -> Iterator[HostedSite]:
    """What could not be read is noted in the tree."""
    for fault in vhosts.unread:
        path, _, why = fault.partition(": ")
        path = path.partition(", which ")[0]
        if path_text(path) not in tree.left_alone:
            tree.note(path, ValueError(why))
    tree.patterns |= dict.fromkeys(path_text(skipped.text) for skipped in vhosts.not_taken)
    fronts: dict[str, bool] = {}
    for host in vhosts.hosts:
        is_nginx = host.block == "server" and bool(_logs(host))
        fronts[host.names[0]] = fronts.get(host.names[0], False) or is_nginx
    sites: dict[str, HostedSite] = {}
    for host in vhosts.hosts:
        # What nginx passes on, Apache logs a second time.
        twice = host.block != "server" and fronts[host.names[0]]
        site = HostedSite(
            host.names,
            plain_path(host.root) if "$" not in host.root else "",
            () if twice else _logs(host),
        )
        known = sites.get(site.name)
        sites[site.name] = known.and_(site) if known else site
    yield from sites.values()


def _logs(host: Vhost) -> tuple[str, ...]:
    paths = []
    for written in host.logs:
        text = written
        for variable, folder in _FOLDERS.items():
            text = text.replace(variable, folder)
        text = _HOST.sub(host.names[0], text)
        # A program that logs are piped to, a socket, the system's own log, or a variable.
        if "$" not in text and "%" not in text and (path := plain_path(text)):
            paths.append(path)
    return tuple(dict.fromkeys(paths))
