"""The pages of docs/, for the tests that read them.

Returns the Markdown files that people read, and tells which of them only lead to another.
Does not read the published schemas.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Beside docs/, read by everybody who comes to the project. CHANGELOG.md also shows commands
# of earlier releases.
AT_THE_TOP = ("README.md", "CONTRIBUTING.md")
# A page that only says where what it held is now begins so.


def pages() -> dict[str, str]:
    """Every page by its path from the root."""
    found = sorted(DOCS.rglob("*.md"))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in found}


def read_by_people() -> dict[str, str]:
    """The pages, and what stands beside docs/."""
    return pages() | {name: (ROOT / name).read_text(encoding="utf-8") for name in AT_THE_TOP}
