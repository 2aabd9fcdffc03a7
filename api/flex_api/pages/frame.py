"""The frame around every page: where one is, what is wrong now, how balanced the cluster is, who is
signed in.

Takes a desk and a template with its values. Returns the page. Does not make content.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel
from starlette.responses import Response

import flex
from flex.model.predicted_node_loads import Verdict
from flex.model.roles_and_tokens import Role
from flex_api.in_words import amounts
from flex_api.night import freezes
from flex_api.pages.forms import DONE, Refusal, Sent
from flex_api.pictures.chart_geometry import ROUNDING
from flex_api.pictures.time_and_forecast_charts import Spark, spark
from flex_api.report import page as report
from flex_api.routes.static import address
from flex_api.status import Trouble, troubles
from flex_api.web.caller_identity import cookie, csrf_of
from flex_api.web.request_context import Desk
from flex_api.web.sight import newest, sight

Model = TypeVar("Model", bound=BaseModel)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# What is said of a cluster whose nodes have room for all that is asked of them.
ROOMY: tuple[Verdict, ...] = ("fits", "hardly busy")
THEME = "flex_theme"
THEMES = ("auto", "light", "dark")
# Applied plans that the frame of a page shows: two weeks of nights. A guess.
NIGHTS = 14

# Path and name of every page that can be gone to from everywhere, with what it answers.
PAGES = (
    ("/", "Overview", "Is the cluster balanced, and what needs me?"),
    ("/plans", "Plan", "What would move, and why?"),
    ("/sites", "Sites", "Which site asks for what, and where is it?"),
    ("/moves", "Moves", "Which site is on its way, and what stopped others?"),
    ("/nodes", "Nodes", "What does each node carry?"),
    ("/what-if", "What if", "What would other nodes or visitors mean?"),
    ("/history", "History", "How did the last nights go?"),
    ("/dns", "DNS", "Do the name servers say what they should?"),
    ("/data", "Data", "Can the logs be trusted?"),
    ("/routing", "Routing", "How is a site on several nodes shared out?"),
    ("/simulate", "Simulate", "What would other policies do with our own logs?"),
    ("/audit", "Audit", "Who changed what, and why?"),
    ("/settings", "Settings", "What is set, and who may come in?"),
)


# Those of them that are for more than looking.
TAKES: dict[str, Role] = {"/what-if": "operator", "/simulate": "operator"}


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything around the content of a page."""

    cluster: str
    mode: str
    urgent: bool
    path: str
    here: str
    theme: str
    csrf: str
    who: str
    role: str
    newest: datetime | None
    worst: str
    inside: bool
    spark: Spark | None
    calm: bool
    troubles: tuple[Trouble, ...]
    done: str
    refusal: Refusal | None


def as_model(kind: type[Model], answer: Response) -> Model:
    """What a route of the REST API answers: a page shows just what a program would be told."""
    return kind.model_validate_json(bytes(answer.body))


def show(
    desk: Desk, template: str, here: str, status: int = 200, /, **values: object
) -> HTMLResponse:
    """The page. `here` is the path of the entry in the navigation that it belongs to; `pending` is
    said where part of it is still being worked out.
    """
    frame = _frame(desk, here)
    html = report.page(
        f"pages/{template}",
        frame=frame,
        sent=lambda action: (
            frame.refusal.sent if frame.refusal and frame.refusal.action == action else Sent()
        ),
        pages=[page for page in PAGES if desk.caller.may(TAKES.get(page[0], "viewer"))],
        asset=address,
        now=desk.now,
        clock=desk.house.clock(),
        may=desk.caller.may,
        version=flex.__version__,
        **{"pending": False, **values},
    )
    return HTMLResponse(html, status, {"Content-Security-Policy": POLICY})


def _frame(desk: Desk, here: str) -> Frame:
    frozen = freezes.freeze_in_force(desk.world())
    _, plan = desk.views.base()
    applied = [
        headline.worst
        for headline in desk.views.headlines()
        if headline.state == "applied" and headline.settled
    ][:NIGHTS]
    tolerance = desk.settings.solver.tolerance
    refusal: Refusal | None = getattr(desk.request.state, "refusal", None)
    url, method = urlsplit(str(desk.request.url)), desk.request.method
    return Frame(
        cluster=desk.settings.cluster.name,
        mode="frozen" if frozen else desk.settings.cluster.mode,
        urgent=frozen is not None,
        # What a form was sent to is no page to come back to.
        path=url.path + (f"?{url.query}" if url.query else "") if method == "GET" else "/",
        here=here,
        theme=theme(desk.request),
        csrf=csrf_of(cookie(desk.request.headers.get("cookie", ""))),
        who=desk.caller.name.removeprefix("token:"),
        role=desk.caller.role,
        newest=newest(desk),
        worst=amounts.share(plan.after.worst) if plan else "",
        inside=plan is not None and plan.after.worst <= tolerance + ROUNDING,
        spark=spark("Worst node of the last nights", applied[::-1], tolerance)
        if len(applied) > 1
        else None,
        # Where FLEX is not needed, no distance from a fair share needs a person.
        calm=bool(plan and plan.benefit and plan.benefit.verdict in ROOMY),
        troubles=troubles(sight(desk)),
        done="" if refusal else DONE.get(desk.request.query_params.get("done", ""), ""),
        refusal=refusal,
    )


def theme(request: Request) -> str:
    choice = request.cookies.get(THEME, "auto")
    return choice if choice in THEMES else "auto"
