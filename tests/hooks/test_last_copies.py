"""The last copy of a site's files compares only what changed at either node, and leaves them alike
whatever that was.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hooks.two_nodes import SITE, TwoNodes
from tests.thorough import times

pytestmark = pytest.mark.real

FILES_IN_FOLDER = 5


class Tree:
    """A folder in which random things happen."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root, self.chance = root, chance

    def all_of(self, is_folder: bool) -> list[Path]:
        every = sorted(path for path in self.root.rglob("*") if not path.is_symlink())
        return [path for path in every if path.is_dir() == is_folder]

    def any_file(self) -> Path:
        return self.chance.choice(self.all_of(is_folder=False))

    def any_folder(self) -> Path:
        return self.chance.choice(self.all_of(is_folder=True))

    def new_name(self) -> Path:
        before = self.chance.choice(
            ["x", " a b", "\nnew\nline", "-rf", "'quoted'", "*", "é", "..x"]
        )
        behind = self.chance.choice(["", " ", "\n", "'"])
        folder = self.root if self.chance.random() < 0.05 else self.any_folder()
        return folder / f"{before}{self.chance.randrange(10**6)}{behind}"

    def make(self) -> None:
        self.new_name().write_text("made")

    def make_folder(self) -> None:
        path = self.new_name()
        (path / "deep").mkdir(parents=True)
        (path / "deep/er").write_text("made")

    def append(self) -> None:
        with self.any_file().open("a") as file:
            file.write("more")

    def change_unseen(self) -> None:
        """Its size and its time stay."""
        path = self.any_file()
        stat = path.stat()
        path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))

    def delete(self) -> None:
        self.any_file().unlink()

    def delete_folder(self) -> None:
        shutil.rmtree(self.any_folder())

    def rename(self) -> None:
        self.any_file().rename(self.new_name())

    def swap_folders(self) -> None:
        one, other = self.any_folder(), self.any_folder()
        if one in other.parents or other in one.parents or one == other:
            return
        aside = self.root.parent / "aside"
        one.rename(aside)
        other.rename(one)
        aside.rename(other)

    def swap_files(self) -> None:
        one, other = self.any_file(), self.any_file()
        aside = self.root.parent / "aside"
        if one != other:
            one.rename(aside)
            other.rename(one)
            aside.rename(other)

    def become_folder(self) -> None:
        path = self.any_file()
        path.unlink()
        path.mkdir()
        (path / "in it").write_text("made")

    def become_file(self) -> None:
        path = self.any_folder()
        shutil.rmtree(path)
        path.write_text("a file now")

    def become_link(self) -> None:
        """As a release that is in force does."""
        path, other = self.any_folder(), self.any_folder()
        if path not in (other, *other.parents):
            shutil.rmtree(path)
            path.symlink_to(os.path.relpath(other, path.parent))

    def link_hard(self) -> None:
        os.link(self.any_file(), self.new_name())

    def link(self) -> None:
        self.new_name().symlink_to(self.any_file().name)

    def allow(self) -> None:
        self.any_file().chmod(self.chance.choice([0o600, 0o640, 0o644]))

    def allow_folder(self) -> None:
        self.any_folder().chmod(self.chance.choice([0o700, 0o750, 0o755]))

    def anything(self) -> str:
        ways = [
            *(self.make, self.make_folder, self.append, self.change_unseen, self.delete),
            *(self.delete_folder, self.rename, self.swap_folders, self.swap_files),
            *(
                self.become_folder,
                self.become_file,
                self.become_link,
                self.link_hard,
                self.link,
                self.allow,
                self.allow_folder,
            ),
        ]
        way = self.chance.choice(ways)
        if len(self.all_of(is_folder=True)) > 2 and len(self.all_of(is_folder=False)) > 2:
            way()
        return way.__name__


def fill(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name in ("a", "b", "b/c", "b/c/d", "e", "e/f"):
        (root / name).mkdir(parents=True)
        for number in range(FILES_IN_FOLDER):
            (root / name / str(number)).write_text(f"{name} {number}")
    (root / "index").write_text("bread")


def look(root: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *root.rglob("*")]:
        stat = path.lstat()
        what = (
            path.readlink()
            if path.is_symlink()
            else path.read_bytes()
            if path.is_file()
            else "folder"
        )
        found[str(path.relative_to(root))] = (what, stat.st_mode, stat.st_mtime_ns)
    return found


@pytest.fixture
def said(mounted: TwoNodes) -> Path:
    """How rsync was called."""
    file = mounted.folder / "said"
    mounted.set(
        f"""fetch() {{
    local lock=$3
    shift 3
    printf '%s ' "$@" >>{file}
    "${{LOCKED[@]}}" "$lock" rsync "$@"
}}
"""
    )
    return file


def copied(nodes: TwoNodes, said: Path) -> tuple[Path, Path]:
    """The folders at both nodes."""
    old, new = (nodes.at(node, "www", SITE) for node in ("n1", "n2"))
    fill(old)
    nodes.ends(0, "files", "copy", SITE, "n1", "n2")
    assert look(new) == look(old)
    said.write_text("")
    return old, new


def test_whatever_happened_at_either_node_both_are_alike(mounted: TwoNodes, said: Path) -> None:
    quick = 0
    for seed in range(times(12)):
        chance = random.Random(seed)
        old, new = copied(mounted, said)
        ways = [Tree(old, chance).anything() for _ in range(chance.randrange(6))]
        ways += [Tree(new, chance).anything() for _ in range(chance.randrange(3))]
        mounted.ends(0, "files", "final", SITE, "n1", "n2")
        assert look(new) == look(old), (seed, ways)
        quick += "--no-inc-recursive" not in said.read_text()
    assert quick


def set_clock(nodes: TwoNodes) -> None:
    """As where somebody did that after the first copy."""
    (file,) = nodes.at("n1", "kept").glob("files-*")
    folder, now, clock = file.read_text().split()
    file.write_text(f"{folder} {now} {int(clock) + 100}\n")


def put_back(nodes: TwoNodes) -> None:
    """As from a backup: other folders, whose times may be any."""
    root = nodes.at("n1", "www", SITE)
    shutil.copytree(root, root.with_name("aside"), symlinks=True)
    shutil.rmtree(root)
    root.with_name("aside").rename(root)


def link(nodes: TwoNodes) -> None:
    nodes.set("FILES_OPTIONS+=(-H)\n")
    os.link(nodes.at("n1", "www", SITE, "a/1"), nodes.at("n1", "www", SITE, "b/link"))


def empty(nodes: TwoNodes) -> None:
    """Where a site has no file of its own beside folders, nobody knows how exact its times are."""
    nodes.at("n1", "www", SITE, "index").unlink()


def forget(nodes: TwoNodes) -> None:
    for file in nodes.at("n2", "kept").glob("files-*"):
        file.unlink()


def deny(nodes: TwoNodes) -> None:
    """Nothing can be kept at the new node."""
    kept = nodes.at("n2", "kept")
    shutil.rmtree(kept)
    kept.write_text("no folder")


@pytest.mark.parametrize("does", [set_clock, put_back, link, empty, forget, deny])
def test_where_it_is_not_known_what_changed_all_is_compared(
    mounted: TwoNodes, said: Path, does: Callable[[TwoNodes], None]
) -> None:
    old, new = copied(mounted, said)
    (old / "a/1").write_text("changed")
    does(mounted)
    mounted.ends(0, "files", "final", SITE, "n1", "n2")
    assert look(new) == look(old)
    assert "--no-inc-recursive" in said.read_text()


def test_a_copy_that_was_removed_is_not_taken_for_one_that_was_compared(
    mounted: TwoNodes, said: Path
) -> None:
    old, new = copied(mounted, said)
    mounted.ends(0, "files", "remove", SITE, "n2", "n1")
    assert not [*mounted.at("n2", "kept").glob("files-*")]
    new.mkdir()
    mounted.ends(0, "files", "final", SITE, "n1", "n2")
    assert look(new) == look(old)
