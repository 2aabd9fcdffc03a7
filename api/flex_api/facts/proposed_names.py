"""Names in the logs that plainly belong to a site, as a proposal: nothing is done with them.

Takes names with their requests, sites, and evidence: CNAMEs of the newest plan, and sites that
answer with the same files. Returns proposals, each with a line for `ingest.aliases_file`. Does not
read logs or DNS.

A log has the name that a visitor sent, and any visitor can send any name; a server answers a name
that it does not know with some site of its own. So requests alone are no evidence. Where a redirect
leads is in no log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from flex.model.plan import Plan
from flex_logs_ingest.counts.sites_with_same_files import SameFiles
from flex_logs_ingest.scan.site_rules import Www, is_host

Kind = Literal["cname", "same_files", "www"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a name belongs to a site, for programs and for people."""

    kind: Kind
    said: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """`requests` are those that came by the name, at least."""

    name: str
    site: str
    requests: int
    evidence: tuple[Evidence, ...]

    @property
    def line(self) -> str:
        """As `ingest.aliases_file` has it."""
        return f"{self.name} {self.site}"


@dataclass(frozen=True, slots=True)
class NamesInLogs:
    """Requests by each name that is no site of the list, and by each site. Without a list, every
    name is a site by itself.
    """

    unknown: Mapping[str, int]
    sites: Mapping[str, int]
    are_listed: bool
    www: Www = "listed"


def proposals(names: NamesInLogs, plan: Plan | None, same: Iterable[SameFiles]) -> list[Proposal]:
    """Most requests first. A name is proposed for one site alone, and for none where the evidence
    is of two.
    """
    by_name: dict[str, dict[str, list[Evidence]]] = {}
    candidates = names.unknown if names.are_listed else names.sites
    for name, site, evidence in _every(names, plan, same):
        if (
            name in candidates
            and site in names.sites
            and name != site
            and is_host(name)
            and is_host(site)
        ):
            by_name.setdefault(name, {}).setdefault(site, []).append(evidence)
    proposed = [
        Proposal(name, site, candidates[name], tuple(evidence))
        for name, of_sites in by_name.items()
        for site, evidence in of_sites.items()
        # A name that another one belongs to is a site itself.
        if len(of_sites) == 1 and site not in by_name
    ]
    return sorted(proposed, key=lambda proposal: (-proposal.requests, proposal.name))


def _every(
    names: NamesInLogs, plan: Plan | None, same: Iterable[SameFiles]
) -> Iterator[tuple[str, str, Evidence]]:
    for zone_plan in plan.zone_plans if plan else ():
        for record in zone_plan.leaning:
            if record.kind == "CNAME" and not record.owner.startswith("*."):
                name = record.owner.rstrip(".")
                yield name, record.site, Evidence("cname", f"a CNAME to {record.site}")
    if names.are_listed:
        return
    for pair in same:
        name, site = _name_and_site(pair, names.sites)
        least = pair.of_one if name == pair.one else pair.of_other
        reason = f"{pair.both:,} of its {least:,} files are files of {site}"
        yield name, site, Evidence("same_files", reason)
    if names.www == "listed":
        yield from _www_evidence(names.sites)


def _name_and_site(pair: SameFiles, sites: Mapping[str, int]) -> tuple[str, str]:
    """The site is the one without `www.`, else the one with more requests."""
    for name, site in ((pair.one, pair.other), (pair.other, pair.one)):
        if name == f"www.{site}":
            return name, site
    busy = sorted((pair.one, pair.other), key=lambda host: (sites.get(host, 0), host))
    return busy[0], busy[1]


def _www_evidence(sites: Collection[str]) -> Iterator[tuple[str, str, Evidence]]:
    for site in sites:
        name = f"www.{site}"
        if name in sites:
            yield name, site, Evidence("www", f"{site} with www.")
