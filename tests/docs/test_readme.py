"""What the README shows of the demo is what the demo does: its picture and its figures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from flex_api.schemas.sites_and_wishes import SiteRow
from flex_api.schemas.verbs_output import PlanOutput
from tests.api.conftest import passable
from tests.docs.pages import DOCS, ROOT
from tests.docs.readme_picture import of_demo

PICTURE = DOCS / "static" / "partition.svg"
# Seconds, far beyond what a demo takes on a busy machine.
PATIENCE = 300
# Lines that a reader takes in before trying it.
LONGEST = 150
MAIN = "from flex_api.cli import main; main()"


def flex(*words: str) -> str:
    command = [sys.executable, "-c", MAIN, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.real
@pytest.mark.slow
def test_the_readme_shows_what_the_demo_does() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with passable() as folder:
        told = flex("demo", "--dir", str(folder / "demo"))

        def asked(*words: str) -> Any:  # as the verb's schema says
            config = ("--config", str(folder / "demo" / "flex.toml"))
            return json.loads(flex(*config, "-o", "json", *words))

        latest = asked("plan", "list")["items"][0]["id"]
        plan = PlanOutput.model_validate(asked("plan", "show", latest))
        sites = asked("sites", "list")["items"]
        drawn = of_demo(plan, [SiteRow.model_validate(row) for row in sites])
    if os.environ.get("FLEX_UPDATE"):
        PICTURE.write_text(drawn, encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == drawn, "FLEX_UPDATE=1 draws it again"
    assert f"]({PICTURE.relative_to(ROOT)})" in readme

    moved, scratch = re.findall(r"moved (\d+) sites; .* moved (\d+)\.", told)[-1]
    few = f"{moved} sites move. A partition from scratch would move {scratch}."
    foreseen = r"predicted +(\S+) % of requests from disk, +(\S+) requests a second"
    ours, rate = re.findall(f"{foreseen} with this plan", told)[-1]
    theirs, turns = re.findall(f"{foreseen} with every node", told)[-1]
    said = " ".join(readme.split())
    assert few in said
    assert f"{ours} % of the requests wait for a disk" in said
    assert f"serves every site, {theirs} %" in said
    assert f"serve {rate} requests a second instead of {turns}" in said


def test_the_readme_is_read_to_its_end() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= LONGEST
