"""The versions of FLEX, of its libraries and of what it starts: the answer of `flex version`, for
the terminal and programs. Loads none of the libraries.
"""

from __future__ import annotations

import platform
import subprocess
from dataclasses import asdict, dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import flex
from flex import native_or_python
from flex.errors import FlexError
from flex.store import migration_files
from flex_dns.private.find_named import find_named

if TYPE_CHECKING:
    from flex_api.schemas.verbs_output import VersionOutput


@dataclass(frozen=True, slots=True)
class Versions:
    version: str
    engine: Literal["native", "python"]
    engine_note: str
    python: str
    solver: str
    database_revision: str
    named: str

    def output(self) -> VersionOutput:
        from flex_api.schemas.verbs_output import VersionOutput

        return VersionOutput(**asdict(self))


def versions() -> Versions:
    return Versions(
        version=flex.__version__,
        engine="native" if native_or_python.NATIVE else "python",
        engine_note=native_or_python.WHY_NOT,
        python=platform.python_version(),
        solver=_highs_version(),
        database_revision=migration_files.head(),
        named=_named_version(),
    )


def _highs_version() -> str:
    """By the name of the folder that pip made beside it: importlib.metadata, which reads what is in
    there, takes longer to load than all else here.
    """
    highspy = PathFinder.find_spec("highspy")
    if not (highspy and highspy.origin):
        return "HiGHS is not installed"
    site = Path(highspy.origin).parents[1]
    folder = next(site.glob("highspy-*.dist-info"), None)
    if folder is None:
        return "HiGHS does not say"
    return f"HiGHS {folder.name.removesuffix('.dist-info').partition('-')[2]}"


def _named_version() -> str:
    try:
        program = find_named()
    except FlexError:
        return "BIND is not installed"
    completed = subprocess.run(  # noqa: S603
        [program, "-v"], capture_output=True, text=True, timeout=10, check=False
    )
    return completed.stdout.strip() or f"{program} does not say"
