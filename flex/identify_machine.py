"""Identifies the machine that this process runs on, whatever its name is."""

from __future__ import annotations

import hashlib
from pathlib import Path

MACHINE_ID = Path("/etc/machine-id")


def machine() -> str:
    """By what the system drew when it was installed, never shown as it is; "" where there is
    none.
    """
    try:
        drawn = MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return hashlib.sha256(f"flex {drawn}".encode()).hexdigest()[:12] if drawn else ""
