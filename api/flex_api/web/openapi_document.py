"""The OpenAPI document, made exact: every operation lists the problems it may answer, and what a
caller must show.

Takes what the framework makes of the routes. Returns the same without the framework's own form of
an error.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from flex_api.problem_kinds import KINDS, MEDIA_TYPE, Problem

# Any, below: the document is plain JSON.
API = "/api/v1"
# Statuses of refusals to a read (RFC 9110; 429: RFC 6585).
READING = (401, 403, 404, 406, 409, 422, 429, 502, 503)
# The same, to a write (423 and 507: RFC 4918; 428: RFC 6585).
WRITING = (400, 401, 403, 404, 409, 412, 413, 415, 422, 423, 428, 429, 502, 503, 507)
TITLE = {400: "What was sent cannot be read", 423: "Changes are frozen"}


def describe(app: FastAPI) -> dict[str, Any]:
    """What `app.openapi` answers; made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        parts = document.setdefault("components", {})
        parts["securitySchemes"] = {
            "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "`flex token create` makes one",
            }
        }
        schemas = parts.setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _exact(path, method, operation)
        app.openapi_schema = document
    return app.openapi_schema


def _exact(path: str, method: str, operation: dict[str, Any]) -> None:
    answers = operation["responses"]
    takes_parameters = answers.pop("422", None) is not None
    if not path.startswith(API):
        if takes_parameters:
            answers["422"] = _problem(422)
        return
    operation["security"] = [{"token": []}]
    if method == "get" and "200" in answers:
        answers["304"] = {"description": "As the caller has it already, by `If-None-Match`"}
        _etag(answers["200"])
    for status in READING if method == "get" else WRITING:
        answers[str(status)] = _problem(status)


def _etag(answer: dict[str, Any]) -> None:
    if "application/json" in answer.get("content", {}):
        answer.setdefault("headers", {})["ETag"] = {"schema": {"type": "string"}, "required": True}


def _problem(status: int) -> dict[str, Any]:
    titles = [kind.title for kind in KINDS.values() if kind.status == status]
    return {
        "description": "; ".join(titles) or TITLE[status],
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
