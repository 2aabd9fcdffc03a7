"""Sites as the verbs print them with -o json: what was measured, where they are, what people wish
for them now.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from flex_api.schemas.output import Output, Part


class SiteRow(Part):
    site: str
    nodes: list[str]
    access_bytes: int
    working_set_bytes: int
    requests: int
    targets: int
    one_timers: int
    busy_hour_bytes: int
    pinned_to: list[str]
    min_replicas: int
    max_replicas: int = 0
    not_on: list[str] = Field([])
    together: list[str] = Field([])
    apart: list[str] = Field([])
    weight: float = Field(
        1.0, description="it counts as so many times as large as it is"
    )
    sla: str = Field("", description="the class of [solver.classes] that it is in")
    excluded: bool = Field(False, description="FLEX leaves it alone")
    pin_since: datetime | None = None
    pin_until: datetime | None = None
    pin_reason: str = ""
    pin_author: str = ""


class SitesOutput(Output):
    period_start: datetime | None
    period_end: datetime | None
    items: list[SiteRow]
