"""Questions to a FLEX server that change nothing."""

from __future__ import annotations

from dataclasses import dataclass

from flex.planning.what_if import Supposition
from flex_api.cli.on_a_server.send_and_follow_jobs import given_as
from flex_api.client import Client
from flex_api.schemas.explain_output import ExplainOutput
from flex_api.schemas.rest_bodies import Supposed
from flex_api.schemas.what_if_output import DiffOutput, FrontierOutput, WhatIfOutput


@dataclass(frozen=True, slots=True)
class QuestionsThere:
    client: Client

    def what_if(self, wanted: Supposition, *, frontier: bool) -> WhatIfOutput:
        given = given_as(
            Supposed,
            more_nodes=wanted.more,
            without_nodes=wanted.lost,
            ram_factor=wanted.ram,
            growth_ratio=wanted.growth,
            site_factors=wanted.times,
            tolerance_ratio=wanted.tolerance,
            max_moves=wanted.max_moves,
            frontier=frontier,
        )
        return self.client.what_if(given)

    def frontier(self) -> FrontierOutput:
        return self.client.frontier()

    def difference(self, plan: str, other: str) -> DiffOutput:
        return self.client.difference(plan, other)

    def explanation(self, site: str) -> ExplainOutput:
        return self.client.explanation(site)
