"""What nodes answered when they were asked whether they are ready, as it is published.

Takes what was found. Returns the output of `flex ready` and of the API. Does not ask anything.
"""

from __future__ import annotations

from collections.abc import Iterable

from flex_api.moving.check_site_on_new_node import Checked
from flex_api.schemas.site_moves import ReadyAsked, ReadyOutput, ReadyRow


def ready_output(found: Iterable[Checked]) -> ReadyOutput:
    return ReadyOutput(items=[_row(one) for one in found])


def _row(one: Checked) -> ReadyRow:
    return ReadyRow(
        site=one.wanted.site,
        node=one.wanted.target,
        source=one.wanted.source or "",
        ready=not one.why,
        why=one.why,
        complete=one.is_asked,
        remarks=list(one.remarks),
        asked=[
            ReadyAsked(
                node=each.node,
                address=each.address,
                port=each.port,
                asked=each.asked,
                answer=each.answer,
            )
            for each in one.asked
        ],
    )
