"""Logs of a made-up night look like those of real servers, and every access is in exactly one of
them.
"""

from __future__ import annotations

import gzip
import ipaddress
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pytest

from flex.frame_schemas import PLACEMENT
from flex.prediction.replay_forecast import route
from flex.sim import made_up_cluster, made_up_logs

NODES = ("n1", "n2", "n3", "n4")
REQUEST = re.compile(r"(GET|HEAD|POST) (/\S*) HTTP/[\d.]+")
APACHE = re.compile(
    r"(?:(?P<host>[a-z0-9.-]+):(?:80|443) )?(?P<client>[0-9a-f.:]+) - - \[(?P<time>[^]]+)\] "
    r'"(?P<request>[^"]*)" (?P<status>\d{3}) (?P<bytes>\d+|-) "[^"]*" "(?:[^"\\]|\\.)*"'
)
DOCUMENTATION = [
    ipaddress.ip_network(block)
    for block in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that could be read, in the words of its format."""

    host: str
    client: str
    time: float
    request: str
    status: int
    bytes: int


def _entry(line: str) -> Entry | None:
    """A plain reader for these tests: what it cannot read is no entry."""
    if match := APACHE.fullmatch(line):
        time = datetime.strptime(match["time"], "%d/%b/%Y:%H:%M:%S %z").timestamp()
        size = int(match["bytes"].replace("-", "0"))
        return Entry(
            match["host"] or "", match["client"], time, match["request"], int(match["status"]), size
        )
    try:
        fields = json.loads(line)
    except json.JSONDecodeError:
        return None
    time = datetime.fromisoformat(fields["time_iso8601"]).timestamp()
    size, status = int(fields["body_bytes_sent"]), int(fields["status"])
    return Entry(fields["host"], fields["remote_addr"], time, fields["request"], status, size)


def _parts(source: made_up_logs.LogSource) -> list[Path]:
    """Oldest first: the live file is the newest."""
    found = source.path.parent.glob(Path(source.glob).name)
    return sorted(
        found, key=lambda path: -int(path.name.removeprefix(source.path.name).strip(".gz") or 0)
    )


def _text(path: Path) -> str:
    return (
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    ).decode()


def _lines(source: made_up_logs.LogSource) -> list[str]:
    return [line for path in _parts(source) for line in _text(path).split("\n")[:-1]]


def _entries(source: made_up_logs.LogSource) -> list[Entry]:
    return [entry for line in _lines(source) if (entry := _entry(line))]


def _served(source: made_up_logs.LogSource) -> list[Entry]:
    return [entry for entry in _entries(source) if REQUEST.fullmatch(entry.request)]


def _write(
    directory: Path, hosting: made_up_cluster.Hosting, accesses: made_up_cluster.Accesses
) -> tuple[made_up_logs.LogSource, ...]:
    return made_up_logs.write(directory, hosting, accesses, NODES, np.random.default_rng(5))


@pytest.fixture(scope="module")
def night(
    hosting: made_up_cluster.Hosting,
    accesses: made_up_cluster.Accesses,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[made_up_logs.LogSource, ...]:
    """A night served by all nodes in turn."""
    return _write(tmp_path_factory.mktemp("night"), hosting, accesses)


def _files(directory: Path) -> Iterator[tuple[str, bytes]]:
    return (
        (str(path.relative_to(directory)), path.read_bytes())
        for path in sorted(directory.rglob("*.log*"))
    )


def test_the_same_seed_writes_the_same_bytes(
    hosting: made_up_cluster.Hosting, accesses: made_up_cluster.Accesses, tmp_path: Path
) -> None:
    for name in ("one", "other"):
        _write(tmp_path / name, hosting, accesses)
    one, other = dict(_files(tmp_path / "one")), dict(_files(tmp_path / "other"))
    assert one == other
    packed = [data for name, data in one.items() if name.endswith(".2.gz")]
    assert packed
    # gzip keeps the time of packing in these four bytes, unless told not to.
    assert {data[4:8] for data in packed} == {bytes(4)}


@pytest.mark.slow
def test_every_access_is_in_one_log_of_the_node_that_served_it(
    night: tuple[made_up_logs.LogSource, ...], accesses: made_up_cluster.Accesses
) -> None:
    counted = {
        node: sum(len(_served(source)) for source in night if source.node == node) for node in NODES
    }
    assert counted == dict.fromkeys(NODES, len(accesses.time) // len(NODES))


def test_a_log_says_what_was_asked_and_sent(
    night: tuple[made_up_logs.LogSource, ...],
    hosting: made_up_cluster.Hosting,
    accesses: made_up_cluster.Accesses,
) -> None:
    first = night[0]
    assert (first.node, first.format) == ("n1", "vhost_combined")
    mine = np.arange(0, len(accesses.time), len(NODES))
    served = _served(first)
    assert [entry.time for entry in served] == accesses.time[mine].tolist()
    assert [entry.bytes for entry in served] == accesses.bytes[mine].tolist()
    assert [entry.status for entry in served] == accesses.status[mine].tolist()
    names = made_up_logs.aliases(hosting)
    assert [names.get(entry.host, entry.host) for entry in served] == [
        hosting.sites[s] for s in accesses.site[mine]
    ]
    for entry, target in zip(served, accesses.target[mine].tolist(), strict=True):
        path = entry.request.split(" ")[1].partition("?")[0]
        assert (path == hosting.paths[target]) == (entry.status != 404)


def test_formats_differ_from_node_to_node_and_some_sites_have_a_log_of_their_own(
    night: tuple[made_up_logs.LogSource, ...], hosting: made_up_cluster.Hosting
) -> None:
    formats = {node: {source.format for source in night if source.node == node} for node in NODES}
    assert formats == {
        "n1": {"vhost_combined"},
        "n2": {"nginx_json"},
        "n3": {"combined", "vhost_combined"},
        "n4": {"vhost_combined"},
    }
    apart = {source.site for source in night if source.site}
    assert apart == set(hosting.sites[: made_up_logs.OWN_LOGS])
    shared = next(source for source in night if source.node == "n3" and not source.site)
    assert not apart & {entry.host.removeprefix("www.") for entry in _entries(shared)}


@pytest.mark.parametrize(
    "pattern",
    [
        r'"\\x16\\x03\\x01\\x02" 400 226 "-" "-"$',
        r'"-" 408 - "-" "-"$',
        r'"request":"\\u0016\\u0003',
        r'"request":"","status":408',
        r"^\x00+$",
        r"^AH00094",
        r"^$",
        r'" 404 ',
        r'" 304 - ',
        r'" 206 \d',
        r'"HEAD \S+ HTTP/1.1" 200 - ',
        r'"GET /\S+\?v=\d+ ',
        r"^www\.[a-z-]+\.hosting\.example:443 ",
        r" \+0200\] ",
        r'\\"quoted\\"',
    ],
)
def test_logs_hold_what_public_servers_collect(
    night: tuple[made_up_logs.LogSource, ...], pattern: str
) -> None:
    assert any(re.search(pattern, line) for source in night for line in _lines(source))


@pytest.mark.slow
def test_few_lines_are_broken(
    night: tuple[made_up_logs.LogSource, ...], accesses: made_up_cluster.Accesses
) -> None:
    lines = [line for source in night for line in _lines(source)]
    cut = [line for line in lines if re.match(r"[\w.-]+:443 \S+ - - \[", line) and not _entry(line)]
    assert cut
    assert len(accesses.time) < len(lines) < 1.01 * len(accesses.time)


@pytest.mark.slow
def test_clients_have_addresses_of_both_kinds_that_nobody_has(
    night: tuple[made_up_logs.LogSource, ...],
) -> None:
    clients = {ipaddress.ip_address(entry.client) for source in night for entry in _entries(source)}
    assert {client.version for client in clients} == {4, 6}
    assert all(any(client in block for block in DOCUMENTATION) for client in clients)


def test_a_second_night_rotates_the_first_and_loses_nothing(
    hosting: made_up_cluster.Hosting, accesses: made_up_cluster.Accesses, tmp_path: Path
) -> None:
    (first, *_) = _write(tmp_path, hosting, accesses)
    before = [_text(path) for path in _parts(first)]
    assert [path.name for path in _parts(first)] == [
        "access.log.2.gz",
        "access.log.1",
        "access.log",
    ]
    rng = np.random.default_rng(6)
    made_up_logs.write(
        tmp_path, hosting, made_up_cluster.night(hosting, date(2026, 1, 6), 1000, rng), NODES, rng
    )
    assert [path.name for path in _parts(first)] == [
        *(f"access.log.{number}.gz" for number in (5, 4, 3, 2)),
        "access.log.1",
        "access.log",
    ]
    assert [_text(path) for path in _parts(first)][:3] == before
    times = [entry.time for entry in _entries(first)]
    assert times == sorted(times)


@pytest.mark.slow
def test_a_placed_site_is_logged_where_it_is_placed_and_any_other_by_all_nodes(
    hosting: made_up_cluster.Hosting, accesses: made_up_cluster.Accesses, tmp_path: Path
) -> None:
    nowhere, *placed = hosting.sites
    rows = {
        "site": [*placed, placed[0]],
        "node": [*(NODES[i % 2] for i in range(len(placed))), "n4"],
    }
    placement = PLACEMENT.from_columns(rows)
    written = made_up_logs.write(
        tmp_path, hosting, accesses, NODES, np.random.default_rng(5), placement=placement
    )
    sent = route(hosting.sites, accesses.site, placement, NODES)
    sent[sent < 0] = np.flatnonzero(sent < 0) % len(NODES)
    counted = [
        sum(len(_served(source)) for source in written if source.node == node) for node in NODES
    ]
    assert counted == np.bincount(sent, minlength=len(NODES)).tolist()
    of_nowhere = {
        source.node
        for source in written
        for entry in _served(source)
        if nowhere in (entry.host, source.site)
    }
    assert of_nowhere == set(NODES)


def test_a_night_without_accesses_leaves_empty_logs(
    hosting: made_up_cluster.Hosting, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    written = _write(tmp_path, hosting, made_up_cluster.night(hosting, date(2026, 1, 5), 0, rng))
    assert all(_parts(source) == [source.path] and not _lines(source) for source in written)
