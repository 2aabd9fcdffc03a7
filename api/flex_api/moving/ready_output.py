"""What nodes answered when they were asked whether they are ready, as it is published.

Takes what was found. Returns the output of `flex ready` and of the API. Does not ask anything.
"""

from __future__ import annotations

from collections.abc import Iterable

from flex_api.moving.check_site_on_new_node import Checked
from flex_api.schemas.site_moves import ReadyAsked, ReadyOutput, ReadyRow


def ready_output(checks: Iterable[Checked]) -> ReadyOutput:
    return ReadyOutput(items=[_row(check) for check in checks])


def _row(check: Checked) -> ReadyRow:
    return ReadyRow(
        site=check.wanted.site,
        node=check.wanted.target,
        source=check.wanted.source or "",
        ready=not check.why,
        why=check.why,
        complete=check.is_asked,
        remarks=list(check.remarks),
        asked=[ReadyAsked.like(each) for each in check.asked],
    )
