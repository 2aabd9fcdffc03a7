"""The versions of FLEX, of its libraries and of what it starts: the answer of `flex version`, for
the terminal and programs.
"""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata

import flex
from flex import native_or_python
from flex.errors import FlexError
from flex.store import migrate
from flex_api.schemas.verbs_output import VersionOutput
from flex_dns.private.private_named import find_named


def version_output() -> VersionOutput:
    return VersionOutput(
        version=flex.__version__,
        engine="native" if native_or_python.NATIVE else "python",
        engine_note=native_or_python.WHY_NOT,
        python=platform.python_version(),
        solver=f"HiGHS {metadata.version('highspy')}",
        database_revision=migrate.head(),
        named=_named_version(),
    )


def _named_version() -> str:
    try:
        program = find_named()
    except FlexError:
        return "BIND is not installed"
    said = subprocess.run(  # noqa: S603
        [program, "-v"], capture_output=True, text=True, timeout=10, check=False
    )
    return said.stdout.strip() or f"{program} does not say"
