"""Files and folders that the README, the map and comments in Rust name are there.

Takes what stands in backticks and looks like a path, and where links lead. Does not read docs/.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "native/README.md"]
PACKAGES = [ROOT / folder for folder in ("", "logs_ingest", "solver", "dns", "api")]
# Pages and comments about reading logs leave the package out.
ROOTS = [*PACKAGES, ROOT / "native", ROOT / "logs_ingest/flex_logs_ingest"]

# What tools make; named so that a reader finds it, and absent in a fresh checkout.
MADE = (".venv", ".cache", "artefacts", "bench/results", "dist")


def written_paths(page: Path) -> set[str]:
    """What stands in backticks and looks like a path of this checkout, and where links lead."""
    text = page.read_text(encoding="utf-8")
    words = re.findall(r"`([A-Za-z_.][\w./-]*)(?:::\w+)?`", text)
    found = {word for word in words if "/" in word and not word.startswith(MADE)}
    return found | set(re.findall(r"\]\((?!https?:)([^)#]+)", text))


def is_there(path: str) -> bool:
    return any((root / path).exists() for root in ROOTS)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page: str) -> None:
    named = written_paths(ROOT / page)
    assert named
    assert {path for path in named if not is_there(path)} == set()


def test_the_map_names_every_room() -> None:
    packages = [
        "flex",
        "solver/flex_solver",
        "logs_ingest/flex_logs_ingest",
        "dns/flex_dns",
        "api/flex_api",
    ]
    named = written_paths(ROOT / "ARCHITECTURE.md")
    rooms = {
        path.parent.relative_to(ROOT).as_posix()
        for package in packages
        for path in (ROOT / package).glob("*/__init__.py")
    }
    assert rooms - named == set()


def test_comments_in_rust_name_python_files_that_are_there() -> None:
    missing = []
    folders = [ROOT / "native" / name for name in ("src", "core/src", "core/benches", "fuzz/src")]
    for source in (path for folder in folders for path in sorted(folder.rglob("*.rs"))):
        named = re.findall(r"(?:\w+/)+\w+\.py\b", source.read_text(encoding="utf-8"))
        missing += [f"{source.name}: {path}" for path in named if not is_there(path)]
    assert missing == []


def test_comments_in_python_name_files_that_are_there() -> None:
    """By the end of their paths: a neighbour is called by its name alone."""
    sources = [path for folder in PACKAGES for path in modules_of(folder)]
    others = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    there = {path.as_posix() for path in (*sources, *others)}
    missing = []
    for source in sources:
        text = source.read_text(encoding="utf-8")
        for named in re.findall(r"(?<![\w/.{])((?:\w+/)*\w+\.py)\b", text):
            if not any(path.endswith(f"/{named}") for path in there):
                missing.append(f"{source.name}: {named}")
    assert missing == []


def modules_of(folder: Path) -> list[Path]:
    shipped = "flex*" if folder != ROOT else "flex"
    return sorted(path for top in folder.glob(shipped) for path in top.rglob("*.py"))


def test_scripts_within_tests_and_benches_import_modules_that_are_there() -> None:
    """Those that stand in a text, which no tool for imports sees."""
    packages = "flex_solver|flex_logs_ingest|flex_dns|flex_api|flex"
    missing = []
    for source in (path for top in ("tests", "bench") for path in (ROOT / top).rglob("*.py")):
        text = source.read_text(encoding="utf-8")
        for module in re.findall(rf"^from ((?:{packages})[\w.]*) import ", text, re.MULTILINE):
            if not any(
                (root / Path(*module.split("."))).with_suffix(end).exists()
                for root in PACKAGES
                for end in (".py", "")
            ):
                missing.append(f"{source.name}: {module}")
    assert missing == []
