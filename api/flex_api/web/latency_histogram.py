"""How long answers take, as a histogram for Prometheus: by route, method and class of status.

Each process counts for itself. Where there are several (`api.workers`), the label `process` tells
their figures apart, and each leaves its own in a folder: whichever is asked tells those of all.
Those of a process that ended stay there, so that no sum falls. Does not count streams of events:
how long they last is no latency.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flex_api.night.prometheus_metrics import label_text

# Upper bounds of the buckets, in seconds: the defaults of Prometheus's client for Go.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
NAME = "flex_http_request_duration_seconds"
Key = tuple[str, str, str]


@dataclass(slots=True)
class Timing:
    """For each kind of request how many took how long, the last place for those over every bound,
    and their sum.
    """

    counts: dict[Key, list[int]] = field(default_factory=dict)
    sums: dict[Key, float] = field(default_factory=dict)
    # Where the processes leave theirs; None where this one is alone.
    shared: Path | None = None

    def took(self, route: str, method: str, status: int, seconds: float) -> None:
        key = (route, method, f"{status // 100}xx")
        self.counts.setdefault(key, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1
        self.sums[key] = self.sums.get(key, 0.0) + seconds

    def text(self) -> str:
        lines = "".join(self._lines()) + self._read_other_processes()
        if not lines:
            return ""
        return f"# HELP {NAME} How long answers took.\n# TYPE {NAME} histogram\n{lines}"

    def leave(self) -> None:
        """For the other processes, which see it whole or not at all."""
        if self.shared and self.counts:
            part = self.shared / f".{os.getpid()}"
            part.write_text("".join(self._lines()), encoding="utf-8")
            part.replace(self.shared / str(os.getpid()))

    def _read_other_processes(self) -> str:
        if not self.shared:
            return ""
        own = str(os.getpid())
        others = [path for path in self.shared.iterdir() if path.name.isdecimal()]
        return "".join(
            path.read_text(encoding="utf-8") for path in sorted(others) if path.name != own
        )

    def _lines(self) -> Iterator[str]:
        # Copied: another thread may be counting meanwhile.
        for key, counts in sorted(dict(self.counts).items()):
            route, method, status = key
            labels = {
                "route": route,
                "method": method,
                "status": status,
                "process": str(os.getpid()),
            }
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), _rising(counts), strict=True):
                yield f"{NAME}_bucket{label_text({**labels, 'le': bound})} {count}\n"
            yield f"{NAME}_sum{label_text(labels)} {self.sums[key]:.6g}\n"
            yield f"{NAME}_count{label_text(labels)} {sum(counts)}\n"


def _rising(counts: Sequence[int]) -> Iterator[int]:
    total = 0
    for count in counts:
        total += count
        yield total
