"""Questions to this machine's installation that change nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flex_api import which_names_are_sites
from flex_api.cli.common import Context
from flex_api.cli.open_installation import open_world
from flex_api.wishes import explain_site, what_if_frontier_compare

if TYPE_CHECKING:
    from flex.planning.what_if import Supposition
    from flex_api.schemas.explain_output import ExplainOutput
    from flex_api.schemas.what_if_output import DiffOutput, FrontierOutput, WhatIfOutput


@dataclass(frozen=True, slots=True)
class QuestionsHere:
    context: Context

    def what_if(self, wanted: Supposition, *, frontier: bool) -> WhatIfOutput:
        with open_world(self.context) as here:
            return what_if_frontier_compare.what_if(here, wanted, with_frontier=frontier)

    def frontier(self) -> FrontierOutput:
        with open_world(self.context) as here:
            return what_if_frontier_compare.frontier_of(here)

    def difference(self, plan: str, other: str) -> DiffOutput:
        with open_world(self.context) as here:
            return what_if_frontier_compare.difference(here, plan, other)

    def explanation(self, site: str) -> ExplainOutput:
        with open_world(self.context) as here:
            return explain_site.explain_site(here, which_names_are_sites.site_name(site))
