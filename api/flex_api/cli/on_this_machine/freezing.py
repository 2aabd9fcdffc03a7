"""A stop to all changes of DNS, on this machine's installation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flex.model.drains_and_freezes import Freeze
from flex_api.cli.common import Context, author
from flex_api.cli.open_installation import open_world
from flex_api.night import freezes
from flex_api.schemas.nodes_and_jobs import FreezeOutput


@dataclass(frozen=True, slots=True)
class FreezingHere:
    context: Context

    def now(self) -> FreezeOutput:
        with open_world(self.context) as here:
            freeze = freezes.freeze_in_force(here)
        return _output(freeze, frozen=freeze is not None, dry_run=False)

    def freeze(self, until: datetime | None, reason: str, *, dry_run: bool) -> FreezeOutput:
        with open_world(self.context, reason=reason) as here:
            wanted = Freeze(here.time_of_day(), until, reason, author())
            freezes.freeze(here, wanted, dry_run=dry_run)
        return _output(wanted, frozen=True, dry_run=dry_run)

    def thaw(self, reason: str, *, dry_run: bool) -> FreezeOutput:
        with open_world(self.context, reason=reason) as here:
            ended = freezes.thaw(here, dry_run=dry_run)
        return _output(ended, frozen=False, dry_run=dry_run)


def _output(freeze: Freeze | None, *, frozen: bool, dry_run: bool) -> FreezeOutput:
    return FreezeOutput(
        frozen=frozen,
        since=freeze.since if freeze else None,
        until=freeze.until if freeze else None,
        reason=freeze.reason if freeze else "",
        author=freeze.author if freeze else "",
        dry_run=dry_run,
    )
