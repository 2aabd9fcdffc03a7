"""HestiaCP: a line of `web.conf` for each site of a user.

Takes a tree. Returns sites. Looks only at the keys that it names: other keys of the same lines are
hashes of passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flex_logs_ingest.panels.configuration_files import Tree
from flex_logs_ingest.panels.hosted_site_values import HOMES, HostedSite, plain_path, site_of

HOME = "/usr/local/hestia"
USERS = f"{HOME}/data/users"
PLACES = (USERS, f"{HOME}/conf")
_WANTED = ("DOMAIN", "IP", "IP6", "CUSTOM_DOCROOT", "ALIAS")
_PAIR = re.compile(r"(?:^|\s)([A-Z0-9_]+)='([^']*)'")


def is_there(tree: Tree) -> bool:
    return tree.has(USERS)


def read(tree: Tree) -> Iterator[HostedSite]:
    """The web server behind logs what the proxy serves, too."""
    server = _values(tree.text(f"{HOME}/conf/hestia.conf") or "", ("WEB_SYSTEM",))
    logs = f"/var/log/{server.get('WEB_SYSTEM') or 'apache2'}/domains"
    for user in tree.names_in(USERS):
        text = tree.text(f"{USERS}/{user}/web.conf") or ""
        for line in text.splitlines():
            settings = _values(line, _WANTED)
            name = settings.get("DOMAIN", "")
            root = plain_path(settings.get("CUSTOM_DOCROOT", "")).rstrip("/")
            site = site_of(
                name,
                settings.get("ALIAS", "").split(","),
                root=root or plain_path(f"{HOMES}/{user}/web/{name}/public_html"),
                logs=(plain_path(f"{logs}/{name}.log"),),
                addresses=(settings.get("IP", ""), settings.get("IP6", "")),
            )
            if site and name:
                yield site


def _values(line: str, wanted: tuple[str, ...]) -> dict[str, str]:
    return {key: value for key, value in _PAIR.findall(line) if key in wanted}
