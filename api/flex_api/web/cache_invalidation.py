"""Which remembered answers are outdated by which changes of the store.

Takes nothing. Returns, for each kind of remembered answer, the actions of the audit log that change
it: an answer holds as long as no newer entry of these is there. Does not remember anything:
cached_views.py and background_answers.py do.
"""

from __future__ import annotations

from collections.abc import Mapping

# The actions of the audit log, by what they change.
WISHES = ("pin.put", "pin.drop")
IN_FORCE = ("plan.settle",)
PLANS = ("plan.propose", "plan.update", "plan.settle")
RUNS = ("run.begin", "run.end")
NODES = ("node.order", "node.put", "node.drop")
PROFILES = ("profiles.put",)
LOGS = ("ingest",)
# What nodes' files go by, beside orders for doors.
ROUTED_BY = ("plan.update", *IN_FORCE, *NODES)

# What several kinds of answers are made from.
SITES = (*PROFILES, *IN_FORCE)
LOGS_READ = (*RUNS, *LOGS, *NODES, *IN_FORCE)
MADE_FROM = (*PLANS, *PROFILES, *LOGS, *NODES)
# Slots of pools and the list of sites change, too; no entry tells of them, so cached_routing.py has
# them in the name of its answers.
ROUTING = (*MADE_FROM, *RUNS)

# By the first word of an answer's name.
OUTDATED_BY: Mapping[str, tuple[str, ...]] = {
    # Every page and list.
    "pins": WISHES,
    "headlines": PLANS,
    "stays-for": PLANS,
    "catalogue": SITES,
    "names": (*PLANS, *SITES),
    "rows-as-planned": SITES,
    "carried": IN_FORCE,
    "base": IN_FORCE,
    "runs": RUNS,
    # One plan or partition.
    "plan": PLANS,
    "told": PLANS,
    "placement": PLANS,
    "placed": PLANS,
    "moves": PLANS,
    "records": PLANS,
    "difference": PLANS,
    # Sites and nodes.
    "history": SITES,
    "cloud": (*SITES, *WISHES),
    "past": IN_FORCE,
    "nodes": (*NODES, *IN_FORCE),
    "hours-in-logs": ("run.end", *LOGS),
    # The overview.
    "overview": (*PLANS, *WISHES),
    "large-sites": (*SITES, *NODES),
    "pictured": (*PLANS, *PROFILES, *WISHES, *LOGS),
    "visitors": SITES,
    "outside-dns": SITES,
    # What was read of the logs.
    "quality": LOGS_READ,
    "last-lines": LOGS_READ,
    "last-lines-of-sources": LOGS_READ,
    "samples": LOGS_READ,
    "logs": (*LOGS, *PROFILES, "run.end", "job.end"),
    # Routing.
    "routed": ROUTING,
    "files": ROUTING,
    "frames": ROUTING,
    "misnamed": ROUTING,
    "routed-paths": SITES,
    # What takes longer than a page may (background_answers.py).
    "slow": (*MADE_FROM, *WISHES),
}


def outdated_by(name: str) -> tuple[str, ...]:
    """The actions that outdate the answer of this name, such as "plan 20260302-1"."""
    return OUTDATED_BY[name.partition(" ")[0]]
