"""The verbs about logs through the command line: which logs are read, what is told of them, what is
shipped.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation, Said

pytestmark = pytest.mark.real

LINE = b'192.0.2.1 - - [02/Mar/2026:12:00:%02d +0000] "GET /%d HTTP/1.1" 200 100 "-" "-"\n'
TEXT = b"".join(LINE % (second, second) for second in range(50))
# So different that they are packed to some kilobytes.
VARIED = b"".join(LINE % (at % 60, at * 7_919 % 10_007) for at in range(2_000))

Ingest = Callable[..., "Said"]


@pytest.fixture
def ingest(installation: Installation) -> Ingest:
    def run(*arguments: str) -> Said:
        return installation.flex("-o", "json", "ingest", *arguments)

    return run


def counted(said: Said) -> int:
    return int(said.json["lines"]["counted"])


def test_one_source_of_the_settings_is_read_and_the_others_are_left(ingest: Ingest) -> None:
    first = ingest("--source", "n2")
    assert {row["source"] for row in first.json["files"]} == {"n2"}
    assert counted(first) > 0
    rest = ingest()
    assert {row["source"] for row in rest.json["files"] if row["outcome"] == "read"} - {
        "n2"
    } != set()
    assert counted(ingest()) == 0


def test_many_files_are_a_summary_and_those_to_look_at(
    installation: Installation, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    names = [f"{number:02}.log" for number in range(30)]
    for number, name in enumerate(names):
        bad = b"nonsense\n" * 9 if number == 7 else b""
        (folder / name).write_bytes(TEXT.replace(b"GET /", b"GET /%d/" % number) + bad)
    files = [str(folder / name) for name in names]
    given = ("--node", "n1", "--site", "a.example")
    said = installation.flex("ingest", *files, *given)
    assert said.code == 0
    shown = said.out.replace("\n", "")
    assert "07.log" in shown
    assert "08.log" not in shown
    assert "29 files read; --verbose shows each" in said.out
    assert len(said.out.splitlines()) < 20


def test_a_file_that_cannot_be_read_ends_in_another_code_and_the_others_count(
    installation: Installation, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_bytes(TEXT)
    bad.symlink_to(tmp_path / "nowhere")
    given = ("--node", "n1", "--site", "a.example")
    said = installation.flex("-o", "json", "ingest", str(good), str(bad), str(tmp_path), *given)
    assert said.code == 3
    assert counted(said) == 50
    answer = json.loads(said.err)["answer"]
    assert "2 files could not be read" in answer
    assert "bad.log" in answer
    assert f"{tmp_path}: it is a directory" in answer, "somebody named it"


def test_a_packed_log_that_ends_early_ends_in_another_code_each_time(
    installation: Installation, tmp_path: Path
) -> None:
    log = tmp_path / "access.log.1.gz"
    log.write_bytes(gzip.compress(VARIED, mtime=0)[:-200])
    given = ("-o", "json", "ingest", str(log), "--node", "n1", "--site", "a.example")
    said = installation.flex(*given)
    assert (said.code, 0 < counted(said) < 2_000) == (3, True), said.err
    answer = json.loads(said.err)["answer"]
    assert "1 file could not be read to the end" in answer
    assert "the gzip data end early" in answer
    assert installation.flex(*given).code == 3, "it is as damaged as it was"
    log.write_bytes(gzip.compress(VARIED, mtime=0))
    whole = installation.flex(*given)
    assert (whole.code, counted(said) + counted(whole)) == (0, 2_000)


def test_a_log_that_is_being_packed_is_no_fault_and_said_to_be_so(
    installation: Installation, tmp_path: Path
) -> None:
    log = tmp_path / "access.log.1.gz"
    log.write_bytes(gzip.compress(VARIED, mtime=0)[:-200])
    log.with_suffix("").write_bytes(VARIED)
    given = ("-o", "json", "ingest", str(log), "--node", "n1", "--site", "a.example")
    said = installation.flex(*given)
    assert said.code == 0, said.err
    assert "so it is being packed" in said.json["files"][0]["outcome"]


def test_a_log_that_nobody_goes_on_packing_could_not_be_read(
    installation: Installation, tmp_path: Path
) -> None:
    log = tmp_path / "access.log.1.gz"
    log.write_bytes(gzip.compress(VARIED, mtime=0)[:-200])
    log.with_suffix("").write_bytes(VARIED)
    an_hour_ago = time.time() - 3600
    os.utime(log, (an_hour_ago, an_hour_ago))
    files = (str(log), str(log.with_suffix("")))
    given = ("-o", "json", "ingest", *files, "--node", "n1", "--site", "a.example")
    said = installation.flex(*given)
    assert (said.code, counted(said)) == (3, 2_000), said.err
    assert "packing has ended early" in json.loads(said.err)["answer"]
    log.unlink()
    assert installation.flex(*given[:3], *given[4:]).code == 0


def test_a_source_that_is_not_there_is_an_error_that_names_those_that_are(ingest: Ingest) -> None:
    said = ingest("--source", "n9")
    assert said.code == 3
    assert "n2" in json.loads(said.err)["answer"]


def test_files_are_read_once_under_the_name_their_glob_would_have(
    ingest: Ingest, installation: Installation, tmp_path: Path
) -> None:
    log = tmp_path / "old.log"
    log.write_bytes(TEXT)
    site = installation.hosting.sites[0] if installation.hosting else ""
    assert counted(ingest(str(log), "--node", "n1", "--site", site)) == 50
    again = ingest(str(log), "--node", "n1", "--site", site, "--format", "combined")
    assert (again.code, again.json["files"][0]["outcome"]) == (0, "nothing new")
    assert again.json["files"][0]["source"] == f"n1:{site}"


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ((), "--node"),
        (("--node", "n9"), "n9"),
        (("--source", "n9"), "n9"),
        (("--source", "n1", "--node", "n1"), "--source"),
        (("--source", "n1", "--site", "a.example"), "--site"),
        (("--node", "n1", "--site", "a.example", "--format", "combind"), "combined"),
    ],
)
def test_files_of_whom_nobody_knows_are_not_read(
    options: tuple[str, ...], word: str, ingest: Ingest, tmp_path: Path
) -> None:
    log = tmp_path / "old.log"
    log.write_bytes(TEXT)
    said = ingest(str(log), *options)
    assert said.code == 3
    assert word in said.err


def test_options_of_files_without_files_are_refused(ingest: Ingest) -> None:
    assert ingest("--node", "n1").code == 3


@pytest.mark.slow
def test_standard_input_is_a_log_like_any_other(installation: Installation) -> None:
    command = [
        sys.executable,
        "-c",
        "from flex_api.cli import main; main()",
        "--config",
        str(installation.settings),
    ]
    command += ["-o", "json", "ingest", "-", "--node", "n1", "--site", "a.example"]
    for wanted in (50, 0):
        said = subprocess.run(command, input=TEXT, capture_output=True, check=True, timeout=300)
        assert json.loads(said.stdout)["lines"]["counted"] == wanted


def test_malformed_lines_are_told_by_reason_and_written_to_a_file(
    ingest: Ingest, installation: Installation, tmp_path: Path
) -> None:
    log, invalid = tmp_path / "old.log", tmp_path / "invalid"
    log.write_bytes(
        TEXT
        + b"nonsense\n"
        + TEXT.replace(b" 200 100 ", b" 200 x ")[:100].partition(b"\n")[0]
        + b"\n"
    )
    said = ingest(str(log), "--node", "n1", "--site", "a.example", "--invalid", str(invalid))
    assert said.json["bad_lines"] == {"no_fields": 1, "no_bytes": 1}
    (first, _) = said.json["files"][0]["bad_samples"]
    assert log.read_bytes()[first["offset"] :].startswith(b"nonsense\n")
    assert said.json["invalid"]["written"] == 2
    assert len(invalid.read_text().splitlines()) == 2
    log.write_bytes(b"more nonsense\n" + TEXT)
    told = installation.flex("ingest", str(log), "--node", "n2", "--site", "a.example")
    assert f"{log}, byte 0: more nonsense" in told.out


def test_how_fast_each_source_was_read_is_told_at_the_end(ingest: Ingest) -> None:
    for row in ingest().json["sources"]:
        assert row["lines_per_second"] == pytest.approx(row["lines"] / row["seconds"])
        assert row["bytes_per_second"] > 0


@pytest.mark.slow
def test_a_machine_with_nothing_but_logs_ships_what_the_controller_takes_in(
    installation: Installation, tmp_path: Path
) -> None:
    log, beside = tmp_path / "access.log", tmp_path / "beside"
    log.write_bytes(TEXT)
    bare = installation.flex(
        "--config", str(tmp_path / "none"), "-o", "json", *shipping(beside, log)
    )
    assert (bare.code, bare.json["parcels"]["parcels"]) == (0, 1)
    assert (
        counted(
            installation.flex(
                "--config", str(tmp_path / "none"), "-o", "json", *shipping(beside, log)
            )
        )
        == 0
    )
    stranger = installation.flex("-o", "json", "import", str(beside / "out"))
    assert (stranger.code, stranger.json["parcels"][0]["outcome"]) == (3, "refused")
    with (installation.folder / "sources").open("a", encoding="utf-8") as file:
        file.write('[[ingest.source]]\nnode = "n1"\nsite = "a.example"\nshipped = true\n')
    installation.write_settings()
    assert installation.flex("import", "--node", "n2", str(beside / "out")).code == 3
    taken = installation.flex("-o", "json", "import", "--delete", str(beside / "out"))
    assert (taken.code, taken.json["taken"], taken.json["lines"]) == (0, 1, 50)
    assert list((beside / "out").iterdir()) == []
    # Who reads the log itself later goes on where the parcel ended.
    assert (
        counted(
            installation.flex(
                "-o", "json", "ingest", str(log), "--node", "n1", "--site", "a.example"
            )
        )
        == 0
    )


@pytest.mark.slow
def test_a_parcel_that_got_lost_is_told_by_import_and_by_data_until_it_comes(
    installation: Installation, tmp_path: Path
) -> None:
    log, beside, kept = tmp_path / "access.log", tmp_path / "beside", tmp_path / "kept"
    lost = []
    for part in range(3):
        with log.open("ab") as file:
            file.write(TEXT)
        assert (
            installation.flex("--config", str(tmp_path / "none"), *shipping(beside, log)).code == 0
        )
        lost += [path for path in (beside / "out").iterdir() if part == 1 and path not in lost]
        if part == 0:
            (first,) = (beside / "out").iterdir()
    (second,) = set(lost) - {first}
    second.rename(kept)
    with (installation.folder / "sources").open("a", encoding="utf-8") as settings:
        settings.write('[[ingest.source]]\nnode = "n1"\nsite = "a.example"\nshipped = true\n')
    installation.write_settings()
    missing = {"source": "n1:a.example", "log": str(log), "before_byte": 2 * len(TEXT)}
    assert installation.flex("-o", "json", "import", str(beside / "out")).json["missing"] == [
        missing
    ]
    assert (
        f"before byte {2 * len(TEXT):,} has not arrived"
        in installation.flex("import", str(beside / "out")).out
    )
    assert (
        f"{log} before byte {2 * len(TEXT):,}"
        in installation.flex("data", "--as-of", "2023-11-16").out
    )
    kept.rename(second)
    assert installation.flex("-o", "json", "import", str(beside / "out")).json["missing"] == []
    assert "have not arrived" not in installation.flex("data", "--as-of", "2023-11-16").out


def shipping(beside: Path, log: Path) -> tuple[str, ...]:
    return (
        "ingest",
        "--partials-only",
        str(beside),
        str(log),
        "--node",
        "n1",
        "--site",
        "a.example",
    )


def test_files_that_are_not_read_for_one_reason_are_told_together(
    installation: Installation, tmp_path: Path
) -> None:
    for number in range(8):
        (tmp_path / f"{number}.log").write_bytes(TEXT.replace(b"GET /", b"GET /%d/" % number))
    files = [str(tmp_path / f"{number}.log") for number in range(8)]
    said = installation.flex("ingest", *files, "--node", "n1")
    assert said.code == 20
    assert said.err.count("does not say which site") == 1
    assert f"8 files, such as {files[0]}" in said.err
    assert 'add `site = "www.example.org"`' in said.err
    # Beside others that were read.
    installation.extra = f'[[ingest.source]]\nglob = "{tmp_path}/*.log"\nnode = "n1"\n'
    installation.write_settings()
    beside = installation.flex("ingest")
    assert beside.code == 3
    told = " ".join(beside.out.split())
    assert told.count("does not say which site") == 1
    # Columns are folded where the terminal ends.
    assert f"{files[0]} and 7" in told
    every = installation.flex("ingest", "--verbose").out
    assert " ".join(every.split()).count("does not say which site") == 8


def test_malformed_lines_are_shown_with_their_log(
    installation: Installation, tmp_path: Path
) -> None:
    (log,) = (installation.folder / "logs" / "n1").glob("*.log")
    with log.open("ab") as end:
        end.write(b"nonsense\n")
    installation.read_logs()
    shown = installation.flex("data", "--as-of", installation.as_of()).out
    assert shown.count("nonsense") == 1
    assert f"{log}, byte" in shown.replace("\n", "")


def test_until_there_is_a_plan_a_reading_says_which_command_makes_one(
    installation: Installation,
) -> None:
    said = installation.flex("ingest").out
    assert re.search(r"new lines, from 2026-03-0\d .* UTC to 2026-03-0\d .* UTC", said)
    (command,) = re.findall(r"Next: `flex (plan --as-of .*)`", said)
    assert installation.flex(*command.split()).code == 0
    assert "Next:" not in installation.flex("ingest").out
