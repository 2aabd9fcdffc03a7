"""A stop to all changes of DNS, on a FLEX server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flex_api.cli.on_a_server.send_and_follow_jobs import given_as
from flex_api.client import Client
from flex_api.schemas.nodes_and_jobs import FreezeOutput
from flex_api.schemas.rest_bodies import FreezeGiven


@dataclass(frozen=True, slots=True)
class FreezingThere:
    client: Client

    def now(self) -> FreezeOutput:
        return FreezeOutput(dry_run=False, **self.client.freeze()[0].model_dump())

    def freeze(self, until: datetime | None, reason: str, *, dry_run: bool) -> FreezeOutput:
        _, tag = self.client.freeze()
        given = given_as(FreezeGiven, until=until, reason=reason)
        put = self.client.put_freeze(given, tag, dry_run=dry_run)
        frozen = put if dry_run else self.client.freeze()[0]
        return FreezeOutput(dry_run=dry_run, **frozen.model_dump())

    def thaw(self, reason: str, *, dry_run: bool) -> FreezeOutput:
        """What is shown is the freeze that ended, as on the server itself."""
        ended, tag = self.client.freeze()
        if dry_run:
            ended = self.client.try_thaw(tag)
        else:
            self.client.thaw(tag, reason)
        fields = ended.model_dump() | {"frozen": False}
        return FreezeOutput(dry_run=dry_run, **fields)
