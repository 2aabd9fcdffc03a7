"""Sites on their way from one node to another, on this machine's installation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flex_api.cli.common import Context
from flex_api.cli.open_installation import open_world
from flex_api.moving import failed_move_release
from flex_api.moving.ask_ready_by_hand import ask_ready
from flex_api.moving.ready_output import ready_output
from flex_api.schemas.site_moves import MovesOutput, ReadyOutput, RestOutput
from flex_api.web.moves_by_page import page_of_moves
from flex_api.which_names_are_sites import site_name


@dataclass(frozen=True, slots=True)
class MovesHere:
    context: Context

    def moves(self, limit: int, *, site: str, plan: str, node: str, state: str) -> MovesOutput:
        with open_world(self.context) as here:
            page = page_of_moves(
                here.store,
                limit,
                with_output=True,
                site=site and site_name(site),
                plan=plan,
                node=node,
                state=state,
            )
        return MovesOutput(items=page.items)

    def again(self, site: str, reason: str, *, dry_run: bool) -> RestOutput:
        with open_world(self.context, reason=reason) as here:
            name = site_name(site)
            failed_move_release.let_move_again(
                here.store, name, here.time_of_day(), dry_run=dry_run
            )
        return RestOutput(sites=[name], dry_run=dry_run)

    def ready(self, sites: Sequence[str], to: Sequence[str]) -> ReadyOutput:
        with open_world(self.context) as here:
            return ready_output(ask_ready(here, sites, to))
