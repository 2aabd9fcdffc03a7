"""The kinds of problems that the API answers with, and what such an answer looks like (RFC
9457).
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its status, its title, what it means for the cluster, and what helps."""

    status: int
    title: str
    effect: str
    remedy: str


NOTHING = "Nothing was changed."

# Each slug of the error tree, and those that only a server has.
KINDS: dict[str, Kind] = {
    "validation": Kind(
        422,
        "Bad input",
        NOTHING,
        "Correct what `errors` points at; `/api/docs` says what each field takes.",
    ),
    "not-found": Kind(
        404,
        "Not known here",
        NOTHING,
        "See that the name or id is spelled as the list of its kind has it.",
    ),
    "malformed": Kind(
        400,
        "What was sent cannot be read",
        NOTHING,
        "Send a body that is JSON, with `Content-Type: application/json`.",
    ),
    "method-not-allowed": Kind(
        405,
        "That method is not possible here",
        NOTHING,
        "Use one of the methods that the header `Allow` names.",
    ),
    "not-acceptable": Kind(
        406,
        "Not available in that form",
        NOTHING,
        "Name in `Accept` one of the forms that `/api/docs` gives, or none.",
    ),
    "unsupported-media": Kind(
        415,
        "What was sent is not JSON",
        NOTHING,
        "Send a body that is JSON, with `Content-Type: application/json`.",
    ),
    "settings": Kind(
        503,
        "A setting or a file of the server cannot be used",
        "DNS goes on answering as before.",
        "Correct what the answer names, on the server; `flex config check` and `flex "
        "doctor` there say more.",
    ),
    "insufficient-data": Kind(
        503,
        "Logs are too old, missing or empty",
        "The partition in force stays.",
        "Look at the sources in `/api/v1/ingests`, fix what feeds them, and read the logs again.",
    ),
    "infeasible": Kind(
        409,
        "No partition meets every wish",
        "The partition in force stays.",
        "Ask for less, or take one of the wishes back that the answer names.",
    ),
    "unsafe-plan": Kind(
        422,
        "A rule or a missing approval stopped it",
        NOTHING,
        "Look at the plan; then approve it, make a new one, or go over the rule by "
        "name as `override` says.",
    ),
    "plan-expired": Kind(
        409,
        "The plan is too old to be applied",
        NOTHING,
        "Make a new plan: the load that this one was made for is too long ago. "
        "`safety.plan_expiry` sets the limit.",
    ),
    "plan-ended": Kind(
        409,
        "The plan is not waiting any more",
        NOTHING,
        "See what became of it: it was applied, rejected or put aside. Make a new "
        "plan if another is wanted.",
    ),
    "cancelled": Kind(
        409,
        "Somebody ended it",
        "What it had done until then is kept.",
        "Start it again when it is wanted.",
    ),
    "interrupted": Kind(
        500,
        "The process that did it is gone",
        "What it had done until then is kept; DNS that it was changing is finished "
        "by the next run.",
        "Start it again when it is wanted; the log of `flex serve` may say why the process ended.",
    ),
    "frozen": Kind(
        423, "Somebody froze all changes", NOTHING, "Wait until the freeze ends, or thaw it."
    ),
    "busy": Kind(
        409,
        "Another run is at work, or this has ended already",
        NOTHING,
        "Ask again when the run that the answer names has ended.",
    ),
    "unauthenticated": Kind(
        401,
        "Nobody knows who asks",
        NOTHING,
        "Send `Authorization: Bearer TOKEN`; `flex token create` on the server makes one.",
    ),
    "misdirected": Kind(
        421,
        "The server does not answer for that host",
        NOTHING,
        "Ask for localhost or the server's own address, or name the host in `api.hosts`.",
    ),
    "forbidden": Kind(
        403, "The caller may not do this", NOTHING, "Ask somebody whose role allows it."
    ),
    "precondition-required": Kind(
        428,
        "A change must say what it was made from",
        NOTHING,
        "Send `If-Match` with the ETag that reading it gave, or `If-None-Match: *` for a new one.",
    ),
    "precondition-failed": Kind(
        412,
        "Somebody else changed it meanwhile",
        "What they made of it stays.",
        "Read it again, then decide again.",
    ),
    "too-large": Kind(
        413,
        "The request is larger than allowed",
        NOTHING,
        "Send less at once; `api.max_body` sets the limit.",
    ),
    "rate-limited": Kind(
        429,
        "Too many requests with one token",
        NOTHING,
        "Ask again after the seconds in `Retry-After`; `api.requests_per_second` sets the limit.",
    ),
    "away": Kind(
        502,
        "What was asked does not answer",
        NOTHING,
        "See that what `detail` names runs, and that its address or path is right.",
    ),
    "store": Kind(
        503,
        "The database failed",
        "DNS goes on answering as before.",
        "Look at the database: its disk, its server, its revision (`flex db status`).",
    ),
    "not-written": Kind(
        507,
        "A directory takes no more",
        "What was written before stays.",
        "Make room in the directory, or make it writable for the user that FLEX runs as.",
    ),
    "not-printed": Kind(
        503,
        "No PDF can be made on the server",
        NOTHING,
        "Ask for the report as HTML and print that; or install Chromium where `flex serve` runs.",
    ),
    "dns-refused": Kind(
        502,
        "The name server refused the update",
        "The records it refused are as they were.",
        "Run `flex doctor`: it names the right, the key or the zone that is missing.",
    ),
    "dns-unreachable": Kind(
        502,
        "The name server did not answer",
        "Its records are as they were.",
        "See that the name server runs and can be reached, then ask again.",
    ),
    "stale-base": Kind(
        409,
        "What the plan was made from has changed",
        "The plan was refused whole.",
        "Make a new plan: somebody changed records, or another partition is in force.",
    ),
    "dns-ownership": Kind(
        409,
        "A record belongs to somebody else",
        "It was left alone.",
        "Take the record away where it is kept, or leave the site to its owner with `exclude`.",
    ),
    "partly-applied": Kind(
        502,
        "Some of a plan is in DNS, some is not",
        "`flex apply --resume` finishes it.",
        "Run `flex apply --resume`, or `flex apply --undo` to take back what was done.",
    ),
    "unverified": Kind(
        502,
        "Applied, but the servers disagree",
        "The partition is in force.",
        "Look at `/api/v1/dns/drift` for the servers that answer otherwise.",
    ),
    "internal": Kind(
        500,
        "A fault in FLEX itself",
        "DNS goes on answering as before.",
        "Report it with the request id; the log of `flex serve` has what went wrong.",
    ),
}


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
    """RFC 9457, with what stayed as it was and what to do next as extensions; the first broken rule
    by itself.
    """

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
