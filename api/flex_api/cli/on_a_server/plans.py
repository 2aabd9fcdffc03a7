"""The plans of a FLEX server: made, looked at, decided on, applied, and gone back on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flex.errors import NoData
from flex.planning.refuse_ended_or_outdated import WAITING
from flex_api.cli.common import Context
from flex_api.cli.on_a_server.follow_jobs_and_refuse_options import (
    given_as,
    plan_of,
    refuse,
)
from flex_api.client import Client
from flex_api.night import approving
from flex_api.schemas.rest_bodies_and_answers import (
    ApplyGiven,
    ApprovalGiven,
    PlanGiven,
    RollbackGiven,
)
from flex_api.schemas.verbs_output import PlanOutput, PlansOutput


def refuse_time(as_of: datetime | None) -> None:
    refuse({"--as-of": as_of}, "a server goes by its own clock")


@dataclass(frozen=True, slots=True)
class PlansThere:
    context: Context
    client: Client

    def make(
        self, force: Sequence[str], take_back: Sequence[str], reason: str
    ) -> PlanOutput | None:
        given = given_as(
            PlanGiven, force=tuple(force), take_back=tuple(take_back), reason=reason
        )
        return plan_of(self.context, self.client, self.client.make_plan(given))

    def every(self, limit: int) -> PlansOutput:
        rows = zip(self.client.plans(), range(limit), strict=False)
        return PlansOutput(items=[row for row, _ in rows])

    def one(self, plan: str) -> PlanOutput:
        return self.client.plan(plan)[0]

    def to_apply(self, plan: str) -> PlanOutput:
        return self.one(plan or self._next())

    def discard(self, plan: str, reason: str, *, dry_run: bool) -> PlanOutput:
        refuse({"--dry-run": dry_run}, "a server does not try out discarding a plan")
        found, tag = self.client.plan(plan)
        self.client.discard(found.id, tag, reason)
        return self.one(found.id)

    def apply(
        self,
        plan: str,
        checksum: str,
        force: Sequence[str],
        reason: str,
        *,
        by_hand: bool,
    ) -> PlanOutput | None:
        refuse({"--by-hand": by_hand}, "a server applies plans by itself alone")
        found = self._looked_at(plan or self._next(), checksum)
        given = given_as(ApplyGiven, force=tuple(force), reason=reason)
        job = self.client.apply(found.id, found.digest, given)
        return plan_of(self.context, self.client, job)

    def end(self, way: str, reason: str) -> Sequence[PlanOutput]:  # noqa: ARG002  of the protocol
        refuse({f"--{way}": True}, "a server ends by itself what it began")
        return ()

    def go_back(
        self, to: str, force: Sequence[str], reason: str, *, dry_run: bool
    ) -> PlanOutput | None:
        why = "a server makes the plan back and does not apply it"
        refuse({"--force": force, "--dry-run": dry_run}, why)
        given = given_as(RollbackGiven, to=to, reason=reason)
        return plan_of(self.context, self.client, self.client.rollback(given))

    def approve(
        self, plan: str, checksum: str, force: Sequence[str], reason: str
    ) -> PlanOutput:
        given = given_as(
            ApprovalGiven, decision="approve", force=tuple(force), reason=reason
        )
        return self._decide(plan, checksum, given)

    def reject(self, plan: str, checksum: str, reason: str) -> PlanOutput:
        given = given_as(ApprovalGiven, decision="reject", reason=reason)
        return self._decide(plan, checksum, given)

    def _decide(self, plan: str, checksum: str, given: ApprovalGiven) -> PlanOutput:
        found = self._looked_at(plan, checksum)
        return self.client.decide(found.id, found.digest, given)

    def _looked_at(self, plan: str, checksum: str) -> PlanOutput:
        """Raises Held where it is another plan than that whose checksum somebody wrote down."""
        found = self.one(plan)
        approving.refuse_other(found.id, found.digest, checksum, "deciding on")
        return found

    def _next(self) -> str:
        """The latest that can still be applied; one that was begun comes first. Raises NoData."""
        waiting = [
            row
            for row in self.client.plans()
            if row.state in (*WAITING, "applying") and not row.outdated
        ]
        begun = [row for row in waiting if row.state == "applying"]
        found = [*begun, *waiting]
        if not found:
            raise NoData(
                "the plan to apply",
                "none waits",
                kept="nothing was changed",
                advice="make one with `flex plan`",
            )
        return found[0].id
