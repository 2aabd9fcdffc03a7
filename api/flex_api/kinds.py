"""The kinds of problems that the API answers with, and what such an answer looks like (RFC 9457)."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

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
    "busy": Kind(409, "Another run is at work, or this has ended already", NOTHING),
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
