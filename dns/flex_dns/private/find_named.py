"""Where BIND is on this machine. Loads nothing of DNS."""

from __future__ import annotations

import shutil

from flex.errors import BadSetting

# Where named is installed. These folders are often not in a user's own PATH.
SYSTEM_PATH = "/usr/sbin:/usr/local/sbin"


def find_named() -> str:
    """BIND's program."""
    program = shutil.which("named") or shutil.which("named", path=SYSTEM_PATH)
    if program:
        return program
    raise BadSetting(
        "starting a private name server",
        "BIND's named is not installed",
        kept="nothing was started",
        advice="apt install bind9 (dnf install bind, brew install bind)",
    )
