"""A plan for other tools, zone by zone: what they have to write, and what must be true when they
do.

Takes a plan and the zones that are wanted of it. Returns values that flex_dns makes texts of. Does
not change anything. For a script, it asks the name servers whether another controller holds a zone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from flex.errors import BadInput, NoData, Unknown
from flex.model.plan import Plan
from flex.planning import verify_dns
from flex_api import wiring
from flex_api.settings.name_servers_and_zones import Primary
from flex_api.wiring import World
from flex_dns.exports import EXPORTS, ZoneToExport, wanted_zone
from flex_dns.update import fence
from flex_dns.update.change_messages import Claim
from flex_dns.wire.session import Session


def refuse_unknown(form: str) -> None:
    """Raises BadInput for a format that there is not."""
    if form not in EXPORTS:
        raise _bad(f"exporting as {form!r}", f"there are {', '.join(EXPORTS)}", "name one of them")


def zones_for(world: World, plan: Plan, form: str, only: Sequence[str]) -> list[ZoneToExport]:
    """What this format says of each zone."""
    exports = zones(world, plan, only)
    return mark_free_zones(world, exports) if form == "nsupdate" else exports


def together(form: str, exports: Sequence[ZoneToExport]) -> str:
    """One text. A zone's file takes no names of another zone."""
    if form == "zone" and len(exports) > 1:
        answer = f"the plan has {len(exports)} of them, and a zone's file holds one"
        raise _bad(
            "the lines of a zone",
            answer,
            "name one with --zone, or write a file for each with --to DIR",
        )
    return EXPORTS[form](exports)


def texts_by_zone(form: str, exports: Sequence[ZoneToExport]) -> dict[str, str]:
    return {export.zone_plan.zone: EXPORTS[form]([export]) for export in exports}


def zone_name(written: str) -> str:
    """As plans have it."""
    return f"{written.lower().rstrip('.')}."


def no_plan() -> NoData:
    return NoData(
        "the latest plan",
        "there is none",
        kept="nothing was printed",
        advice="make one with `flex plan`",
    )


def _bad(subject: str, answer: str, advice: str) -> BadInput:
    return BadInput(subject, answer, kept="nothing was printed", advice=advice)


def zones(world: World, plan: Plan, only: Sequence[str] = ()) -> list[ZoneToExport]:
    """Every zone of the plan, or `only` these. Raises Unknown for one that the plan has not."""
    claim = Claim(world.settings.owner, wiring.controller(world.settings, world.store))
    ttl = _ttl_of(plan, world.settings.dns.ttl)
    records = verify_dns.wanted_records(plan, world.store.placement_of(plan.id), world.nodes, ttl)
    exports = {
        zone_plan.zone: wanted_zone(zone_plan, records[zone_plan.zone], claim, ttl)
        for zone_plan in plan.zone_plans
    }
    names = [zone_name(name) for name in only]
    for name in names:
        if name not in exports:
            raise Unknown(
                f"the zone {name} of plan {plan.id}",
                f"its zones are {', '.join(exports) or 'none'}",
                kept="nothing was printed",
                advice="name one of these",
            )
    return [exports[name] for name in names or exports]


def _ttl_of(plan: Plan, default: int) -> int:
    """That of the settings by which the plan was made, as far as it changes anything: not what they
    say by now.
    """
    ttls = Counter(
        change.after.ttl
        for zone_plan in plan.zone_plans
        for change in zone_plan.changes
        if change.after
    )
    return next((ttl for ttl, _ in ttls.most_common(1)), default)


def mark_free_zones(world: World, given: Sequence[ZoneToExport]) -> list[ZoneToExport]:
    """The same; those of their zones that no controller holds yet are marked. Raises Refused where
    another one does.
    """
    holders = {
        zone: by
        for primary in world.settings.dns.primaries
        for zone, by in _controllers(world, primary, given).items()
    }
    return [
        replace(
            export,
            is_free=not holders.get(export.zone_plan.zone, "-"),
            claim=_claim_held(export.claim, holders),
        )
        for export in given
    ]


def _claim_held(claim: Claim, holders: Mapping[str, str]) -> Claim:
    return replace(claim, held={zone: by for zone, by in holders.items() if by})


def _controllers(world: World, primary: Primary, given: Sequence[ZoneToExport]) -> dict[str, str]:
    """Us, as the record of each of its zones says it; empty for one that nobody holds."""
    its = [export.zone_plan.zone for export in given if export.zone_plan.zone in primary.zones]
    if not its:
        return {}
    server = wiring.server(world.settings, primary)
    with Session(server) as session:
        return fence.ours(session, server, its, wiring.controller(world.settings, world.store))
