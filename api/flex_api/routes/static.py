"""The stylesheet and the scripts of the pages, from this package alone.

The address of each file has a hash of its content. What is behind an address never changes, so a
browser asks for it once.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from flex.errors import Unknown
from flex_api.report import page as report

router = APIRouter(include_in_schema=False)

TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
SERVED = ("flex.css", "flex.js", "htmx.min.js", "flex.svg")
FOREVER = "public, max-age=31536000, immutable"


@router.get("/static/{digest}/{name}")
async def static(digest: str, name: str) -> Response:
    if name not in SERVED or digest != _digest(name):
        raise Unknown(
            f"the file {name!r:.100}",
            "there is none of that content",
            kept="nothing",
            advice="reload the page",
        )
    media_type = TYPES[name.rpartition(".")[2]]
    return Response(content(name), media_type=media_type, headers={"Cache-Control": FOREVER})


@router.get("/favicon.ico")
async def icon() -> Response:
    """Browsers ask for it by this name where a page names none."""
    return RedirectResponse(address("flex.svg"), 308)


@cache
def content(name: str) -> bytes:
    if name == "flex.css":
        return report.page("pages/pages.css").encode()
    return files("flex_api").joinpath("static", name).read_bytes()


@cache
def _digest(name: str) -> str:
    return hashlib.sha256(content(name)).hexdigest()[:16]


def address(name: str) -> str:
    """Where a page finds it."""
    return f"/static/{_digest(name)}/{name}"
