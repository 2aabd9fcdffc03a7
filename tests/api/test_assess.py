"""`flex assess`: an answer from logs alone, whatever they are, and one clear error where there is
none.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from flex.errors import BadInput, NoData, NotWritten
from flex_api import cli
from flex_api.assessing.assess_logs import Wanted, assess
from flex_api.assessing.count_logs import count, cut_files
from flex_api.assessing.find_logs import find, site_in_name
from flex_api.in_words import assess_text
from flex_api.schemas.assess_output import AssessOutput
from tests.api.test_report import Page

NOW = datetime(2026, 3, 5, 9, tzinfo=UTC)
DAY = datetime(2026, 3, 2, tzinfo=UTC)
SCHEMA = Path(__file__).parents[2] / "docs/schemas/assess.json"
# Bytes of each made-up file.
SIZE = 40_000


def line(host: str, path: str, at: datetime, size: int = SIZE) -> str:
    """As Apache's vhost_combined has it."""
    return (
        f'{host}:80 198.51.100.7 - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1" '
        f'200 {size} "-" "Mozilla/5.0"\n'
    )


def combined(path: str, at: datetime) -> str:
    """As Apache's combined has it: without the host."""
    return line("x", path, at).split(" ", 1)[1]


def day_of_traffic(
    sites: int, files: int, requests: int, day: datetime = DAY, seed: int = 5
) -> list[str]:
    """Every file of every site asked for alike, at random over the day."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, 86_400, requests))
    return [
        line(
            f"s{rng.integers(sites)}.example.org",
            f"/f{rng.integers(files)}.png",
            day + timedelta(seconds=int(second)),
        )
        for second in seconds
    ]


def written(path: Path, lines: Iterable[str]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def answer(tmp_path: Path, *logs: str, **changes: Any) -> AssessOutput:
    """Any: fields of Wanted of several types."""
    asked: dict[str, Any] = {"nodes": 4, "ram": 2**20, "report": tmp_path / "out.html"} | changes
    return assess(Wanted(logs, **asked), NOW)


def way(found: AssessOutput, policy: str) -> float:
    return next(row.miss_ratio for row in found.ways if row.policy == policy)


@pytest.mark.slow
def test_what_round_robin_holds_four_times_flex_holds_once(tmp_path: Path) -> None:
    """Sixteen sites with 2.4 MB together, each node with memory for a third of that."""
    log = written(tmp_path / "access.log", day_of_traffic(16, 4, 20_000))
    found = answer(tmp_path, log, ram=900_000)
    assert found.sites == 16
    assert found.requests == 20_000
    assert found.working_set_bytes == 16 * 4 * SIZE
    # With FLEX each file is read once; in turn two of three requests for it find it gone.
    assert way(found, "after") * found.requests == pytest.approx(64, abs=4)
    assert way(found, "round robin") == pytest.approx(1 - 0.9 / 2.56, abs=0.05)
    assert way(found, "best") <= way(found, "after")
    assert found.memory.wasted_ratio > 0.3
    assert found.nodes_enough < found.nodes
    assert assess_text.verdict(found).startswith("FLEX helps: ")
    assert assess_text.nodes_to_spare(found) == found.nodes - found.nodes_enough


@pytest.mark.slow
def test_where_memory_holds_everything_it_says_that_flex_does_not_help(tmp_path: Path) -> None:
    log = written(tmp_path / "access.log", day_of_traffic(16, 4, 20_000))
    found = answer(tmp_path, log, ram=2**30)
    assert found.memory.wasted_ratio == pytest.approx(0.75, abs=0.01)
    assert found.benefit
    assert found.benefit.verdict == "fits"
    assert assess_text.nodes_to_spare(found) is None
    said = "\n".join(assess_text.lines(found))
    assert "fit into the memory of each node" in said
    assert "Nodes:" not in said


@pytest.mark.slow
def test_moves_are_counted_from_night_to_night_and_not_for_one_day(tmp_path: Path) -> None:
    days = [day_of_traffic(12, 4, 3_000, DAY + timedelta(days=at), seed=at) for at in range(4)]
    one = answer(tmp_path, written(tmp_path / "one.log", days[0]))
    assert one.moves.median is None
    assert any("logs of two days" in said for said in one.in_the_way)
    more = answer(tmp_path, written(tmp_path / "more.log", chain(*days)))
    assert more.moves.nights == 3
    assert more.moves.median is not None
    assert 0 <= more.moves.median <= (more.moves.most or 0) <= 12


@pytest.mark.slow
def test_the_busiest_week_is_looked_at_however_old_and_whatever_clocks_said(tmp_path: Path) -> None:
    old = [
        day_of_traffic(4, 2, 500, datetime(1998, 6, at, tzinfo=UTC), seed=at) for at in range(1, 20)
    ]
    busy = day_of_traffic(4, 2, 5_000, datetime(1998, 6, 10, tzinfo=UTC))
    stray = [line("s1.example.org", "/f1.png", datetime(2037, 1, 1, tzinfo=UTC))]
    log = written(tmp_path / "old.log", [*chain(*old), *busy, *stray])
    found = answer(tmp_path, log)
    assert found.period_start <= datetime(1998, 6, 10, tzinfo=UTC) < found.period_end
    assert found.period_end - found.period_start == timedelta(days=7)
    assert f"plan --as-of {found.period_end:%Y-%m-%d}" in found.next_steps[-1]


@pytest.mark.slow
def test_what_was_rotated_packed_and_copied_counts_once(tmp_path: Path) -> None:
    lines = day_of_traffic(6, 3, 4_000)
    folder = tmp_path / "logs"
    written(folder / "access.log", lines[3_000:])
    written(folder / "access.log.1", lines[1_500:3_000])
    packed = folder / "access.log.2.gz"
    packed.write_bytes(gzip.compress("".join(lines[:1_500]).encode()))
    (folder / "copy-of-1.log").write_bytes((folder / "access.log.1").read_bytes())
    assert answer(tmp_path, str(folder)).requests == 4_000


@pytest.mark.slow
def test_mixed_formats_and_garbage_give_an_answer_and_name_what_was_left_out(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "mixed"
    written(folder / "vhosts.log", day_of_traffic(5, 3, 2_000))
    rows = [
        {
            "request": {"host": "json.example.org", "uri": "/a.png", "method": "GET"},
            "ts": (DAY + timedelta(seconds=at)).timestamp(),
            "status": 200,
            "size": SIZE,
        }
        for at in range(300)
    ]
    written(folder / "caddy.json", [json.dumps(row) + "\n" for row in rows])
    written(folder / "plain.example.org-access.log", [combined("/p.png", DAY)] * 50)
    (folder / "core").write_bytes(np.random.default_rng(1).bytes(3_000_000))
    (folder / "nowhere.log").symlink_to(folder / "gone")
    found = answer(tmp_path, str(folder), str(tmp_path / "missing.log"))
    sites = {row.site for row in found.largest}
    assert {"json.example.org", "plain.example.org"} <= sites
    assert len(found.logs.formats) == 3
    passed = {Path(one.path).name for one in found.logs.not_read}
    assert {"core", "missing.log"} <= passed
    assert found.requests == 2_000 + 300 + 50


@pytest.mark.parametrize(
    ("path", "site"),
    [
        ("/var/log/apache2/shop.example.org-access.log.2.gz", "shop.example.org"),
        ("/srv/www/shop.example.org/logs/access.log", "shop.example.org"),
        ("/var/log/nginx/access_shop.log-20260301.gz", "shop"),
        ("/srv/logs/access.log", "logs"),
        ("-", "standard-input"),
    ],
)
def test_a_log_without_hosts_is_of_the_site_that_its_name_speaks_of(path: str, site: str) -> None:
    assert site_in_name(path) == site


@pytest.mark.slow
def test_where_nothing_names_a_host_directories_are_sites_and_that_is_said(tmp_path: Path) -> None:
    lines = [
        combined(f"/part{at % 7}/f{at % 11}.png", DAY + timedelta(seconds=at))
        for at in range(1_000)
    ]
    found = answer(tmp_path, written(tmp_path / "access.log", lines))
    assert found.sites == 7
    assert any("first directories stand for sites" in one for one in found.in_the_way)


def test_a_log_is_read_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    names = (b"caf\xe9.log", b"shop.example.org.log")
    logs = [str(tmp_path / os.fsdecode(name)) for name in names]
    for at, log in enumerate(logs):
        written(Path(log), [combined(f"/{at}-{hour}", DAY.replace(hour=hour)) for hour in range(9)])
    counted = count(find(logs).files, tmp_path / "counts")
    assert [report.outcome for report in counted.reports] == ["read", "read"]


@pytest.mark.slow
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "".join(day_of_traffic(4, 2, 800))
    writer = threading.Thread(target=lambda: pipe.write_text(text, encoding="utf-8"))
    writer.start()
    found = answer(tmp_path, str(pipe))
    writer.join()
    assert found.requests == 800


def garbage(folder: Path) -> list[str]:
    path = folder / "garbage"
    path.write_bytes(np.random.default_rng(2).bytes(20_000_000))
    return [str(path)]


def an_empty_folder(folder: Path) -> list[str]:
    (folder / "empty").mkdir()
    return [str(folder / "empty")]


def an_empty_log(folder: Path) -> list[str]:
    return [written(folder / "access.log", [])]


@pytest.mark.parametrize(
    "logs",
    [
        garbage,
        an_empty_folder,
        an_empty_log,
        lambda folder: [str(folder / "no such file")],
        lambda folder: [str(folder / "*.nothing")],
    ],
)
def test_where_there_is_no_log_one_error_says_so_and_nothing_is_written(
    tmp_path: Path, logs: Any
) -> None:
    with pytest.raises(NoData) as raised:
        answer(tmp_path, *logs(tmp_path))
    assert raised.value.kept == "nothing was written"
    assert raised.value.advice
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize("ram", ["much", "-4 GiB", "12", "1 B", "12 GiBB"])
def test_memory_that_is_no_size_is_refused_before_anything_is_read(
    tmp_path: Path, ram: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli.run(["assess", str(tmp_path / "none.log"), "--ram", ram, "-o", "json"])
    assert code == BadInput.exit_code
    assert "memory" in json.loads(capsys.readouterr().err)["asked"]


@pytest.mark.slow
def test_a_report_that_cannot_be_written_is_an_error_where_it_was_named(tmp_path: Path) -> None:
    log = written(tmp_path / "access.log", day_of_traffic(4, 2, 500))
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(NotWritten):
        answer(tmp_path, log, report=tmp_path / "file" / "out.html")


def test_the_oldest_logs_are_left_out_when_time_is_over_and_that_is_said(tmp_path: Path) -> None:
    paths = []
    for at in range(4):
        lines = day_of_traffic(3, 2, 200, DAY + timedelta(days=at), seed=at)
        paths.append(written(tmp_path / f"{at}.log", lines))
        os.utime(paths[-1], (1_000 + at, 1_000 + at))
    ticks = iter(range(0, 1_000, 10))
    found = count(
        find(paths).files, tmp_path / "counts", seconds=15, clock=lambda: next(ticks),
        at_a_time=1,
    )  # fmt: skip
    assert found.left == 2
    assert found.last_day - found.first_day == 1
    assert found.last_day == int((DAY + timedelta(days=3)).timestamp() // 86_400)


@pytest.mark.slow
def test_the_page_is_whole_and_runs_nothing_whatever_sites_are_called(tmp_path: Path) -> None:
    lines = day_of_traffic(9, 3, 2_000)
    lines += [line("<script>alert(1)</script>", "/x", DAY)] * 20
    found = answer(tmp_path, written(tmp_path / "access.log", lines))
    page = Page(Path(found.report).read_text(encoding="utf-8"))
    assert not page.all("script", "link", "img", "form")
    for picture in page.pictures:
        assert page.attributes(picture)["role"] == "img"
    for figure in page.all("figure"):
        assert page.within(figure, "table")
    ids = {attributes.get("id") for _, attributes, _ in page.elements}
    assert {page.attributes(at)["href"] for at in page.all("a")} <= {f"#{name}" for name in ids}
    text = page.text(page.all("body")[0])
    assert assess_text.verdict(found) in text
    assert all(step in text for step in found.next_steps)


@pytest.mark.slow
def test_the_verb_needs_no_installation_and_leaves_only_its_report(tmp_path: Path) -> None:
    log = written(tmp_path / "logs/access.log", day_of_traffic(6, 3, 3_000))
    here, temporary = tmp_path / "here", tmp_path / "tmp"
    here.mkdir()
    temporary.mkdir()
    run = subprocess.run(
        [sys.executable, "-c", "from flex_api.cli import main; main()", "-o", "json",
         "assess", log, "--nodes", "3", "--ram", "2 MiB"],
        cwd=here, capture_output=True, text=True, check=True, timeout=300,
        env={"PATH": os.environ["PATH"], "TMPDIR": str(temporary), "HOME": str(here)},
    )  # fmt: skip
    said = json.loads(run.stdout)
    jsonschema.validate(said, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert said["nodes"] == 3
    assert {one.name for one in here.iterdir()} == {"flex-assess.html"}
    assert list(temporary.iterdir()) == []
    assert said["report"] == str(here / "flex-assess.html")


@pytest.mark.slow
def test_zones_say_which_sites_dns_can_move_and_why_others_stay(tmp_path: Path) -> None:
    hosts = ["a.example.org", "b.example.org", "new.example.org", "x.sub.example.org",
             "mail.example.org", "other.example.net"]  # fmt: skip
    lines = [line(host, "/x", DAY + timedelta(seconds=at)) for at in range(100) for host in hosts]
    zone = tmp_path / "db.example.org"
    zone.write_text(
        "$TTL 300\n@ SOA ns.example.org. root.example.org. 1 3600 600 86400 300\n"
        "@ NS ns.example.org.\na A 192.0.2.1\nb CNAME a\nmail MX 10 a\n"
        "sub NS ns.other.example.\n",
        encoding="utf-8",
    )
    found = answer(tmp_path, written(tmp_path / "access.log", lines), zones=(zone,)).names
    assert found is not None
    assert (found.movable, found.sites) == (2, 6)
    assert found.movable_requests_ratio == pytest.approx(2 / 6)
    assert sorted(found.why_not.values()) == [1, 1, 1, 1]


@pytest.mark.parametrize("text", ["", "no zone at all (", "a 300 IN A not-an-address"])
def test_a_file_that_is_no_zone_is_refused_before_logs_are_read(tmp_path: Path, text: str) -> None:
    zone = tmp_path / "db.example.org"
    zone.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"db\.example\.org"):
        answer(tmp_path, str(tmp_path / "no such log"), zones=(zone,))


@pytest.mark.slow
def test_every_file_that_was_not_read_is_named_with_the_reason(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    day = day_of_traffic(4, 4, 500)
    written(logs / "access.log", day)
    written(logs / "copy.log", day)
    written(logs / "empty.log", [])
    (logs / "words.log").write_text("no log at all\n" * 50, encoding="utf-8")
    found = answer(tmp_path, str(logs))
    said = {Path(one.path).name: one.why for one in found.logs.not_read}
    # Of two that are equal, either counts.
    assert said.keys() - {"access.log", "copy.log"} == {"empty.log", "words.log"}
    assert len(said) == found.logs.not_read_in_all == found.logs.files - found.logs.read
    assert all(said.values())
    text = "\n".join(assess_text.lines(found))
    assert all(f"{name} ({why})" in text for name, why in said.items())


@pytest.mark.parametrize("rest", [b"x" * 4_096, b"garbage without end\n" * 200, b"\0" * 4_096])
def test_a_huge_file_does_not_take_longer_than_the_time_there_is(
    rest: bytes, tmp_path: Path
) -> None:
    """What was counted of it until then counts. The clock goes on by a second at each look."""
    log = tmp_path / "access.log"
    head = "".join(day_of_traffic(4, 4, 2_000)).encode()
    with log.open("wb") as file:
        file.write(head)
        for _ in range(4_000):
            file.write(rest)
    looks = iter(range(10**6))
    with tempfile.TemporaryDirectory() as folder:
        counted = count([str(log)], Path(folder), seconds=8, clock=lambda: float(next(looks)))
        (report,) = counted.reports
        assert report.outcome == "read"
        assert report.new_bytes < log.stat().st_size
        assert dict(report.lines)["counted"] >= 1_000
        assert [one.path for one in cut_files(counted.reports)] == [str(log)]
    assert next(looks) < 50
