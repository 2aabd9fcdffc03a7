"""DirectAdmin: a list of domains for each user, and beside it pointers and subdomains.

Takes a tree. Returns sites. A subdomain is a site of its own, whose log has its two parts the other
way round. A pointer is another name of its domain; one that only redirects is one, too, as the same
web server answers it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flex_logs_ingest.panels.configuration_files import Tree, pairs
from flex_logs_ingest.panels.hosted_site_values import HOMES, HostedSite, plain_path, site_of

USERS = "/usr/local/directadmin/data/users"
PLACES = (USERS,)
LOGS = ("/var/log/httpd/domains", "/var/log/nginx/domains")


def is_there(tree: Tree) -> bool:
    return tree.has(USERS)


def read(tree: Tree) -> Iterator[HostedSite]:
    """Where nginx serves alone it has the logs."""
    logs = next((folder for folder in LOGS if tree.has(folder)), LOGS[0])
    for user in tree.names_in(USERS):
        listed = (tree.text(f"{USERS}/{user}/domains.list") or "").split()
        for domain in dict.fromkeys(listed):
            yield from _sites_of_domain(tree, user, domain, logs)


def _sites_of_domain(tree: Tree, user: str, domain: str, logs: str) -> Iterator[HostedSite]:
    if "/" in domain or domain.startswith("."):
        return
    files = f"{USERS}/{user}/domains/{domain}"
    # `IP=` and `ip=` are both written, by version.
    settings = {
        key.lower(): value for key, value in pairs(tree.text(f"{files}.conf") or "").items()
    }
    root = f"{HOMES}/{user}/domains/{domain}/public_html"
    pointers = [
        line.partition("=")[0] for line in (tree.text(f"{files}.pointers") or "").splitlines()
    ]
    www = [f"www.{name}" for name in pointers if name]
    site = site_of(
        domain,
        (f"www.{domain}", *pointers, *www),
        root=plain_path(settings.get("documentroot", "")) or plain_path(root),
        logs=(plain_path(f"{logs}/{domain}.log"),),
        addresses=(settings.get("ip", ""),),
    )
    if not site:
        return
    yield site
    for sub in dict.fromkeys((tree.text(f"{files}.subdomains") or "").split()):
        sub_site = site_of(
            f"{sub}.{domain}",
            (f"www.{sub}.{domain}",),
            root=plain_path(f"{root}/{sub}"),
            logs=(plain_path(f"{logs}/{domain}.{sub}.log"),),
            addresses=site.addresses,
        )
        if sub_site:
            yield sub_site
