"""What the packages for Debian are made of: the same bytes for the same files, the locked wheels of
each Debian's Python, all parts named, a page of the manual for each verb.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from deploy.packages import bill_of_materials, debs, man_pages, trees, wheels
from deploy.packages.kinds import CONTROLLER, KINDS, NODE, RELEASES, Kind
from deploy.packages.sources import CHECKOUT, Sources
from flex_api.cli import application
from flex_api.cli.verb_groups import VERBS

EPOCH = 1_790_000_000
SOURCES = Sources(CHECKOUT, "0.1.0~test", EPOCH)
needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed")


def wheel(folder: Path, name: str, version: str, *more: str) -> Path:
    """A small one, with what is left out of packages beside what is not."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    texts = {
        f"{name}/__init__.py": f"VERSION = '{version}'\n",
        f"{name}-{version}.data/purelib/{name}_more.py": "MORE = 1\n",
        f"{name}-{version}.data/scripts/{name}": "#!python\n",
        f"{about}/METADATA": f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
        "License-Expression: MIT\n",
        f"{about}/RECORD": "",
        **dict.fromkeys(more, ""),
    }
    with zipfile.ZipFile(path, "w") as packed:
        for inside, text in texts.items():
            packed.writestr(inside, text)
    return path


def a_package(folder: Path, kind: Kind, number: int, seed: int) -> Path:
    """With files that were made in another order, at other times, by another umask."""
    before = os.umask(0o077 if seed % 2 else 0o022)
    try:
        (folder / "wheels").mkdir(parents=True)
        made = [wheel(folder / "wheels", name, "1.0") for name in ("one", "two")]
        random.Random(seed).shuffle(made)
        root = folder / "root"
        trees.fill(root, kind, RELEASES[number], SOURCES, sorted(made), "{}")
        return debs.pack(root, kind, RELEASES[number], SOURCES, folder / "dist")
    finally:
        os.umask(before)


@pytest.mark.torture("13-flex-controller", "12-flex-node")
@pytest.mark.slow
@needs_dpkg
@pytest.mark.parametrize("kind", KINDS.values(), ids=[*KINDS])
@pytest.mark.parametrize("number", [*RELEASES])
def test_the_same_files_make_the_same_package_to_the_byte(
    kind: Kind, number: int, tmp_path: Path
) -> None:
    first, second = (a_package(tmp_path / str(n), kind, number, n) for n in (1, 2))
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.slow
@needs_dpkg
@pytest.mark.parametrize("number", [*RELEASES])
def test_a_package_needs_the_python_that_its_wheels_are_for(number: int, tmp_path: Path) -> None:
    package = a_package(tmp_path, CONTROLLER, number, 1)
    said = subprocess.run(
        ["dpkg-deb", "--field", str(package), "Depends"], check=True, capture_output=True, text=True
    ).stdout
    python = RELEASES[number].python
    assert f"python{python}" in said
    assert f"python3 (>= {python}~)" in said
    listed = subprocess.run(
        ["dpkg-deb", "--contents", str(package)], check=True, capture_output=True, text=True
    ).stdout
    assert f"lib/python{python}/site-packages/one/__init__.py" in listed
    assert f"usr/lib/flex/bin/python3 -> ../../../bin/python{python}" in listed
    assert "usr/sbin/flex -> ../lib/flex/bin/flex" in listed
    # The lexer's.
    assert "usr/bin/flex" not in listed
    assert "man/man1/" not in listed
    assert all(" root/root " in line for line in listed.splitlines())


@needs_dpkg
@pytest.mark.skipif(not shutil.which("lintian"), reason="lintian is not installed")
@pytest.mark.parametrize("kind", KINDS.values(), ids=[*KINDS])
def test_lintian_finds_no_error_and_no_warning(kind: Kind, tmp_path: Path) -> None:
    package = a_package(tmp_path, kind, 12, 1)
    found = subprocess.run(
        ["lintian", "--no-tag-display-limit", "--allow-root", str(package)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    # Overrides are about real wheels, which are not in here.
    assert [line for line in found.splitlines() if line[:2] in {"E:", "W:"}] == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=[*KINDS])
@pytest.mark.parametrize("name", debs.SCRIPTS)
def test_scripts_of_packages_are_whole_shell(kind: Kind, name: str, tmp_path: Path) -> None:
    text = debs._script(name, kind, "1.0+deb12")
    assert "@" not in text.replace("$@", "")
    (tmp_path / name).write_text(text)
    subprocess.run(["sh", "-n", str(tmp_path / name)], check=True)


@needs_dpkg
@pytest.mark.parametrize("kind", KINDS.values(), ids=[*KINDS])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        # As dpkg calls them: the script of what is installed, then those of what should be.
        ("prerm", ["upgrade", "0.9+deb12"]),
        ("prerm", ["failed-upgrade", "1.1+deb12", "1.0+deb12"]),
        ("preinst", ["upgrade", "1.1+deb12", "1.0+deb12"]),
    ],
)
def test_every_script_that_runs_before_a_downgrade_refuses_it(
    kind: Kind, name: str, arguments: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(debs._script(name, kind, "1.0+deb12"))
    ended = subprocess.run(
        ["sh", str(tmp_path / name), *arguments], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "Nothing was changed" in ended.stderr
    assert "To go back all the same" in ended.stderr


def test_each_debian_gets_the_wheels_of_its_own_python() -> None:
    lock = CHECKOUT / "requirements/run.txt"
    asked = {
        number: {
            Requirement(line.partition(" --hash")[0]).name: line
            for line in wheels.for_release(lock, release)
        }
        for number, release in RELEASES.items()
    }
    assert asked[12].keys() == asked[13].keys()
    assert asked[12]["numpy"] != asked[13]["numpy"]
    assert "colorama" not in asked[12]
    for lines in asked.values():
        assert all("--hash=sha256:" in line for line in lines.values())


def test_what_packages_do_without_is_left_out(tmp_path: Path) -> None:
    site = tmp_path / "site"
    pandas = wheel(tmp_path, "pandas", "3.1", "pandas/tests/test_a.py", "pandas/b.exe")
    wheels.unpack([pandas, wheel(tmp_path, "other", "1.0", "other/tests/c.py")], site)
    left = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    assert left == {
        "pandas/__init__.py",
        "pandas_more.py",
        "pandas-3.1.dist-info/METADATA",
        "other/__init__.py",
        "other/tests/c.py",
        "other_more.py",
        "other-1.0.dist-info/METADATA",
    }


def test_the_bill_of_materials_names_all_parts_and_no_place(tmp_path: Path) -> None:
    lock = tmp_path / "Cargo.lock"
    lock.write_text(
        'version = 4\n[[package]]\nname = "flex-core"\nversion = "0.1.0"\n'
        '[[package]]\nname = "numpy"\nversion = "0.30.0"\n'
        f'source = "registry+https://index.example"\nchecksum = "{"ab" * 32}"\n'
    )
    parts = [wheel(tmp_path, "one", "1.0"), wheel(tmp_path, "two", "2.0")]
    text = bill_of_materials.text("flex-node", "1", "2026-11-26T00:00:00Z", parts, lock)
    assert "://" not in text
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    found = {part["purl"]: part for part in bill["components"]}
    assert [*found] == ["pkg:cargo/numpy@0.30.0", "pkg:pypi/one@1.0", "pkg:pypi/two@2.0"]
    assert found["pkg:pypi/one@1.0"]["hashes"] == [
        {"alg": "SHA-256", "content": hashlib.sha256(parts[0].read_bytes()).hexdigest()}
    ]
    assert found["pkg:pypi/two@2.0"]["licenses"] == [{"expression": "MIT"}]
    again = bill_of_materials.text("flex-node", "1", "2026-11-26T00:00:00Z", parts[::-1], lock)
    assert again == text


def test_the_manual_has_a_page_for_each_verb_with_all_its_options() -> None:
    pages = dict(man_pages.pages("1.0", "2026-11-26"))
    assert pages.keys() == {"flex", *(f"flex-{verb}" for verb in VERBS)}
    top = application()
    for verb, command in getattr(top, "commands", {}).items():
        text = pages[f"flex-{verb}"].replace("\\-", "-")
        for group in (command, *getattr(command, "commands", {}).values()):
            for parameter in group.params:
                assert not parameter.opts[0].startswith("--") or any(
                    option in text for option in parameter.opts
                ), (verb, parameter.opts)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_every_page_of_the_manual_is_one_that_man_takes(tmp_path: Path) -> None:
    man_pages.main(str(tmp_path), "1.0", "2026-11-26")
    for page in sorted(tmp_path.iterdir()):
        shown = subprocess.run(
            ["man", "--warnings", "-l", str(page)],
            env={"PATH": os.environ["PATH"], "MANWIDTH": "100", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert shown.stderr == "", page.name
        assert "SYNOPSIS" in shown.stdout


@pytest.mark.slow
def test_a_node_has_the_pages_of_what_it_can_do(tmp_path: Path) -> None:
    trees._manual(tmp_path, NODE, SOURCES)
    pages = sorted((tmp_path / "usr/share/man/man8").iterdir())
    assert [page.name for page in pages] == [
        "flex-ingest.8.gz",
        "flex-route.8.gz",
        "flex-version.8.gz",
        "flex.8.gz",
    ]
    assert gzip.decompress(pages[0].read_bytes()).startswith(b'.TH "FLEX')


@pytest.mark.slow
@needs_dpkg
def test_the_maintainer_is_who_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAINTAINER", "Ada <ada@example.org>")
    package = a_package(tmp_path, NODE, 12, 1)
    said = subprocess.run(
        ["dpkg-deb", "--field", str(package), "Maintainer"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert said == "Ada <ada@example.org>\n"


def test_a_newer_version_is_newer_than_each_commit_before_it() -> None:
    """dpkg's order: what has a tilde comes before what has none."""
    if not shutil.which("dpkg"):
        pytest.skip("dpkg is not installed")
    ordered = ["0.1.0~20261126131844.gd3e9aae8", "0.1.0~20261126132421.g05c06f51", "0.1.0"]
    ordered = [f"{one}+deb{number}" for one in ordered for number in RELEASES]
    for older, newer in pairwise(ordered):
        subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)


@pytest.mark.slow
def test_a_build_takes_no_package_that_it_does_not_know() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "deploy.packages", "flex-nobody"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "there are flex-controller, flex-node" in ended.stderr


def test_units_of_packages_name_nothing_that_is_to_be_filled_in(tmp_path: Path) -> None:
    for kind in KINDS.values():
        trees._units(tmp_path / kind.name, replace(kind), SOURCES)
        found = sorted((tmp_path / kind.name / "usr/lib/systemd/system").iterdir())
        assert [path.name for path in found] == sorted(kind.units)
        for path in found:
            lines = path.read_text().splitlines()
            commands = [line for line in lines if line.startswith("ExecStart=")]
            assert all("@" not in line for line in commands)
            # What comes behind the first one sends what that has made.
            assert all("/usr/sbin/flex" in line for line in commands[:1])
