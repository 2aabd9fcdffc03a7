"""The sites of a FLEX server, and the wishes for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flex.errors import Unknown
from flex.model.wish import Pin
from flex.wishes.wishes_in_force_now import campaign_name
from flex_api.cli.on_a_server.send_and_follow_jobs import given_as
from flex_api.client import Client
from flex_api.schemas.sites_and_wishes import PinGiven, PinOutput, PinShown, SiteRow, SitesOutput


@dataclass(frozen=True, slots=True)
class SitesThere:
    client: Client

    def every(self) -> SitesOutput:
        return self._output(list(self.client.sites()))

    def one(self, site: str) -> SitesOutput:
        return self._output([self.client.site(site)])

    def _output(self, items: list[SiteRow]) -> SitesOutput:
        start, end = self.client.period()
        return SitesOutput(period_start=start, period_end=end, items=items)

    def wishes(self) -> Sequence[PinShown]:
        return list(self.client.pins())

    def pin(self, wanted: Pin, *, dry_run: bool) -> PinOutput:
        """As on the server itself: a wish with an end takes no place of one without."""
        fields = PinGiven.model_fields
        given = given_as(PinGiven, **{name: getattr(wanted, name) for name in fields})
        site, campaign = wanted.site, wanted.campaign
        standing, tag = self._find(site, campaign)
        if standing and wanted.until and not campaign and standing.until is None:
            campaign = campaign_name(wanted.until)
            _, tag = self._find(site, campaign)
        pin = self.client.put_pin(site, given, tag, campaign=campaign, dry_run=dry_run)
        return _output(pin, pinned=True, dry_run=dry_run)

    def unpin(self, site: str, campaign: str, reason: str, *, dry_run: bool) -> PinOutput:
        if not campaign:
            pins = list(self.client.pins(site=site))
            campaign = pins[0].campaign if len(pins) == 1 else ""
        pin, tag = self.client.pin(site, campaign)
        if dry_run:
            pin = self.client.try_drop_pin(site, tag, campaign)
        else:
            self.client.drop_pin(site, tag, reason, campaign)
        return _output(pin, pinned=False, dry_run=dry_run)

    def _find(self, site: str, campaign: str) -> tuple[PinShown | None, str]:
        try:
            return self.client.pin(site, campaign)
        except Unknown:
            return None, ""


def _output(pin: PinShown, *, pinned: bool, dry_run: bool) -> PinOutput:
    # Any: values of any field.
    values: dict[str, Any] = pin.model_dump(exclude={"holds"})
    return PinOutput(pinned=pinned, dry_run=dry_run, **values)
