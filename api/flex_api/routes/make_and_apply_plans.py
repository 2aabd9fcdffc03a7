"""What changes the partition: plans are made, approved and applied, or the partition before is
brought back. What takes long is a job.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from flex.errors import Overtaken, Unconditional
from flex.model.limits_and_approvals import Approval
from flex.model.plan import Plan
from flex.planning.what_if import Supposition
from flex_api.night import (
    may_plan_be_applied,
    nightly,
    plan_approvals,
    plan_orders_by_hand,
    preview_rollback,
    recovery,
    rules_that_stop_plans,
)
from flex_api.night.human_decision_records import Unread
from flex_api.night.leases import lease
from flex_api.night.plan_with_stops import plan_with_stops
from flex_api.night.record_stages import Steps
from flex_api.routes.jobs import job_model
from flex_api.schemas.rest_bodies import (
    ApplyGiven,
    ApprovalGiven,
    JobShown,
    PlanGiven,
    RollbackGiven,
)
from flex_api.schemas.verbs_output import PlanOutput
from flex_api.web.etag_responses import reply
from flex_api.web.request_context import DRY_IN_TURN, Approver, Desk, Operator
from flex_api.wiring import World
from flex_api.work_in_background import Follow, Work

router = APIRouter(prefix="/api/v1", tags=["plans"])

TryPlan = Annotated[bool, Query(description="make the plan and show it; it is not kept")]


@router.post("/plans", status_code=202, response_model=JobShown)
def make(desk: Operator, given: PlanGiven) -> Response:
    """Make a plan from the logs read so far, if asked for with another aim or fewer moves than the
    settings say. DNS is read, never written. The job's result is the plan.
    """
    author = desk.caller.name
    wanted = Supposition(tolerance=given.tolerance_ratio, max_moves=given.max_moves)

    def work(world: World, follow: Follow) -> str:
        with lease(world, "plan") as held:
            follow.say("reading profiles")
            may_plan_be_applied.refuse_half_applied(world, "making a plan")
            nightly.learn(world, given.force)
            follow.say("looking for a better partition")
            proposal = nightly.propose(
                world, given.force, author=author, wanted=wanted, take_back=given.take_back
            )
            chosen = proposal.plan
            held.concerns(chosen)
        return f"/api/v1/plans/{chosen.id}"

    return start_job(desk.because(given.reason), "plan", work)


@router.post("/plans/{plan}/approval", status_code=201, response_model=PlanOutput)
def approval(
    desk: Approver,
    plan: str,
    given: ApprovalGiven,
    if_match: Annotated[
        str | None, Header(description="the digest of the plan that was looked at, in quotes")
    ] = None,
) -> Response:
    """A yes or a no to a plan as it is. Under four eyes a yes names the rules that may be gone
    over, too.
    """
    desk = desk.because(given.reason)
    decision = Approval(given.decision, desk.caller.name, desk.now, given.reason, given.force)
    decide = plan_approvals.approve if given.decision == "approve" else plan_approvals.reject
    with desk.store.together():
        if if_match:
            waiting = desk.store.plan(plan)
            _refuse_other(f"the approval of {waiting.id}", waiting.digest, if_match)
        chosen = decide(desk.world(), plan, decision)
    return reply(
        desk.request,
        plan_with_stops(desk.world(), chosen),
        201,
        Location=f"/api/v1/plans/{chosen.id}",
    )


@router.post("/plans/{plan}/apply", status_code=202, response_model=JobShown)
def apply(
    desk: Approver,
    plan: str,
    given: ApplyGiven,
    if_match: Annotated[str | None, Header(description="the plan's digest, in quotes")] = None,
) -> Response:
    """Push a plan to the name servers and check what they answer. It is applied as it was shown, or
    refused. One that an interrupted run began is finished.
    """
    desk = desk.because(given.reason)
    chosen = desk.store.plan(plan)
    _refuse_unmet(chosen.id, chosen.digest, if_match)
    rules_that_stop_plans.refuse_unknown(given.force, f"applying {chosen.id}")
    if given.by_hand or chosen.state != "applying":
        may_plan_be_applied.refuse_forbidden(desk.world(), chosen.id, force=given.force)

    def work(world: World, follow: Follow) -> str:
        with lease(world, "apply") as held:
            held.concerns(chosen)
            # What was begun is finished first: from here on DNS is changed, and nobody ends that in
            # the middle.
            follow.past_return()
            step = Steps(world, held.run)
            unread: Unread | None = None
            if world.store.plan(chosen.id).state != "applying" and not given.by_hand:
                unread = step.run_work(
                    lambda: recovery.finish_where_allowed(world, given.force, step.enter),
                    lambda _: "done",
                )
            step.run_work(
                partial(_carry_out, world, chosen, given, step, unread), lambda done: done.state
            )
        return f"/api/v1/plans/{chosen.id}"

    return start_job(desk, "apply", work)


def _carry_out(
    world: World, plan: Plan, given: ApplyGiven, step: Steps, unread: Unread | None
) -> Plan:
    force, digest = given.force, plan.digest
    if given.by_hand:
        return plan_orders_by_hand.accept(world, plan.id, force=force, checksum=digest)
    return plan_orders_by_hand.apply(
        world, plan.id, force=force, checksum=digest, enters=step.enter, unread=unread
    )


@router.post(
    "/rollbacks",
    status_code=202,
    response_model=JobShown,
    responses={200: {"model": PlanOutput, "description": "of a dry run"}},
    dependencies=[DRY_IN_TURN],
)
def rollback(desk: Operator, given: RollbackGiven, dry_run: TryPlan = False) -> Response:
    """Make a plan back to a partition that was in force. It is an ordinary plan, to be approved and
    applied like any other.
    """
    author = desk.caller.name
    to = nightly.earlier(desk.store, given.to)
    if dry_run:
        tried = preview_rollback.try_back(desk.world(), to, author)
        return reply(desk.request, plan_with_stops(desk.world(), tried))

    def work(world: World, _: Follow) -> str:
        with lease(world, "rollback") as held:
            may_plan_be_applied.refuse_half_applied(world, "making a plan back")
            chosen = nightly.go_back(world, to, author=author).plan
            held.concerns(chosen)
        return f"/api/v1/plans/{chosen.id}"

    return start_job(desk.because(given.reason), "rollback", work)


def start_job(desk: Desk, kind: str, work: Work) -> Response:
    """What takes long, and where it can be looked at."""
    job = desk.house.workers.start(
        desk.world(), kind, desk.caller.name, work, desk.request.state.request_id
    )
    return reply(desk.request, job_model(job), 202, Location=f"/api/v1/jobs/{job.id}")


def _refuse_unmet(plan: str, digest: str, given: str | None) -> None:
    if not given:
        raise Unconditional(
            f"applying {plan}",
            "the request does not say which plan it was that somebody looked at",
            advice="send `If-Match` with the plan's `digest` in quotes",
        )
    _refuse_other(f"applying {plan}", digest, given)


def _refuse_other(subject: str, digest: str, given: str) -> None:
    """A star would say that nobody looked: what is decided on is one plan, as it is."""
    if f'"{digest}"' not in [tag.strip() for tag in given.split(",")]:
        raise Overtaken(
            subject,
            f"its digest is {digest[:12]}, not that of the plan that was looked at",
            advice="look at the plan again, then decide again",
        )
