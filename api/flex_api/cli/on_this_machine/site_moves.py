"""Sites on their way from one node to another, on this machine's installation."""

from __future__ import annotations

from dataclasses import dataclass

from flex_api.cli.common import Context
from flex_api.cli.open_installation import open_world
from flex_api.moving import end_rest_of_site
from flex_api.schemas.site_moves import MovesOutput, RestOutput, move_rows
from flex_api.which_names_are_sites import site_name


@dataclass(frozen=True, slots=True)
class MovesHere:
    context: Context

    def moves(self, site: str, limit: int) -> MovesOutput:
        with open_world(self.context) as here:
            found = here.store.site_moves(limit, site=site and site_name(site))
            runs = here.store.stage_runs([move.id for move in found])
        return MovesOutput(items=move_rows(found, runs))

    def again(self, site: str, reason: str, *, dry_run: bool) -> RestOutput:
        with open_world(self.context, reason=reason) as here:
            name = site_name(site)
            end_rest_of_site.let_move_again(
                here.store, name, here.time_of_day(), dry_run=dry_run
            )
        return RestOutput(sites=[name], dry_run=dry_run)
