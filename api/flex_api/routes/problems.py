"""Errors as RFC 9457 problem details: what the API answers when it did not do as asked, and a page for each kind."""

from __future__ import annotations

import json
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.routing import Route

from flex.errors import BadInput, FlexError, Unknown
from flex_api.report import page

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its status, its title, and what it means for the cluster."""

    status: int
    title: str
    effect: str


NOTHING = "Nothing was changed."

# Each slug of the error tree, and the two that only a server has.
KINDS: dict[str, Kind] = {
    "validation": Kind(422, "What was given cannot be used", NOTHING),
    "not-found": Kind(404, "Not known here", NOTHING),
    "malformed": Kind(400, "What was sent cannot be read", NOTHING),
    "method-not-allowed": Kind(405, "Not a thing to do here", NOTHING),
    "insufficient-data": Kind(503, "Logs are too old, missing or empty", "The partition in force stays."),
    "infeasible": Kind(409, "No placement satisfies every wish", "The partition in force stays."),
    "unsafe-plan": Kind(422, "A rule or a missing approval stopped it", NOTHING),
    "plan-expired": Kind(409, "The plan is too old to be applied", NOTHING),
    "cancelled": Kind(409, "Somebody ended it", "What it had done until then is kept."),
    "frozen": Kind(423, "Somebody froze all changes", NOTHING),
    "busy": Kind(409, "Another run holds the lease", NOTHING),
    "unauthenticated": Kind(401, "Nobody knows who asks", NOTHING),
    "forbidden": Kind(403, "Who asks may not do this", NOTHING),
    "precondition-required": Kind(428, "A change must say what it was made from", NOTHING),
    "precondition-failed": Kind(412, "Somebody else changed it meanwhile", "What they made of it stays."),
    "idempotency-conflict": Kind(422, "The key belongs to another request", NOTHING),
    "too-large": Kind(413, "More than one request may bring", NOTHING),
    "rate-limited": Kind(429, "More requests than one token may make", NOTHING),
    "away": Kind(502, "The FLEX server does not answer", NOTHING),
    "store": Kind(503, "The database did not do as asked", "DNS goes on answering as before."),
    "not-written": Kind(507, "A directory takes no more", "What was written before stays."),
    "dns-refused": Kind(502, "The name server said no", "The records it refused are as they were."),
    "dns-unreachable": Kind(502, "The name server did not answer", "Its records are as they were."),
    "stale-base": Kind(409, "A record is no longer what the plan saw", "The plan was refused whole."),
    "dns-ownership": Kind(409, "A record belongs to somebody else", "It was left alone."),
    "partly-applied": Kind(502, "Some of a plan is in DNS, some is not", "`flex apply --resume` finishes it."),
    "unverified": Kind(502, "Applied, but the servers disagree", "The placement is in force."),
    "internal": Kind(500, "A fault in FLEX itself", "DNS goes on answering as before."),
}
SLUG_OF_STATUS = {400: "malformed", 404: "not-found", 405: "method-not-allowed", 413: "too-large", 422: "validation"}
OVERRIDE = 'repeat it with {{"force": ["{rule}"], "reason": "…"}}'
DESCRIBED = "see /api/openapi.json for what can be asked"
REPORT = "look for the request id in the log of `flex serve` and report it"
MOST_FAULTS = 20


class Fault(BaseModel):
    """One thing that is wrong with what was sent, and where it stands."""

    model_config = ConfigDict(frozen=True)

    pointer: str
    detail: str


class Broken(BaseModel):
    """A rule that forbids it: what it allows, what was found, how to go over it."""

    model_config = ConfigDict(frozen=True)

    rule: str
    limit: str
    actual: str
    override: str


class Problem(BaseModel):
    """RFC 9457, with what stayed as it was and what to do next as extensions; the first broken rule by itself."""

    model_config = ConfigDict(frozen=True)

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    unchanged: str
    next_step: str
    request_id: str
    asked: str = ""
    answer: str = ""
    rule: str | None = None
    limit: str | None = None
    actual: str | None = None
    override: str | None = None
    rules: list[Broken] = []
    errors: list[Fault] = []


class ProblemAnswer(JSONResponse):
    media_type = MEDIA_TYPE


router = APIRouter(include_in_schema=False)


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


def of_error(request: Request, error: FlexError) -> ProblemAnswer:
    answer = _answer(problem(request.url.path, request.state.request_id, error))
    if error.slug == "unauthenticated":
        answer.headers["WWW-Authenticate"] = "Bearer"
    if error.slug == "rate-limited":
        answer.headers["Retry-After"] = "1"
    return answer


def problem(path: str, request_id: str, error: FlexError) -> Problem:
    kind = KINDS.get(error.slug, KINDS["internal"])
    rules = [
        Broken(rule=stop.rule, limit=stop.limit, actual=stop.actual, override=OVERRIDE.format(rule=stop.rule))
        for stop in error.stops
    ]
    first = rules[0].model_dump() if rules else {}
    return Problem(
        type=f"/problems/{error.slug}",
        title=kind.title,
        status=kind.status,
        detail=str(error),
        instance=path,
        code=error.slug,
        unchanged=error.kept,
        next_step=error.advice,
        request_id=request_id,
        asked=error.asked,
        answer=error.answer,
        rules=rules,
        **first,
    )


def of_bad_request(request: Request, error: RequestValidationError) -> ProblemAnswer:
    """All that is wrong with what was asked, and the first of it in words."""
    faults = [
        Fault(pointer="/" + "/".join(str(part) for part in one["loc"]), detail=one["msg"]) for one in error.errors()
    ]
    first = error.errors()[0]
    where = " ".join(str(part) for part in first["loc"])
    refused = BadInput("the request", f"{where}: {first['msg']}", kept=NOTHING, advice="correct it and ask again")
    told = problem(request.url.path, request.state.request_id, refused)
    return _answer(told.model_copy(update={"errors": faults[:MOST_FAULTS]}))


def of_status(request: Request, error: HTTPException) -> ProblemAnswer:
    """What the framework refuses by itself: an address or a method that is not there, a body it cannot read."""
    if isinstance(error.__cause__, FlexError):
        return of_error(request, error.__cause__)
    slug = SLUG_OF_STATUS.get(error.status_code, "internal")
    path = request.url.path
    answer = _answer(_plain(request, slug, f"{request.method} {path}: {KINDS[slug].title.lower()}", NOTHING, DESCRIBED))
    answer.headers.update(error.headers or {})
    if error.status_code == 405:
        answer.headers["Allow"] = ", ".join(_methods(request))
    return answer


def _methods(request: Request) -> list[str]:
    """All that can be done at this address: the framework names those of the first route that it finds."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    return sorted(
        {method for route in routes if route.path_regex.match(request.url.path) for method in route.methods or ()}
    )


def of_fault(request: Request, _error: BaseException) -> ProblemAnswer:
    """A bug. What it was stands in the log, not in the answer."""
    kind = KINDS["internal"]
    return _answer(_plain(request, "internal", kind.title, kind.effect, REPORT))


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


def _answer(told: Problem) -> ProblemAnswer:
    """Members that say nothing are left out."""
    return ProblemAnswer(told.model_dump(exclude_defaults=True), told.status)


def described(error: BaseException, path: str) -> str:
    """The same for a job, which ends when nobody is there to be answered."""
    if isinstance(error, FlexError):
        return problem(path, "", error).model_dump_json(exclude_defaults=True)
    kind = KINDS["internal"]
    return json.dumps(
        {"type": "/problems/internal", "title": kind.title, "status": 500, "code": "internal", "next_step": REPORT}
    )
