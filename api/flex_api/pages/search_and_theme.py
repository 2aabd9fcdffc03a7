"""Small things of the frame: the search, and the colours that somebody prefers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import RedirectResponse

from flex_api.pages.forms import TheForm, address
from flex_api.pages.frame import THEME, THEMES
from flex_api.schemas.request_and_list_base import CLEAN
from flex_api.web.form_body import local
from flex_api.web.request_context import Viewer

router = APIRouter(include_in_schema=False)

# Seconds; a browser remembers the colours chosen for so long.
YEAR = 365 * 86400


@router.get("/search")
def search(desk: Viewer, q: Annotated[str, Query(max_length=255, pattern=CLEAN)] = "") -> Response:
    """The node or the site of that name, else the sites that have it in their names."""
    wanted = q.strip()
    if wanted in {node.name for node in desk.world().nodes}:
        return RedirectResponse(address("/node", name=wanted), 303)
    if desk.views.catalogue().row_of(wanted.lower()) is not None:
        return RedirectResponse(address("/site", name=wanted.lower()), 303)
    return RedirectResponse(address("/sites", name=wanted.lower()), 303)


@router.post("/theme")
def theme(_desk: Viewer, form: TheForm) -> Response:
    answer = RedirectResponse(local(form.text("back")), 303)
    chosen = form.text("theme")
    if chosen in THEMES:
        answer.set_cookie(THEME, chosen, max_age=YEAR, httponly=True, samesite="lax")
    return answer
