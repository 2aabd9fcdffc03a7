"""The metrics of a cluster from its store, for who has no web server to ask: what `flex run` leaves in a file."""

from __future__ import annotations

from datetime import datetime

from flex.ports import Store
from flex_api import metrics
from flex_api.metrics import Known
from flex_api.settings import Settings
from flex_api.wiring import nodes

# The runs of some months.
RUNS = 500


def exposed(settings: Settings, store: Store, now: datetime) -> str:
    base, placement = store.placement()
    freeze = store.freeze()
    counts = placement["site"].value_counts()
    known = Known(
        now=now,
        runs=store.runs(RUNS),
        headlines=store.headlines(),
        in_force=store.cycle(base) if base else None,
        nodes=nodes(settings, store),
        pins=store.pins(),
        sites=len(counts),
        replicated=int((counts > 1).sum()),
        frozen=freeze is not None and freeze.holds(now),
        review=settings.cluster.mode == "review",
    )
    return metrics.text(known)
