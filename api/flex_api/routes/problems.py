"""Errors as RFC 9457 problem details: what the API answers when it did not do what was asked, and a
page for each kind.
"""

from __future__ import annotations

import json
from contextlib import suppress
from math import ceil
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from flex.errors import BadInput, BadSetting, FlexError, TooMany, Unknown
from flex_api.problem_kinds import KINDS, MEDIA_TYPE, NOTHING, Broken, Fault, Problem
from flex_api.report.page import page

SLUG_OF_STATUS = {
    400: "malformed", 404: "not-found", 405: "method-not-allowed", 406: "not-acceptable",
    413: "too-large", 422: "validation",
}  # fmt: skip
OVERRIDE = 'repeat it with {{"force": ["{rule}"], "reason": "…"}}'
DESCRIBED = "see /api/openapi.json for what can be asked"
REPORT = "look for the request id in the log of `flex serve` and report it"
# Faults of a request that are told at once. A guess.
MOST_FAULTS = 20
# What comes without the frame of a page: for that the store is asked, which is broken or not to be
# asked so often.
UNFRAMED = ("internal", "store", "rate-limited", "unauthenticated")
# What a browser has no page for.
FOR_PROGRAMS = ("/api/", "/metrics", "/badge.svg")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class ProblemAnswer(JSONResponse):
    media_type = MEDIA_TYPE


router = APIRouter(include_in_schema=False)


@router.get("/problems", response_class=HTMLResponse)
@router.get("/problems/", response_class=HTMLResponse)
def problem_index() -> str:
    """Every kind of error there is."""
    return page("problems.html", kinds=KINDS)


@router.get("/problems/{slug}", response_class=HTMLResponse)
def problem_page(slug: str) -> str:
    """What an error's `type` leads to."""
    if slug not in KINDS:
        raise Unknown(
            f"the kind of problem {slug!r}",
            f"the kinds are {', '.join(KINDS)}",
            kept=NOTHING,
            advice="see that the address is the `type` of an answer",
        )
    return page("problem.html", slug=slug, kind=KINDS[slug])


def respond_to_error(request: Request, error: FlexError) -> Response:
    if (
        error.slug == "unauthenticated"
        and request.method == "GET"
        and not request.url.path.startswith(FOR_PROGRAMS)
    ):
        return RedirectResponse(_sign_in(request), 303)
    answer = _answer(request, problem(request.url.path, request.state.request_id, error))
    if error.slug == "unauthenticated":
        answer.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooMany):
        answer.headers["Retry-After"] = str(max(1, ceil(error.seconds)))
    return answer


def slug_of(error: FlexError) -> str:
    """Who asks is not to blame for the server's settings, whose error is one of bad input on the
    command line.
    """
    return "settings" if isinstance(error, BadSetting) else error.slug


def problem(path: str, request_id: str, error: FlexError) -> Problem:
    slug = slug_of(error)
    kind = KINDS.get(slug, KINDS["internal"])
    rules = [
        Broken(
            rule=stop.rule,
            limit=stop.limit,
            actual=stop.actual,
            # Where the command line forces a rule, a request does so in its body.
            override=OVERRIDE.format(rule=stop.rule)
            if f"--force {stop.rule}" in stop.way_past
            else stop.override,
        )
        for stop in error.stops
    ]
    first = rules[0].model_dump() if rules else {}
    return Problem(
        type=f"/problems/{slug}",
        title=kind.title,
        status=kind.status,
        detail=str(error),
        instance=path,
        code=slug,
        unchanged=error.kept,
        next_step=error.advice,
        request_id=request_id,
        asked=error.asked,
        answer=error.answer,
        rules=rules,
        **first,
    )


def respond_to_bad_request(request: Request, error: RequestValidationError) -> Response:
    """All that is wrong with what was asked, and the first of it in words."""
    faults = [
        Fault(pointer="/" + "/".join(map(str, fault["loc"])), detail=fault["msg"])
        for fault in error.errors()
    ]
    first = error.errors()[0]
    if unread := _unread(error):
        return _answer(
            request,
            _plain(request, unread, f"{KINDS[unread].title}: {first['msg']}", NOTHING, DESCRIBED),
        )
    where = " ".join(str(part) for part in first["loc"])
    refused = BadInput(
        "the request", f"{where}: {first['msg']}", kept=NOTHING, advice="correct it and ask again"
    )
    told = problem(request.url.path, request.state.request_id, refused)
    return _answer(request, told.model_copy(update={"errors": faults[:MOST_FAULTS]}))


def _unread(error: RequestValidationError) -> str:
    """Which kind of problem it is that the body could not even be read; empty where it was."""
    if isinstance(error.body, bytes):
        return "unsupported-media"
    return "malformed" if error.errors()[0]["type"] == "json_invalid" else ""


def respond_to_status(request: Request, error: HTTPException) -> Response:
    """What the framework refuses by itself: an address or a method that is not there, a body it
    cannot read.
    """
    if isinstance(error.__cause__, FlexError):
        return respond_to_error(request, error.__cause__)
    slug = SLUG_OF_STATUS.get(error.status_code, "internal")
    path = request.url.path
    answer = _answer(
        request,
        _plain(
            request,
            slug,
            f"{request.method} {path}: {KINDS[slug].title.lower()}",
            NOTHING,
            DESCRIBED,
        ),
    )
    answer.headers.update(error.headers or {})
    if error.status_code == 405:
        answer.headers["Allow"] = ", ".join(_methods(request))
    return answer


def _methods(request: Request) -> list[str]:
    """All that can be done at this address: the framework names those of the first route that it
    finds.
    """
    routes = request.app.routes
    methods = set()
    for method in METHODS:
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] == Match.FULL for route in routes):
            methods.add(method)
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


def respond_to_fault(request: Request, _error: BaseException) -> Response:
    """A bug. What it was stands in the log, not in the answer."""
    kind = KINDS["internal"]
    return _answer(request, _plain(request, "internal", kind.title, kind.effect, REPORT))


def _plain(request: Request, slug: str, detail: str, unchanged: str, next_step: str) -> Problem:
    kind = KINDS[slug]
    return Problem(
        type=f"/problems/{slug}",
        title=kind.title,
        status=kind.status,
        detail=detail,
        instance=request.url.path,
        code=slug,
        unchanged=unchanged,
        next_step=next_step,
        request_id=request.state.request_id,
    )


def _answer(request: Request, told: Problem) -> Response:
    """A page for a browser that wanted one, JSON for everybody else; members that say nothing are
    left out.
    """
    if _is_for_people(request):
        back = getattr(request.state, "back", "/")
        caller = getattr(request.state, "caller", None)
        if caller is not None and told.code not in UNFRAMED:
            # What the frame is made of may be what cannot be had.
            with suppress(FlexError):
                framed: Response = request.app.state.refused(request, told, back)
                return framed
        return HTMLResponse(request.app.state.unframed(request, told, back), told.status)
    return ProblemAnswer(told.model_dump(exclude_defaults=True), told.status)


def _is_for_people(request: Request) -> bool:
    # A script of our pages takes anything, and puts it into the page.
    wanted = "text/html" in request.headers.get("accept", "") or "hx-request" in request.headers
    return wanted and not request.url.path.startswith(FOR_PROGRAMS)


def _sign_in(request: Request) -> str:
    """Where to say who one is, and to come back from."""
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return "/login" if here == "/" else f"/login?{urlencode({'next': here})}"


def describe(error: BaseException, path: str, request_id: str = "") -> str:
    """The same for a job, which ends when nobody is there to be answered."""
    if isinstance(error, FlexError):
        return problem(path, request_id, error).model_dump_json(exclude_defaults=True)
    kind = KINDS["internal"]
    return json.dumps(
        {
            "type": "/problems/internal",
            "title": kind.title,
            "status": 500,
            "code": "internal",
            "next_step": REPORT,
        }
    )
