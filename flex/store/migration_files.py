"""Where the migrations are, and the newest of them. Loads nothing of a database.

They are in alembic/ at the top of a checkout, and in flex/store/migrations of an installed FLEX.
"""

from __future__ import annotations

from pathlib import Path

_INSTALLED = Path(__file__).parent / "migrations"
_CHECKOUT = Path(__file__).parents[2] / "alembic"


def place() -> Path:
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT


def head() -> str:
    """The files are called after their revisions, in order."""
    return max(path.name.partition("_")[0] for path in (place() / "versions").glob("[0-9]*.py"))
