"""What the systemd units of an installation contain: the program that FLEX runs from, its settings,
where it may write.

Takes the paths. Returns the words of a unit. Does not look for anything but this program.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

# Services see nothing below these (ProtectHome=), unless they are told to, and then look without
# writing.
HOMES = (Path("/home"), Path("/root"), Path("/run/user"))
# Services have their own of these (PrivateTmp=).
PRIVATE = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - they are named, not written to
USUAL = Path("/opt/flex/bin/flex")


def program() -> Path:
    """The `flex` that runs now, as it was called: a link of pipx's stays what it is when FLEX is
    brought up to date.
    """
    called = shutil.which(sys.argv[0]) if Path(sys.argv[0]).name == "flex" else None
    beside = Path(sys.executable).parent / "flex"
    executable = called or (str(beside) if beside.exists() else shutil.which("flex"))
    return Path(executable).absolute() if executable else USUAL


def python() -> Path:
    """What runs the program: a virtual environment may have no more than a link to it."""
    return Path(sys.executable)


def words(flex: Path, settings: Path, state: str, *others: Path) -> Mapping[str, str]:
    """By the marks that stand for them in the starter files. Without a `state` folder FLEX writes
    beside its settings.

    `others` are further files that FLEX needs to run.
    """
    return {
        "@FLEX@": _escape(str(flex)),
        "@CONFIG@": _escape(str(settings)),
        # The rest of a line, in which only the percent sign stands for something.
        "@KEYS@": str(settings.parent).replace("%", "%%"),
        "@HOME@": "read-only" if _one_below(HOMES, flex, settings, *others) else "yes",
        "@WRITABLE@": ""
        if state
        else f"ReadWritePaths={_escape(str(settings.parent), command=False)}\n",
    }


def trouble(flex: Path, settings: Path, *others: Path) -> str:
    """Why the units would not run as they are; empty where nothing is known to be in their way."""
    if where := _one_below(PRIVATE, flex, settings, *others):
        return f"the units do not run: services do not see {where}; use another folder"
    if where := _one_below(HOMES, flex, settings, *others):
        return (
            f"the units run only if the user flex may read {where}; installed in "
            "/opt/flex FLEX needs no such right"
        )
    return ""


def _one_below(folders: tuple[Path, ...], *paths: Path) -> str:
    """The first that lies below one of the folders, links followed: what stands in /usr/local may
    lead to a home.
    """
    for path in paths:
        for seen in (path, path.resolve()):
            if any(seen.is_relative_to(folder) for folder in folders):
                return str(seen)
    return ""


def _escape(path: str, *, command: bool = True) -> str:
    """As systemd reads it: % and, in a command, $ stand for something, and a space ends a word."""
    safe = path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    safe = safe.replace("$", "$$") if command else safe
    return f'"{safe}"' if any(letter in path for letter in " \t\"'\\;") else safe
