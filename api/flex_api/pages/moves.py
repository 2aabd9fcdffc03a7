"""Sites on their way: which move is at which stage, how long each took, what stayed and why.

While a move is open the page asks for itself again, so that it is watched as it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from flex.model.site_moves import MoveCounts, State
from flex_api.in_words import amounts, site_moves_text
from flex_api.pages.forms import (
    TheForm,
    address,
    from_form,
    from_query,
    redirect_after,
)
from flex_api.pages.frame import as_model, show
from flex_api.pages.plans import follow, following
from flex_api.routes import site_moves
from flex_api.routes.site_moves import SiteMovesQuery
from flex_api.schemas.rest_bodies import JobShown
from flex_api.schemas.site_moves import AgainGiven, MovesOutput, SiteMoveGiven
from flex_api.web.moves_by_page import STILL_OPEN
from flex_api.web.request_context import Operator, Viewer

router = APIRouter(include_in_schema=False)

# For how long tries and waiting requests are counted.
LATELY = timedelta(days=1)
# Seconds after which the page asks again: while something is under way, and while not. Guesses.
SOON = 2
LATER = 15
# States that last no longer than commands do; a site that moved waits for days until its old copy
# goes.
AT_WORK: tuple[State, ...] = ("under way", "ready", "taking back")


@dataclass(frozen=True, slots=True)
class Tile:
    """How many, and of what."""

    number: int
    said: str
    query: str


@router.get("/moves", response_class=HTMLResponse)
def moves(desk: Viewer, request: Request) -> Response:
    query = from_query(SiteMovesQuery, request)
    moves_page = as_model(MovesOutput, site_moves.moves(desk, query))
    counts = desk.store.count_site_moves(desk.now - LATELY)
    at_work = sum(counts.states.get(state, 0) for state in AT_WORK)
    return show(
        desk,
        "moves.html",
        "/moves",
        found=moves_page,
        query=query,
        states=(STILL_OPEN, *counts.states),
        tiles=[
            Tile(at_work, "on their way now", "open"),
            Tile(counts.states.get("moved", 0), "moved; the old copy is kept", "moved"),
            Tile(counts.states.get("done", 0), "done", "done"),
            Tile(counts.states.get("stayed", 0), "stayed where they were", "stayed"),
        ],
        at_work=at_work,
        lately=_lately(counts),
        refresh=SOON if at_work else LATER,
        words=site_moves_text,
        following=following(request, moves_page.next),
    )


def _lately(counts: MoveCounts) -> list[str]:
    """What went otherwise than it should in moves that began lately, and how long visitors waited
    for them.
    """
    told = [
        f"{stage}: tried again {amounts.count(number, 'time')}"
        for stage, number in counts.again.items()
    ]
    told += [
        f"{stage}: failed for {amounts.count(number, 'site')}"
        for stage, number in counts.failed.items()
    ]
    if counts.waited:
        longest = timedelta(seconds=counts.waited[-1])
        middle = timedelta(seconds=counts.waited[len(counts.waited) // 2])
        told.append(
            f"requests of {amounts.count(len(counts.waited), 'site')} waited at the doors: "
            f"{amounts.span(middle)} at the median, {amounts.span(longest)} at most"
        )
    return told


@router.post("/moves")
def move(desk: Operator, form: TheForm) -> Response:
    """Make the plan, or first show what it would do: then the address holds all of it."""
    site, nodes = form.text("site"), form.words("to")
    if form.text("do") == "preview":
        shown = {"to": " ".join(nodes), "why": form.text("reason")}
        where = address("/site", name=site, part="move", **shown)
        return RedirectResponse(f"{where}#move", 303)
    given = from_form(SiteMoveGiven, form, to=nodes)
    return follow(as_model(JobShown, site_moves.move(desk, given)))


@router.post("/moves/again")
def again(desk: Operator, form: TheForm) -> Response:
    site_moves.again(desk, from_form(AgainGiven, form))
    return redirect_after("again", "/moves", site=form.text("site"))
