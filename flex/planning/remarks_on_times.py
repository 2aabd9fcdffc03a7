"""What a person should know of a plan that goes by times: of which sites none were counted.

Takes PROFILES and the dimensions of a plan. Returns notes of one line. Does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pandas as pd

from flex.site_names_in_words import first_few
from flex.table_schemas import texts

# Sites without times that get fewer of the requests than this make no difference to a plan.
FEW = 0.01
# The column that says whether any was counted, and what to do where none was.
COUNTED = {
    "service time": (
        "timed",
        "log $upstream_response_time, %D or another time (docs/reference/formats.md)",
    ),
    "cpu": (
        "cpu_us",
        "name the cgroups of sites on the nodes that send counts ([[ingest.cpu]] there)",
    ),
}


def of_times(profiles: pd.DataFrame, dimensions: Collection[str]) -> Iterator[str]:
    """That a plan cannot go by what was not counted: such a site seems to ask for nothing."""
    for name in dimensions:
        if name in COUNTED:
            yield from _of_dimension(profiles, name, *COUNTED[name])


def _of_dimension(profiles: pd.DataFrame, name: str, column: str, advice: str) -> Iterator[str]:
    asked = profiles[profiles["requests"] > 0]
    if not len(asked):
        return
    without = asked[asked[column] == 0]
    if len(without) == len(asked):
        yield (
            f"{name}: none was counted in these days, so the plan does not go by it: "
            f"{advice}, or take it out of solver.dimensions"
        )
        return
    share = without["requests"].sum() / asked["requests"].sum()
    if share > FEW:
        busiest = without.sort_values(["requests", "site"], ascending=[False, True])
        yield (
            f"{name}: none was counted of {first_few(texts(busiest['site']))}, which "
            f"get {share:.0%} of the requests and seem to take none: {advice}"
        )
    elif name == "service time":
        timed = asked["timed"].sum() / asked["requests"].sum()
        if timed < 1 - FEW:
            yield (
                f"{name}: {1 - timed:.0%} of the answers do not say how long they took, "
                f"and count as if they took no time: {advice}"
            )
