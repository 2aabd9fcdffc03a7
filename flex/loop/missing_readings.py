"""Readings of logs that never came, known by those that did.

In go segments, and a store that knows which places readings have ended at and which readings there
are; out come Holes. Only what was counted elsewhere and sent can be missing: who reads here goes on
where he was. A reading goes on behind another of its log, and was sent after another of its
machine. So a hole in a log is known to the byte, and one that nothing of the log goes on behind is
known once its machine sends anything more.
"""

from __future__ import annotations

from collections.abc import Iterable

from flex.model.log_reading import Segment
from flex.ports import Segments
from flex.traffic.quality import Hole


def holes(arrived: Iterable[Segment], known: Segments) -> tuple[Hole, ...]:
    """What these go on behind and the store does not have, however long ago it should have come."""
    arrived = tuple(arrived)
    ended = known.places_where_readings_ended(
        {segment.begins for segment in arrived} - {""}
    )
    sent = known.known_segments({segment.after for segment in arrived} - {""})
    found = set[Hole]()
    for segment in arrived:
        if segment.begins and segment.begins not in ended:
            found.add(Hole(segment.source, segment.path, segment.first_byte))
        elif segment.after and segment.after not in sent:
            found.add(Hole(segment.source, segment.path, 0))
    return tuple(sorted(found, key=lambda hole: (hole.source, hole.path, hole.until)))
