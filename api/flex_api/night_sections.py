"""What can be set of a night: when plans may be applied, and what they may move."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field, field_validator

from flex.consent import Limits
from flex.windows import window
from flex_api.quantities import Section, Share, Size, Span, Whole


class Safety(Section):
    trigger_imbalance: Share = Field(0.05, description="nothing moves while the worst node is within this")
    min_improvement: float = Field(0.01, ge=0, lt=1, description="nor for a gain of less than this")
    hold_runs: Whole = Field(1, ge=1, description="nor before the worst node was over it in so many nights running")
    site_cooldown: Span = Field(timedelta(days=3), description="a site that moved stays for so long, wishes aside")
    max_moves_per_site: Whole = Field(2, ge=1, description="likewise one that moved so many times in 30 days")
    spread: bool = Field(
        True, description="what is over the limits below is left to the next nights, the most valuable moves first"
    )
    max_moved_sites: Whole = Field(25)
    max_new_sites: Whole = Field(
        25, description="names never placed before; anybody can send requests for a name that is no site of yours"
    )
    max_moved_sites_ratio: float = Field(0.30, ge=0, le=1, description="not looked at below 10 sites")
    max_moved_working_set: Size = Field(4 * 2**30, description="bytes that new nodes must read from disk")
    max_inflow_per_node: Whole = Field(10)
    max_rewritten_names: Whole = Field(
        25, description="names whose records change though they do not move: another TTL, a node's other address"
    )
    max_drifted_names: Whole = Field(0, description="names of ours that somebody else changed in DNS")
    plan_expiry: Span = Field(timedelta(hours=12), description="an older plan is not applied any more")
    four_eyes: bool = Field(False, description="a plan is applied by hand only when somebody else has approved it")
    windows: tuple[str, ...] = Field(
        (), description="when plans may be applied, in cluster.timezone: 'Mon-Fri 01:00-05:00'; always when empty"
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
