"""A made-up hosting cluster that behaves like a real one: sites, their files, a night of accesses,
and the cluster of the next day.

Takes a numpy Generator. Returns frozen values: the same seed gives the same cluster, the same night
and the same next day. Does not decide which node serves an access, and does not write anything
(made_up_logs.py does).

The shape follows what the FLEX papers and other studies of web servers found. Few sites get most
requests, and few files of a site get most of its requests. Sizes are log-normal with a Pareto tail,
and large files are seldom the popular ones. Most sites ask tomorrow for about what they asked
today.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from flex.placing.problem import Floats, Ints
from flex.prediction.cache_replay import Sample
from flex.sim.made_up_names import (
    AGENTS,
    FOLDERS,
    LARGE_KINDS,
    METHODS,
    NOUNS,
    SMALL_KINDS,
    TRADES,
    TREES,
)

STATUS = np.array([200, 304, 404, 206, 301], dtype=np.int64)
# The share of the requests that gets each STATUS. Guesses.
STATUS_SHARE = (0.85, 0.08, 0.035, 0.015, 0.02)
# HTTP statuses (RFC 9110) of the answers that are made from a file.
IN_MEMORY = (200, 206, 304)
# Seconds.
DAY = 86400


@dataclass(frozen=True, slots=True)
class Shape:
    """What kind of cluster to make up. Sizes are bytes; the night's rhythm swings by `rhythm`
    around its mean.
    """

    sites: int = 100
    files_per_site: float = 60.0
    spread_of_files: float = 0.8
    site_skew: float = 1.0
    file_skew: float = 0.85
    median_size: float = 12_000.0
    spread_of_sizes: float = 1.3
    tail_share: float = 0.07
    tail_from: float = 133_000.0
    tail_index: float = 1.1
    largest: int = 4 * 2**20
    rhythm: float = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Hosting:
    """A cluster's content and how it is asked for.

    `weight` is each site's share of the requests, `peak` its busiest time as a share of a day.
    Target t belongs to site[t]; the targets of a site stand together, and `chance` is a target's
    share of its site's requests.
    """

    zone: str
    sites: tuple[str, ...]
    weight: Floats
    peak: Floats
    paths: tuple[str, ...]
    site: Ints
    size: Ints
    chance: Floats
    rhythm: float


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """In time order. `site` and `target` number those of the hosting, `method` and `agent` the
    words of made_up_names.py.

    `bytes` is what was sent; a `query` of 0 means none. What a 404 was asked for is not there:
    `target` means nothing.
    """

    time: Ints
    site: Ints
    target: Ints
    status: Ints
    bytes: Ints
    method: Ints
    agent: Ints
    client: Ints
    query: Ints


def hosting(rng: np.random.Generator, zone: str, shape: Shape | None = None) -> Hosting:
    """A new cluster whose sites are named below the zone."""
    shape = shape or Shape()
    # The mean of a log-normal lies half its variance above its median, in logarithms.
    median = np.log(shape.files_per_site) - shape.spread_of_files**2 / 2
    count = np.maximum(rng.lognormal(median, shape.spread_of_files, shape.sites), 3).astype(
        np.int64
    )
    site = np.repeat(np.arange(shape.sites), count)
    size = _sizes(rng, len(site), shape)
    # Zipf by rank is dealt out at random, so that the names do not tell who is popular.
    weight = rng.permutation(_zipf(shape.sites, shape.site_skew))
    return Hosting(
        zone=zone.strip("."),
        sites=_names(rng, shape.sites, zone.strip(".")),
        weight=weight / weight.sum(),
        peak=rng.normal(0.8, 0.12, shape.sites) % 1.0,
        paths=_paths(rng, size),
        site=site,
        size=size,
        chance=_chances(rng, site, size, shape.file_skew),
        rhythm=shape.rhythm,
    )


def night(hosting: Hosting, day: date, requests: int, rng: np.random.Generator) -> Accesses:
    """What a UTC day asks of the cluster: every site by its weight and rhythm, every file by its
    chance.
    """
    target = _targets(hosting, requests, rng)
    site = hosting.site[target]
    time = (day - date(1970, 1, 1)).days * DAY + _time_of_day(hosting, site, rng)
    order = np.argsort(time, kind="stable")
    time, site, target = time[order], site[order], target[order]
    status = rng.choice(STATUS, requests, p=STATUS_SHARE)
    method = np.where(status == 200, rng.choice(len(METHODS), requests, p=(0.985, 0.01, 0.005)), 0)
    # Squares and cubes of even chances make a few agents and clients far busier than the rest.
    agent = (len(AGENTS) * rng.random(requests) ** 2).astype(np.int64)
    client = (20_000 * rng.random(requests) ** 3).astype(np.int64)
    query = np.where(rng.random(requests) < 0.12, rng.integers(1, 1000, requests), 0)
    sent = _bytes_sent(hosting.size[target], status, method, rng)
    return Accesses(time, site, target, status, sent, method, agent, client, query)


def drift(
    hosting: Hosting, rng: np.random.Generator, *, spread: float = 0.06, surges: int = 1
) -> Hosting:
    """The next day's cluster: every site a little up or down, and a few middling ones suddenly in
    fashion.
    """
    weight = hosting.weight * rng.lognormal(0.0, spread, len(hosting.sites))
    by_rank = np.argsort(-hosting.weight, kind="stable")
    middling = by_rank[len(by_rank) // 20 : max(len(by_rank) // 4, 1)]
    in_fashion = rng.choice(middling, min(surges, len(middling)), replace=False)
    weight[in_fashion] *= rng.uniform(2.0, 3.0, len(in_fashion))
    return replace(hosting, weight=weight / weight.sum())


def sample(hosting: Hosting, accesses: Accesses) -> Sample:
    """Every access that was answered from a file, as the prediction of load takes it."""
    answered = np.isin(accesses.status, IN_MEMORY)
    return Sample(
        sites=hosting.sites,
        site=hosting.site,
        size=hosting.size,
        target=accesses.target[answered],
        time=accesses.time[answered],
        rate=1.0,
    )


def _zipf(count: int, skew: float) -> Floats:
    share: Floats = np.arange(1, count + 1, dtype=np.float64) ** -skew
    return share


def _names(rng: np.random.Generator, count: int, zone: str) -> tuple[str, ...]:
    """Different for every site; a number is added only when the words run out."""
    pairs = [f"{tree}-{trade}" for tree in TREES for trade in TRADES]
    shuffled = [pairs[i] for i in rng.permutation(len(pairs))]
    rounds = ["" if n == 0 else f"-{n + 1}" for n in range(-(-count // len(shuffled)))]
    names = [f"{pair}{suffix}.{zone}" for suffix in rounds for pair in shuffled]
    return tuple(names[:count])


def _sizes(rng: np.random.Generator, count: int, shape: Shape) -> Ints:
    body = rng.lognormal(np.log(shape.median_size), shape.spread_of_sizes, count)
    tail = shape.tail_from * (1.0 + rng.pareto(shape.tail_index, count))
    size = np.where(rng.random(count) < shape.tail_share, tail, body)
    return np.clip(size, 64, shape.largest).astype(np.int64)


def _paths(rng: np.random.Generator, size: Ints) -> tuple[str, ...]:
    folder = rng.integers(0, len(FOLDERS), len(size))
    noun = rng.integers(0, len(NOUNS), len(size))
    kind = rng.integers(0, len(SMALL_KINDS) * len(LARGE_KINDS), len(size))
    columns = zip(folder.tolist(), noun.tolist(), kind.tolist(), size.tolist(), strict=True)
    return tuple(
        f"{FOLDERS[f]}/{NOUNS[n]}-{t}{_extension(k, bytes_)}"
        for t, (f, n, k, bytes_) in enumerate(columns)
    )


def _extension(kind: int, size: int) -> str:
    kinds = LARGE_KINDS if size > 100_000 else SMALL_KINDS
    return kinds[kind % len(kinds)]


def _chances(rng: np.random.Generator, site: Ints, size: Ints, skew: float) -> Floats:
    """Zipf by rank within each site. Larger files tend to the back, but chance has a say."""
    weight = np.log(size) + rng.normal(0.0, 1.5, len(size))
    order = np.lexsort((weight, site))
    first = np.searchsorted(site, site)
    rank = np.empty(len(site), dtype=np.int64)
    rank[order] = np.arange(len(site)) - first
    chance = 1.0 / (1.0 + rank) ** skew
    whole: Floats = chance / np.bincount(site, weights=chance)[site]
    return whole


def _targets(hosting: Hosting, requests: int, rng: np.random.Generator) -> Ints:
    cumulative = np.cumsum(hosting.weight[hosting.site] * hosting.chance)
    drawn = np.searchsorted(cumulative, rng.random(requests) * cumulative[-1], side="right")
    within: Ints = np.minimum(drawn, len(cumulative) - 1).astype(np.int64)
    return within


def _time_of_day(hosting: Hosting, site: Ints, rng: np.random.Generator) -> Ints:
    """Drawn from 1 + rhythm * cos around each site's peak, by inverting its integral on a grid."""
    grid = np.linspace(-0.5, 0.5, 1441)
    integral = 0.5 + grid + hosting.rhythm / (2 * np.pi) * np.sin(2 * np.pi * grid)
    around_peak = np.interp(rng.random(len(site)), integral, grid)
    seconds: Ints = ((hosting.peak[site] + around_peak) * DAY).astype(np.int64) % DAY
    return seconds


def _bytes_sent(size: Ints, status: Ints, method: Ints, rng: np.random.Generator) -> Ints:
    """Whole files, parts of them for 206, a short page for an error, no body for 304 and HEAD."""
    part = np.maximum((size * rng.random(len(size))).astype(np.int64), 1)
    sent = np.select(
        [status == 200, status == 206, status == 304], [size, part, 0], default=196 + size % 200
    )
    answered: Ints = np.where(method == METHODS.index("HEAD"), 0, sent).astype(np.int64)
    return answered
