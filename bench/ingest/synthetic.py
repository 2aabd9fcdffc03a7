"""A made-up access log of any length, with the same bytes every time: many sites on one server, in
vhost_combined.

Takes a number of lines. Writes a file. 600 sites and their files are asked for by Zipf's law. 15 %
of the clients have IPv6, 18 % of the requests have a query string, 6 % ask for something that
nobody asks for twice, and one line in a thousand is hostile or broken, in ten kinds. The last line
has no end. Arrow joins columns of text, so a million lines take two seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flex.placing.problem import Ints

# Sites in the log.
SITES = 600
# Addresses of clients.
CLIENTS = 60_000
# Lines that are made at a time.
BATCH = 200_000
# Share of lines that are hostile. A guess.
HOSTILE_SHARE = 0.001
# Share of requests whose target is asked for only once.
NEVER_AGAIN_SHARE = 0.058
LAST_LINE = b'www.site0001.example.org:443 192.0.2.9 - - [20/Nov/2026:23:59:59 +0000] "GET /cut'

WORDS = (
    "assets", "images", "css", "js", "blog", "post", "product", "category", "news", "media",
    "uploads", "2024", "2025", "2026", "thumb", "large", "index", "about", "contact", "api",
    "static", "fonts", "video", "docs", "download", "catalog", "item", "page", "archive", "tag",
    "wp-content", "themes", "plugins", "gallery",
)  # fmt: skip
# Endings of paths, with their weights. A guess.
KINDS = {
    ".html": 20, ".css": 6, ".js": 10, ".png": 17, ".jpg": 20, ".gif": 4, ".webp": 6, ".svg": 4,
    ".pdf": 2, ".mp4": 1, ".woff2": 3, "/": 5, ".php": 2,
}  # fmt: skip
# Statuses, with their weights in thousandths. A guess.
STATUSES = {200: 780, 304: 80, 404: 60, 301: 20, 302: 20, 206: 20, 500: 10, 403: 9, 201: 1}
# Methods, with their weights in percent. A guess.
METHODS = {"GET": 96, "HEAD": 1, "POST": 3}
REFERERS = (
    "-",
    "-",
    "https://www.example.com/a/b?c=d&e=f",
    "https://search.example/",
    "https://t.example/abc",
)
DESKTOPS = (
    "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7", "X11; Linux x86_64",
    "X11; CrOS x86_64 14541.0.0", "Linux; Android 10; K", "Linux; Android 14; Pixel 8",
    "iPhone; CPU iPhone OS 18_0 like Mac OS X",
)  # fmt: skip
ODD_AGENTS = (
    b"Mozilla/5.0 (compatible; ExampleBot/2.1; +https://bot.example.org/about)", b"curl/8.10.1",
    b"-", b'Mozilla/5.0 (\\"quoted\\" agent) Gecko/20100101', b'() { :; }; echo \\"x\\" \\\\',
    b"raw latin1 \xe9\xe8 agent", "agent in UTF-8 \u041c\u043e\u0437".encode(),
    b"python-requests/2.32.3", b'\\"-\\"',
)  # fmt: skip
# The ten kinds of lines that no parser may stumble over: host, client, time, target, and a number
# that is large.
HOSTILE = (
    b'%(host)s:443 %(client)s - - [%(time)s] "\\x16\\x03\\x01\\x02" 400 226 "-" "-"\n',
    b'%(host)s:443 %(client)s - - [%(time)s] "-" 408 - "-" "-"\n',
    b'%(host)s:443 %(client)s - - [%(time)s] "GET %(target)s HTT\n',
    b"a line without structure\n",
    (
        b'%(host)s:443 %(client)s - - [%(time)s] "GET %(target)s HTTP/1.1" 200 512 "-" '
        b'"bad "unescaped" quote"\n'
    ),
    b"\n",
    b'%(host)s:443 %(client)s - - [%(time)s] "GET /%(long)s HTTP/1.1" 414 250 "-" "-"\n',
    b"\0" * 512 + b"\n",
    (
        b'%(host)s:443 %(client)s - - [%(time)s] "GET /caf\xe9%(target)s HTTP/1.1" 200 '
        b'512 "-" "raw\xff\xfe"\n'
    ),
    b'%(host)s:443 %(client)s - - [%(time)s] "GET %(target)s" 200 512 "-" "HTTP/0.9"\n',
)


def write(path: Path, lines: int, seed: int = 1) -> None:
    """A day's log of that many lines and the beginning of one more."""
    rng = np.random.default_rng(seed)
    day = _Day(np.random.default_rng(12345))
    with path.open("wb") as file:
        for first in range(0, lines, BATCH):
            count = min(BATCH, lines - first)
            seconds = np.sort(
                rng.integers(86_400 * first // lines, 86_400 * (first + count) // lines + 1, count)
            )
            file.write(day.lines(np.minimum(seconds, 86_399), rng))
        file.write(LAST_LINE)


class _Day:
    """What is drawn from: hosts, clients, files with their sizes, user agents, the seconds of the
    day.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.hosts = _texts(
            [
                f"www.site{n:04}.example.{('com', 'org', 'co.uk', 'net')[n % 4]}"
                for n in range(SITES)
            ]
        )
        self.files = np.clip(rng.lognormal(5.3, 1.3, SITES), 5, 60_000).astype(np.int64)
        self.first_file = np.cumsum(self.files) - self.files
        count = int(self.files.sum())
        self.targets = _targets(count, rng)
        large = 133_000 * (1 - rng.random(count)) ** (-1 / 1.1)
        size = np.where(rng.random(count) < 0.93, rng.lognormal(9.357, 1.318, count), large)
        self.sizes = size.clip(30, 2e9).astype(np.int64)
        self.clients = _texts([_client(n, rng.random() < 0.15) for n in range(CLIENTS)])
        self.agents = _agents()
        self.agent_of_client = _zipf(rng, len(self.agents), CLIENTS)
        clock = [f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in range(86_400)]
        self.clock = _texts([f"20/Nov/2026:{time} +0000" for time in clock])

    def lines(self, seconds: Ints, rng: np.random.Generator) -> bytes:
        """One line for each of these seconds of the day."""
        count = len(seconds)
        site = _zipf(rng, SITES, count)
        rank = np.floor(self.files[site] ** rng.random(count)).astype(np.int64) - 1
        file = self.first_file[site] + np.clip(rank, 0, self.files[site] - 1)
        client = rng.integers(0, CLIENTS, count)
        host, clients, time = (
            self.hosts.take(site),
            self.clients.take(client),
            self.clock.take(seconds),
        )
        target = self._draw_requests(file, rng)
        status = _draw(rng, STATUSES, count)
        whole = pc.binary_join_element_wise(
            host, _choose((":443", ":80"), client % 5 == 0), _same(" "), clients,
            _same(" - - ["), time, _same('] "'),
            _texts(list(METHODS)).take(_draw_weighted(rng, METHODS, count)), _same(" "),
            target, _queries(count, rng),
            _choose((' HTTP/2.0" ', ' HTTP/1.1" '), client % 3 == 0), _numbers(status), _same(" "),
            self._bytes_sent(status, file, client), _same(' "'),
            _texts(REFERERS).take(rng.integers(0, len(REFERERS), count)),
            _same('" "'), self.agents.take(self._agent(client, rng)), _same('"\n'), _same(""),
        )  # fmt: skip
        return _bytes(_spoilt(whole, host, clients, time, target, rng))

    def _draw_requests(self, file: Ints, rng: np.random.Generator) -> pa.Array:
        count = len(file)
        words = _texts(WORDS).take(rng.integers(0, len(WORDS), count))
        once = pc.binary_join_element_wise(
            _same("/"),
            words,
            _same("/"),
            _numbers(rng.integers(0, 10**9, count)),
            _same(".html"),
            _same(""),
        )
        return pc.if_else(
            pa.array(rng.random(count) < NEVER_AGAIN_SHARE), once, self.targets.take(file)
        )

    def _agent(self, client: Ints, rng: np.random.Generator) -> Ints:
        """One in twenty requests comes from another program behind the same address."""
        other = _zipf(rng, len(self.agents), len(client))
        return np.where(rng.random(len(client)) < 0.05, other, self.agent_of_client[client])

    def _bytes_sent(self, status: Ints, file: Ints, client: Ints) -> pa.Array:
        size = self.sizes[file]
        size = np.where(status == 206, np.maximum(size // (2 + client % 7), 1), size)
        size = np.where(
            (status >= 300) & (status < 400), np.where(status == 304, 0, 200 + client % 80), size
        )
        size = np.where(status >= 400, 150 + client % 400, size)
        return pc.if_else(pa.array(size == 0), _same("-"), _numbers(size))


def _spoilt(
    lines: pa.Array,
    host: pa.Array,
    client: pa.Array,
    time: pa.Array,
    target: pa.Array,
    rng: np.random.Generator,
) -> pa.Array:
    """The lines, one in a thousand of them replaced by what a public server collects."""
    chosen = rng.random(len(lines)) < HOSTILE_SHARE
    fields = {"host": host, "client": client, "time": time, "target": target}
    at = np.flatnonzero(chosen)
    texts = {name: column.take(pa.array(at)).to_pylist() for name, column in fields.items()}
    long = rng.integers(8_192, 65_000, len(at)).tolist()
    spoilt: list[bytes] = []
    for n in range(len(at)):
        values = {name.encode(): column[n] for name, column in texts.items()}
        values[b"long"] = b"A" * long[n]
        spoilt.append(HOSTILE[n % len(HOSTILE)] % values)
    return pc.replace_with_mask(lines, pa.array(chosen), pa.array(spoilt, type=pa.large_binary()))


def _targets(count: int, rng: np.random.Generator) -> pa.Array:
    depth = rng.integers(1, 5, count)
    words = _texts([f"/{word}" for word in WORDS])
    folders = []
    for level in range(4):
        folder = words.take(rng.integers(0, len(WORDS), count))
        folders.append(pc.if_else(pa.array(depth > level), folder, _same("")))
    kinds = _texts(list(KINDS)).take(_draw_weighted(rng, KINDS, count))
    return pc.binary_join_element_wise(
        *folders, _same("/"), _numbers(rng.integers(0, 10**7, count)), kinds, _same("")
    )


def _queries(count: int, rng: np.random.Generator) -> pa.Array:
    version, campaign = (_numbers(rng.integers(0, 97, count)), _numbers(rng.integers(0, 11, count)))
    query = pc.binary_join_element_wise(_same("?v="), version, _same("&utm="), campaign, _same(""))
    return pc.if_else(pa.array(rng.random(count) < 0.18), query, _same(""))


def _agents() -> pa.Array:
    """1,500 user agents as browsers spell them, and those that are unlike any browser's."""
    agent = (
        "Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.%d.%d Safari/537.36"
    )
    browsers = [
        agent % (DESKTOPS[n % len(DESKTOPS)], 142 - n % 60, n * 37 % 7000, n % 211)
        for n in range(1_500)
    ]
    return pa.array(
        [*(browser.encode() for browser in browsers), *ODD_AGENTS * 4], type=pa.large_binary()
    )


def _client(number: int, is_ipv6: bool) -> str:
    """Addresses that are set aside for documentation (RFC 3849) and for benchmarks (RFC 2544)."""
    if is_ipv6:
        return f"2001:db8:{number:x}::{number % 977:x}"
    return f"198.{18 + number % 2}.{number // 2 % 256}.{number // 512 % 256}"


def _zipf(rng: np.random.Generator, size: int, count: int) -> Ints:
    heaped = np.cumsum(1.0 / np.arange(1, size + 1))
    drawn: Ints = np.searchsorted(heaped, rng.random(count) * heaped[-1]).astype(np.int64)
    return drawn


def _draw_weighted(
    rng: np.random.Generator, weights: dict[str, int] | dict[int, int], count: int
) -> Ints:
    heaped = np.cumsum(list(weights.values()))
    return np.searchsorted(heaped, rng.integers(0, heaped[-1], count), side="right").astype(
        np.int64
    )


def _draw(rng: np.random.Generator, weights: dict[int, int], count: int) -> Ints:
    return np.array(list(weights), dtype=np.int64)[_draw_weighted(rng, weights, count)]


def _texts(texts: Sequence[str]) -> pa.Array:
    return pa.array([text.encode() for text in texts], type=pa.large_binary())


def _numbers(numbers: Ints) -> pa.Array:
    return pa.array(numbers).cast(pa.large_string()).cast(pa.large_binary())


def _same(text: str) -> pa.Scalar:
    return pa.scalar(text.encode(), type=pa.large_binary())


def _choose(texts: tuple[str, str], second: np.ndarray) -> pa.Array:
    return _texts(texts).take(pa.array(second.astype(np.int64)))


def _bytes(lines: pa.Array) -> bytes:
    """What stands in the array, from its first text to its last."""
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)
    return bytes(data[int(ends[lines.offset]) : int(ends[lines.offset + len(lines)])])
