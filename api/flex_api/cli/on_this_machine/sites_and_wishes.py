"""The sites of this machine's installation, and the wishes for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flex.model.wish import Pin
from flex.wishes.pins_for_solvers import unknown_site
from flex_api.cli.common import Context
from flex_api.cli.open_installation import open_world
from flex_api.facts import core_to_output_models, leaning_on_sites, names_of_sites
from flex_api.facts.names_that_stay import newest_plan
from flex_api.facts.site_table import catalogue
from flex_api.schemas.sites_and_wishes import PinOutput, PinShown, SitesOutput, values
from flex_api.wiring import World
from flex_api.wishes import make_and_drop_wishes, previewing
from flex_api.wishes.previewing import NOT_TRIED, Tried


@dataclass(frozen=True, slots=True)
class SitesHere:
    context: Context

    def every(self) -> SitesOutput:
        with open_world(self.context) as here:
            return _sites(here)

    def one(self, site: str) -> SitesOutput:
        every = self.every()
        rows = [row for row in every.items if row.site == site]
        if not rows:
            raise unknown_site(site, [row.site for row in every.items])
        return every.model_copy(update={"items": rows})

    def wishes(self) -> Sequence[PinShown]:
        with open_world(self.context) as here:
            now = here.time_of_day()
            return [PinShown(**values(pin), holds=pin.holds(now)) for pin in here.store.pins()]

    def pin(self, wanted: Pin, *, dry_run: bool) -> PinOutput:
        with open_world(self.context, reason=wanted.reason) as here:
            pin = make_and_drop_wishes.pin_beside_stored(here.store, wanted)
            make_and_drop_wishes.pin(here, pin, dry_run=dry_run)
            tried = NOT_TRIED
            if dry_run:
                tried = previewing.look_if_possible(lambda: previewing.preview_pin(here, pin))
        return _output(pin, tried, pinned=True, dry_run=dry_run)

    def unpin(self, site: str, campaign: str, reason: str, *, dry_run: bool) -> PinOutput:
        with open_world(self.context, reason=reason) as here:
            pin = make_and_drop_wishes.unpin(here, site, campaign, dry_run=dry_run)
            tried = NOT_TRIED
            if dry_run:
                tried = previewing.look_if_possible(lambda: previewing.preview_unpin(here, pin))
        return _output(pin, tried, pinned=False, dry_run=dry_run)


def _sites(here: World) -> SitesOutput:
    kept = here.store.profiles()
    _, placement = here.store.placement()
    if kept is None:
        return SitesOutput(period_start=None, period_end=None, items=[])
    plan, known = newest_plan(here), catalogue(kept, placement)
    return core_to_output_models.sites_output(
        known,
        here.pins_of_next_plan,
        leaning_on_sites.stays_for(plan),
        names_of_sites.names_of_sites(here.settings, plan, set(known.sites)),
    )


def _output(pin: Pin, tried: Tried, *, pinned: bool, dry_run: bool) -> PinOutput:
    preview, notes = tried
    return PinOutput(**values(pin), pinned=pinned, dry_run=dry_run, preview=preview, notes=notes)
