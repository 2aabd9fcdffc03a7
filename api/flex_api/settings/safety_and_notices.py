"""Settings of a night: when plans may be applied, what they may move, and who is told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from flex.errors import BadSetting
from flex.model.change_windows import window
from flex.model.limits_and_approvals import Limits
from flex.why_file_unreadable import why_unreadable
from flex_api.settings.quantities import Section, Share, Size, Span, Whole


class Safety(Section):
    trigger_imbalance: Share = Field(
        0.05,
        description="nothing moves while the worst node is within this share of its fair share",
    )
    min_improvement: float = Field(
        0.01, ge=0, lt=1, description="nothing moves for a smaller gain than this"
    )
    hold_runs: Whole = Field(
        1,
        ge=1,
        description="nothing moves before the worst node was outside the trigger in "
        "this many nights in a row",
    )
    site_cooldown: Span = Field(
        timedelta(days=3),
        description="a site that moved stays where it is, with its replicas, for this long",
    )
    max_moves_per_site: Whole = Field(
        2, ge=1, description="so does a site that moved this many times in 30 days"
    )
    spread: bool = Field(
        True,
        description="moves beyond the limits below are left to the next nights, the "
        "most valuable moves first",
    )
    max_moved_sites: Whole = Field(25)
    max_new_sites: Whole = Field(
        25,
        description="names never placed before; anybody can send requests for a name "
        "that is no site of yours",
    )
    max_moved_sites_ratio: float = Field(
        0.30, ge=0, le=1, description="not checked for fewer than 10 sites"
    )
    max_moved_working_set: Size = Field(
        4 * 2**30, description="bytes that new nodes have to read from disk"
    )
    max_inflow_per_node: Whole = Field(10)
    max_rewritten_names: Whole = Field(
        25,
        description="names whose records change though they do not move: another "
        "TTL, a node's other address",
    )
    max_drifted_names: Whole = Field(
        0,
        description="how many names that somebody else changed in DNS a plan changes "
        "back; where there are more, it changes none back",
    )
    plan_expiry: Span = Field(
        timedelta(hours=12), description="an older plan is not applied any more"
    )
    four_eyes: bool = Field(
        False, description="a plan is applied by hand only when somebody else has approved it"
    )
    windows: tuple[str, ...] = Field(
        (),
        description="when plans may be applied, in cluster.timezone: 'Mon-Fri "
        "01:00-05:00'; always when empty",
    )

    @field_validator("windows")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            window(text)
        return value

    def limits(self) -> Limits:
        return Limits(
            moved_sites=self.max_moved_sites,
            new_sites=self.max_new_sites,
            drifted_names=self.max_drifted_names,
            rewritten_names=self.max_rewritten_names,
            moved_share=self.max_moved_sites_ratio,
            cold_bytes=self.max_moved_working_set,
            inflow=self.max_inflow_per_node,
        )


class Webhook(Section):
    """Gets what a night came to as JSON, signed where it has a secret."""

    name: str = Field("webhook", description="its name in the records of FLEX")
    url: str = Field("", pattern=r"^(https?://\S+)?$", description="its URL")
    url_file: Path | None = Field(
        None, description="a file with the URL, where the URL itself is a secret"
    )
    secret_file: Path | None = Field(
        None, description="a file with the secret that signs bodies, by HMAC-SHA256"
    )
    format: Literal["json", "slack"] = Field(
        "json", description="json, or what Slack and its like take"
    )

    @model_validator(mode="after")
    def _one_address(self) -> Webhook:
        if bool(self.url) == bool(self.url_file):
            raise ValueError("give either url or url_file")
        return self

    def address(self) -> str:
        return self.url or _read(self.url_file)

    def secret(self) -> bytes:
        return _read(self.secret_file).encode() if self.secret_file else b""


class Notify(Section):
    on: tuple[Literal["applied", "approval", "failure", "drift"], ...] = Field(
        ("applied", "approval", "failure", "drift"),
        description="which events are told; a night with nothing to do never is",
    )
    mail_to: tuple[str, ...] = Field((), description="the addresses that get mails")
    mail_from: str = Field("flex@localhost", min_length=3, description="the sender's address")
    smtp: str = Field(
        "localhost:25",
        pattern=r"^(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}$",
        description="the mail server",
    )
    base_url: str = Field(
        "",
        pattern=r"^(https?://\S+)?$",
        description="the URL at which people open the pages of `flex serve`",
    )
    attach_report: bool = Field(
        False, description="put the night's report into the mail, as one HTML file"
    )
    webhook: tuple[Webhook, ...] = ()


class Metrics(Section):
    textfile: Path | None = Field(
        None, description="a file for the node exporter's textfile collector, ending in .prom"
    )


def _read(path: Path | None) -> str:
    try:
        return path.read_text(encoding="utf-8").strip() if path else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(
            f"reading {path} for a webhook",
            why_unreadable(error),
            kept="this webhook heard of nothing",
            advice="make the file readable for the user that FLEX runs as",
        ) from error
