"""cPanel: a folder of `userdata` for each account, and in it a file for each virtual host.

Takes a tree. Returns sites. Reads of YAML what these files have: keys at the margin, and below them
lists and pairs. Where a domain is an addon, its virtual host has the name of a subdomain, which is
the one that its log has; the domain is another name of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flex_logs_ingest.panels.configuration_files import Tree
from flex_logs_ingest.panels.hosted_site_values import HostedSite, plain_path, site_of

USERDATA = "/var/cpanel/userdata"
PLACES = (USERDATA,)
# Beside virtual hosts there are these in an account's folder.
_MAIN = "main"
_SSL = "_SSL"
_NO_HOST = ("cache", "cache.json", _MAIN)
# Of an account that has none: what answers for names that nobody has.
_NOBODY = "nobody"
# How formats begin that count bytes for bills, and not requests.
_BYTES = "%{%s}t"


def is_there(tree: Tree) -> bool:
    return tree.has(USERDATA)


def read(tree: Tree) -> Iterator[HostedSite]:
    for user in tree.names_in(USERDATA):
        if user == _NOBODY:
            continue
        for name in tree.names_in(f"{USERDATA}/{user}"):
            if name in _NO_HOST or name.endswith((".cache", ".yaml", ".json", "~")):
                continue
            if site := _site_of_file(tree.text(f"{USERDATA}/{user}/{name}") or "", name):
                yield site


def _site_of_file(text: str, name: str) -> HostedSite | None:
    settings = margin(text)
    main = _value(settings, "servername") or name.removesuffix(_SSL)
    return site_of(
        main,
        _value(settings, "serveralias").split(),
        root=plain_path(_value(settings, "documentroot")),
        logs=list(dict.fromkeys(_logs(settings.get("customlog", [])))),
        addresses=(_value(settings, "ip"), _value(settings, "ipv6")),
    )


def margin(text: str) -> dict[str, list[str]]:
    """What stands at each key that begins a line: the rest of that line, and the lines below it
    that belong to it.
    """
    settings: dict[str, list[str]] = {}
    here: list[str] = []
    for line in text.splitlines():
        if line[:1] in ("", " ", "\t", "-", "#"):
            here.append(line.strip())
            continue
        key, _, rest = line.partition(":")
        here = settings.setdefault(key.strip().strip("\"'"), [])
        here.append(rest.strip())
    return settings


def _value(settings: dict[str, list[str]], key: str) -> str:
    return settings.get(key, [""])[0].strip("\"'")


def _logs(lines: list[str]) -> Iterator[str]:
    """Pairs of a format and a target, in any order, each behind a dash."""
    entry: dict[str, str] = {}
    for line in (*lines, "-"):
        if line.startswith("-"):
            if path := _log_of(entry):
                yield path
            entry = {}
            line = line[1:].strip()
        key, _, value = line.partition(":")
        entry[key.strip()] = value.strip()


def _log_of(entry: dict[str, str]) -> str:
    counts_bytes = _BYTES in entry.get("format", "")
    return "" if counts_bytes else plain_path(entry.get("target", ""))
