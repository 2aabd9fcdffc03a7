"""Sites, and the wishes for them: as the verbs print them with -o json, and as the API takes and
answers them.

The fields of a wish stand here once for each model, because order, names and defaults are part of
what other programs read. What a field means, its bounds and its default come from
flex/model/wish.py; a test compares the models with it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from flex.model.wish import ASKS, DEFAULTS, FIELDS, Pin
from flex_api.schemas.output_base import Output, Part
from flex_api.schemas.request_and_list_base import CLEAN, Given, Moment, Names, Text
from flex_api.schemas.times_of_sites import cpu_seconds, service_seconds
from flex_api.schemas.what_if_output import PreviewRow

ON_TOP = "it is on top of the permanent wish, which has none, for its time"
# What a site's row calls those fields of its wish that it has another name for.
OF_A_SITE = {
    "nodes": "pinned_to",
    "since": "pin_since",
    "until": "pin_until",
    "reason": "pin_reason",
    "author": "pin_author",
}


def _field_to_give(name: str) -> Any:
    """A field that a wish may have, with its default, bounds and text. Any: as pydantic's own."""
    words = ASKS[name]
    return Field(DEFAULTS[name], ge=words.least, le=words.most, description=words.help)


def _field_to_read(name: str) -> Any:
    """A field of a wish that is answered, always. Any: as pydantic's own."""
    return Field(description=ASKS[name].help)


def _field_to_read_or_lack(name: str) -> Any:
    """A field of a wish that an answer of another version may lack. Any: as pydantic's own."""
    default = DEFAULTS[name]
    return Field([*default] if isinstance(default, tuple) else default, description=ASKS[name].help)


def values(pin: Pin) -> dict[str, Any]:
    """What models hold of a wish, by name. Any: values of any field."""
    return {name: getattr(pin, name) for name in FIELDS}


def values_of_site(pin: Pin) -> dict[str, Any]:
    """The same by the names that the row of a site has. Any: values of any field."""
    return {
        OF_A_SITE.get(name, name): getattr(pin, name)
        for name in FIELDS
        if name not in ("site", "campaign")
    }


class PinGiven(Given):
    """A wish for one site. It begins and ends by itself where it says so."""

    nodes: Names = _field_to_give("nodes")
    not_on: Names = _field_to_give("not_on")
    together: Names = _field_to_give("together")
    apart: Names = _field_to_give("apart")
    min_replicas: int = _field_to_give("min_replicas")
    max_replicas: int = _field_to_give("max_replicas")
    weight: float = _field_to_give("weight")
    sla: Annotated[str, Field(max_length=255, pattern=CLEAN)] = _field_to_give("sla")
    excluded: bool = _field_to_give("excluded")
    since: Moment | None = None
    until: Moment | None = None
    reason: Text = ""


class PinShown(Part):
    site: str
    campaign: str = Field(description=ON_TOP)
    nodes: list[str] = _field_to_read("nodes")
    not_on: list[str] = _field_to_read("not_on")
    together: list[str] = _field_to_read("together")
    apart: list[str] = _field_to_read("apart")
    min_replicas: int = _field_to_read("min_replicas")
    max_replicas: int = _field_to_read("max_replicas")
    weight: float = _field_to_read("weight")
    sla: str = _field_to_read("sla")
    excluded: bool = _field_to_read("excluded")
    since: datetime | None
    until: datetime | None
    reason: str
    author: str
    holds: bool = Field(description="whether it is in force now")


class PinTried(PinShown):
    """The answer of a dry run."""

    preview: PreviewRow | None = Field(
        description="what the next plan would do then; none where no plan can be made"
    )
    notes: list[str] = Field(description="why there is none")


class PinOutput(Output):
    site: str
    pinned: bool
    nodes: list[str] = _field_to_read("nodes")
    min_replicas: int = _field_to_read("min_replicas")
    not_on: list[str] = _field_to_read("not_on")
    max_replicas: int = _field_to_read("max_replicas")
    together: list[str] = _field_to_read("together")
    apart: list[str] = _field_to_read("apart")
    until: datetime | None
    reason: str
    dry_run: bool
    since: datetime | None = None
    weight: float = _field_to_read_or_lack("weight")
    sla: str = _field_to_read_or_lack("sla")
    excluded: bool = _field_to_read_or_lack("excluded")
    author: str = ""
    campaign: str = Field("", description=ON_TOP)
    preview: PreviewRow | None = Field(
        None, description="with --dry-run: what the next plan would do then"
    )
    notes: list[str] = Field([], description="with --dry-run: why there is no preview")


class LearnedRow(Part):
    source: Literal["settings", "aliases_file", "vhosts", "www"] = Field(
        description="which setting of [ingest] brought the name; www is the rule for `www.`"
    )
    where: str = Field(description="the setting, or the file and its line")


class NameRow(Part):
    name: str
    learned: list[LearnedRow]
    moves: Literal["dns", "cname", "doors", "stays", "no_address", "unknown"] = Field(
        description="what moves it with its site, by the newest plan: FLEX in DNS, a CNAME, "
        "or doors; stays: it has an address of its own; no_address: nothing of it was found "
        "in DNS that could stay behind"
    )
    why: str


class SiteRow(Part):
    site: str
    nodes: list[str]
    access_bytes: int
    working_set_bytes: int
    requests: int
    targets: int
    one_timers: int
    busy_hour_bytes: int
    service_seconds: float | None = service_seconds()
    cpu_seconds: float | None = cpu_seconds()
    stays_for: list[str] = Field(
        [],
        description="what a move would take along, or leave behind, so that the site "
        "stays where it is, by the newest plan",
    )
    names: list[NameRow] | None = Field(
        None, description="its other names; null where nobody looked at them"
    )
    names_not_known: str = Field(
        "", description="why nobody can tell its other names, such as two sites claiming one"
    )
    pinned_to: list[str] = _field_to_read("nodes")
    min_replicas: int = _field_to_read("min_replicas")
    max_replicas: int = _field_to_read_or_lack("max_replicas")
    not_on: list[str] = _field_to_read_or_lack("not_on")
    together: list[str] = _field_to_read_or_lack("together")
    apart: list[str] = _field_to_read_or_lack("apart")
    weight: float = _field_to_read_or_lack("weight")
    sla: str = _field_to_read_or_lack("sla")
    excluded: bool = _field_to_read_or_lack("excluded")
    pin_since: datetime | None = None
    pin_until: datetime | None = None
    pin_reason: str = ""
    pin_author: str = ""


class SitesOutput(Output):
    period_start: datetime | None
    period_end: datetime | None
    items: list[SiteRow]
