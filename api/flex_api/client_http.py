"""How the client sends a request: its answer becomes a model, and an error of the server becomes
the same error here.

Does not know any resource: client.py does. Uses the standard library alone.
"""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ValidationError

from flex import errors, http_without_redirects
from flex.errors import Away, FlexError
from flex.model.limits_and_approvals import Stop
from flex_api.schemas.request_and_list_base import PageOf

Model = TypeVar("Model", bound=BaseModel)
Page = TypeVar("Page", bound=PageOf)
Ticks = Callable[[float], None]
# What a list is narrowed down by.
Filter = str | int | bool

# Seconds that the service may take to answer. A guess.
TIMEOUT = 60.0
UNSURE = "what was asked may or may not have been done"


@dataclass(frozen=True, slots=True)
class ServerCalls:
    """`server` is such as https://flex.example.net; `wait` is how it waits between two looks at a
    job.
    """

    server: str
    token: str
    timeout: float = TIMEOUT
    wait: Ticks = time.sleep

    def pages(self, page: type[Page], path: str, filters: Mapping[str, Filter]) -> Iterator[Page]:
        query = {"limit": 1000, **filters}
        while True:
            answer, _ = self.get(
                page, f"{path}?{urlencode({name: plain(value) for name, value in query.items()})}"
            )
            yield answer
            if answer.next is None:
                return
            query["cursor"] = answer.next

    def get(self, model: type[Model], path: str) -> tuple[Model, str]:
        return self.ask(model, "GET", path, None, {})

    def ask(
        self,
        model: type[Model],
        method: str,
        path: str,
        body: BaseModel | None,
        headers: Mapping[str, str],
    ) -> tuple[Model, str]:
        answer, tag = self.send(method, path, body, headers)
        try:
            return model.model_validate_json(answer), tag
        except ValidationError as error:
            raise self._away(
                f"its answer is not one of this version of FLEX: {error.errors()[0]['msg']}"
            ) from error

    def send(
        self, method: str, path: str, body: BaseModel | None, headers: Mapping[str, str]
    ) -> tuple[bytes, str]:
        request = urllib.request.Request(  # noqa: S310  the scheme is looked at in `client`
            f"{self.server.rstrip('/')}/api/v1{path}",
            data=None if body is None else body.model_dump_json().encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                **headers,
            },
        )
        try:
            with http_without_redirects.answer(request, self.timeout) as answer:
                return answer.read(), answer.headers.get("ETag", "")
        except urllib.error.HTTPError as error:
            with error:
                elsewhere = http_without_redirects.elsewhere(error)
                reason = f"it answered {error.code}{elsewhere and ': '}{elsewhere}"
                raise _error_in(error.read()) or self._away(reason) from error
        except (OSError, ValueError, HTTPException) as error:
            raise self._away(str(error), _what_stayed(method, error)) from error

    def text(self, path: str, media: str) -> str:
        """What is no model, such as a report."""
        return self.send("GET", path, None, {"Accept": media})[0].decode("utf-8", "replace")

    def _away(self, answer: str, kept: str = UNSURE) -> Away:
        return Away(
            f"asking the FLEX server {self.server}",
            answer,
            kept=kept,
            advice="see that `flex serve` runs there and that the address is right, "
            "then look before asking again",
        )


def _what_stayed(method: str, error: Exception) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ConnectionRefusedError | socket.gaierror | ValueError):
        return "nothing was sent"
    return "nothing was changed" if method == "GET" else UNSURE


def part(name: str) -> str:
    return quote(name, safe="")


def plain(value: Filter) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _error_in(body: bytes) -> FlexError | None:
    """The error that a problem stands for; None where the answer is none of FLEX's."""
    try:
        problem = json.loads(body)
        return error_of(problem) if "code" in problem else None
    except (ValueError, TypeError):
        return None


def error_of(problem: Mapping[str, Any]) -> FlexError:
    """Any: what a problem holds. The kinds of errors are told by their slugs; the first of each
    tree stands for it.
    """
    kind = _kinds().get(str(problem["code"]), FlexError)
    stops = [
        Stop(
            rule["rule"],
            rule["limit"],
            rule["actual"],
            "a rule forbids it",
            "" if '"force"' in rule["override"] else rule["override"],
        )
        for rule in problem.get("rules", [])
    ]
    return kind(
        str(problem.get("asked") or problem.get("title", "")),
        str(problem.get("answer") or problem.get("detail", "")),
        kept=str(problem.get("unchanged") or "unknown"),
        advice=str(problem.get("next_step") or "look at the server's log"),
        stops=stops,
    )


def _kinds() -> dict[str, type[FlexError]]:
    # On the command line there, a setting that cannot be used is bad input like any other.
    kinds: dict[str, type[FlexError]] = {"settings": errors.BadSetting}
    waiting: list[type[FlexError]] = [errors.FlexError]
    while waiting:
        kind = waiting.pop(0)
        kinds.setdefault(kind.slug, kind)
        waiting += kind.__subclasses__()
    return kinds
