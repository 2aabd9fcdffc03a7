"""Settings of the health watch: how nodes are probed, and when a node counts as dead."""

from __future__ import annotations

import re
from datetime import timedelta

from pydantic import Field, field_validator

from flex.health import Terms
from flex_api.settings.quantities import Section, Share, Span, Whole

# The shortest span that a setting takes which must not be 0.
SECOND = timedelta(seconds=1)
PROBE = re.compile(r"(?P<kind>tcp|http):(?P<port>[0-9]{1,5})(?P<path>/\S*)?")


class Watch(Section):
    probes: tuple[str, ...] = Field(
        (),
        description="`flex serve` asks each address of each node: 'tcp:443', "
        "'http:80/health'; it asks nobody when empty",
    )
    interval: Span = Field(
        timedelta(seconds=10),
        ge=SECOND,
        description="time between one round of probes and the next",
    )
    timeout: Span = Field(
        timedelta(seconds=2),
        ge=SECOND,
        le=timedelta(minutes=1),
        description="how long one probe may take",
    )
    fails: Whole = Field(
        3, ge=1, description="rounds in a row that fail until a node counts as dead"
    )
    passes: Whole = Field(
        5, ge=1, description="rounds in a row that pass until it counts as alive again"
    )
    quorum: Whole = Field(
        1, ge=1, description="probes of a node that must succeed for a round to pass"
    )
    max_down: Share = Field(
        0.25,
        description="the watch never takes more than this share of the nodes, or one "
        "node, out of service",
    )

    @field_validator("probes")
    @classmethod
    def _known_probes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for probe in value:
            match = PROBE.fullmatch(probe)
            if (
                not match
                or not 0 < int(match["port"]) < 65536
                or (match["kind"] == "tcp" and match["path"])
            ):
                raise ValueError(f"{probe!r} is no probe; wanted 'tcp:443' or 'http:80/path'")
        return value

    def terms(self) -> Terms:
        return Terms(self.fails, self.passes, self.quorum, self.max_down)
