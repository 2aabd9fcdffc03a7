"""The demo shows what doors do: every node leads to a site's new node while DNS still says the old
one.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flex.errors import BadSetting
from flex.routing import haproxy_program
from flex.routing.haproxy_program import HaproxyProgram
from flex_api import demo
from flex_api.schemas.verbs_output import DoorsShown

pytestmark = pytest.mark.real

NODES = ("n1", "n2", "n3", "n4")
ADDRESSES = {node: f"127.0.0.{number}" for number, node in enumerate(NODES, 11)}
STARTED = "HAProxies with a web server each"
PATIENCE = 300.0


@pytest.fixture
def home(open_folder: Path) -> Path:
    made = open_folder / "home"
    made.mkdir()
    return made


@pytest.fixture
def found() -> HaproxyProgram:
    try:
        return haproxy_program.program()
    except BadSetting as error:
        pytest.skip(str(error))


def start(home: Path, folder: Path, path: str = "") -> subprocess.Popen[str]:
    """What it keeps beside the folder is below `home`."""
    call = "from flex_api.cli import main; main()"
    words = ["demo", "--doors", "--dir", str(folder)]
    found = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]
    return subprocess.Popen(
        [sys.executable, "-c", call, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env={**os.environ, "HOME": str(home), "TMPDIR": str(home), "PATH": found},
    )


def processes_of(folder: Path) -> list[str]:
    """Every process that was told of a file below the folder."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = one.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(words)
    return found


def until_none_is_left(folder: Path) -> None:
    end = time.monotonic() + PATIENCE
    while left := processes_of(folder):
        assert time.monotonic() < end, left
        time.sleep(0.02)


@pytest.mark.slow
def test_every_node_leads_to_the_new_node_before_dns_is_changed(
    open_folder: Path, found: HaproxyProgram
) -> None:
    lines: list[str] = []
    output = demo.run(open_folder / "demo", 14, lines.append, datetime.now(UTC), found)
    assert output.doors
    moved, killed = output.doors.moved, output.doors.killed
    look_at_move(moved, killed)
    look_at_heirs(output.doors.inherited, killed)
    told, (row,) = "\n".join(lines), moved.asked
    count = len(output.doors.inherited.asked)
    for line in (
        f"plan      {row.site} moves {row.source} -> {killed}",
        f"doors     all go by order {moved.order}, ",
        *(f"at {node} for {row.site}: {killed} answers" for node in NODES),
        f"DNS       still says {ADDRESSES[row.source]} ({row.source})",
        f"then DNS  says {ADDRESSES[killed]} ({killed})",
        f"the heirs answer {3 * count} of {3 * count} requests",
        f"DNS       still says the dead node for {count} of {count} sites",
        f"then DNS  says the heirs for {count} of {count} sites",
    ):
        assert line in told
    assert processes_of(open_folder) == []


def look_at_move(shown: DoorsShown, target: str) -> None:
    (row,) = shown.asked
    assert row.targets == [target]
    assert row.source != target
    assert row.answers == dict.fromkeys(NODES, target)
    assert row.dns_before == [ADDRESSES[row.source]]
    assert row.dns_after == [ADDRESSES[target]]


def look_at_heirs(shown: DoorsShown, killed: str) -> None:
    living = set(NODES) - {killed}
    assert len(shown.asked) > 10
    for row in shown.asked:
        assert row.source == killed
        assert set(row.answers) == living
        assert set(row.answers.values()) <= set(row.targets) <= living
        assert ADDRESSES[killed] in row.dns_before
        assert row.dns_after == sorted(ADDRESSES[node] for node in row.targets)


@pytest.mark.torture
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=str)
def test_nothing_is_left_running_by_a_demo_that_is_ended(
    home: Path, open_folder: Path, found: HaproxyProgram, how: signal.Signals
) -> None:
    if how == signal.SIGKILL and not shutil.which("setpriv"):
        pytest.skip("only setpriv ends what a killed process began")
    process = start(home, open_folder / "demo")
    assert process.stdout
    assert any(STARTED in line for line in process.stdout)
    assert sum("haproxy" in words for words in processes_of(home)) >= len(NODES)
    process.send_signal(how)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    until_none_is_left(open_folder)
    if how == signal.SIGINT:
        assert list(home.iterdir()) == []


@pytest.mark.slow
def test_without_an_haproxy_that_will_do_nothing_is_begun(
    home: Path, open_folder: Path, tmp_path: Path
) -> None:
    old = tmp_path / "haproxy"
    old.write_text("#!/bin/sh\necho 'HAProxy version 2.4.22 2023/02/14'\n")
    old.chmod(0o755)
    process = start(home, open_folder / "demo", path=str(tmp_path))
    out, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == BadSetting.exit_code
    assert f"{old} is 2.4.22" in told
    assert "install HAProxy 2.6 or newer" in told
    assert out == ""
    assert not (open_folder / "demo").exists()
    assert list(home.iterdir()) == []
