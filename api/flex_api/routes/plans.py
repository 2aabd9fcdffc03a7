"""Plans, to be read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from flex_api import present
from flex_api.routes.problems import ANSWERS
from flex_api.routes.shared import TheStore
from flex_api.schemas import PlanOutput, PlansOutput

router = APIRouter(prefix="/api/v1/plans", tags=["plans"], responses=ANSWERS)


@router.get("")
def plans(store: TheStore, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> PlansOutput:
    """The latest plans, newest first."""
    return present.plans_output(store.cycles(limit))


@router.get("/{plan_id}")
def plan(plan_id: str, store: TheStore) -> PlanOutput:
    """One plan whole, by its id or an unambiguous beginning of it."""
    return present.plan_output(store.cycle(plan_id))
