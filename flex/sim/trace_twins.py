"""Twins: made-up traces that have every aggregate a paper published of a trace that nobody can get.

Takes published figures and a seed. Returns a Trace, and a report of how near its aggregates are.
Does not fit a twin to a published result: it is fitted to what was published of the input alone.

A twin cannot have what was not published. That is the order in which files are asked for: here
accesses are independent of each other, and real ones come in bursts. It is also how sizes go with
popularity beyond the published sums, the rhythm of the day, and who asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from flex.placing.problem import Floats
from flex.prediction.cache_replay import Ints
from flex.sim.published_trace_figures import Published
from flex.sim.traces import Trace, check

# Bytes.
MB = 2**20
# Shares of the requests for which papers say how much memory covers them.
SHARES = (0.97, 0.98, 0.99)
# Units of the whole in the papers' tables: a hundred for each of four nodes.
UNITS = 400.0
# Figures for traces of which they are not published.
# The share of the files that are asked for once. A guess.
_ONE_TIMERS = 0.3
# The share of the requests for the most frequent file: the LARD paper's of Rice.
_TOP = 0.02
# How wide the natural logarithms of sizes spread (a standard deviation). Not published: a guess.
_SPREAD = 1.3
# A twin is off by so much at most in what was published, or by what papers round away, or the next
# popularity is tried.
_NEAR = 0.1
_ROUNDED = 0.05
Random: TypeAlias = "np.random.Generator"


@dataclass(frozen=True, slots=True)
class Fit:
    """One published figure beside the twin's."""

    figure: str
    published: float
    twin: float
    assumed: bool = False

    @property
    def error(self) -> float:
        return abs(self.twin - self.published) / self.published


def twin(
    published: Published,
    *,
    seed: int = 1,
    second: float | None = None,
    spread: float = _SPREAD,
    of_all_sizes: bool = False,
) -> Trace:
    """Targets in the order of their frequency, accesses in an order of chance.

    Neither the share of the requests of the `second` most frequent, where it is not what Zipf's law
    makes it, nor how wide sizes `spread` is published. The spread is that of files that are asked
    for alike, or `of_all_sizes`, which those that are asked for more and less make wider.
    """
    made = None
    for frequency in _popularities(published, second):
        made = _made_up(published, frequency, seed, spread, of_all_sizes=of_all_sizes)
        if all(_is_near(row) for row in fit(published, made)):
            break
    assert made is not None
    return made


def _is_near(row: Fit) -> bool:
    return row.assumed or row.error < _NEAR or abs(row.twin - row.published) < _ROUNDED


def _made_up(
    published: Published, frequency: Ints, seed: int, spread: float, *, of_all_sizes: bool
) -> Trace:
    random = np.random.default_rng(seed)
    shape = random.standard_normal(published.files)
    width = _spread_of_alike(published, frequency, shape, spread) if of_all_sizes else spread
    size = _sizes(published, frequency, shape, width)
    # Sites are told apart by chance of their own, so that days of the same server have the same
    # ones.
    site = _sites(published, frequency, size, np.random.default_rng([seed, 1]))
    target = random.permutation(np.repeat(np.arange(len(frequency)), frequency))
    names = tuple(f"site-{number}" for number in _numbers(published))
    return check(Trace(published.name, target, size, site, names))


def fit(published: Published, trace: Trace) -> list[Fit]:
    frequency, size = trace.frequency(), trace.size
    sent = float((frequency * size).sum())
    rows = [
        ("requests", published.requests, float(frequency.sum())),
        ("files", published.files, float((frequency > 0).sum())),
        ("working_set", published.working_set, trace.working_set() / MB),
        ("one_timers", published.one_timers, float(size[frequency == 1].sum()) / MB),
        ("access", published.access, sent / MB),
        ("answer", published.answer, sent / frequency.sum() / 1024),
        ("top", published.top, float(frequency.max() / frequency.sum())),
    ]
    rows += [
        (f"covering_{share:.0%}", mb, covered / MB)
        for share, mb, covered in zip(
            SHARES, published.covering, _covering(frequency, size), strict=False
        )
    ]
    rows += _fit_of_hot(published, frequency, size)
    rows += _fit_of_sites(published, trace)
    return [
        Fit(name, expected, actual, _assumed(published, name))
        for name, expected, actual in rows
        if expected is not None
    ]


def _assumed(published: Published, figure: str) -> bool:
    return figure in published.assumed or (
        figure.startswith("site_") and "sites" in published.assumed
    )


def _fit_of_hot(
    published: Published, frequency: Ints, size: Ints
) -> list[tuple[str, float | None, float]]:
    if published.hot is None:
        return []
    files, requests, bytes_ = published.hot
    hot = np.argsort(-frequency, kind="stable")[: round(files * len(frequency))]
    request_share, held = frequency[hot].sum() / frequency.sum(), size[hot].sum() / size.sum()
    return [("hot_requests", requests, float(request_share)), ("hot_bytes", bytes_, float(held))]


def _fit_of_sites(published: Published, trace: Trace) -> list[tuple[str, float | None, float]]:
    count, sent = len(trace.sites), trace.frequency() * trace.size
    working = np.bincount(trace.site, trace.size, count) * UNITS / trace.size.sum()
    access = np.bincount(trace.site, sent, count) * UNITS / sent.sum()
    rows: list[tuple[str, float | None, float]] = []
    for place, number in enumerate(_numbers(published)):
        site = published.largest.get(number)
        if site is not None:
            rows.append((f"site_{number}_working_set", site.working_set, float(working[place])))
            rows.append((f"site_{number}_access", site.access, float(access[place])))
    return rows


def _covering(frequency: Ints, size: Ints) -> list[int]:
    """Bytes of the most frequent files that answer each share of the requests."""
    order = np.argsort(-frequency, kind="stable")
    answered = np.cumsum(frequency[order])
    held = np.cumsum(size[order])
    return [int(held[np.searchsorted(answered, share * answered[-1])]) for share in SHARES]


def _popularities(published: Published, second: float | None) -> Iterator[Ints]:
    """How often each file is asked for: by what is published of how many bytes cover the requests,
    and where sites that many ask for in few bytes leave no room for that, by Zipf's law alone.
    """
    if second is not None:
        yield _standing_out(published, second)
        return
    if published.one_timers is not None:
        ones = published.one_timers / published.working_set * published.files
        if published.one_timers < _last(published) and ones < 0.01 * published.requests:
            yield _by_coverage(published)
    yield _frequencies(published)


def _frequencies(published: Published) -> Ints:
    """C / (rank + q)^a, at least 1: a so that the sum is right, C so that there are as many
    one-timers as needed, and q so that the most frequent has its share, where that is published.
    """
    if published.hot is not None:
        return _hot(published, *published.hot[:2])
    few, many = 0.0, 10_000.0
    most = (_TOP if published.top is None else published.top) * published.requests
    for _ in range(40):
        offset = (few + many) / 2
        frequency = _zipf(published, offset)
        few, many = (offset, many) if frequency[0] > most else (few, offset)
    return frequency


def _last(published: Published) -> float:
    """Megabytes of the files that the last hundredth of the requests is for."""
    return published.working_set - published.covering[-1]


def _by_coverage(published: Published) -> Ints:
    """As many files answer 97, 98 and 99 % of the requests as their bytes say, one-timers apart:
    so sizes need not hang on frequencies to have both. The first has its share, and after it comes
    C / (rank + q)^a.
    """
    assert published.one_timers is not None
    hundredth = 0.01 * published.requests
    held = np.diff([0.0, *published.covering, published.working_set - published.one_timers])
    share = np.cumsum(held) / held.sum()
    # One-timers have their part of the files as of the bytes, or as many more as keep the files
    # before them from being asked for more often than those of the hundredth before.
    ones = round(published.files * published.one_timers / published.working_set)
    while True:
        first, second, third, last = np.rint(share * (published.files - ones)).astype(int).tolist()
        if (hundredth - ones) * (third - second) <= hundredth * (last - third):
            break
        ones += published.files // 500
    # The mean of each hundredth, and where one goes over into the next.
    means = [hundredth / (second - first), hundredth / (third - second)]
    means.append(max((hundredth - ones) / (last - third), 1.0))
    middle, end = (float(np.sqrt(more * less)) for more, less in pairwise(means))
    begin = means[0] ** 2 / middle
    frequency = np.ones(published.files)
    frequency[third:last] = _falling(last - third, hundredth - ones, end, 1.5)
    frequency[second:third] = _falling(third - second, hundredth, middle, end)
    frequency[first:second] = _falling(second - first, hundredth, begin, middle)
    most = (_TOP if published.top is None else published.top) * published.requests
    frequency[:first] = _head(first, most, begin, 0.97 * published.requests)
    rounded = np.maximum(np.rint(frequency), 1).astype(np.int64)
    rest = slice(first // 10, first)
    rounded[rest] += (published.requests - int(rounded.sum())) // (rest.stop - rest.start)
    return -np.sort(-np.maximum(rounded, 1))


def _falling(files: int, total: float, most: float, least: float) -> Floats:
    """From the most to the least in their logarithm, so bent that there are so many in all."""
    rank = np.arange(files) / max(files - 1, 1)
    low, high = 0.01, 100.0
    for _ in range(60):
        bend = float(np.sqrt(low * high))
        falling: Floats = most * (least / most) ** (rank**bend)
        low, high = (bend, high) if falling.sum() < total else (low, bend)
    return falling


def _head(files: int, most: float, least: float, total: float) -> Floats:
    """From the most frequent to the least, so many in all, by Zipf's law with an offset."""
    rank = np.arange(files)
    low, high = 0.0, 1e5
    for _ in range(80):
        offset = 1 + (low + high) / 2
        skew = np.log(most / least) / np.log((files + offset) / offset)
        share: Floats = (offset / (rank + offset)) ** skew
        low, high = (offset - 1, high) if most * share.sum() < total else (low, offset - 1)
    return most * share


def _standing_out(published: Published, second: float) -> Ints:
    """The most frequent with its share, the others as if `second` was the largest share."""
    assert published.top is not None
    frequency = _frequencies(replace(published, top=second))
    most = round(published.top * published.requests)
    middle = slice(published.files // 100, published.files // 10)
    frequency[middle] -= (most - int(frequency[0])) // (middle.stop - middle.start)
    frequency[0] = most
    return -np.sort(-np.maximum(frequency, 1))


def _hot(published: Published, files: float, requests: float) -> Ints:
    """Zipf's law, so skewed that the most frequent files have their share of the requests; at least
    1.
    """
    rank = np.arange(1, published.files + 1)
    low, high = 0.0, 4.0
    for _ in range(50):
        skew = (low + high) / 2
        share = rank**-skew / (rank**-skew).sum()
        low, high = (
            (low, skew) if share[: round(files * len(rank))].sum() > requests else (skew, high)
        )
    frequency: Ints = np.maximum(np.rint(share * published.requests), 1).astype(np.int64)
    return frequency


def _zipf(published: Published, offset: float) -> Ints:
    rank = np.arange(1, published.files + 1) + offset
    edge = rank[published.files - _one_timers(published)]
    low, high = 0.0, 8.0
    for _ in range(60):
        skew = (low + high) / 2
        total = np.maximum(1.5 * (edge / rank) ** skew, 1).sum()
        low, high = (skew, high) if total < published.requests else (low, skew)
    frequency = np.maximum(np.rint(1.5 * (edge / rank) ** skew), 1).astype(np.int64)
    # What rounding left over goes to the middle ranks, so that the first keeps its share.
    middle = slice(published.files // 100, published.files // 10)
    missing = published.requests - int(frequency.sum())
    frequency[middle] += missing // (middle.stop - middle.start)
    return -np.sort(-np.maximum(frequency, 1))


def _one_timers(published: Published) -> int:
    """How many: their share of the files is that of the bytes, unless more than the last hundredth
    of the requests would not be enough for their bytes.
    """
    if published.one_timers is None:
        return round(_ONE_TIMERS * published.files)
    if published.one_timers < _last(published):
        return round(published.one_timers / published.working_set * published.files)
    return round(1.05 * 0.01 * published.requests)


def _spread_of_alike(published: Published, frequency: Ints, shape: Floats, wanted: float) -> float:
    """With which all sizes together spread as wanted."""
    low, high = 0.0, wanted
    for _ in range(8):
        spread = (low + high) / 2
        of_all = float(np.log(_sizes(published, frequency, shape, spread)).std())
        low, high = (low, spread) if of_all > wanted else (spread, high)
    return (low + high) / 2


def _sizes(published: Published, frequency: Ints, shape: Floats, spread: float) -> Ints:
    """Log-normal sizes, scaled so that each part of the files has its bytes; the more frequent the
    smaller, as much as the bytes sent in all demand. Files that have more than a ten-thousandth of
    the requests are alike in that.
    """
    part, bytes_ = _parts(published, frequency)
    popular = np.minimum(frequency, 1e-4 * published.requests)
    spread_out = np.exp(spread * shape)
    sent = _bytes_sent(published)
    low, high = -4.0, 4.0
    for _ in range(50):
        tilt = (low + high) / 2
        size = _scale(spread_out * popular**-tilt, part, bytes_)
        if sent is None:
            break
        low, high = (tilt, high) if float(size @ frequency) > sent else (low, tilt)
    return np.maximum(np.rint(size), 1).astype(np.int64)


def _bytes_sent(published: Published) -> float | None:
    if published.access is not None:
        return published.access * MB
    return published.answer * 1024 * published.requests if published.answer is not None else None


def _parts(published: Published, frequency: Ints) -> tuple[Ints, Floats]:
    """Which part each file is in, and the bytes of each: up to 97, 98, 99 % of the requests, the
    rest, one-timers.
    """
    if published.hot is not None:
        cold = (np.arange(len(frequency)) >= round(published.hot[0] * len(frequency))).astype(
            np.int64
        )
        return cold, np.array([published.hot[2], 1 - published.hot[2]]) * published.working_set * MB
    answered = np.cumsum(frequency) - frequency
    edges = np.array(SHARES[: len(published.covering)]) * frequency.sum()
    part = np.searchsorted(edges, answered, side="right")
    held = np.diff([0.0, *published.covering, published.working_set])
    if published.one_timers is None:
        return part, held * MB
    last = len(held) - 1
    if published.one_timers > held[last]:
        # The last part is one-timers only, and the one before it has the others.
        part[(frequency == 1) & (part < last)] = last + 1
        before = published.one_timers - held[last]
        held[last - 1] -= before
        return part, np.append(held, before) * MB
    part[frequency == 1] = last + 1
    held[last] -= published.one_timers
    return part, np.append(held, published.one_timers) * MB


def _scale(shape: Floats, part: Ints, bytes_: Floats) -> Floats:
    total = np.bincount(part, shape, len(bytes_))
    scaled: Floats = shape * (bytes_ / np.maximum(total, 1e-9))[part]
    return scaled


def _numbers(published: Published) -> list[int]:
    """The papers' numbers of the sites; where there are more than they name, the lowest others."""
    others = (n for n in range(1, 10 * published.sites) if n not in published.largest)
    rest = [next(others) for _ in range(published.sites - len(published.largest))]
    return sorted([*published.largest, *rest])


def _sites(published: Published, frequency: Ints, size: Ints, random: Random) -> Ints:
    """Every file to the site that still needs it most: the most frequent go where much traffic to
    few bytes is due.
    """
    if published.sites == 1:
        return np.zeros(len(size), dtype=np.int64)
    sent = frequency * size
    working, access = _wanted_shares(published, random)
    working, access = working * size.sum(), access * sent.sum()
    site = np.zeros(len(size), dtype=np.int64)
    for file, (bytes_, traffic) in enumerate(zip(size.tolist(), sent.tolist(), strict=True)):
        need = np.where(
            (working >= bytes_) & (access >= traffic), access / np.maximum(working, 1.0), -1.0
        )
        chosen = int(need.argmax()) if need.max() > 0 else int(working.argmax())
        site[file] = chosen
        working[chosen] -= bytes_
        access[chosen] -= traffic
    return site


def _wanted_shares(published: Published, random: Random) -> tuple[Floats, Floats]:
    """Each site's share of the working set and of the bytes sent; what the tables leave goes to the
    others.
    """
    numbers = _numbers(published)
    rest = 1.0 / np.arange(6, 6 + len(numbers) - len(published.largest))
    shares = []
    for kind in ("working_set", "access"):
        known_shares = {n: getattr(site, kind) / UNITS for n, site in published.largest.items()}
        left = iter(
            random.permutation(rest / rest.sum() * (1 - sum(known_shares.values()))).tolist()
        )
        shares.append(
            np.array([known_shares[n] if n in known_shares else next(left) for n in numbers])
        )
    return shares[0], shares[1]
