"""What a killed run left half applied: a person finishes it, takes it back, or gives it up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Response

from flex.errors import Overtaken, Unconditional
from flex.model.plan import Plan
from flex_api.night import recovery
from flex_api.routes.jobs import job_model
from flex_api.schemas.rest_bodies import JobShown, RecoveryGiven
from flex_api.web.etag_responses import reply
from flex_api.web.request_context import Approver
from flex_api.wiring import World
from flex_api.work_in_background import Follow

router = APIRouter(prefix="/api/v1/recoveries", tags=["plans"])


@router.post("", status_code=202, response_model=JobShown)
def recover(
    desk: Approver,
    given: RecoveryGiven,
    if_match: Annotated[
        str | None,
        Header(description="the digests of the plans that are half applied, each in quotes"),
    ] = None,
) -> Response:
    """Finish what an interrupted run began, take it back, or give it up. `/plans?state=applying`
    shows it. The job's result is the plan, or empty where none is half applied.
    """
    desk = desk.because(given.reason)
    tags = [tag.strip() for tag in (if_match or "").split(",") if tag.strip()]

    def refuse(begun: Sequence[Plan]) -> None:
        _refuse_unseen(begun, tags, given.way)

    def work(world: World, follow: Follow) -> str:
        # DNS is changed from here on, and nobody ends that in the middle.
        follow.past_return()
        ended = recovery.end(world, given.way, refuse)
        return f"/api/v1/plans/{ended[-1].id}" if ended else ""

    refuse(desk.store.plans(state="applying"))
    job = desk.house.workers.start(
        desk.world(), given.way, desk.caller.name, work, desk.request.state.request_id
    )
    return reply(desk.request, job_model(job), 202, Location=f"/api/v1/jobs/{job.id}")


def _refuse_unseen(begun: Sequence[Plan], tags: Sequence[str], way: str) -> None:
    """A star would say that nobody looked. Raises Unconditional or Overtaken."""
    for plan in begun:
        subject = f"the {way} of {plan.id}, which is half applied"
        if not tags:
            raise Unconditional(
                subject,
                "the request does not say which plan it was that somebody looked at",
                kept="it stays half applied",
                advice="send `If-Match` with the plan's `digest` in quotes",
            )
        if f'"{plan.digest}"' not in tags:
            raise Overtaken(
                subject,
                f"its digest is {plan.digest[:12]}, which is none of those that were looked at",
                kept="it stays half applied",
                advice="look at the plan, then decide again",
            )
