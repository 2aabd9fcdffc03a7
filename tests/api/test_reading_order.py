"""Who follows a plan through a night opens no file of night/ and planning/ more than twice.

A file is opened where a function, a method or a property is called that was not read yet, and
closed where the next such call leads into another file. What has fields alone opens no file, and
functions within functions are read where they stand.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from flex import planning
from flex_api import night

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

FOLDERS = tuple(str(Path(module.__path__[0])) for module in (planning, night))
ROOTS = tuple(str(Path(folder).parent) for folder in FOLDERS)
MOST = 2


@dataclass
class Reader:
    """Reads in the order of calls. `opened` are the places from which a file was opened."""

    opened: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    read: set[tuple[str, str]] = field(default_factory=set)
    last: tuple[str, str] = ("", "")

    def sees(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(FOLDERS):
            return
        known = (code.co_filename, code.co_qualname)
        caller = _caller(frame)
        if known in self.read or "<" in code.co_qualname:
            return
        self.read.add(known)
        if caller != code.co_filename:
            if (caller, code.co_filename) != self.last:
                place = f"{Path(caller).name} for {code.co_qualname}"
                self.opened[Path(code.co_filename).name].append(place)
            self.last = (caller, code.co_filename)


def _caller(frame: FrameType) -> str:
    """The file of the project that called, whichever library was asked to on the way."""
    back = frame.f_back
    while back and not back.f_code.co_filename.startswith(ROOTS):
        back = back.f_back
    return back.f_code.co_filename if back else ""


def follow(installation: Installation, *arguments: str) -> Reader:
    reader, before = Reader(), sys.getprofile()
    sys.setprofile(reader.sees)
    try:
        said = installation.flex(*arguments)
    finally:
        sys.setprofile(before)
    assert said.code == 0, said.err
    assert len(reader.opened["propose_plan.py"]) == 1, "a plan was followed"
    assert len(reader.opened) > 15, "the reader lost the way"
    return reader


def too_often(reader: Reader) -> dict[str, list[str]]:
    return {name: places for name, places in reader.opened.items() if len(places) > MOST}


@pytest.mark.slow
def test_who_follows_a_first_night_opens_no_file_more_than_twice(
    installation: Installation,
) -> None:
    reader = follow(installation, "run", "--as-of", installation.as_of())
    assert too_often(reader) == {}


@pytest.mark.slow
def test_who_follows_a_night_that_moves_a_site_by_way_of_both_nodes_opens_none_more_than_twice(
    installation: Installation,
) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    gentle = '[dns]\nmake_before_break = true\nttl = 1\nwarm_command = ["true"]\n'
    installation.settings.write_text(text.replace("[dns]\n", gentle), encoding="utf-8")
    installation.first_night()
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    site = next(row["site"] for row in rows if row["nodes"] == ["n1"])
    assert installation.flex("sites", "pin", site, "--nodes", "n2").code == 0
    reader = follow(installation, "run", "--as-of", installation.as_of())
    assert "make_before_break_plans.py" in reader.opened
    assert too_often(reader) == {}


def test_who_follows_a_dead_nodes_plan_opens_no_file_more_than_twice(
    installation: Installation,
) -> None:
    installation.first_night()
    reader = follow(installation, "nodes", "down", "n1")
    assert "names_edited_by_others.py" in reader.opened
    assert too_often(reader) == {}
