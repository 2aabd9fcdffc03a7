"""What a person can do about a name that FLEX may not change.

Takes the name and the reason. Returns what to do. Does not find such names:
dns_survey.py does.
"""

from __future__ import annotations

from flex.model.dns_edits_by_others import REASON
from flex.planning.dns_survey import DOORS_ALONE
from flex.zones.decisions_in_markers import IS_EXCLUDED, STILL_MARKED
from flex.zones.marker import marker_name, marker_text
from flex.zones.records_of_partition import ANSWERED
from flex.zones.zone_changes import NO_MARKER

# What a person can do about names for which a wildcard answers.
MAKE_BELOW_WILDCARDS = (
    'dns.below_wildcards = "make" gives it records of its own; write what it needs of the '
    "wildcard's others (MX, TXT, ...) at its name yourself"
)
# What reasons begin with that are no fault of the name, and are told in other words.
_OTHERWISE_TOLD = (REASON, DOORS_ALONE, "somebody changed ")


def way_on(name: str, zone: str, why: str, owner: str) -> str:
    """FLEX never takes such a name back by itself: its new owner may be somebody else."""
    site = name.rstrip(".")
    if why.startswith(ANSWERED):
        return f"{MAKE_BELOW_WILDCARDS}; `flex sites exclude {site}` leaves it for good"
    if why == STILL_MARKED:
        return "`flex run`, then `flex plan`"
    if why.startswith(IS_EXCLUDED):
        return f"`flex sites unpin {site}`, then `flex plan`"
    if why == NO_MARKER:
        marker = f'{marker_name(name, zone)} TXT "{marker_text(owner)}"'
        undo = f"write the marker {marker} again where it is FLEX's"
    else:
        undo = "undo that in DNS where it is FLEX's"
    return f"{undo}, then `flex plan`; `flex sites exclude {site}` leaves it for good"


def is_told_otherwise(why: str) -> bool:
    return why.startswith(_OTHERWISE_TOLD)


def sentence(why: str) -> str:
    """A reason has a subject of its own where it is about the name's marker."""
    return why if why.startswith("its ") else f"it {why}"


def remark(name: str, zone: str, why: str, owner: str) -> str:
    """What a person should know of one that is left alone."""
    return (
        f"not FLEX's to change, so left alone: {sentence(why)}; `flex plan --take-back` does "
        f"not take it back; {way_on(name, zone, why, owner)}"
    )
