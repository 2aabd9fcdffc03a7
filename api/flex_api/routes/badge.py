"""A badge for a wiki or a dashboard: the state of the cluster in four words. Needs no more than the
right to read.
"""

from __future__ import annotations

from html import escape

from fastapi import APIRouter, Response

from flex_api.in_words import amounts
from flex_api.night import freezes
from flex_api.web.request_context import Desk, Viewer

router = APIRouter(include_in_schema=False)

# Colours: all is well, a plan waits, something is wrong.
GOOD = "#1a7f37"
WAITS = "#9a6700"
WRONG = "#b42318"
# About the width of a letter of the size that it is drawn in.
LETTER = 7


@router.get("/badge.svg")
def badge(desk: Viewer) -> Response:
    state, colour = _state(desk)
    left, right = _width(desk.settings.cluster.name), _width(state)
    return Response(
        _draw(desk.settings.cluster.name, state, colour, left, right), media_type="image/svg+xml"
    )


def _state(desk: Desk) -> tuple[str, str]:
    """The first of these that is so."""
    runs, plans, (_, in_force) = (desk.views.runs(), desk.views.headlines(), desk.views.base())
    if freezes.freeze_in_force(desk.world()):
        return "frozen", WAITS
    if runs and runs[0].exit_code not in (0, 22, None):
        return f"last run: exit {runs[0].exit_code}", WRONG
    if (
        plans
        and plans[0].state == "proposed"
        and plans[0].moves
        and desk.settings.cluster.mode == "review"
    ):
        if desk.now - plans[0].wall_time > desk.settings.safety.plan_expiry:
            return "plan has expired", WAITS
        return "waits for approval", WAITS
    if in_force is None:
        return "no partition yet", WAITS
    return f"worst node {amounts.share(in_force.after.worst)} off", GOOD


def _width(text: str) -> int:
    return LETTER * len(text) + 12


def _draw(name: str, state: str, colour: str, left: int, right: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" '
        'role="img" '
        f'aria-label="{escape(f"{name}: {state}")}"><title>{escape(f"{name}: {state}")}</title>'
        f'<rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        f'<g fill="#fff" text-anchor="middle" font-family="monospace" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{escape(name)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(state)}</text></g></svg>'
    )
