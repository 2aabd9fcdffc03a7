"""SQLite databases at the newest revision, each a copy of one that is made once in each process of
tests.

What the migrations themselves do is promised by tests/store/test_migrations.py.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from flex.store import migrate


def new_database(path: Path) -> str:
    """An empty one at that path; its URL."""
    path.write_bytes(_template())
    path.chmod(0o600)
    return f"sqlite:///{path}"


@cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "flex.db")
        migrate.upgrade(f"sqlite:///{path}")
        return path.read_bytes()
