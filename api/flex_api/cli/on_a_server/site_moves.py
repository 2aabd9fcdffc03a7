"""Sites on their way from one node to another, on a FLEX server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flex_api.cli.on_a_server.send_and_follow_jobs import given_as
from flex_api.client import Client
from flex_api.schemas.site_moves import MovesOutput, ReadyGiven, ReadyOutput, RestOutput
from flex_api.which_names_are_sites import site_name

# Moves that a server answers at once.
PAGE = 1000


@dataclass(frozen=True, slots=True)
class MovesThere:
    client: Client

    def moves(self, limit: int, *, site: str, plan: str, node: str, state: str) -> MovesOutput:
        name = site and site_name(site)
        wanted = {"site": name, "plan": plan, "node": node, "state": state}
        page = self.client.site_moves(limit=min(limit, PAGE), **wanted)
        items = page.items
        while page.next and len(items) < limit:
            most = min(limit - len(items), PAGE)
            page = self.client.site_moves(limit=most, cursor=page.next, **wanted)
            items += page.items
        return MovesOutput(items=items)

    def again(self, site: str, reason: str, *, dry_run: bool) -> RestOutput:
        return self.client.let_move_again(site_name(site), reason, dry_run=dry_run)

    def ready(self, sites: Sequence[str], to: Sequence[str]) -> ReadyOutput:
        given = given_as(ReadyGiven, sites=tuple(sites), to=tuple(to))
        return self.client.ask_ready(given)
