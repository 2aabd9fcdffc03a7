"""The lock files: complete, in step with what was asked for, and silent about where packages come
from.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "requirements"
NAMES = ["run", "node", "build", "spark", "dev"]


def asked(name: str) -> dict[str, Requirement]:
    """What one .in file asks for itself, without the files it includes."""
    lines = [
        line.partition("#")[0].strip() for line in (FOLDER / f"{name}.in").read_text().splitlines()
    ]
    requirements = [Requirement(line) for line in lines if line and not line.startswith("-r")]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def included(name: str) -> list[str]:
    """The .in files whose packages belong in the lock of `name`, itself among them."""
    found = re.findall(r"^-r (\w+)\.in$", (FOLDER / f"{name}.in").read_text(), re.MULTILINE)
    return [name, *found]


def entries(name: str) -> dict[str, str]:
    """Each locked package with its whole entry: version, hashes, who wanted it."""
    text = (FOLDER / f"{name}.txt").read_text()
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    return {canonicalize_name(re.split(r"[\[=]", block)[0]): block for block in blocks}


def version(entry: str) -> str:
    found = re.search(r"==([^\s;]+)", entry)
    assert found, f"not an exact version: {entry.splitlines()[0]}"
    return found[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_does_not_say_where_packages_come_from(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text()
    assert "://" not in text
    assert re.findall(r"^-.*", text, re.MULTILINE) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_locked_package_is_known_by_its_hashes(name: str) -> None:
    assert [
        package for package, entry in entries(name).items() if "--hash=sha256:" not in entry
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_holds_what_was_asked_for_in_a_version_that_will_do(name: str) -> None:
    locked = entries(name)
    for source in included(name):
        for package, requirement in asked(source).items():
            assert package in locked, (
                f"{package} of {source}.in is not in {name}.txt: run `make lock`"
            )
            assert requirement.specifier.contains(version(locked[package]), prereleases=True), (
                package
            )


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_holds_nothing_that_is_asked_for_no_longer(name: str) -> None:
    wanted_by = {
        package: set(re.findall(r"-r (\w+)\.in", entry)) for package, entry in entries(name).items()
    }
    for package, sources in wanted_by.items():
        for source in sources:
            assert package in asked(source), f"{package} left {source}.in: run `make lock`"


@pytest.mark.parametrize("name", ["run", "node", "build", "spark"])
def test_what_runs_is_what_was_tested(name: str) -> None:
    tested = entries("dev")
    # What only a cluster needs is tested where it is installed.
    ours = {
        package: entry
        for package, entry in entries(name).items()
        if name != "spark" or package in tested
    }
    assert {package: version(entry) for package, entry in ours.items()} == {
        package: version(tested[package]) for package in ours
    }


def test_the_wheel_asks_for_what_the_lock_holds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        canonicalize_name(need.name): need for need in map(Requirement, project["dependencies"])
    }
    locked = entries("run")
    assert set(declared) == set(asked("run"))
    assert [
        package
        for package, need in declared.items()
        if not need.specifier.contains(version(locked[package]))
    ] == []
