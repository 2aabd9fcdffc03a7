"""Which file the settings were read from, and whether the file has changed since.

Takes the file, once at the start and again when somebody asks. Returns the differences in words. A
process keeps the settings of its start, even if the file changes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Origin:
    """`digest` is of the file's bytes as they were read."""

    path: Path
    digest: str
    read: datetime

    @property
    def is_unchanged(self) -> bool:
        """False also where the file is gone or cannot be read."""
        return digest_of(self.path) == self.digest


def digest_of(path: Path) -> str:
    """Empty where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def origin(path: Path, now: datetime) -> Origin:
    return Origin(path.absolute(), digest_of(path), now)
