"""What a store says when it does not do as asked, in the same words whichever store it is."""

from __future__ import annotations

from collections.abc import Sequence

from flex.errors import BadInput, Busy, LostLease, Outdated, Unknown
from flex.model.log_reading import Segment
from flex.model.nightly_run import NightlyRun
from flex.model.plan import Plan
from flex.store.lease import Lease
from flex.store.lease_holder import name_for_people

# How many ids an error lists.
LISTED = 10


def log_read_by_another_run(segment: Segment) -> Busy:
    return Busy(
        f"recording what was read of {segment.path}",
        "another run has read on in this log meanwhile",
        kept="nothing of this reading was recorded, so nothing is counted twice",
        advice="run `flex ingest` again: it goes on where the other run ended",
    )


def unknown_plan(plan_id: str, candidates: Sequence[str] = ()) -> Unknown:
    listed = ", ".join(candidates[:LISTED]) + (" and more" if len(candidates) > LISTED else "")
    return Unknown(
        f"the plan {plan_id!r}",
        f"more than one begins so: {listed}" if candidates else "there is none of that id",
        advice="write more of the id" if candidates else "`flex plan list` shows them all",
    )


def proposed_before(plan: Plan, state: str) -> BadInput:
    return BadInput(
        f"storing the proposal {plan.id}",
        f"a plan of that id is there and is {state}",
        kept="the stored one stays as it is",
        advice=f"it would be the same again, from the same logs: `flex plan show {plan.id}` shows "
        "it; a plan as of another time, or with newer logs, is another one",
    )


def begun_before(run: NightlyRun) -> BadInput:
    return BadInput(
        f"beginning the run {run.id}",
        "a run of that id is recorded already",
        kept="its record and the lease stay as they are",
        advice="begin the run again: each gets an id of its own",
    )


def unknown_run(run_id: str) -> Unknown:
    return Unknown(
        f"the run {run_id!r}",
        "no run of that id was begun",
        advice="`flex history` shows every run",
    )


def held_error(run: NightlyRun, lease: Lease) -> Busy:
    return Busy(
        f"the lease for the run {run.id}",
        f"the run {lease.run}, {name_for_people(lease.holder)}, holds it since "
        f"{lease.since:%Y-%m-%d %H:%M:%S} UTC",
        kept="nothing was begun",
        advice="wait until it ends; if its host is gone for good, "
        f"the lease is free at {lease.expires:%Y-%m-%d %H:%M:%S} UTC",
    )


def lost_error(run_id: str, lease: Lease | None) -> LostLease:
    taken = (
        f"the run {lease.run}, {name_for_people(lease.holder)}, took it over"
        if lease
        else "it was given back"
    )
    return LostLease(
        f"going on with the run {run_id}"
        if run_id
        else "changing what is in force, without the lease",
        taken,
        kept="nothing of this was stored, and the lease stays as it is",
        advice="end this run: what it has not done yet is the other run's work now",
    )


def overtaken_base(plan: Plan, in_force: str) -> Outdated:
    return Outdated(
        f"putting {plan.id} in force",
        f"it was made when {plan.base or 'nothing'} was in force; now {in_force or 'nothing'} is",
        kept="the partition in force stays",
        advice="make a new plan with `flex plan`",
    )
