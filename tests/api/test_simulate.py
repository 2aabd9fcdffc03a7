"""The verb `flex simulate`: from a log or a twin to a table, JSON and pictures; one clear error for
what cannot be.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest

from flex.sim.papers import cward_case, flex_case, front_end_case, hacc_case, lard_case
from flex.sim.papers.claim import BETTER, FOR_VALUES, WORSE
from flex.sim.papers.claimed_figures import FIGURES
from flex.sim.traces import Trace
from flex_api import cli
from flex_api.pages.simulate import ABOUT
from flex_api.pictures import curves, headline_chart
from flex_api.schemas.simulate_output import ClaimRow, SimulateFitOutput, SimulatePaperOutput
from flex_api.simulation import papers_page, traces_and_solver
from flex_api.simulation.paper_sections import SECTIONS

ROOT = Path(__file__).resolve().parents[2]
LINE = (
    '192.0.2.{client} - - [20/Nov/2026:12:00:{second:02} +0000] "GET '
    '/{site}/{file} HTTP/1.1" 200 {size} "-" "-"\n'
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Twelve hundred accesses to four sites of six files each."""
    path = tmp_path / "access.log"
    lines = (
        LINE.format(
            client=n % 9, second=n // 20, site=f"s{n % 4}", file=n * n % 11, size=1000 + n * n % 11
        )
        for n in range(1200)
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _flex(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.run([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_real_log_is_replayed_with_its_directories_as_sites(log: Path) -> None:
    trace = traces_and_solver.trace_of_logs([log])
    assert trace.sites == ("/s0/", "/s1/", "/s2/", "/s3/")
    assert len(trace.target) == 1200


@pytest.mark.slow
def test_policies_stand_side_by_side(
    log: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = _flex(
        capsys, "-o", "json", "simulate", "--logs", log, "--model", "lard", "--compare",
        "--nodes", 1, "--nodes", 3,
        "--ram", 1, "--pictures", tmp_path / "pictures",
    )  # fmt: skip
    assert code == 0
    said: Any = json.loads(out)
    jsonschema.validate(said, json.loads((ROOT / "docs/schemas/simulate.json").read_text()))
    policies = {row["policy"] for row in said["items"]}
    assert {"flex", "lardr", "wrr", "optimal", "hacc"} <= policies
    assert len(said["items"]) == 2 * len(policies)
    for picture in said["pictures"]:
        ElementTree.parse(picture)


@pytest.mark.slow
def test_each_size_of_memory_has_a_picture_of_its_own(
    log: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, out, _ = _flex(
        capsys, "-o", "json", "simulate", "--logs", log, "--nodes", 1, "--nodes", 3,
        "--ram", 1, "--ram", 2,
        "--pictures", tmp_path,
    )  # fmt: skip
    said: Any = json.loads(out)
    for what in (
        "requests-a-second-until-the-last-node-ends",
        "requests-a-second-of-a-node-at-work",
    ):
        drawn = [Path(name).name for name in said["pictures"] if what in name]
        assert [re.search("[12]-mib-a-node", name) is not None for name in drawn] == [True, True]


def test_what_each_node_does_is_told_below(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("simulate", "--logs", log, "--nodes", 2, "--policy", "round_robin")
    _, plain, _ = _flex(capsys, *arguments)
    _, out, _ = _flex(capsys, *arguments, "--per-node")
    assert "p50" in plain
    assert out.count("round_robin") == plain.count("round_robin") + 2


def test_more_memory_than_any_node_has_is_one_clear_error(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = _flex(capsys, "simulate", "--logs", log, "--ram", 10**13)
    assert code == 2
    assert "--ram" in error
    assert "fault in FLEX" not in error


def test_who_asked_is_read_from_lines_that_begin_with_it(log: Path) -> None:
    trace = traces_and_solver.trace_of_logs([log])
    assert len(set(trace.client.tolist())) == 9
    assert trace.client[:10].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 0]


def test_who_asked_is_read_behind_a_virtual_host(log: Path, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.log"
    hosts.write_text(
        "".join(f"www.example.org:80 {line}\n" for line in log.read_text().splitlines()),
        encoding="utf-8",
    )
    assert len(set(traces_and_solver.trace_of_logs([hosts]).client.tolist())) == 9


def test_lines_that_name_the_client_elsewhere_leave_it_open(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    line = (
        '{"time_iso8601":"2026-11-20T12:00:00Z","host":"a.example.org","request":"GET '
        '/a/b HTTP/1.1","status":200,'
    )
    path.write_text(f'{line}"body_bytes_sent":5}}\n' * 3, encoding="utf-8")
    trace = traces_and_solver.trace_of_logs([path])
    assert len(trace.target) == 3
    assert not len(trace.client)


@pytest.mark.slow
def test_the_experiments_run_on_a_log(
    log: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    names = ["flex-case-1", "flex-case-2", "lard-hot", "cward-clarknet", "hacc-static"]
    code, out, err = _flex(
        capsys, "-o", "json", "simulate", "paper", *names, "--logs", log, "--to", tmp_path / "page"
    )
    assert (code, err) == (0, "")
    said: Any = json.loads(out)
    jsonschema.validate(said, json.loads((ROOT / "docs/schemas/simulate-paper.json").read_text()))
    assert {row["experiment"] for row in said["items"]} == set(names)
    by_client = next(row for row in said["items"] if "per-client" in row["claim"])
    assert by_client["verdict"] != "cannot be told", "the log says who asked"
    page = Path(said["pages"][0]).read_text(encoding="utf-8")
    assert "1,200 accesses" in page
    assert "nan" not in page
    pictures = [each for each in said["pages"] if each.endswith(".svg")]
    assert pictures
    for picture in pictures:
        ElementTree.parse(picture)


UNTOLD = {
    "one access": LINE.format(client=1, second=0, site="s0", file=0, size=1000),
    "answers of no bytes": "".join(
        LINE.format(client=1, second=n % 60, site=f"s{n % 4}", file=n * n % 31, size=0)
        for n in range(1200)
    ),
    "one file": LINE.format(client=1, second=0, site="s0", file=0, size=1000) * 1200,
    "each file once": "".join(
        LINE.format(client=1, second=n % 60, site=f"s{n % 4}", file=n, size=1000)
        for n in range(1200)
    ),
}


def written(folder: Path, text: str) -> Path:
    path = folder / "access.log"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("trace", UNTOLD)
def test_a_log_that_tells_nothing_lets_no_claim_hold(
    trace: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = written(tmp_path, UNTOLD[trace])
    _, out, _ = _flex(
        capsys,
        "-o",
        "json",
        "simulate",
        "paper",
        "flex-case-1",
        "lard-speeds",
        "lard-disks",
        "--logs",
        path,
    )
    rows = json.loads(out)["items"]
    assert {row["verdict"] for row in rows} == {"cannot be told"}
    assert all(row["reason"] for row in rows)


def test_an_experiment_that_no_log_can_stand_in_for_says_so(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = _flex(capsys, "simulate", "paper", "front-ends", "--logs", log)
    assert code == 3
    assert "front-ends" in err


def _line(n: int, *, site: str = "s0", size: str = "1000") -> str:
    return LINE.format(client=n % 9, second=n % 60, site=site, file=n % 5, size=size)


ODD = {
    "out of time order": "".join(_line(59 - n) for n in range(60)),
    "answers of no bytes": "".join(_line(n, size="0") for n in range(30)),
    "sizes that are less than nothing": "".join(
        _line(n, size="-5" if n % 2 else "7") for n in range(30)
    ),
    "one site": "".join(_line(n) for n in range(30)),
    "one access": _line(0),
    "files larger than all memory": "".join(
        _line(n, site=f"s{n % 3}", size=str(2**27)) for n in range(30)
    ),
}


@pytest.mark.slow(
    "sizes that are less than nothing",
    "one access",
    "out of time order",
    "one site",
    "files larger than all memory",
)
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_log_is_answered_without_a_figure_that_is_none(
    odd: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """On one node, and on more nodes than it has sites."""
    path = written(tmp_path, ODD[odd])
    for model in ("flex", "lard"):
        code, out, _ = _flex(
            capsys, "-o", "json", "simulate", "--logs", path, "--format", "combined",
            "--model", model, "--compare",
            "--nodes", 1, "--nodes", 9, "--ram", 0,
        )  # fmt: skip
        assert code == 0
        assert "NaN" not in out
        assert "Infinity" not in out
    said = papers_page.run(
        ["lard-hot", "cward-clarknet", "hacc-static"], lambda _: None, real=_of(path)
    )
    assert all("nan" not in row.measured and "inf" not in row.measured for row in said.items)


def test_a_file_that_would_take_days_to_read_block_by_block_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "huge.log"
    path.write_text("".join(_line(n, size=str(2**40)) for n in range(30)), encoding="utf-8")
    code, out, err = _flex(
        capsys, "simulate", "--logs", path, "--format", "combined", "--model", "lard"
    )
    assert (code, out) == (3, "")
    assert "1,099,511,627,776 bytes" in err
    assert "model flex" in err
    assert _flex(capsys, "simulate", "--logs", path, "--format", "combined")[0] == 0


def _of(path: Path) -> Trace:
    return traces_and_solver.trace_of_logs([path], format_="combined")


def test_a_log_in_another_order_is_the_same_trace(tmp_path: Path) -> None:
    forward, backward = tmp_path / "a.log", tmp_path / "b.log"
    forward.write_text("".join(_line(n) for n in range(60)), encoding="utf-8")
    backward.write_text(ODD["out of time order"], encoding="utf-8")
    one, other = _of(forward), _of(backward)
    assert one.size[one.target].tolist() == other.size[other.target].tolist()
    assert (np.diff(other.time) >= 0).all()


def test_where_nothing_takes_time_there_is_no_throughput(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "empty.log"
    path.write_text(ODD["answers of no bytes"], encoding="utf-8")
    _, out, _ = _flex(capsys, "-o", "json", "simulate", "--logs", path, "--format", "combined")
    said: Any = json.loads(out)
    jsonschema.validate(said, json.loads((ROOT / "docs/schemas/simulate.json").read_text()))
    for row in said["items"]:
        assert (row["requests_per_second"], row["requests_per_second_of_a_node"], row["idle"]) == (
            None,
            None,
            None,
        )
    _, table, _ = _flex(capsys, "simulate", "--logs", path, "--format", "combined", "--per-node")
    assert "—" in table
    assert "nothing takes time" in table


def test_a_slow_log_has_a_throughput_and_capped_sizes_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "slow.log"
    path.write_text(
        "".join(_line(n, size=str(10**18 if n < 7 else 10**9), site=f"s{n < 7}") for n in range(30))
    )
    _, out, _ = _flex(
        capsys, "simulate", "--logs", path, "--format", "combined", "--policy", "round_robin"
    )
    (row,) = (line.split() for line in out.splitlines() if line.startswith("round_robin"))
    assert float(row[4]) > 0
    assert "7 accesses ask for a file of 18 TB or more" in out


@pytest.mark.parametrize("packed", ["w", "w:gz", "w:xz"])
def test_an_archive_in_place_of_a_log_is_one_line(
    packed: Literal["w", "w:gz", "w:xz"], log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = log.with_name("logs")
    with tarfile.open(archive, packed) as made:
        made.add(log, "access.log")
    code, _, err = _flex(capsys, "simulate", "--logs", archive)
    assert (code, "tar archive" in err, "ingest" in err) == (3, True, False)


def test_a_log_that_is_not_there_is_told_by_the_options_of_this_verb(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = _flex(capsys, "simulate", "--logs", tmp_path / "none")
    assert (code, "--logs" in err, "--format" in err, "ingest.source" in err) == (
        20,
        True,
        True,
        False,
    )


def written_to(pipe: Path, reader: subprocess.Popen[str]) -> int:
    """Once it is read, which a plain open would wait for also where the reader has ended."""
    while reader.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            time.sleep(0.01)
    raise AssertionError(f"it ended with {reader.returncode} before it read")


@pytest.mark.slow
def test_who_breaks_off_hears_that_nothing_was_kept(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [
        sys.executable,
        "-c",
        "from flex_api.cli import main; main()",
        "simulate",
        "--logs",
        str(pipe),
    ]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as asked,
        os.fdopen(written_to(pipe, asked), "wb"),
    ):
        err = said_when_broken_off(asked)
    assert asked.returncode == 130
    assert "nothing was kept" in err


def said_when_broken_off(asked: subprocess.Popen[str]) -> str:
    """Presses Ctrl-C as a person does, who presses it again where nothing happens: one that comes
    in the moment before a read waits until that read is interrupted.
    """
    for _ in range(5):
        asked.send_signal(signal.SIGINT)
        try:
            return asked.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("it still reads after 5 interruptions")


def test_the_table_names_each_policy(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _flex(capsys, "simulate", "--logs", log, "--policy", "lard", "--policy", "lb")
    assert code == 0
    assert "lard" in out
    assert "1,200 accesses" in out


def test_the_locality_of_a_log_is_told_with_how_near_the_model_comes(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _flex(capsys, "-o", "json", "simulate", "fit", "--logs", log)
    assert code == 0
    said = SimulateFitOutput.model_validate_json(out)
    assert said.items == []
    [row] = said.localities
    assert row.accesses == 1200
    assert len(row.memory) == len(row.log) == len(row.model) == len(row.independent)
    off = [100 * abs(a - b) for a, b in zip(row.log, row.model, strict=True)]
    assert row.points_off_median == pytest.approx(np.median(off))
    assert row.points_off_median <= row.points_off_p95 <= max(off)
    code, out, _ = _flex(capsys, "simulate", "fit", "--logs", log)
    assert (code, "1,200" in out) == (0, True)


def test_a_log_without_a_byte_has_no_locality(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "empty-answers.log"
    path.write_text("".join(_line(n, size="0") for n in range(30)), encoding="utf-8")
    code, out, err = _flex(capsys, "simulate", "fit", "--logs", path)
    assert code not in (0, 1)
    assert out == ""
    assert "no answer has a byte" in err


@pytest.fixture(scope="module")
def two_experiments(tmp_path_factory: pytest.TempPathFactory) -> tuple[SimulatePaperOutput, Path]:
    """What was said of them, and the folder of their page."""
    folder = tmp_path_factory.mktemp("experiments")
    names = ["front-ends", "lard-disks"]
    return papers_page.run(names, lambda _: None, folder, 1000), folder


@pytest.mark.slow
def test_an_experiment_becomes_a_page_with_pictures_and_tables(
    two_experiments: tuple[SimulatePaperOutput, Path],
) -> None:
    said, folder = two_experiments
    assert said == SimulatePaperOutput.model_validate_json(said.model_dump_json())
    assert {row.paper for row in said.items} == {"front ends", "LARD"}
    assert said.pages[0] == str(folder / papers_page.PAGE)
    assert sorted(said.pages) == sorted(map(str, folder.iterdir()))
    page = (folder / papers_page.PAGE).read_text(encoding="utf-8")
    assert "front-ends.svg" in re.findall(r"!\[.*\]\((.*)\)", page)
    points = _rows_of(folder / "points.csv")
    assert {point["picture"] for point in points} >= {
        "handoff, 6 KB, nodes",
        "splicing, 3 KB, nodes",
    }
    assert all(float(point["requests a second"]) > 0 for point in points)
    assert [row["claim"] for row in _rows_of(folder / "claims.csv")] == [
        row.claim for row in said.items
    ]
    assert {row["twin"] for row in _rows_of(folder / "twins.csv")} >= {"rice", "hp-july"}


def _rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_the_page_among_the_documents_is_what_the_command_writes(
    two_experiments: tuple[SimulatePaperOutput, Path],
) -> None:
    """Those of every experiment, with every picture; and claims that nobody makes any more are not
    on it.
    """
    folder = ROOT / "docs/papers"
    kept = (folder / papers_page.PAGE).read_text(encoding="utf-8")
    said, _ = two_experiments
    made = papers_page.page(said.items, [])
    assert "Not run for this page" not in kept
    assert f"Of {len(FIGURES)} claims " in kept
    headings = [line for line in kept.splitlines() if line.startswith("#")]
    assert headings[1:-3] == ["## Claims", *(f"## {section.heading}" for section in SECTIONS)]
    assert set(headings) >= {line for line in made.splitlines() if line.startswith("#")}
    for row in said.items:
        assert f"| {row.claim} | {row.published} | " in kept
    pictures = re.findall(r"!\[.*\]\((.*)\)", kept)
    assert sorted(pictures) == sorted(path.name for path in folder.glob("*.svg"))
    for picture in pictures:
        ElementTree.parse(folder / picture)
    assert {row["claim"] for row in _rows_of(folder / "claims.csv")} == set(FIGURES)


def _claim(claim: str, **figures: Any) -> ClaimRow:
    row = {"experiment": "flex-case-1", "paper": "FLEX", "claim": claim, "published": "2 times",
           "measured": "1 times", "verdict": WORSE, "reason": "disks are slower"}  # fmt: skip
    return ClaimRow(**(row | figures))


def test_a_claim_is_a_line_and_a_reason_is_given_once_with_what_was_tried() -> None:
    tried = (("as it is", "1 times"), ("disks | twice as fast", "2 times"))
    rows = [
        _claim("A", tried=tried),
        _claim("B", tried=tried),
        _claim("C", verdict=FOR_VALUES, values="2 times where disks are faster", reason=""),
        _claim("D", paper="LARD", verdict=BETTER, reason=""),
    ]
    page = papers_page.page(rows, [])
    assert (
        "Of 4 claims 0 come out as published, 1 better than published, 1 for values that are "
        "told, 2 worse than published, 0 cannot be told."
    ) in page
    lines = page.splitlines()
    assert [line for line in lines if line.startswith(("| A ", "| B ", "| C ", "| D "))] == [
        "| A | 2 times | 1 times | **worse** |",
        "| B | 2 times | 1 times | **worse** |",
        "| C | 2 times | 1 times | with other values |",
        "| D | 2 times | 1 times | better |",
    ]
    assert "**A; B**: disks are slower." in lines
    assert page.count("disks are slower") == 1
    assert "| disks &#124; twice as fast | 2 times |" in lines
    assert "**C** comes out with other values: 2 times where disks are faster." in lines


def test_every_paper_has_a_section_and_the_page_has_few_pictures() -> None:
    papers = {flex_case.PAPER, lard_case.PAPER, cward_case.PAPER, hacc_case.PAPER}
    assert {section.paper for section in SECTIONS} == papers | {front_end_case.PAPER}
    files = [picture.file for section in SECTIONS for picture in section.pictures]
    assert len(files) == len(set(files)) <= 9
    assert all(len(section.pictures) <= 3 for section in SECTIONS)


def test_the_headline_draws_published_beside_ours_on_one_axis() -> None:
    rows = [
        _claim("range <&>", times=((1.5, 2.0), (1.82, 2.18))),
        _claim("figure", times=((3.9, 3.9), (3.61, 3.61))),
        _claim("no times"),
    ]
    drawn = headline_chart.svg(rows)
    root = ElementTree.fromstring(drawn)
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    for figure in ("1.5 to 2", "1.82 to 2.18", "3.9", "3.61"):
        assert figure in words
    assert "FLEX no times" not in words
    description = root.findtext("{http://www.w3.org/2000/svg}desc")
    assert description == (
        "FLEX, range <&>: published 1.5 to 2, ours 1.82 to 2.18; "
        "FLEX, figure: published 3.9, ours 3.61."
    )
    # What stands further right is more: ours of a range is beyond the published one's beginning.
    bars = re.findall(r'<rect class="(\w+)" x="([\d.]+)"', drawn)[2:]
    (published, left), (ours, right) = bars
    assert (published, ours) == ("published", "ours")
    assert float(left) < float(right)
    assert "prefers-color-scheme: dark" in drawn


@pytest.mark.parametrize(("ours", "first"), [((1.2, 1.2), "1"), ((0.58, 0.58), "0")])
def test_the_axis_of_the_headline_begins_at_once_as_much_or_at_nothing(
    ours: tuple[float, float], first: str
) -> None:
    drawn = headline_chart.svg([_claim("one", times=((1.5, 1.5), ours))])
    assert re.findall(r'text-anchor="middle">([^<]*)<', drawn)[0] == first


def test_without_a_claim_of_throughput_there_is_no_headline() -> None:
    assert headline_chart.svg([_claim("one")]) == ""


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("simulate",), "none was named"),
        (("simulate", "--twin", "rice", "--logs", "x.log"), "both a twin and logs"),
        (("simulate", "--twin", "nobody"), "none with that name"),
        (("simulate", "paper"), "none was named"),
        (("simulate", "paper", "nothing"), "none with that name"),
        (("simulate", "--logs", "/nowhere/access.log"), "log"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_one_sentence(
    arguments: tuple[str, ...], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _flex(capsys, *arguments)
    assert code in {3, 20}
    assert answer in err
    assert not out


@pytest.mark.parametrize(
    "option", [("--policy", "magic"), ("--model", "magic"), ("--cache", "magic")]
)
def test_a_name_that_nobody_has_is_answered_with_those_there_are(
    option: tuple[str, str], log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = _flex(capsys, "simulate", "--logs", log, *option)
    assert code == 3
    assert "magic" in err
    assert "lard" in err or "lru" in err


def test_an_empty_log_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    code, _, err = _flex(capsys, "simulate", "--logs", empty)
    assert code == 20
    assert "unchanged" in err


@pytest.mark.slow
def test_the_solver_places_every_site_on_nodes_that_are_there() -> None:
    from flex.sim.simulated_clusters import MIB, flex

    trace = traces_and_solver.trace_of_twin("hp-july")
    placed = traces_and_solver.place_by_solver(trace, trace, flex(4, 64 * MIB))
    assert len(placed) == len(trace.sites) == 89
    assert {node for nodes in placed for node in nodes} == {0, 1, 2, 3}
    assert isinstance(trace, Trace)


def test_a_curve_is_well_formed_whatever_its_names() -> None:
    root = ElementTree.fromstring(
        curves.svg("a < b & c", {"<one>": [(0, 0), (1, 2)], "two": [(0, 1)]})
    )
    assert root.tag.endswith("svg")


def test_what_others_found_is_a_bar_beside_the_curves_and_within_the_picture() -> None:
    lines = {"one": [(0.0, 1.0), (8.0, 2.0)]}
    plain, drawn = curves.svg("", lines), curves.svg("", lines, [(8, 3, 30), (4, 1, 1)])
    assert ">published<" not in plain
    assert ">published<" in drawn
    bars = re.findall(r'<line [^>]*y1="([^"]*)" y2="([^"]*)" class="published"', drawn)
    # One of the legend and two of the values, of three strokes each.
    assert len(bars) == 9
    assert all(0 <= float(y) <= curves.HEIGHT for bar in bars for y in bar)
    assert re.findall('text-anchor="end">([^<]*)<', drawn)[-1] == "30"


@pytest.mark.parametrize(
    ("largest", "marks"),
    [(6106, ["0", "2,000", "4,000", "6,000", "8,000"]), (0.2, ["0", "0.05", "0.1", "0.15", "0.2"])],
)
def test_curves_are_marked_at_round_numbers(largest: float, marks: list[str]) -> None:
    drawn = curves.svg("", {"one": [(8, largest)]})
    assert re.findall('text-anchor="end">([^<]*)<', drawn) == marks


def test_the_page_says_of_each_policy_what_it_does() -> None:
    assert [name for name, words in ABOUT.items() if not words] == []
