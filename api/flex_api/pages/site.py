"""One site: what it asked, when, how few of its files that was, where it was, why it is there; and wishes for it.

What takes reading logs or building a problem is a part of its own, asked for by the page when it is looked at, or by
a link where there is no script.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from flex.domain import Pin
from flex.errors import FlexError, NoData
from flex_api import files, hosted
from flex_api.pages.forms import SEVERAL, TheForm, address, done, given, moment, queried, refuse
from flex_api.pages.frame import show, told
from flex_api.pages.past import of_site, past
from flex_api.pages.trouble import latest_weeks
from flex_api.pictures.lines import Heat, Lines, Value, hour_of_week, lines, week, weeks_of
from flex_api.routes import pins, sites
from flex_api.routes.sites import ProfileQuery, known
from flex_api.schemas.rest import PinGiven, PinShown, ProfilePage
from flex_api.schemas.verbs import ExplainOutput, FilesOutput, SiteRow
from flex_api.told import words
from flex_api.web.answers import Condition
from flex_api.web.desk import Desk, Operator, Viewer
from flex_api.wishes import explaining, supposing
from flex_api.wishes.previewing import Preview
from flex_logs_ingest.merge import hours_of_site

router = APIRouter(include_in_schema=False)

Part = Literal["", "why", "files", "hours", "preview"]
PERIODS, WEEKS, FILES = 60, 4, 15


@router.get("/site", response_class=HTMLResponse)
def site(
    desk: Viewer, request: Request, name: Annotated[str, Query(max_length=4000)], part: Annotated[Part, Query()] = ""
) -> Response:
    known(desk.views.catalogue(), name)
    row = told(SiteRow, sites.site(desk, name))
    profile = told(ProfilePage, sites.profile(desk, name, ProfileQuery(sort="-start", limit=PERIODS)))
    pin = desk.store.pin(row.site)
    parts: dict[str, object] = {"why": None, "files": None, "hours": None, "preview": None}
    refusal = None
    if part:
        question = f"{part} of {row.site} {request.url.query}"
        try:
            parts[part] = desk.house.later.ask(question, lambda: PARTS[part](desk, row.site, request))
        except FlexError as error:
            if part != "preview":
                raise
            refusal = refuse(request, "/site/pin", error)
    return show(
        desk,
        "site.html",
        "/sites",
        refusal.status if refusal else 200,
        site=row,
        periods=profile.items[::-1],
        pictures=_pictures(profile) if len(profile.items) > 1 else (),
        moved=of_site(past(desk), row.site),
        pin=pins.shown(desk, pin) if pin else None,
        etag=pins.etag_of(desk, row.site),
        wish=_wish(request, pins.shown(desk, pin) if pin else None),
        nodes=[node.name for node in desk.world().nodes],
        part=part,
        pending=part and parts[part] is None and not refusal,
        weeks=latest_weeks(desk, WEEKS),
        **parts,
    )


def _pictures(profile: ProfilePage) -> tuple[Lines, ...]:
    rows = profile.items[::-1]
    labels = [(float(at), f"{row.start:%d %b}") for at, row in enumerate(rows)][:: max(len(rows) // 5, 1)]

    def drawn(title: str, values: list[tuple[float, str]]) -> Lines:
        marks = [Value(at, value, said) for at, (value, said) in enumerate(values)]
        return lines(title, f"From {values[0][1]} to {values[-1][1]}.", [(title, "one", marks)], labels, say=words.size)

    sent = [(row.access_bytes / (row.end - row.start).total_seconds(), row) for row in rows]
    return (
        drawn("Sent a second", [(value, f"{words.size(value)} a second, {row.start:%d %b}") for value, row in sent]),
        drawn(
            "Working set",
            [(row.working_set_bytes, f"{words.size(row.working_set_bytes)}, {row.start:%d %b}") for row in rows],
        ),
    )


def _why(desk: Desk, name: str, _: Request) -> ExplainOutput:
    return explaining.explained(desk.world(), name)


def _files(desk: Desk, name: str, _: Request) -> FilesOutput | str:
    try:
        return files.files_output(desk.world(), name, limit=FILES)
    except NoData as error:
        return error.answer


def _hours(desk: Desk, name: str, _: Request) -> Heat:
    """Requests of each hour of the week, on the mean of the last weeks."""
    period = latest_weeks(desk, WEEKS)
    found = hours_of_site(desk.store, desk.settings.ingest.directory, period, name)
    hour, requests = found["hour"].to_numpy(dtype=np.int64), found["requests"].to_numpy(dtype=np.int64)
    passed = max(len(np.unique(weeks_of(hour))), 1)
    return week("Requests", np.bincount(hour_of_week(hour), weights=requests, minlength=7 * 24) / passed, "requests")


def _preview(desk: Desk, name: str, request: Request) -> Preview:
    wish = given(PinGiven, queried(request))
    return supposing.with_pin(desk.world(), Pin(site=name, author=desk.caller.name, **dict(wish)))


PARTS = {"why": _why, "files": _files, "hours": _hours, "preview": _preview}


def _wish(request: Request, pin: PinShown | None) -> dict[str, object]:
    """What stands in the form: what is being tried out, else what is wished for already."""
    fields = ("nodes", "not_on", "min_replicas", "until", "reason", "excluded")
    if request.query_params.get("part") == "preview":
        stated = {name: request.query_params.get(name, "") for name in fields}
        return {**stated, "until": stated["until"][:16]}
    if pin is None:
        return {**dict.fromkeys(fields, ""), "min_replicas": 1}
    until = f"{pin.until:%Y-%m-%dT%H:%M}" if pin.until else ""
    values = {"nodes": " ".join(pin.nodes), "not_on": " ".join(pin.not_on), "min_replicas": pin.min_replicas}
    return {**values, "until": until, "reason": pin.reason, "excluded": "true" if pin.excluded else ""}


@router.post("/site/pin")
def put(desk: Operator, form: TheForm) -> Response:
    """Keep the wish, or first show what it would do: then the address holds all of it."""
    name = form.text("name")
    until = moment(form.text("until"), "until")
    wanted = given(PinGiven, form, **({"until": until} if until else {}))
    if form.text("do") == "preview":
        fields = {key: " ".join(form.words(key)) for key in SEVERAL}
        others = {key: form.text(key) for key in ("min_replicas", "reason", "excluded")}
        stated = {**fields, **others, "until": until.isoformat() if until else ""}
        return RedirectResponse(address("/site", name=name, part="preview", **stated) + "#preview", 303)
    pins.put_pin(desk, name, wanted, _condition(form.text("etag")))
    return done("pinned", "/site", name=hosted.site_name(name))


@router.post("/site/unpin")
def drop(desk: Operator, form: TheForm) -> Response:
    name = form.text("name")
    pins.delete_pin(desk, name, _condition(form.text("etag")), given(PinGiven, form).reason)
    return done("unpinned", "/site", name=hosted.site_name(name))


def _condition(etag: str) -> Condition:
    """What the form was made from: a wish as it was, or none."""
    return Condition(if_match=etag) if etag else Condition(if_none_match="*")
