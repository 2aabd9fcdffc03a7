"""Sites: what they ask of a node, and which nodes serve them."""

from __future__ import annotations

from typing import Annotated

import pandas as pd
from fastapi import APIRouter, Query, Request, Response

from flex_api import present
from flex_api.routes.problems import ANSWERS
from flex_api.routes.shared import TheStore
from flex_api.schemas import SitesOutput

router = APIRouter(prefix="/api/v1/sites", tags=["sites"], responses=ANSWERS)


@router.get("")
def sites(
    request: Request,
    response: Response,
    store: TheStore,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> SitesOutput:
    """The busiest sites first. Where there are more, the `Link` header leads on."""
    kept = store.profiles()
    if kept is None:
        return SitesOutput(period_start=None, period_end=None, items=[])
    period, profiles, _ = kept
    _, placement = store.placement()
    names = _busiest_first(profiles, placement)
    wanted = names[offset : offset + limit]
    if offset + limit < len(names):
        following = request.url.include_query_params(limit=limit, offset=offset + limit)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return present.sites_output(
        profiles[profiles["site"].isin(wanted)],
        placement[placement["site"].isin(wanted)],
        store.pins(),
        (period.start, period.end),
    )


def _busiest_first(profiles: pd.DataFrame, placement: pd.DataFrame) -> list[str]:
    """Every site by its name, so that only the rows of one page are made for an answer."""
    silent = placement["site"][~placement["site"].isin(profiles["site"])].drop_duplicates()
    known = pd.concat([profiles[["site", "access_bytes"]], silent.to_frame().assign(access_bytes=0)])
    ordered: list[str] = known.sort_values(["access_bytes", "site"], ascending=[False, True])["site"].tolist()
    return ordered
