"""Whether the process runs, and whether it can do its work."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict

from flex.errors import FlexError
from flex.store import Store
from flex_api.web.check_query_parameters import refuse_unknown
from flex_api.web.request_context import TheHouse


async def as_probed(verbose: Annotated[str, Query(description="makes no difference")] = "") -> str:
    """Probes are often written with it; every part is named in any case."""
    return verbose


router = APIRouter(tags=["health"], dependencies=[Depends(refuse_unknown), Depends(as_probed)])

OK = "ok"


class Alive(BaseModel):
    model_config = ConfigDict(frozen=True)

    alive: bool = True


class Ready(BaseModel):
    """Each part that an answer needs, with `ok` or with what is wrong."""

    model_config = ConfigDict(frozen=True)

    ready: bool
    parts: dict[str, str]


@router.get("/livez")
async def livez() -> Alive:
    """Always the same answer: the process runs. Nothing is asked of anybody."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Ready}})
def readyz(response: Response, house: TheHouse) -> Ready:
    """Whether the store answers, and the health watch looks where there is one; 503 when one of
    them does not.
    """
    parts = {"store": _store(house.store)}
    if house.watched:
        parts["watch"] = house.watched().trouble(datetime.now(UTC)) or OK
    ready = all(state == OK for state in parts.values())
    response.status_code = 200 if ready else 503
    return Ready(ready=ready, parts=parts)


def _store(store: Store) -> str:
    try:
        store.last_number()
    except FlexError as error:
        return str(error)
    return OK
