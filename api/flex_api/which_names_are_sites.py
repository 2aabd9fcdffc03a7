"""Which of the names in the logs are sites of ours.

A log may hold any name that a visitor chose to send. Where there is a list of hosted sites, the
list decides, and a listed site counts even if nobody visited it. Where there is no list, every name
counts that can be the name of a host. Where the first directory of a path is the site, every such
directory counts.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from flex.errors import BadInput, BadSetting
from flex.frame_schemas import PROFILES
from flex.why_file_unreadable import why_unreadable
from flex_logs_ingest.scan.site_rules import LABEL, spelling_of_site

# A host that DNS can name, or a directory.
SITE = re.compile(rf"{LABEL}(?:\.{LABEL})+|/(?:[^/]+/)?")


def read_site_list(path: Path) -> tuple[str, ...]:
    """The sites of a file, one a line; # begins a comment. Names beyond ASCII become those of
    DNS.
    """
    names = (row.partition("#")[0] for row in _rows(path))
    return tuple(
        sorted(
            {site_name(name, f" in ingest.sites_file, {path}") for name in names if name.strip()}
        )
    )


def _rows(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(
            f"ingest.sites_file = {str(path)!r}",
            why_unreadable(error),
            kept="the partition in force stays",
            advice="make the file readable, one site a line, or leave the setting out",
        ) from error


def lines_without_name(path: Path) -> list[tuple[int, str]]:
    """The lines of that file, by number, that no host and no directory can be called: a site of
    them has no visitors. Raises BadSetting.
    """
    wrong_lines = []
    for number, row in enumerate(_rows(path), start=1):
        name = row.partition("#")[0].strip()
        if name and not _can_be_site(name):
            wrong_lines.append((number, name))
    return wrong_lines


def _can_be_site(name: str) -> bool:
    try:
        return bool(SITE.fullmatch(site_name(name)))
    except BadInput:
        return False


def site_name(written: str, where: str = "") -> str:
    """The one name FLEX knows a site by, from what a person wrote: xn--bcher-kva.example for
    Bücher.example.
    """
    try:
        return spelling_of_site(written)
    except UnicodeError as error:
        # What a person asks for is no setting.
        kind = BadSetting if where else BadInput
        raise kind(
            f"the site {written.strip()[:255]!r}{where}",
            str(error),
            kept="the partition in force stays",
            advice="write it as DNS has it, beginning with xn--",
        ) from error


def only(profiles: pd.DataFrame, sites: tuple[str, ...] | None) -> tuple[pd.DataFrame, int]:
    """The PROFILES of hosted sites, and how many other names there were."""
    if sites is None:
        # Errors alone make no site: whoever sends requests for any name gets them.
        ours = profiles["site"].str.fullmatch(SITE.pattern) & (profiles["targets"] > 0)
        return profiles[ours].reset_index(drop=True), int((~ours).sum())
    ours = profiles["site"].isin(list(sites))
    silent = sorted(set(sites) - set(profiles["site"]))
    idle = pd.DataFrame(
        {name: silent if name == "site" else 0 for name in PROFILES.columns},
        index=range(len(silent)),
    )
    return PROFILES.make(pd.concat([profiles[ours], idle], ignore_index=True)), int((~ours).sum())
