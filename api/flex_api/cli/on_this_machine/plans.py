"""The plans of this machine's installation: making, showing, approving and applying them, and
going back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from flex.errors import NoData
from flex.model.limits_and_approvals import Approval
from flex.model.nightly_run import NightlyRun
from flex.model.plan import Plan
from flex.planning.outdated_plans import WAITING
from flex_api.cli.common import Context, author
from flex_api.cli.open_installation import open_world
from flex_api.facts import core_to_output_models, logs_good_enough
from flex_api.night import (
    leases,
    may_plan_be_applied,
    move_site_by_hand,
    nightly,
    plan_approvals,
    plan_orders_by_hand,
    plan_with_stops,
    preview_rollback,
    record_stages,
    recovery,
    rules_that_stop_plans,
)
from flex_api.night.recovery import Way
from flex_api.schemas.verbs_output import PlanOutput, PlansOutput
from flex_api.wiring import World


@dataclass(frozen=True, slots=True)
class PlansHere:
    context: Context
    as_of: datetime | None

    def make(self, force: Sequence[str], take_back: Sequence[str], reason: str) -> PlanOutput:
        logs_good_enough.refuse_unknown(force)
        with (
            open_world(self.context, self.as_of, reason=reason) as here,
            leases.lease(here, "plan") as held,
        ):
            may_plan_be_applied.refuse_half_applied(here, "making a plan")
            nightly.learn(here, force)
            plan = nightly.propose(here, force, author=author(), take_back=take_back).plan
            held.concerns(plan)
            return plan_with_stops.plan_with_stops(here, plan)

    def every(self, limit: int) -> PlansOutput:
        with open_world(self.context) as here:
            return core_to_output_models.plans_output(
                here.store.plans(limit),
                here.store.in_force(),
                here.clock() - here.settings.safety.plan_expiry,
            )

    def one(self, plan: str) -> PlanOutput:
        with open_world(self.context) as here:
            return plan_with_stops.plan_with_stops(here, here.store.plan(plan))

    def to_apply(self, plan: str) -> PlanOutput:
        with open_world(self.context, self.as_of) as here:
            return plan_with_stops.plan_with_stops(here, _plan_to_apply(here, plan))

    def discard(self, plan: str, reason: str, *, dry_run: bool) -> PlanOutput:
        with (
            open_world(self.context, reason=reason) as here,
            nullcontext() if dry_run else leases.lease(here, "discard"),
        ):
            return plan_with_stops.plan_with_stops(
                here, plan_approvals.discard(here, plan, reason, dry_run=dry_run)
            )

    def apply(
        self, plan: str, checksum: str, force: Sequence[str], reason: str, *, by_hand: bool
    ) -> PlanOutput:
        with open_world(self.context, self.as_of, reason=reason) as here:
            wanted = _plan_to_apply(here, plan)
            rules_that_stop_plans.refuse_unknown(force, "applying a plan")
            with leases.lease(here, "apply") as held:
                held.concerns(wanted)
                step = record_stages.Steps(here, held.run)
                way = (
                    plan_orders_by_hand.accept
                    if by_hand
                    else partial(plan_orders_by_hand.apply, enters=step.enter)
                )
                done = step.run_work(
                    lambda: way(here, wanted.id, force=force, checksum=checksum), _became
                )
            return plan_with_stops.plan_with_stops(here, done)

    def end(self, way: Way, reason: str) -> Sequence[PlanOutput]:
        with open_world(self.context, self.as_of, reason=reason) as here:
            ended = recovery.end(here, way)
            return [plan_with_stops.plan_with_stops(here, plan) for plan in ended]

    def go_back(self, to: str, force: Sequence[str], reason: str, *, dry_run: bool) -> PlanOutput:
        rules_that_stop_plans.refuse_unknown(force, "going back")
        if dry_run:
            with open_world(self.context, self.as_of) as here:
                preview = preview_rollback.try_back(here, nightly.earlier(here.store, to), author())
                return plan_with_stops.plan_with_stops(here, preview)
        with (
            open_world(self.context, self.as_of, reason=reason) as here,
            leases.lease(here, "rollback") as held,
        ):
            may_plan_be_applied.refuse_half_applied(here, "making a plan back")
            plan = nightly.go_back(here, nightly.earlier(here.store, to), author=author()).plan
            held.concerns(plan)
            return plan_with_stops.plan_with_stops(here, _apply(here, held.run, plan, force))

    def move_site(
        self, site: str, to: Sequence[str], force: Sequence[str], reason: str, *, dry_run: bool
    ) -> PlanOutput:
        rules_that_stop_plans.refuse_unknown(force, f"moving {site}")
        if dry_run:
            with open_world(self.context, self.as_of) as here:
                preview = move_site_by_hand.try_plan(here, site, to, author())
                return plan_with_stops.plan_with_stops(here, preview)
        with (
            open_world(self.context, self.as_of, reason=reason) as here,
            leases.lease(here, "move") as held,
        ):
            plan = move_site_by_hand.make_plan(here, site, to, author())
            held.concerns(plan)
            return plan_with_stops.plan_with_stops(here, _apply(here, held.run, plan, force))

    def approve(self, plan: str, checksum: str, force: Sequence[str], reason: str) -> PlanOutput:
        rules_that_stop_plans.refuse_unknown(force, f"approving {plan}")
        with (
            open_world(self.context, self.as_of, reason=reason) as here,
            leases.lease(here, "approve"),
        ):
            decision = Approval("approve", author(), here.time_of_day(), reason, tuple(force))
            return plan_with_stops.plan_with_stops(
                here, plan_approvals.approve(here, plan, decision, checksum=checksum)
            )

    def reject(self, plan: str, checksum: str, reason: str) -> PlanOutput:
        with (
            open_world(self.context, self.as_of, reason=reason) as here,
            leases.lease(here, "reject"),
        ):
            decision = Approval("reject", author(), here.time_of_day(), reason)
            return plan_with_stops.plan_with_stops(
                here, plan_approvals.reject(here, plan, decision, checksum=checksum)
            )


def _apply(here: World, run: NightlyRun, plan: Plan, force: Sequence[str]) -> Plan:
    """What was just made."""
    step = record_stages.Steps(here, run)
    return step.run_work(
        lambda: plan_orders_by_hand.apply(here, plan.id, force=force, enters=step.enter), _became
    )


def _became(plan: Plan) -> str:
    return plan.state


def _plan_to_apply(here: World, plan: str) -> Plan:
    """Where none is named: what a killed run began, else the latest that can still be applied."""
    if plan:
        return here.store.plan(plan)
    in_force = here.store.in_force()
    waiting = [
        candidate
        for candidate in here.store.plans()
        if candidate.state in WAITING and candidate.base == in_force
    ]
    candidates = (*here.store.plans(state="applying"), *waiting)
    if not candidates:
        raise NoData("the plan to apply", "none waits", advice="make one with `flex plan`")
    return candidates[0]
