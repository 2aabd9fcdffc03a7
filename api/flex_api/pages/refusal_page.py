"""What was refused: a page that says so, or the form once more, with what was typed and what is
wrong.

Takes a request and a problem. Returns the answer. Does not make the page of a form: the form's own
route does, and the answer has the status of the refusal.
"""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import unquote, urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from flex_api.pages.forms import Form, Refusal, Sent
from flex_api.pages.frame import PAGES, TAKES, show, theme
from flex_api.problem_kinds import Problem
from flex_api.report import page as report
from flex_api.web.request_context import Desk, House

# What somebody with a page does about it, where a program would send other headers.
IN_PAGES = {
    "precondition-required": "open the page again, and send the form that stands there",
    "precondition-failed": "see below what has changed, then decide again",
}
# What the route that refused left behind, which is not for the page.
OF_THE_ROUTE = (
    "route",
    "endpoint",
    "path_params",
    "fastapi_inner_astack",
    "fastapi_function_astack",
)
OF_THE_BODY = (b"content-type", b"content-length")


def refuse(request: Request, told: Problem, back: str) -> Response:
    told = told.model_copy(update={"next_step": IN_PAGES.get(told.code, told.next_step)})
    if request.method == "POST" and getattr(request.state, "form", None) and back != "/":
        return Again(request, told, back)
    return page(request, told, back)


def page(request: Request, told: Problem, back: str) -> HTMLResponse:
    """What was asked and not done, with the way on to everywhere else."""
    house: House = request.app.state.house
    desk = Desk(request, request.state.caller, house, house.store)
    return show(desk, "refused.html", "", told.status, told=told, back=back)


def plain_page(request: Request, told: Problem, back: str) -> str:
    """Where the store must not be asked, or nobody knows who asks: without what is wrong now, and
    who somebody is.
    """
    known = getattr(request.state, "caller", None) is not None
    return report.page(
        "pages/problem.html",
        told=told,
        back=back,
        theme=theme(request),
        pages=[
            menu_page
            for menu_page in PAGES
            if known and request.state.caller.may(TAKES.get(menu_page[0], "viewer"))
        ],
    )


class Again(Response):
    """The page at the address `back`."""

    def __init__(self, request: Request, told: Problem, back: str) -> None:
        super().__init__(status_code=told.status)
        self.request, self.told, self.back = request, told, back

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered: list[Message] = []

        async def keep(message: Message) -> None:
            answered.append(message)

        # No page of ours may be at that address.
        with suppress(HTTPException):
            await scope["app"].router(self._as_asked(scope), receive, keep)
        if not answered or answered[0]["status"] != 200:
            plain = await run_in_threadpool(page, self.request, self.told, self.back)
            await plain(scope, receive, send)
            return
        answered[0]["status"] = self.told.status
        for message in answered:
            await send(message)

    def _as_asked(self, scope: Scope) -> Scope:
        """As if the page had been asked for."""
        url = urlsplit(self.back)
        refusal = Refusal(scope["path"], Sent(Form(self.request.state.form), self.told))
        return {
            **{name: value for name, value in scope.items() if name not in OF_THE_ROUTE},
            "method": "GET",
            "path": unquote(url.path),
            "raw_path": url.path.encode(),
            "query_string": url.query.encode(),
            "headers": [
                (name, value) for name, value in scope["headers"] if name not in OF_THE_BODY
            ],
            "state": {**scope["state"], "refusal": refusal},
        }
