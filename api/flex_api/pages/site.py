"""One site: what it asked for and when, how few files that was, where it was, why it is there, and
wishes for it.

A part that has to read logs or build a problem is loaded when somebody looks at it, or by a link
where the browser has no script.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from flex.errors import BadInput, FlexError, NoData
from flex.model.wish import ASKS, DEFAULTS, Pin, Words
from flex.wishes.wishes_in_force_now import NIGHT
from flex_api import requests_by_file, which_names_are_sites
from flex_api.in_words import amounts as in_words
from flex_api.in_words import (
    names_of_sites_text,
    site_moves_text,
    visitors_text,
    wish_text,
)
from flex_api.manage_tokens import refuse_below
from flex_api.night import move_site_by_hand
from flex_api.night.plan_with_stops import plan_with_stops
from flex_api.pages.cached_nights import moves_of_site, past
from flex_api.pages.forms import (
    SEVERAL,
    Form,
    TheForm,
    address,
    form_of_query,
    from_form,
    moment,
    redirect_after,
    refuse,
)
from flex_api.pages.frame import as_model, show
from flex_api.pictures.time_and_forecast_charts import Heat, Lines, Value, lines, week
from flex_api.routes import sites, wishes_and_campaigns
from flex_api.routes.sites import ProfileQuery, find_row
from flex_api.schemas.explain_output import ExplainOutput
from flex_api.schemas.rest_bodies import ProfilePage
from flex_api.schemas.sites_and_wishes import PinGiven, PinShown, SiteRow
from flex_api.schemas.times_of_sites import MICROSECONDS
from flex_api.schemas.verbs_output import FilesOutput, PlanOutput
from flex_api.web.etag_responses import Condition
from flex_api.web.moves_by_page import few_moves
from flex_api.web.request_context import Desk, Operator, Viewer
from flex_api.web.sight import latest_hours, latest_weeks
from flex_api.wishes import explain_site, what_if_frontier_compare
from flex_api.wishes.previewing import Preview
from flex_logs_ingest.counts.add_up_hours_and_sample import hours_of_site

router = APIRouter(include_in_schema=False)

# Times that are drawn where any was counted.
TIMES = (("Service", "service_us"), ("Processor time", "cpu_us"))

Part = Literal["", "why", "files", "hours", "preview", "move"]
# Periods in the pictures of a site. A guess.
PERIODS = 60
# Files of the site on its page. A guess; `flex files` has them all.
FILES = 15
# Other names of the site on its page. A guess.
NAMES = 100
# What the form of a wish holds, and those fields of it that are a date and a time.
FIELDS = (*ASKS, "campaign", "since", "until", "reason")
MOMENTS = ("since", "until")
# Parts that a form asks for, with what that form is sent to.
FORMS = {"preview": "/site/pin", "move": "/moves"}


@router.get("/site", response_class=HTMLResponse)
def site(
    desk: Viewer,
    request: Request,
    name: Annotated[str, Query(max_length=4000)],
    part: Annotated[Part, Query()] = "",
    of: Annotated[
        str | None, Query(max_length=100, description="the campaign that the form is about")
    ] = None,
) -> Response:
    find_row(desk.views.catalogue(), name)
    row = as_model(SiteRow, sites.site(desk, name))
    profile = as_model(
        ProfilePage, sites.profile(desk, name, ProfileQuery(sort="-start", limit=PERIODS))
    )
    wishes = [
        wishes_and_campaigns.pin_model(desk, pin) for pin in desk.views.wishes().get(row.site, ())
    ]
    chosen = _choose_wish(wishes, of)
    parts: dict[str, object] = {
        "why": None,
        "files": None,
        "hours": None,
        "preview": None,
        "move": None,
    }
    refusal = None
    if part:
        question = f"{part} of {row.site} {request.url.query}"
        try:
            parts[part] = desk.house.later.ask(
                question, lambda: PARTS[part](desk, row.site, request)
            )
        except FlexError as error:
            if part not in FORMS:
                raise
            refusal = refuse(request, FORMS[part], error)
    return show(
        desk,
        "site.html",
        "/sites",
        refusal.status if refusal else 200,
        site=row,
        periods=profile.items[::-1],
        timed=any(
            period.service_seconds is not None or period.cpu_seconds is not None
            for period in profile.items
        ),
        pictures=_pictures(profile) if len(profile.items) > 1 else (),
        ways=names_of_sites_text.MOVES,
        places_of_name=names_of_sites_text.places_of_name,
        most_names=NAMES,
        moved=moves_of_site(past(desk), row.site),
        site_moves=few_moves(desk, site=row.site),
        move_to=" ".join(form_of_query(request).words("to")),
        move_why=form_of_query(request).text("why"),
        words=site_moves_text,
        wishes=[
            (wish, wishes_and_campaigns.etag_of(desk, row.site, wish.campaign)) for wish in wishes
        ],
        # What begins before that is carried out by the next plan.
        next_plan=desk.now + NIGHT,
        chosen=chosen,
        of=of if chosen is None and of else chosen.campaign if chosen else "",
        etag=wishes_and_campaigns.etag_of(desk, row.site, chosen.campaign) if chosen else "",
        wish=_wish(request, chosen),
        inputs=INPUTS,
        phrases=wish_text.phrases,
        nodes=[node.name for node in desk.world().nodes],
        part=part,
        pending=part and parts[part] is None and not refusal,
        days=latest_hours(desk).days,
        said_of_visitors=_said_of_visitors(parts["why"]),
        **parts,
    )


def _choose_wish(wishes: Sequence[PinShown], of: str | None) -> PinShown | None:
    """The wish that the form is about: the one that is asked for, else the permanent one, else the
    first campaign.
    """
    if of is None:
        return wishes[0] if wishes else None
    return next((wish for wish in wishes if wish.campaign == of), None)


def _pictures(profile: ProfilePage) -> tuple[Lines, ...]:
    rows = profile.items[::-1]
    labels = [(float(at), f"{row.start:%d %b}") for at, row in enumerate(rows)][
        :: max(len(rows) // 5, 1)
    ]

    def picture(title: str, values: list[tuple[float, str]]) -> Lines:
        marks = [Value(at, value, text) for at, (value, text) in enumerate(values)]
        return lines(
            title,
            f"From {values[0][1]} to {values[-1][1]}.",
            [(title, "one", marks)],
            labels,
            say=in_words.size,
        )

    sent = [(row.access_bytes / (row.end - row.start).total_seconds(), row) for row in rows]
    return (
        picture(
            "Sent a second",
            [(value, f"{in_words.size(value)} a second, {row.start:%d %b}") for value, row in sent],
        ),
        picture(
            "Working set",
            [
                (
                    row.working_set_bytes,
                    f"{in_words.size(row.working_set_bytes)}, {row.start:%d %b}",
                )
                for row in rows
            ],
        ),
    )


def _why(desk: Desk, name: str, _: Request) -> ExplainOutput:
    return explain_site.explain_site(desk.world(), name)


def _move(desk: Desk, name: str, request: Request) -> PlanOutput:
    """What it would mean to move the site to the nodes that the address names."""
    refuse_below(desk.caller, "operator", f"moving {name}")
    nodes = form_of_query(request).words("to")
    plan = move_site_by_hand.try_plan(desk.world(), name, nodes, desk.caller.name)
    return plan_with_stops(desk.world(), plan)


def _said_of_visitors(why: object) -> list[str]:
    if not isinstance(why, ExplainOutput):
        return []
    return list(visitors_text.visitor_lines(why, datetime.now(UTC)))


def _files(desk: Desk, name: str, _: Request) -> FilesOutput | str:
    try:
        return requests_by_file.files_output(desk.world(), name, limit=FILES)
    except NoData as error:
        return error.answer


def _hours(desk: Desk, name: str, _: Request) -> tuple[Heat, ...]:
    """Requests of each hour of the week, on the mean of the last weeks, and the times that were
    counted.
    """
    period = latest_weeks(desk)
    hour_rows = hours_of_site(desk.store, desk.settings.ingest.directory, period, name)
    hour = hour_rows["hour"].to_numpy(dtype=np.int64)
    weeks = latest_hours(desk)

    def heat_of(title: str, column: str, scale: float, unit: str) -> Heat:
        numbers = hour_rows[column].to_numpy(dtype=np.int64) / scale
        return week(title, weeks.mean_of_week(hour, numbers), unit)

    return (
        heat_of("Requests", "requests", 1, "requests"),
        *(
            heat_of(title, column, MICROSECONDS, "seconds")
            for title, column in TIMES
            if hour_rows[column].any()
        ),
    )


def _preview(desk: Desk, name: str, request: Request) -> Preview:
    form = form_of_query(request)
    wish, campaign = from_form(PinGiven, form, **_moments(form)), _campaign(form)
    return what_if_frontier_compare.preview_wish(
        desk.world(), Pin(site=name, author=desk.caller.name, campaign=campaign, **dict(wish))
    )


PARTS = {"why": _why, "files": _files, "hours": _hours, "preview": _preview, "move": _move}


def _wish(request: Request, pin: PinShown | None) -> dict[str, object]:
    """What stands in the form: what is being tried out, else what is wished for already."""
    if request.query_params.get("part") == "preview":
        stated: dict[str, object] = {name: request.query_params.get(name, "") for name in FIELDS}
        return stated | {name: str(stated[name])[:16] for name in MOMENTS}
    if pin is None:
        return dict.fromkeys(FIELDS, "")
    moments = {name: f"{at:%Y-%m-%dT%H:%M}" for name in MOMENTS if (at := getattr(pin, name))}
    return {
        **dict.fromkeys(FIELDS, ""),
        **{name: _as_typed(getattr(pin, name)) for name in wish_text.phrases(pin)},
        "campaign": pin.campaign,
        "reason": pin.reason,
        **moments,
    }


def _as_typed(value: object) -> str:
    """As somebody would type it."""
    if isinstance(value, list):
        return " ".join(value)
    if isinstance(value, bool):
        return "true" if value else ""
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Input:
    """A field of a wish as the form asks for it."""

    name: str
    words: Words
    kind: Literal["text", "number", "checkbox"]
    step: str


def _input(name: str, words: Words) -> Input:
    default = DEFAULTS[name]
    if isinstance(default, bool):
        return Input(name, words, "checkbox", "")
    if isinstance(default, int | float):
        return Input(name, words, "number", "any" if isinstance(default, float) else "")
    return Input(name, words, "text", "")


INPUTS = tuple(_input(name, words) for name, words in ASKS.items())


@router.post("/site/pin")
def put(desk: Operator, form: TheForm) -> Response:
    """Keep the wish, or first show what it would do: then the address holds all of it."""
    name, campaign, moments = form.text("name"), _campaign(form), _moments(form)
    wanted = from_form(PinGiven, form, **moments)
    if form.text("do") == "preview":
        others = {
            key: form.text(key) for key in FIELDS if key not in SEVERAL and key not in MOMENTS
        }
        stated = others | {key: " ".join(form.words(key)) for key in SEVERAL}
        stated |= {key: at.isoformat() for key, at in moments.items()}
        return RedirectResponse(
            address("/site", name=name, part="preview", of=form.text("of"), **stated) + "#preview",
            303,
        )
    # Under another name it is a wish of its own, which nobody may have made yet.
    condition = _condition(form.text("etag") if campaign == form.text("of") else "")
    if campaign:
        wishes_and_campaigns.put_campaign(desk, name, campaign, wanted, condition)
    else:
        wishes_and_campaigns.put_pin(desk, name, wanted, condition)
    return redirect_after(
        "pinned", "/site", name=which_names_are_sites.site_name(name), of=campaign
    )


@router.post("/site/unpin")
def drop(desk: Operator, form: TheForm) -> Response:
    name = form.text("name")
    campaign = _campaign(form)
    condition = _condition(form.text("etag"))
    reason = from_form(PinGiven, form).reason
    if campaign:
        wishes_and_campaigns.delete_campaign(desk, name, campaign, condition, reason)
    else:
        wishes_and_campaigns.delete_pin(desk, name, condition, reason)
    return redirect_after("unpinned", "/site", name=which_names_are_sites.site_name(name))


def _moments(form: Form) -> dict[str, datetime]:
    moments = {name: moment(form.text(name), name) for name in MOMENTS}
    return {name: at for name, at in moments.items() if at}


def _campaign(form: Form) -> str:
    name = form.text("campaign")
    if name and not re.fullmatch(wishes_and_campaigns.CAMPAIGN, name):
        raise BadInput(
            "the field campaign",
            f"{name[:40]!r} is no name of a campaign: letters, digits, dots, dashes "
            "and underscores, at most 100",
            advice="correct it and send it again",
        )
    return name


def _condition(etag: str) -> Condition:
    """What the form was made from: a wish as it was, or none."""
    return Condition(if_match=etag) if etag else Condition(if_none_match="*")
