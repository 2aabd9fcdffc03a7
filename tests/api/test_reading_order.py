"""Who follows a plan through a night opens no file of night/ and planning/ more than twice.

A file is opened where a function is called that was not read yet, and closed where the next such
call leads into another file. Types open no file, nor do the methods that are read with them.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import pytest

from flex import planning
from flex_api import demo, night
from flex_api.night import nightly

pytestmark = pytest.mark.real

FOLDERS = tuple(str(Path(module.__path__[0])) for module in (planning, night))
ROOTS = tuple(str(Path(folder).parent) for folder in FOLDERS)
MOST = 2


@dataclass
class Reader:
    """Reads one night, the last that began, in the order of its calls."""

    opened: Counter[str] = field(default_factory=Counter)
    read: set[tuple[str, str]] = field(default_factory=set)
    last: tuple[str, str] = ("", "")

    def begin(self) -> None:
        self.opened.clear()
        self.read.clear()
        self.last = ("", "")

    def sees(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(FOLDERS):
            return
        if code is nightly.run.__code__:
            self.begin()
        known = (code.co_filename, code.co_qualname)
        caller = _caller(frame)
        # Methods are read with their types, functions within functions where they stand.
        is_function = "." not in code.co_qualname and "<" not in code.co_qualname
        if known in self.read or not is_function:
            return
        self.read.add(known)
        if caller != code.co_filename:
            if (caller, code.co_filename) != self.last:
                self.opened[Path(code.co_filename).name] += 1
            self.last = (caller, code.co_filename)


def _caller(frame: FrameType) -> str:
    """The file of the project that called, whichever library was asked to on the way."""
    back = frame.f_back
    while back and not back.f_code.co_filename.startswith(ROOTS):
        back = back.f_back
    return back.f_code.co_filename if back else ""


def test_who_follows_a_plan_opens_no_file_more_than_twice(tmp_path: Path) -> None:
    reader = Reader()
    before = sys.getprofile()
    sys.setprofile(reader.sees)
    try:
        demo.run(tmp_path / "demo", 1, lambda _: None, datetime.now(UTC))
    finally:
        sys.setprofile(before)
    assert reader.opened["propose_plan.py"] == 1, "a plan was followed"
    assert {name: times for name, times in reader.opened.items() if times > MOST} == {}
