"""What the papers publish of their traces, as they print it: a megabyte is 2^20 bytes, and units
are parts of 400.

Twins (trace_twins.py) are fitted to these figures and to nothing else. Does not have
any of the papers' results.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Site:
    """Its share of the working set and of the access rate, in units; None where the paper does not
    say.
    """

    working_set: float | None
    access: float | None


@dataclass(frozen=True, slots=True)
class Published:
    """`working_set`, `one_timers`, `access` and `covering` (97, 98 and 99 % of the requests) are
    megabytes, `days` is how long the trace is.

    `requests` of the LARD paper's traces and of the CWARD paper's are not published: `assumed` says
    so. How many there are changes how long a simulation takes, and how much first reads count.
    `answer` is a mean answer in kilobytes where the bytes sent are not published; `top` is the
    share of requests of the most frequent file. `hot` is a share of the files, the most frequent,
    with their shares of the requests and of the bytes.
    """

    name: str
    requests: int
    files: int
    working_set: float
    days: float
    covering: tuple[float, ...] = ()
    one_timers: float | None = None
    access: float | None = None
    answer: float | None = None
    top: float | None = None
    hot: tuple[float, float, float] | None = None
    sites: int = 1
    largest: dict[int, Site] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()


def _sites(text: str) -> dict[int, Site]:
    """`62:213.9/40.2` is site 62 with 213.9 units of working set and 40.2 of access rate."""
    sites = {}
    for word in text.split():
        number, _, units = word.partition(":")
        working_set, access = (float(unit) if unit != "-" else None for unit in units.split("/"))
        sites[int(number)] = Site(working_set, access)
    return sites


APRIL = Published(
    "hp-april", 1_674_215, 17_955, 994.2, 30, (242.7, 362.1, 556.3), 370.0, 14_860, sites=71,
    largest=_sites(
        "62:213.9/40.2 57:56.8/95.6 17:14.3/3.43 42:12.2/10.0 60:12.1/9.8 "
        "20:2.7/46.7 67:2.4/34.2 51:2.7/28.3"
    ),
)  # fmt: skip
MAY = Published(
    "hp-may", 1_695_774, 16_305, 878.4, 31, (249.2, 296.3, 419.9), 374.5, 14_658, sites=74,
    largest=_sites("62:135.8/28.4 57:68.7/47.3 10:37.7/50.7 60:19.0/10.7 "
                   "31:13.1/22.9 20:7.6/43.8 67:3.2/28.8"),
)  # fmt: skip
JUNE = Published(
    "hp-june", 1_805_762, 17_915, 884.9, 30, (196.1, 304.8, 475.1), 311.2, 13_909, sites=84,
    largest=_sites("62:136.4/35.4 57:74.5/50.6 10:18.6/41.0 60:14.1/10.4 "
                   "13:12.9/25.6 20:4.6/42.7 67:2.9/32.0"),
)  # fmt: skip
JULY = Published(
    "hp-july", 1_315_685, 20_341, 711.6, 31, (155.1, 276.1, 487.9), 298.3, 8_713, sites=89,
    largest=_sites(
        "10:64.2/43.6 57:49.4/12.6 5:38.7/6.3 34:28.4/5.0 60:19.6/16.6 20:8.1/46.1 "
        "13:12.4/34.5 1:0.7/34.1 21:3.1/17.1"
    ),
)  # fmt: skip

# Published for day 1; those of the other days "differ slightly".
_DAY = _sites(
    "24:35.5/18.1 98:25.9/4.7 33:24.5/37.4 63:21.4/19.2 135:19.3/9.9 82:0.1/40.8 "
    "108:18.5/30.4 41:14.2/26.2"
)
DAY_1 = Published(
    "hp-day-1",
    6_893_537,
    60_203,
    1249.1,
    1,
    (213.4, 341.3, 595.0),
    381.6,
    17_774,
    sites=145,
    largest=_DAY,
)
DAY_2 = Published(
    "hp-day-2",
    6_709_091,
    50_004,
    1072.5,
    1,
    (175.5, 265.5, 420.9),
    359.2,
    17_056,
    sites=145,
    largest=_DAY,
    assumed=("sites",),
)
DAY_3 = Published(
    "hp-day-3",
    6_822_680,
    60_707,
    1177.0,
    1,
    (216.8, 322.3, 541.3),
    404.4,
    17_356,
    sites=145,
    largest=_DAY,
    assumed=("sites",),
)
DAY_4 = Published(
    "hp-day-4",
    6_591_683,
    54_887,
    1242.8,
    1,
    (204.3, 292.3, 532.5),
    390.9,
    17_080,
    sites=145,
    largest=_DAY,
    assumed=("sites",),
)

# 280 Mbit/s at 2.5 times six times 167 requests a second (section 6.3) are 14 KB an answer.
RICE = Published(
    "rice", 2_300_000, 37_703, 1418, 61, (560, 705, 927), answer=14.0, top=0.02,
    assumed=("requests", "answer"),
)  # fmt: skip
# "An average page size of less than 3 KB" (Aron and others, section 3).
IBM = Published(
    "ibm",
    2_300_000,
    38_527,
    1029,
    3.5,
    (51, 80, 182),
    answer=3.0,
    top=0.05,
    assumed=("requests", "answer"),
)

# The CWARD paper says how many hits the most frequent files of these make, and for WorldCup98 how
# many bytes they have; requests, files, bytes and answers it does not say, nor for ClarkNet the
# bytes of the hot files.
_UNKNOWN = ("requests", "files", "working_set", "answer")
CLARKNET = Published(
    "clarknet",
    1_600_000,
    30_000,
    400,
    14,
    answer=10.0,
    hot=(0.18, 0.90, 0.18),
    assumed=(*_UNKNOWN, "hot_bytes"),
)
# 60 % of 512 MB of memory are "approximately 18 % of total web object size".
WORLDCUP = Published(
    "worldcup98",
    1_600_000,
    30_000,
    0.6 * 512 / 0.18,
    0.25,
    hot=(0.20, 0.81, 0.61),
    assumed=("requests", "files"),
)

PUBLISHED: dict[str, Published] = {
    each.name: each
    for each in (APRIL, MAY, JUNE, JULY, DAY_1, DAY_2, DAY_3, DAY_4, RICE, IBM, CLARKNET, WORLDCUP)
}
