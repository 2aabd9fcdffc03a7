"""Which cgroups are those of sites, by the settings of the machine that counts its own logs.

Takes `[[ingest.cpu]]`. Returns patterns, with the sites of each pool as the files say that these
settings name. Does not read cgroups.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flex.errors import BadSetting, FlexError
from flex.why_file_unreadable import why_unreadable
from flex_api import which_names_are_sites
from flex_api.settings.cpu_of_sites import CpuSection
from flex_logs_ingest.cpu.read_cgroups import Pattern


def patterns(sections: Sequence[CpuSection]) -> tuple[Pattern, ...]:
    """Raises BadSetting where a file cannot be read, or a line of it is none."""
    return tuple(
        Pattern(section.pattern, _pools(section.pools) if section.pools else {})
        for section in sections
    )


def _pools(path: Path) -> dict[str, tuple[str, ...]]:
    """A pool and its sites on each line, of several lines of a pool all of them; # begins a
    comment.
    """
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(path, why_unreadable(error)) from error
    pools: dict[str, tuple[str, ...]] = {}
    for number, row in enumerate(rows, start=1):
        words = row.partition("#")[0].split()
        if not words:
            continue
        if len(words) < 2:
            raise _refusal(path, f"line {number} names no site: {row.strip()!r:.200}")
        try:
            sites = map(which_names_are_sites.site_name, words[1:])
            pool = words[0].lower()
            pools[pool] = tuple(dict.fromkeys((*pools.get(pool, ()), *sites)))
        except FlexError as error:
            raise _refusal(path, f"line {number}: {error.asked}: {error.answer}") from error
    return pools


def _refusal(path: Path, why: str) -> BadSetting:
    return BadSetting(
        f"pools = {str(path)!r} of [[ingest.cpu]]",
        why,
        kept="nothing was read",
        advice="write a pool and its sites on each line: 1001 a.example b.example",
    )
