"""Nodes: what each of them carries under the partition in force."""

from __future__ import annotations

from fastapi import APIRouter

from flex_api import present, wiring
from flex_api.routes.problems import ANSWERS
from flex_api.routes.shared import TheSettings, TheStore
from flex_api.schemas import NodesOutput

router = APIRouter(prefix="/api/v1/nodes", tags=["nodes"], responses=ANSWERS)


@router.get("")
def nodes(settings: TheSettings, store: TheStore) -> NodesOutput:
    """Every node of the settings, in the state that somebody put it into."""
    base, placement = store.placement()
    return present.nodes_output(wiring.nodes(settings, store), placement, store.cycle(base) if base else None)
