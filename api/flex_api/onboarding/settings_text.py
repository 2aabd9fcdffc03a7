"""The text of the settings, and of the two lists that they name: sites, and their other names.

Takes what was found and answered. Returns three texts. Does not write them, and holds no secret: of
a key it has the path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flex_api.onboarding.find_nodes import FoundNode
from flex_api.onboarding.source_patterns import LogSource
from flex_logs_ingest.panels.hosted_site_values import HostedSite

SETTINGS = "flex.toml"
SITES = "sites"
ALIASES = "aliases"
FILES = (SETTINGS, SITES, ALIASES)
# First labels of names that a web server answers for and that are other services: they stay where
# they are when a site moves.
SERVICES = frozenset(
    {
        "autoconfig",
        "autodiscover",
        "cpanel",
        "cpcalendars",
        "cpcontacts",
        "ftp",
        "imap",
        "ipv4",
        "ipv6",
        "mail",
        "ns1",
        "ns2",
        "pop",
        "smtp",
        "webdisk",
        "webmail",
        "whm",
    }
)


@dataclass(frozen=True, slots=True)
class NodeLogs:
    """The logs of one node: with sources in `folder`, or none where they are counted elsewhere."""

    node: str
    sources: tuple[LogSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """`zones` of the primary `server` are read with the key of a file; without a file plans are on
    paper. `state` is where FLEX keeps what it makes.
    """

    sites: Sequence[HostedSite]
    nodes: Sequence[FoundNode]
    ram: str
    logs: Sequence[NodeLogs]
    aliases: Mapping[str, str]
    server: str = ""
    port: int = 53
    key_file: str = ""
    zones: Sequence[str] = ()
    state: str = ""


def other_names(site: HostedSite) -> list[str]:
    """Without those of other services, and without the twin that is the same anyway: with www. or
    without it.
    """
    bare = site.name.removeprefix("www.")
    twin = bare if bare != site.name else f"www.{bare}"
    return [
        name for name in site.names[1:] if name != twin and name.partition(".")[0] not in SERVICES
    ]


def aliases_of(sites: Iterable[HostedSite]) -> dict[str, str]:
    return {name: site.name for site in sites for name in other_names(site)}


def texts(findings: Found) -> dict[str, str]:
    """By the name of a file."""
    aliases = aliases_of(findings.sites) | dict(findings.aliases)
    return {
        SETTINGS: "\n".join(_settings(findings, bool(aliases))) + "\n",
        SITES: "".join(f"{site.name}\n" for site in findings.sites),
        ALIASES: "".join(f"{name} {site}\n" for name, site in sorted(aliases.items())),
    }


def _settings(findings: Found, has_aliases: bool) -> Iterator[str]:
    yield "# Written by `flex onboard`. `flex config schema` describes every key, and"
    yield "# `flex config show` prints every value in force."
    yield "schema = 1"
    yield ""
    yield "[cluster]"
    yield 'mode = "shadow"                   # never writes to DNS; next: review, then auto'
    yield ""
    yield "[database]"
    yield f"url = {quote(f'sqlite:///{findings.state}flex.db')}"
    yield ""
    for node in findings.nodes:
        yield "[[node]]"
        yield f"name = {quote(node.name)}"
        yield f"addresses = {quote(list(node.addresses))}"
        yield f"ram = {quote(findings.ram)}                    # memory that it keeps files in"
        yield ""
    yield "[ingest]"
    yield f"directory = {quote(f'{findings.state}partials')}"
    yield f"sites_file = {quote(SITES)}"
    if has_aliases:
        yield f"aliases_file = {quote(ALIASES)}"
    yield ""
    for logs in findings.logs:
        yield from _node_source_lines(logs)
    yield "[dns]"
    yield from _dns(findings)
    yield ""
    yield "[report]"
    yield f"dir = {quote(f'{findings.state}reports')}"


def _node_source_lines(logs: NodeLogs) -> Iterator[str]:
    if not logs.sources:
        yield f"# No logs of {logs.node} were found here. Name them, or count them there:"
        yield "# `flex ingest --partials-only` on the node, `flex import` here."
        yield "[[ingest.source]]"
        yield f"node = {quote(logs.node)}"
        yield "shipped = true"
        yield ""
    for source in logs.sources:
        yield "[[ingest.source]]"
        yield f"node = {quote(logs.node)}"
        yield f"glob = {quote(list(source.globs))}"
        if source.site:
            yield f"site = {quote(source.site)}"
        if source.pattern:
            yield f"site_pattern = {quote(source.pattern)}"
        yield ""


def _dns(findings: Found) -> Iterator[str]:
    if findings.server:
        yield f"server = {quote(findings.server)}"
    if findings.server and findings.port != 53:
        yield f"port = {findings.port}"
    if findings.key_file:
        yield "# In mode shadow a key that may only read is enough; review and auto need one that"
        yield "# may update: `flex init` makes it, `flex config named` tells the name server."
        yield f"key_file = {quote(findings.key_file)}"
    yield "adopt = true                      # start from where DNS has the sites now"
    yield 'other_names = "follow"            # www. and other names go where their site goes'
    if findings.zones and findings.key_file:
        yield "zones = ["
        yield from (f"    {quote(zone)}," for zone in findings.zones)
        yield "]"
    else:
        yield "zones = []                        # none could be read: plans are on paper only"


def quote(value: str | list[str]) -> str:
    """As TOML has it: JSON's texts are TOML's, but for letters beyond 16 bits."""
    if isinstance(value, list):
        return f"[{', '.join(map(quote, value))}]"
    # Strings of JSON that are not escaped to ASCII have no \u but for control characters.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
