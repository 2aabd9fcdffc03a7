"""What several files of tests are given: a store that dies, and the kinds of rules for sites."""

from __future__ import annotations

from collections.abc import Sequence

from flex.model.log_reading import Segment, Stream
from flex.store import MemoryStore
from flex_logs_ingest.scan.site_rules import SiteRule

RULES = (
    SiteRule(aliases={"www.example.org": "example.org"}),
    SiteRule(fixed="example.org"),
    SiteRule(directory=True),
    SiteRule(listed=frozenset(["example.org"])),
    SiteRule(),
    SiteRule(www="same"),
)


class Killed(BaseException):
    """Not an error that anybody could handle."""


class OneByOne(MemoryStore):
    """Records those that come together one by one, all or none."""

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        with self.together():
            return frozenset(each[0].id for each in readings if not self.record(*each))


class DyingStore(OneByOne):
    """Dies at the n-th thing it is asked to record, before or after it has done so."""

    countdown = 0
    after = False

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        self.countdown -= 1
        if not self.countdown and not self.after:
            raise Killed
        recorded = super().record(segment, stream, replaces)
        if not self.countdown:
            raise Killed
        return recorded

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        """What dies within takes all of them along; behind the last there is one more moment to die
        at.
        """
        known = super().record_all(readings)
        self.countdown -= 1
        if not self.countdown:
            raise Killed
        return known
