"""Readings of logs that never arrived, known from those that did.

Takes segments, and a store that knows at which places readings have ended and which readings there
are. Returns Holes. Only counts that were made elsewhere and sent can be missing: a machine that
reads here goes on where it was. A reading begins where another one of its log ended, and was sent
after another one of its machine. So a hole in a log is known to the byte. A hole at the end of a
log is known once its machine sends anything more.
"""

from __future__ import annotations

from collections.abc import Iterable

from flex.model.log_reading import Segment
from flex.ports import CentralSegments
from flex.traffic.quality import Hole


def holes(arrived: Iterable[Segment], known: CentralSegments) -> tuple[Hole, ...]:
    """What these go on behind and the store does not have, however long ago it should have come."""
    arrived = tuple(arrived)
    ended = known.places_where_readings_ended({segment.begins for segment in arrived} - {""})
    sent = known.known_segments({segment.after for segment in arrived} - {""})
    missing = set[Hole]()
    for segment in arrived:
        if segment.begins and segment.begins not in ended:
            missing.add(Hole(segment.source, segment.path, segment.first_byte))
        elif segment.after and segment.after not in sent:
            missing.add(Hole(segment.source, segment.path, 0))
    return tuple(sorted(missing, key=lambda hole: (hole.source, hole.path, hole.until)))
