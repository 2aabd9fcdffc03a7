"""Names and numbers of sites and files as parts of sentences.

Takes names, or sites with their profiles. Returns text, short however many names there are. Does
not make a sentence: its callers do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# Names in a sentence, of however many.
FEW = 5


def first_few(names: Sequence[str], most: int = FEW, between: str = ", ") -> str:
    """a, b, c and 12 more: no more than so many of them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def first_of_files(paths: Sequence[str]) -> str:
    """A file, or how many there are, with the first of them."""
    return paths[0] if len(paths) == 1 else f"{len(paths):,} files, such as {paths[0]}"


def weight_of_sites(sites: Collection[str], profiles: pd.DataFrame) -> str:
    """In brackets: how many of the sites these are, and their share of the bytes sent."""
    sent = profiles["access_bytes"][profiles["site"].isin(list(sites))].sum()
    total = profiles["access_bytes"].sum()
    share = f", {sent / total:.1%} of the bytes sent" if total else ""
    return f" ({len(sites)} of {len(profiles)} sites{share})"
