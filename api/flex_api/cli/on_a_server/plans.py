"""The plans of a FLEX server: made, looked at, decided on, applied, and gone back on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from flex.errors import NoData
from flex.planning.outdated_plans import WAITING
from flex_api.cli.common import Context
from flex_api.cli.on_a_server.send_and_follow_jobs import given_as, plan_of, result_of
from flex_api.client import Client
from flex_api.night import plan_approvals, rules_that_stop_plans
from flex_api.night.recovery import Way
from flex_api.schemas.rest_bodies import (
    ApplyGiven,
    ApprovalGiven,
    PlanGiven,
    RecoveryGiven,
    RollbackGiven,
)
from flex_api.schemas.site_moves import SiteMoveGiven
from flex_api.schemas.verbs_output import PlanOutput, PlansOutput


@dataclass(frozen=True, slots=True)
class PlansThere:
    context: Context
    client: Client

    def make(
        self, force: Sequence[str], take_back: Sequence[str], reason: str
    ) -> PlanOutput | None:
        given = given_as(PlanGiven, force=tuple(force), take_back=tuple(take_back), reason=reason)
        return plan_of(self.context, self.client, self.client.make_plan(given))

    def every(self, limit: int) -> PlansOutput:
        return PlansOutput(items=list(islice(self.client.plans(limit=limit), limit)))

    def one(self, plan: str) -> PlanOutput:
        return self.client.plan(plan)[0]

    def to_apply(self, plan: str) -> PlanOutput:
        return self.one(plan or self._next())

    def discard(self, plan: str, reason: str, *, dry_run: bool) -> PlanOutput:
        plan_output, tag = self.client.plan(plan)
        if dry_run:
            return self.client.try_discard(plan_output.id, tag, reason)
        self.client.discard(plan_output.id, tag, reason)
        return self.one(plan_output.id)

    def apply(
        self, plan: str, checksum: str, force: Sequence[str], reason: str, *, by_hand: bool
    ) -> PlanOutput | None:
        plan_output = self._looked_at(plan or self._next(), checksum)
        given = given_as(ApplyGiven, force=tuple(force), by_hand=by_hand, reason=reason)
        job = self.client.apply(plan_output.id, plan_output.digest, given)
        return plan_of(self.context, self.client, job)

    def end(self, way: Way, reason: str) -> Sequence[PlanOutput]:
        """What is half applied when it is looked at here, and nothing else."""
        begun = [self.one(row.id) for row in self.client.plans(state="applying")]
        tag = ", ".join(f'"{plan.digest}"' for plan in begun)
        given = given_as(RecoveryGiven, way=way, reason=reason)
        job = self.client.recover(given, tag)
        result_of(self.context, self.client, job)
        return [self.one(plan.id) for plan in begun]

    def go_back(
        self, to: str, force: Sequence[str], reason: str, *, dry_run: bool
    ) -> PlanOutput | None:
        """Two jobs: one makes the plan, the other applies it. Who may only make it hears so, and
        the plan is there for somebody else.
        """
        rules_that_stop_plans.refuse_unknown(force, "going back")
        given = given_as(RollbackGiven, to=to, reason=reason)
        if dry_run:
            return self.client.try_rollback(given)
        plan_output = plan_of(self.context, self.client, self.client.rollback(given))
        return plan_output and self.apply(
            plan_output.id, plan_output.digest, force, reason, by_hand=False
        )

    def move_site(
        self, site: str, to: Sequence[str], force: Sequence[str], reason: str, *, dry_run: bool
    ) -> PlanOutput | None:
        """Two jobs, as for a way back."""
        rules_that_stop_plans.refuse_unknown(force, f"moving {site}")
        given = given_as(SiteMoveGiven, site=site, to=tuple(to), reason=reason)
        if dry_run:
            return self.client.try_move_site(given)
        plan_output = plan_of(self.context, self.client, self.client.move_site(given))
        return plan_output and self.apply(
            plan_output.id, plan_output.digest, force, reason, by_hand=False
        )

    def approve(self, plan: str, checksum: str, force: Sequence[str], reason: str) -> PlanOutput:
        given = given_as(ApprovalGiven, decision="approve", force=tuple(force), reason=reason)
        return self._decide(plan, checksum, given)

    def reject(self, plan: str, checksum: str, reason: str) -> PlanOutput:
        given = given_as(ApprovalGiven, decision="reject", reason=reason)
        return self._decide(plan, checksum, given)

    def _decide(self, plan: str, checksum: str, given: ApprovalGiven) -> PlanOutput:
        plan_output = self._looked_at(plan, checksum)
        return self.client.decide(plan_output.id, plan_output.digest, given)

    def _looked_at(self, plan: str, checksum: str) -> PlanOutput:
        """Raises Held where it is another plan than that whose checksum somebody wrote down."""
        plan_output = self.one(plan)
        plan_approvals.refuse_other(plan_output.id, plan_output.digest, checksum, "deciding on")
        return plan_output

    def _next(self) -> str:
        """The latest that can still be applied; one that was begun comes first. Raises NoData."""
        waiting = [
            row
            for row in self.client.plans()
            if row.state in (*WAITING, "applying") and not row.outdated
        ]
        begun = [row for row in waiting if row.state == "applying"]
        candidates = [*begun, *waiting]
        if not candidates:
            raise NoData("the plan to apply", "none waits", advice="make one with `flex plan`")
        return candidates[0].id
