"""What going back to an earlier partition would do: a plan that is shown and not kept.

Takes the plan whose partition it is, and who asks. Returns the plan back, put aside: nobody can
carry out what somebody merely looked at.
"""

from __future__ import annotations

from dataclasses import replace

from flex.model.plan import Plan
from flex_api.night import may_plan_be_applied, nightly
from flex_api.wiring import World

NOT_KEPT = "a dry run: this plan was shown and not kept"


def try_back(world: World, to: str, author: str) -> Plan:
    """Raises Held where a plan is half applied."""
    may_plan_be_applied.refuse_half_applied(world, "making a plan back")
    plan = nightly.way_back(world, to).plan
    return replace(plan, state="discarded", author=author, message=NOT_KEPT)
