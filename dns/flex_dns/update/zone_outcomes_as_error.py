"""What a person is told about a run over several zones.

Takes plans and what became of them. Returns nothing where all is as planned; otherwise raises the
one error that says what is not, zone by zone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flex.errors import DnsError, OnTheWay, PartlyApplied, Unreachable
from flex.model.zone_plan import ZonePlan
from flex_dns.update.journal_outcomes import Tally
from flex_dns.zone.change_states import overtaken_changes

# Names that an error lists. A guess.
SHOWN = 10
RESUME = "then `flex apply --resume` finishes it"


def judge(
    zone_plans: Sequence[ZonePlan], tallies: Mapping[str, Tally], done: Mapping[str, int]
) -> DnsError | PartlyApplied | None:
    """`done` changes of each zone held before the run began."""
    wrong = [
        zone_plan
        for zone_plan in zone_plans
        if zone_plan.zone in tallies and not tallies[zone_plan.zone].is_complete
    ]
    if not wrong:
        return None
    held = {
        zone_plan.zone: done.get(zone_plan.zone, 0)
        + (tallies[zone_plan.zone].done if zone_plan.zone in tallies else 0)
        for zone_plan in zone_plans
    }
    errors = {
        zone_plan.zone: _error_of_one_zone(zone_plan, tallies[zone_plan.zone], held[zone_plan.zone])
        for zone_plan in wrong
    }
    first = errors[wrong[0].zone]
    changed = any(held.values()) or any(
        isinstance(error, PartlyApplied) for error in errors.values()
    )
    if len(zone_plans) == 1 or not changed:
        return first
    return _error_of_all_zones(zone_plans, errors, held)


def _error_of_one_zone(zone_plan: ZonePlan, tally: Tally, done: int) -> DnsError | PartlyApplied:
    if tally.unknown and tally.trouble:
        return _unknown_outcome(tally.trouble, tally.unknown)
    if tally.trouble:
        return halfway(tally.trouble, zone_plan, done) if done else tally.trouble
    if tally.conflicts:
        return overtaken_changes(zone_plan, done, tally.conflicts)
    error = tally.refused[0][1]
    return _faulty(error, zone_plan, tally, done) if done else error


def _error_of_all_zones(
    zone_plans: Sequence[ZonePlan],
    errors: Mapping[str, DnsError | PartlyApplied],
    held: Mapping[str, int],
) -> PartlyApplied:
    named = "; ".join(f"{zone}: {error.answer}" for zone, error in list(errors.items())[:SHOWN])
    more = f"; and {len(errors) - SHOWN} more zones" if len(errors) > SHOWN else ""
    partly = [zone for zone in errors if held[zone]]
    whole = len(zone_plans) - len(errors)
    return kind(*errors.values())(
        f"changing {sum(len(zone_plan.changes) for zone_plan in zone_plans)} record "
        f"sets in {len(zone_plans)} zones",
        f"{'1 zone is' if len(errors) == 1 else f'{len(errors)} zones are'} not as "
        f"planned: {named}{more}",
        kept=f"{whole} zones are as planned, {len(partly)} in part{_list_zones(partly)}, "
        f"{len(errors) - len(partly)} as they were",
        advice=f"{next(iter(errors.values())).advice.removesuffix(f'; {RESUME}')}; {RESUME}",
    )


def kind(*errors: DnsError | PartlyApplied) -> type[PartlyApplied]:
    """What a server refuses today it refuses tomorrow; one that is away comes back."""
    return (
        OnTheWay
        if any(isinstance(error, (Unreachable, OnTheWay)) for error in errors)
        else PartlyApplied
    )


def _list_zones(zones: Sequence[str]) -> str:
    more = ", …" if len(zones) > SHOWN else ""
    return f" ({', '.join(zones[:SHOWN])}{more})" if zones else ""


def _faulty(error: DnsError, zone_plan: ZonePlan, tally: Tally, done: int) -> PartlyApplied:
    names = list(dict.fromkeys(change.name for change, _ in tally.refused))
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return kind(error)(
        error.asked,
        f"{len(tally.refused)} of {len(zone_plan.changes)} "
        f"({', '.join(names[:SHOWN])}{more}): {error.answer}",
        kept=f"{done} of the record sets in {zone_plan.zone} are as planned, the "
        "others as they were",
        advice=f"{error.advice}; {RESUME}",
    )


def _unknown_outcome(trouble: DnsError, count: int) -> PartlyApplied:
    return kind(trouble)(
        trouble.asked,
        trouble.answer,
        kept=f"whether the last {count} record sets were changed is not known",
        advice=f"{trouble.advice}; {RESUME}",
    )


def halfway(trouble: DnsError, zone_plan: ZonePlan, done: int) -> PartlyApplied:
    return kind(trouble)(
        trouble.asked,
        trouble.answer,
        kept=f"{done} of the {len(zone_plan.changes)} record sets in {zone_plan.zone} "
        "are as planned, the others as they were",
        advice=f"{trouble.advice}; {RESUME}",
    )
