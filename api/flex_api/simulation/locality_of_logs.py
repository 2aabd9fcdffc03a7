"""The locality of a log, as the verb `flex simulate fit --logs` prints it.

Takes a trace. Returns a row. Does not read logs, nor fit: flex/sim/fit_locality.py does.
"""

from __future__ import annotations

import numpy as np

from flex.errors import NoData
from flex.sim.fit_locality import FittedLocality, fit_locality
from flex.sim.traces import Trace
from flex_api.schemas.simulate_output import LocalityRow


def row(trace: Trace) -> LocalityRow:
    """Raises NoData where no file has a byte: then memory of every size is the same."""
    if not trace.working_set():
        raise NoData(
            f"the locality of {trace.name}",
            "no answer has a byte, so every memory holds all of them",
            kept="nothing was fitted",
            advice="name a log with answers that have bytes",
        )
    return _row(trace, fit_locality(trace))


def _row(trace: Trace, fitted: FittedLocality) -> LocalityRow:
    median, high = np.percentile(fitted.points_off, (50, 95)).tolist()
    return LocalityRow.like(
        fitted.locality,
        trace=trace.name,
        accesses=len(trace.target),
        points_off_median=median,
        points_off_p95=high,
        memory=list(fitted.memory),
        log=list(fitted.log),
        model=list(fitted.model),
        independent=list(fitted.independent),
    )
