"""What the words on all other pages mean."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from flex_api.in_words.terms_explained import TERMS
from flex_api.pages.frame import show
from flex_api.web.request_context import Viewer

router = APIRouter(include_in_schema=False)


@router.get("/glossary", response_class=HTMLResponse)
def glossary(desk: Viewer) -> HTMLResponse:
    return show(desk, "glossary.html", "", terms=TERMS)
