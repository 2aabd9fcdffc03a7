"""What a person should know of a plan's forecasts: what they leave out, and what they rest on.

Takes forecasts, or the accesses that are replayed for them. Returns notes of one line. Does not
make forecasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flex.model.predicted_node_loads import Forecast
from flex.prediction.cache_replay import Sample
from flex.site_names_in_words import first_few

# Strangers' names in the logs that get fewer of the accesses than this make no difference to a
# prediction.
FEW = 0.01
# Fewer accesses than this, to a part of the files, do not tell misses within a few points.
ENOUGH = 100_000


def is_enough(sample: Sample) -> bool:
    """Whether it tells misses: all accesses do, however few they are."""
    return sample.rate == 1 or len(sample.target) >= ENOUGH


def remark_on_sample(sample: Sample) -> Iterator[str]:
    """That too little was sampled: one large file more or less would then be another miss ratio."""
    if not len(sample.target):
        yield "not predicted: no access was replayed"
    elif not is_enough(sample):
        part = f"{len(sample.target):,} accesses, to {sample.rate:.2%} of the files"
        yield (
            f"predicted from {part}: too few to tell misses, raise "
            f"ingest.sample_limit so that {ENOUGH:,} are kept"
        )


def remark_on_forecasts(
    forecasts: Sequence[Forecast], gone: Sequence[str], left_out: Sequence[str]
) -> Iterator[str]:
    """What the predictions leave out; all of a plan leave out the same, which is what comes to the
    names that are `left_out`.
    """
    if gone:
        yield (
            "the partition before is not predicted: nobody knows the memory of "
            f"{first_few(gone)}, in the settings no more"
        )
    for forecast in forecasts[:1]:
        total = forecast.left_out + sum(node.requests for node in forecast.nodes)
        if forecast.left_out > FEW * total:
            share = f"{forecast.left_out / total:.0%} of the accesses"
            yield (
                f"predicted without {share}, which are to names that are not in the partition: "
                f"{first_few(left_out)}"
            )
