"""The verb `flex simulate`: from a log or a twin to a table, JSON and pictures; one clear error for what cannot be."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from flex.sim.traces import Trace
from flex_api import cli, curves, papers, simulating
from flex_api.sim_schemas import SimulatePaperOutput

ROOT = Path(__file__).resolve().parents[2]
LINE = '192.0.2.{client} - - [20/Nov/2026:12:00:{second:02} +0000] "GET /{site}/{file} HTTP/1.1" 200 {size} "-" "-"\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three hundred accesses to four sites of five files each."""
    path = tmp_path / "access.log"
    lines = (
        LINE.format(client=n % 9, second=n // 6, site=f"s{n % 4}", file=n * n % 5, size=1000 + n * n % 5)
        for n in range(300)
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _flex(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.run([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_real_log_is_replayed_with_its_directories_as_sites(log: Path) -> None:
    trace = simulating.of_logs([log])
    assert trace.sites == ("/s0/", "/s1/", "/s2/", "/s3/")
    assert len(trace.target) == 300


def test_policies_stand_side_by_side(log: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = _flex(
        capsys, "-o", "json", "simulate", "--logs", log, "--model", "lard", "--compare", "--nodes", 1, "--nodes", 3,
        "--ram", 1, "--pictures", tmp_path / "pictures",
    )  # fmt: skip
    assert code == 0
    said: Any = json.loads(out)
    jsonschema.validate(said, json.loads((ROOT / "docs/schemas/simulate.json").read_text()))
    policies = {row["policy"] for row in said["items"]}
    assert {"flex", "lard_r", "wrr", "optimal", "hacc"} <= policies
    assert len(said["items"]) == 2 * len(policies)
    for picture in said["pictures"]:
        ElementTree.parse(picture)


def test_the_table_names_each_policy(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _flex(capsys, "simulate", "--logs", log, "--policy", "lard", "--policy", "lb")
    assert code == 0
    assert "lard" in out
    assert "300 accesses" in out


def test_an_experiment_becomes_a_page_with_pictures(tmp_path: Path) -> None:
    said = papers.run(["hacc-static", "lard-disks"], lambda _: None, None, 1000)
    assert said == SimulatePaperOutput.model_validate_json(said.model_dump_json())
    assert {row.paper for row in said.items} == {"HACC", "LARD"}


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("simulate",), "none was named"),
        (("simulate", "--twin", "rice", "--logs", "x.log"), "both a twin and logs"),
        (("simulate", "--twin", "nobody"), "none of that name"),
        (("simulate", "paper"), "none was named"),
        (("simulate", "paper", "nothing"), "none of that name"),
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


@pytest.mark.parametrize("option", [("--policy", "magic"), ("--model", "magic"), ("--cache", "magic")])
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


def test_the_solver_places_every_site_on_nodes_that_are_there() -> None:
    from flex.sim.cluster import MIB, flex

    trace = simulating.of_twin("hp-july")
    placed = simulating.placed(trace, trace, flex(4, 64 * MIB))
    assert len(placed) == len(trace.sites) == 89
    assert {node for nodes in placed for node in nodes} == {0, 1, 2, 3}
    assert isinstance(trace, Trace)


def test_a_curve_is_well_formed_whatever_its_names() -> None:
    root = ElementTree.fromstring(curves.svg("a < b & c", {"<one>": [(0, 0), (1, 2)], "two": [(0, 1)]}))
    assert root.tag.endswith("svg")


@pytest.mark.parametrize(
    ("largest", "marks"),
    [(6106, ["0", "2,000", "4,000", "6,000", "8,000"]), (0.2, ["0", "0.05", "0.1", "0.15", "0.2"])],
)
def test_curves_are_marked_at_round_numbers(largest: float, marks: list[str]) -> None:
    drawn = curves.svg("", {"one": [(8, largest)]})
    assert re.findall('text-anchor="end">([^<]*)<', drawn) == marks
