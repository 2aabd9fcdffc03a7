"""The description of the API: OpenAPI for programs, and for people a page of our own that loads
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse

from flex_api.report.page import page

router = APIRouter(include_in_schema=False)

# Any, below: the document is plain JSON.


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked, as the page shows it."""

    method: str
    path: str
    summary: str
    about: str
    parameters: tuple[tuple[str, str, str, str], ...]
    body: tuple[tuple[str, str, str], ...]
    answers: tuple[tuple[str, str], ...]
    example: str


@router.get("/api/openapi.json")
async def openapi(request: Request) -> JSONResponse:
    return JSONResponse(request.app.openapi())


@router.get("/api/docs", response_class=HTMLResponse)
async def docs(request: Request) -> str:
    """Every operation with what it takes and answers, and a line for curl."""
    document = request.app.openapi()
    groups: dict[str, list[Operation]] = {}
    for tag, operation in _operations(document):
        groups.setdefault(tag, []).append(operation)
    return page(
        "docs.html",
        groups=groups,
        version=document["info"]["version"],
        about=document["info"]["description"],
    )


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, Operation]]:
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            yield (
                told.get("tags", ["other"])[0],
                Operation(
                    method=method.upper(),
                    path=path,
                    summary=told.get("summary", ""),
                    about=told.get("description", ""),
                    parameters=tuple(map(_parameter, told.get("parameters", []))),
                    body=tuple(_fields(document, told)),
                    answers=tuple(
                        (status, answer["description"])
                        for status, answer in told["responses"].items()
                    ),
                    example=_example(method, path, told),
                ),
            )


def _parameter(parameter: dict[str, Any]) -> tuple[str, str, str, str]:
    return (
        parameter["name"],
        parameter["in"],
        _type(parameter["schema"]),
        parameter.get("description", parameter["schema"].get("description", "")),
    )


def _fields(document: dict[str, Any], told: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    content = (
        told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    )
    name = content.get("$ref", "").rpartition("/")[2]
    schema = document["components"]["schemas"].get(name, {})
    for field, about in schema.get("properties", {}).items():
        needed = "needed" if field in schema.get("required", []) else "optional"
        yield field, _type(about), f"{needed}. {about.get('description', '')}".strip()


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " | ".join(map(_type, schema["anyOf"]))
    kind = str(schema.get("type", schema.get("$ref", "").rpartition("/")[2]))
    return f"{kind} ({schema['format']})" if "format" in schema else kind


def _example(method: str, path: str, told: dict[str, Any]) -> str:
    parts = ["curl", '-H "Authorization: Bearer $TOKEN"']
    if method != "get":
        parts.append(f"-X {method.upper()}")
    if any(parameter["name"] == "if-match" for parameter in told.get("parameters", [])):
        parts.append("-H 'If-Match: \"…\"'")
    if "requestBody" in told:
        parts.append("--json '{…}'")
    return " ".join([*parts, f"$FLEX{path}"])
