"""Two controllers share a PostgreSQL database. One is killed while it runs a command for a site
that moves, and the other one goes on: no stage is at work twice, and what is taken back goes in
reverse.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.api.test_failover import homes
from tests.api.test_kills import on_postgresql
from tests.api.test_moves import other_than, pin, until

if TYPE_CHECKING:
    from tests.api.conftest import Installation
    from tests.postgresql import Cluster

pytestmark = pytest.mark.real

STAGES = ("prepare", "copy", "final copy", "check")
# Says when it begins and ends. A pipe lets it end when somebody reads it.
COMMAND = """#!/bin/sh
folder=$1 what=$2
echo "begin $what" >> "$folder/log"
if [ -p "$folder/wait-$what" ]; then echo x > "$folder/wait-$what"; fi
code=0
if [ -e "$folder/code-$what" ]; then code=$(cat "$folder/code-$what"); fi
echo "end $what" >> "$folder/log"
exit "$code"
"""


class Journal:
    """What the commands of one site said, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.command = folder / "command"
        self.command.write_text(COMMAND, encoding="ascii")
        self.command.chmod(0o755)

    def hooks(self, site: str) -> str:
        return "".join(
            f'[[move.hook]]\nstage = "{stage}"\nsites = ["{site}"]\nretries = 0\n'
            f'command = ["{self.command}", "{self.folder}", "{stage}"]\n'
            f'undo = ["{self.command}", "{self.folder}", "undo {stage}"]\n'
            for stage in STAGES
        )

    @property
    def lines(self) -> list[str]:
        path = self.folder / "log"
        return path.read_text(encoding="ascii").splitlines() if path.exists() else []

    def begun(self, what: str) -> int:
        return self.lines.count(f"begin {what}")

    def is_one_at_a_time(self) -> bool:
        """Each begins only where the one before has ended."""
        lines = self.lines
        return all(
            first.startswith("begin ") and second == first.replace("begin", "end", 1)
            for first, second in zip(lines[::2], lines[1::2], strict=True)
        )


@pytest.mark.torture("final copy-well")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "ends"),
    [
        pytest.param(stage, ends, marks=[] if "copy" in stage else pytest.mark.torture)
        for stage, ends in zip(STAGES, ["well", "badly", "well", "badly"], strict=True)
    ],
)
def test_one_goes_on_where_the_other_was_killed_and_no_stage_is_at_work_twice(
    installation: Installation, cluster: Cluster, tmp_path: Path, stage: str, ends: str
) -> None:
    on_postgresql(installation, cluster)
    assert installation.night().code == 0
    where = homes(installation)
    site = next(one for one, nodes in where.items() if len(nodes) == 1)
    (home,) = where[site]
    new = other_than(home)
    journal = Journal(tmp_path / "journal")
    installation.extra += journal.hooks(site)
    installation.write_settings()
    pin(installation, site, new)
    pipe = journal.folder / f"wait-{stage}"
    os.mkfifo(pipe)
    first = installation.process("run", "--as-of", installation.as_of())
    until(lambda: journal.begun(stage) == 1)
    first.kill()
    first.communicate()

    # The second one sees that the command is at work still, and neither repeats it nor takes back
    # anything beside it.
    lines = journal.lines
    for why in ("still at work", "still being taken back"):
        said = installation.run()
        assert why in said.out + said.err
        assert installation.addresses(site) == [f"192.0.2.{home[1:]}"]
    assert journal.lines == lines
    pipe.read_text(encoding="ascii")
    pipe.unlink()
    until(lambda: f"end {stage}" in journal.lines)
    before = len(journal.lines)
    if ends == "badly":
        (journal.folder / "code-check").write_text("70", encoding="ascii")
    again = installation.run()
    assert again.code in {0, 22}, again.err
    assert journal.is_one_at_a_time()
    there = new if ends == "well" else home
    assert installation.addresses(site) == [f"192.0.2.{there[1:]}"]
    after = journal.lines[before:]
    if ends == "badly":
        undone = [line for line in after if line.startswith("begin undo")]
        assert undone[-4:] == [f"begin undo {one}" for one in reversed(STAGES)]
    assert installation.flex("verify").code == 0
    states = {move["state"] for move in installation.flex("-o", "json", "moves").json["items"]}
    assert states <= {"moved", "done", "stayed"}
