"""Sites on their way from one node to another, on a FLEX server."""

from __future__ import annotations

from dataclasses import dataclass

from flex_api.client import Client
from flex_api.schemas.site_moves import MovesOutput, RestOutput
from flex_api.which_names_are_sites import site_name


@dataclass(frozen=True, slots=True)
class MovesThere:
    client: Client

    def moves(self, site: str, limit: int) -> MovesOutput:
        return self.client.site_moves(site and site_name(site), limit)

    def again(self, site: str, reason: str, *, dry_run: bool) -> RestOutput:
        return self.client.let_move_again(site_name(site), reason, dry_run=dry_run)
