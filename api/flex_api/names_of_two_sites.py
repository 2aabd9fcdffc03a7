"""Whether each other name of a site is one site's alone.

Takes claims: that a name is another one of a site, with the place that says so. Raises BadSetting
where two sites claim one name, or where a name is a site itself. Does not read any file.

A night ends with that before it reads a log: each line counts once, for the site that its name then
has, and nobody counts it anew for the other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from flex.errors import BadSetting
from flex.site_names_in_words import first_few

ALIASES = "ingest.aliases"
# Which setting brought a claim.
Source = Literal["settings", "aliases_file", "vhosts"]


@dataclass(frozen=True, slots=True)
class Claim:
    """That a name is another one of a site, and where that is written; `is_known` where other
    settings said already whose it is.
    """

    name: str
    site: str
    where: str
    source: Source
    is_known: bool = False

    @property
    def is_of_file(self) -> bool:
        return self.source == "aliases_file"


def refuse(claims: Sequence[Claim], listed: Set[str]) -> None:
    """Raises BadSetting with the first name that is not one site's alone, and says of how many more
    that is so.
    """
    faults: dict[str, str] = {}
    for name, fault in _contradictions(claims, listed):
        faults.setdefault(name, fault)
    for name, fault in faults.items():
        others = first_few([other for other in faults if other != name])
        more = f"; the same is wrong with {others}" if others else ""
        raise refusal(f"the name {name!r:.255}", f"{fault}{more}")


def _contradictions(claims: Sequence[Claim], listed: Set[str]) -> Iterator[tuple[str, str]]:
    """Each name with what is wrong. `ingest.aliases` by itself may lead from one name to the next,
    and from a site elsewhere, as it always could.
    """
    by_name: dict[str, Claim] = {}
    for claim in claims:
        other = by_name.setdefault(claim.name, claim)
        if other.site != claim.site:
            yield claim.name, _explain_two_claims(other, claim)
    # Those of `ingest.aliases` come first, so that what a file says counts.
    sites = {claim.site: claim for claim in claims}
    for claim in claims:
        of_it = sites.get(claim.name)
        if claim.where != ALIASES and claim.name in listed:
            yield claim.name, f"{_explain_claim_of_site(claim)} (ingest.sites_file)"
        elif of_it and {of_it.where, claim.where} != {ALIASES}:
            which = f"{of_it.name} is another name of ({of_it.where})"
            yield claim.name, f"{_explain_claim_of_site(claim)}, which {which}"


def _explain_two_claims(claim: Claim, other: Claim) -> str:
    return (
        f"it is another name of two sites: of {claim.site} ({claim.where}) and of "
        f"{other.site} ({other.where})"
    )


def _explain_claim_of_site(claim: Claim) -> str:
    return f"it is another name of {claim.site} ({claim.where}), and a site itself"


def refusal(subject: str, answer: str) -> BadSetting:
    return BadSetting(
        subject,
        answer,
        kept="no log was read, DNS and doors are as they were, and the partition in force stays",
        advice="correct that place: each name is a site or another name of one site alone; "
        "`flex config check` reads all of it again",
    )
