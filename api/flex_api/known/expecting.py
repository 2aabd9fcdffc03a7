"""The facts of a plan as the next day is expected to be, where that has proved better than yesterday's figures.

In go facts and a world; out come facts with other loads, and with remarks on the backtest and on sites that surged.
Working sets are left as they were measured: they change slowly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from flex import outlook
from flex.domain import Outlook
from flex.given import Facts
from flex.suppose import VISITS
from flex.tables import PROFILES
from flex_api.wiring import World

# What is looked at: four weeks, and one that is predicted from them.
NIGHTS = 35
# Beside so many nights, whichever there are, it shows who surged.
WEEK = 7


def expected(world: World, facts: Facts) -> tuple[Facts, Outlook | None]:
    settings = world.settings.profile
    if settings.forecast == "off":
        return facts, None
    past = world.store.sent(facts.period, NIGHTS)
    found, times = outlook.outlook(past)
    surges = outlook.surges(_lately(world, facts, past), settings.surge)
    remarks = (*facts.remarks, *outlook.said(found, surges))
    if found.method == outlook.YESTERDAY:
        return replace(facts, remarks=remarks), found
    profiles = facts.profiles
    factor = times.reindex(profiles["site"], fill_value=1.0).to_numpy()
    grown = {name: np.rint(profiles[name].to_numpy() * factor).astype(np.int64) for name in VISITS}
    return replace(facts, profiles=PROFILES.make(profiles.assign(**grown)), remarks=remarks), found


def _lately(world: World, facts: Facts, past: pd.DataFrame) -> pd.DataFrame:
    """A night without logs hides nobody who surged right after it."""
    return past if past.shape[1] > WEEK else world.store.sent(facts.period, WEEK + 2, gaps=True)
