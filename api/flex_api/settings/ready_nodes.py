"""Settings of what a node must prove before a site moves there.

Takes what the file says. Returns values. Does not ask any node: api/flex_api/moving does.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from flex_api.settings.quantities import Section, Size, Span, Whole
from flex_api.settings.zone_names import SiteName

# The shortest span that a setting takes which must not be 0.
SECOND = timedelta(seconds=1)


def _path(value: str) -> str:
    if value and not (value.startswith("/") and value.isascii() and value.isprintable()):
        raise ValueError("wanted a path such as '/' or '/status.php'")
    if " " in value or "#" in value:
        raise ValueError("spaces and # are written as %20 and %23 in a path")
    return value


def _statuses(value: tuple[int, ...]) -> tuple[int, ...]:
    if wrong := [status for status in value if not 200 <= status < 600]:
        raise ValueError(f"{wrong[0]} is no status of an answer; they are 200 to 599")
    return value


# Whether a site goes to a node that does not have its content, when its own is dead.
Failover = Literal["auto", "copy", "always"]

Path_ = Annotated[str, AfterValidator(_path)]
Statuses = Annotated[tuple[int, ...], AfterValidator(_statuses)]


class Ready(Section):
    """What is asked of the new node before a site moves there; by default nothing."""

    check: bool = Field(
        False,
        description="ask the new node of each site that is to move, and compare with the old "
        "one; a site whose new node is not ready stays",
    )
    scheme: Literal["http", "https", "both"] = Field(
        "both", description="how the sites are asked for"
    )
    port: Whole = Field(
        0,
        le=65_535,
        description="port of the web servers; 0: routing.origin_port with routing on, else 80",
    )
    tls_port: Whole = Field(
        0,
        le=65_535,
        description="port of the web servers for HTTPS; 0: with routing on the port of "
        "routing.listen_tls or routing.origin_tls_port, else 443",
    )
    path: Path_ = Field("/", min_length=1, description="path that is asked for")
    status: Statuses = Field(
        (),
        description="statuses that the new node may answer; empty: the one of the old node, "
        "and any below 400 where there is none to compare with",
    )
    marker: str = Field("", max_length=1000, description="a text that the answer must have in it")
    length_factor: float = Field(
        1.5,
        ge=1,
        le=1000,
        description="the new node's answer may be longer or shorter by this factor",
    )
    ca_file: Path | None = Field(
        None,
        description="certificates of those who may have signed the sites' own; the "
        "system's when not set",
    )
    certificate_days: Whole = Field(
        3, le=3660, description="days for which a certificate must still be valid"
    )
    self_signed: bool = Field(False, description="a certificate may be signed by nobody but itself")
    age_path: Path_ = Field(
        "",
        description="path that says how old the content is, by its Last-Modified or by a "
        "time in its answer; empty: none",
    )
    max_age: Span = Field(
        timedelta(minutes=10),
        description="how much older than on the old node that may be; where there is no "
        "old node, than now",
    )
    patience: Span = Field(
        timedelta(seconds=5),
        ge=SECOND,
        le=timedelta(minutes=10),
        description="how long one answer may take, to its end",
    )
    largest: Size = Field(
        4 * 2**20,
        ge=1024,
        le=2**30,
        description="bytes of one answer that are read; a larger one proves nothing",
    )
    budget: Span = Field(
        timedelta(minutes=10),
        ge=SECOND,
        description="how long all questions of one plan may take; a site that was not "
        "asked for by then stays",
    )
    at_once: Whole = Field(4, ge=1, le=100, description="questions to one node side by side")
    per_second: Whole = Field(
        20, ge=1, le=10_000, description="questions to one node in a second, on average"
    )


class MovedSite(Section):
    """What is otherwise for one site; None is as for all."""

    name: SiteName
    failover: Failover | None = Field(
        None, description="whether it goes to another node when its own is dead"
    )
    ready_check: bool | None = Field(None, description="false: it moves without being asked for")
    ready_scheme: Literal["http", "https", "both"] | None = None
    ready_path: Path_ | None = None
    ready_status: Statuses | None = None
    ready_marker: str | None = Field(None, max_length=1000)
    ready_length_factor: float | None = Field(None, ge=1, le=1000)
    ready_self_signed: bool | None = None
    ready_age_path: Path_ | None = None
    ready_max_age: Span | None = None
