"""A stop to all changes of DNS, on a FLEX server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flex_api.cli.on_a_server.follow_jobs_and_refuse_options import given_as, refuse
from flex_api.client import Client
from flex_api.schemas.nodes_holders_jobs_freezes import FreezeOutput
from flex_api.schemas.rest_bodies_and_answers import FreezeGiven

WHY_NOT = "a server does not try out a freeze or its end"


@dataclass(frozen=True, slots=True)
class FreezingThere:
    client: Client

    def freeze(
        self, until: datetime | None, reason: str, *, dry_run: bool
    ) -> FreezeOutput:
        refuse({"--dry-run": dry_run}, WHY_NOT)
        _, tag = self.client.freeze()
        given = given_as(FreezeGiven, until=until, reason=reason)
        self.client.put_freeze(given, tag)
        frozen, _ = self.client.freeze()
        return FreezeOutput(dry_run=False, **frozen.model_dump())

    def thaw(self, reason: str, *, dry_run: bool) -> FreezeOutput:
        """What is shown is the freeze that ended, as on the server itself."""
        refuse({"--dry-run": dry_run}, WHY_NOT)
        ended, tag = self.client.freeze()
        self.client.thaw(tag, reason)
        return FreezeOutput(dry_run=False, **ended.model_dump() | {"frozen": False})
