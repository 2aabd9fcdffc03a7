"""A client of the REST API, typed by the models that the server answers with.

In go the server's address and a token; out come models, or the very errors that the same verb raises on the server.
It leans on the standard library alone, so that whoever installs FLEX has it, and the command line's `--server` uses it.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic import BaseModel, ValidationError

from flex import errors
from flex.consent import Stop
from flex.errors import Away, BadInput, FlexError
from flex_api.night_schemas import NodeRow
from flex_api.rest_schemas import (
    ApplyGiven,
    ApprovalGiven,
    DrainGiven,
    FreezeGiven,
    FreezeShown,
    JobShown,
    NodeChanged,
    NodesPage,
    PinGiven,
    PinShown,
    PinsPage,
    PlanGiven,
    PlansPage,
    RollbackGiven,
    RunsPage,
    SitesPage,
)
from flex_api.schemas import PlanOutput, PlanRow, RunRow, SiteRow

Model = TypeVar("Model", bound=BaseModel)
Page = TypeVar("Page", SitesPage, PinsPage, NodesPage, PlansPage, RunsPage)
Ticks = Callable[[float], None]

TIMEOUT = 60.0
LOOK = 0.3
ANY = "*"


@dataclass(frozen=True, slots=True)
class Client:
    """`server` is such as https://flex.example.net; `wait` is how it waits between two looks at a job."""

    server: str
    token: str
    timeout: float = TIMEOUT
    wait: Ticks = time.sleep

    def sites(self, **filters: str | int | bool) -> Iterator[SiteRow]:
        for page in self._pages(SitesPage, "/sites", filters):
            yield from page.items

    def site(self, site: str) -> SiteRow:
        return self._get(SiteRow, f"/sites/{_part(site)}")[0]

    def pins(self, **filters: str | int | bool) -> Iterator[PinShown]:
        for page in self._pages(PinsPage, "/pins", filters):
            yield from page.items

    def pin(self, site: str) -> tuple[PinShown, str]:
        """The wish, and the tag that a change of it needs."""
        return self._get(PinShown, f"/sites/{_part(site)}/pin")

    def put_pin(self, site: str, pin: PinGiven, tag: str = "", *, dry_run: bool = False) -> PinShown:
        """Without a tag it must be new."""
        condition = {"If-Match": tag} if tag else {"If-None-Match": ANY}
        path = f"/sites/{_part(site)}/pin" + ("?dry_run=true" if dry_run else "")
        return self._ask(PinShown, "PUT", path, pin, condition)[0]

    def drop_pin(self, site: str, tag: str, reason: str = "") -> None:
        self._send("DELETE", f"/sites/{_part(site)}/pin?{urlencode({'reason': reason})}", None, {"If-Match": tag})

    def nodes(self, **filters: str | int | bool) -> Iterator[NodeRow]:
        for page in self._pages(NodesPage, "/nodes", filters):
            yield from page.items

    def node(self, node: str) -> tuple[NodeRow, str]:
        return self._get(NodeRow, f"/nodes/{_part(node)}")

    def drain(self, node: str, given: DrainGiven, tag: str, *, dry_run: bool = False) -> NodeChanged:
        path = f"/nodes/{_part(node)}/drain" + ("?dry_run=true" if dry_run else "")
        return self._ask(NodeChanged, "PUT", path, given, {"If-Match": tag})[0]

    def undrain(self, node: str, tag: str, reason: str = "") -> NodeChanged:
        path = f"/nodes/{_part(node)}/drain?{urlencode({'reason': reason})}"
        return self._ask(NodeChanged, "DELETE", path, None, {"If-Match": tag})[0]

    def plans(self, **filters: str | int | bool) -> Iterator[PlanRow]:
        for page in self._pages(PlansPage, "/plans", filters):
            yield from page.items

    def plan(self, plan: str) -> tuple[PlanOutput, str]:
        return self._get(PlanOutput, f"/plans/{_part(plan)}")

    def make_plan(self, given: PlanGiven) -> JobShown:
        return self._ask(JobShown, "POST", "/plans", given, {})[0]

    def discard(self, plan: str, tag: str, reason: str = "") -> None:
        self._send("DELETE", f"/plans/{_part(plan)}?{urlencode({'reason': reason})}", None, {"If-Match": tag})

    def decide(self, plan: str, given: ApprovalGiven) -> PlanOutput:
        return self._ask(PlanOutput, "POST", f"/plans/{_part(plan)}/approval", given, {})[0]

    def apply(self, plan: str, digest: str, given: ApplyGiven) -> JobShown:
        return self._ask(JobShown, "POST", f"/plans/{_part(plan)}/apply", given, {"If-Match": f'"{digest}"'})[0]

    def rollback(self, given: RollbackGiven) -> JobShown:
        return self._ask(JobShown, "POST", "/rollbacks", given, {})[0]

    def runs(self, **filters: str | int | bool) -> Iterator[RunRow]:
        for page in self._pages(RunsPage, "/runs", filters):
            yield from page.items

    def freeze(self) -> tuple[FreezeShown, str]:
        return self._get(FreezeShown, "/freeze")

    def put_freeze(self, given: FreezeGiven, tag: str) -> FreezeShown:
        return self._ask(FreezeShown, "PUT", "/freeze", given, {"If-Match": tag})[0]

    def thaw(self, tag: str, reason: str = "") -> None:
        self._send("DELETE", f"/freeze?{urlencode({'reason': reason})}", None, {"If-Match": tag})

    def job(self, job: str) -> JobShown:
        return self._get(JobShown, f"/jobs/{_part(job)}")[0]

    def followed(self, job: JobShown, say: Callable[[str], None] = lambda _: None) -> JobShown:
        """The job once it has ended. Raises what it failed with."""
        stage = ""
        while job.state == "running":
            self.wait(LOOK)
            job = self.job(job.id)
            if job.stage != stage:
                stage = job.stage
                say(stage)
        if job.problem:
            raise _error(job.problem)
        return job

    def _pages(self, page: type[Page], path: str, filters: Mapping[str, str | int | bool]) -> Iterator[Page]:
        asked = {"limit": 1000, **filters}
        while True:
            found, _ = self._get(page, f"{path}?{urlencode({name: _plain(value) for name, value in asked.items()})}")
            yield found
            if found.next is None:
                return
            asked["cursor"] = found.next

    def _get(self, model: type[Model], path: str) -> tuple[Model, str]:
        return self._ask(model, "GET", path, None, {})

    def _ask(
        self, model: type[Model], method: str, path: str, body: BaseModel | None, headers: Mapping[str, str]
    ) -> tuple[Model, str]:
        said, tag = self._send(method, path, body, headers)
        try:
            return model.model_validate_json(said), tag
        except ValidationError as error:
            raise self._away(
                f"it answered something else than a FLEX of this version: {error.errors()[0]['msg']}"
            ) from error

    def _send(self, method: str, path: str, body: BaseModel | None, headers: Mapping[str, str]) -> tuple[bytes, str]:
        request = urllib.request.Request(  # noqa: S310  the scheme is looked at in `client`
            f"{self.server.rstrip('/')}/api/v1{path}",
            data=None if body is None else body.model_dump_json().encode(),
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310  as above
                return answer.read(), answer.headers.get("ETag", "")
        except urllib.error.HTTPError as error:
            with error:
                raise _told(error.read()) or self._away(f"it answered {error.code}") from error
        except (OSError, ValueError) as error:
            raise self._away(str(error)) from error

    def _away(self, answer: str) -> Away:
        return Away(
            f"asking the FLEX server {self.server}",
            answer,
            kept="what was asked may or may not have been done",
            advice="see that `flex serve` runs there and that the address is right, then look before asking again",
        )


def client(server: str, token: str) -> Client:
    """Raises BadInput for an address that is none."""
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise BadInput(
            f"--server {server}",
            "it is not an address such as https://flex.example.net",
            kept="nothing was asked",
            advice="write http:// or https://, the host, and the port where it is not the usual one",
        )
    return Client(server, token)


def _part(name: str) -> str:
    return quote(name, safe="")


def _plain(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _told(body: bytes) -> FlexError | None:
    """The error that a problem stands for; None where the answer is none of FLEX's."""
    try:
        problem = json.loads(body)
        return _error(problem) if "code" in problem else None
    except (ValueError, TypeError):
        return None


def _error(problem: Mapping[str, Any]) -> FlexError:
    """Any: what a problem holds. The kinds of errors are told by their slugs; the first of each tree stands for it."""
    kind = _kinds().get(str(problem["code"]), FlexError)
    stops = [Stop(one["rule"], one["limit"], one["actual"], "a rule forbids it") for one in problem.get("rules", [])]
    return kind(
        str(problem.get("asked") or problem.get("title", "")),
        str(problem.get("answer") or problem.get("detail", "")),
        kept=str(problem.get("unchanged") or "unknown"),
        advice=str(problem.get("next_step") or "look at the server's log"),
        stops=stops,
    )


def _kinds() -> dict[str, type[FlexError]]:
    found: dict[str, type[FlexError]] = {}
    waiting: list[type[FlexError]] = [errors.FlexError]
    while waiting:
        kind = waiting.pop(0)
        found.setdefault(kind.slug, kind)
        waiting += kind.__subclasses__()
    return found
