"""Readings of logs that never came: what was read next goes on behind them, so they are known to the byte.

In go segments, and whoever knows which places readings have ended at; out come Holes. Only what was counted elsewhere
and sent can be missing: who reads here goes on where he was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from flex.domain import Segment


@dataclass(frozen=True, slots=True)
class Hole:
    """Some of the bytes of a log before `until` were read, and what they count has not arrived."""

    source: str
    path: str
    until: int


def holes(segments: Iterable[Segment], ended: Callable[[Collection[str]], Collection[str]]) -> tuple[Hole, ...]:
    """`ended` says which of these places any reading there is has ended at, however long ago."""
    segments = tuple(segments)
    ends = {segment.ends for segment in segments}
    open_ = [segment for segment in segments if segment.begins and segment.begins not in ends]
    known = set(ended({segment.begins for segment in open_})) if open_ else set()
    found = {Hole(each.source, each.path, each.first_byte) for each in open_ if each.begins not in known}
    return tuple(sorted(found, key=lambda hole: (hole.source, hole.path, hole.until)))
