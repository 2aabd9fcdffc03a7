"""Errors as RFC 9457 problem details: what the API answers when it did not do as asked, and a page for each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from flex.errors import FlexError, Unknown
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
    "method-not-allowed": Kind(405, "Not a thing to do here", NOTHING),
    "insufficient-data": Kind(503, "Logs are too old, missing or empty", "The partition in force stays."),
    "infeasible": Kind(409, "No placement satisfies every wish", "The partition in force stays."),
    "unsafe-plan": Kind(422, "A rule or a missing approval stopped it", NOTHING),
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
SLUG_OF_STATUS = {404: "not-found", 405: "method-not-allowed", 422: "validation"}


class Problem(BaseModel):
    """RFC 9457, with what stayed as it was and what to do next as extension members."""

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


class ProblemAnswer(JSONResponse):
    media_type = MEDIA_TYPE


# Any: FastAPI's own type of what a route may answer.
ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": KINDS[slug].title,
        "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}},
    }
    for status, slug in ((404, "not-found"), (422, "validation"), (503, "store"))
}

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
    return _answer(request, error.slug, str(error), error.kept, error.advice)


def of_bad_request(request: Request, error: RequestValidationError) -> ProblemAnswer:
    """The first thing that is wrong with what was asked, in words."""
    first = error.errors()[0]
    where = " ".join(str(part) for part in first["loc"])
    return _answer(request, "validation", f"{where}: {first['msg']}", NOTHING, "correct it and ask again")


def of_status(request: Request, error: HTTPException) -> ProblemAnswer:
    """What the framework refuses by itself: an address or a method that is not there."""
    slug = SLUG_OF_STATUS.get(error.status_code, "internal")
    path = request.url.path
    detail = f"{request.method} {path}: {KINDS[slug].title.lower()}"
    answer = _answer(request, slug, detail, NOTHING, "see /api/openapi.json for what can be asked")
    answer.headers.update(error.headers or {})
    return answer


def of_fault(request: Request, _error: Exception) -> ProblemAnswer:
    """A bug. What it was stands in the log, not in the answer."""
    kind = KINDS["internal"]
    advice = "look for the request id in the log of `flex serve` and report it"
    return _answer(request, "internal", kind.title, kind.effect, advice)


def _answer(request: Request, slug: str, detail: str, unchanged: str, next_step: str) -> ProblemAnswer:
    kind = KINDS.get(slug, KINDS["internal"])
    problem = Problem(
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
    return ProblemAnswer(problem.model_dump(), kind.status)
