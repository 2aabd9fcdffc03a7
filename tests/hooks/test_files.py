"""The files of a site go to its new node, whole, and only those copies go away that may."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.hooks.two_nodes import NEVER, NOT_NOW, SITE, TwoNodes

pytestmark = pytest.mark.real

SAME_SECOND = 1_800_000_000


def fill(nodes: TwoNodes) -> dict[str, bytes]:
    root = nodes.at("n1", "www", SITE)
    (root / "deep/er").mkdir(parents=True)
    (root / "index.html").write_text("bread")
    (root / "deep/er/a file 'with' $(names) `of` its \"own\"\n*").write_text("butter")
    (root / "empty").touch()
    (root / "link").symlink_to("index.html")
    return nodes.site("n1")


@pytest.mark.slow("ssh")
def test_a_site_is_brought_and_what_changed_since_follows(nodes: TwoNodes) -> None:
    fill(nodes)
    nodes.ends(0, "files", "copy", SITE, "n1", "n2")
    assert nodes.site("n2") == nodes.site("n1")
    root = nodes.at("n1", "www", SITE)
    (root / "index.html").unlink()
    (root / "deep/new").write_text("jam")
    nodes.ends(0, "files", "final", SITE, "n1", "n2")
    assert nodes.site("n2") == nodes.site("n1")
    assert nodes.at("n2", "www", SITE, "link").readlink() == Path("index.html")
    # Again, with nothing to do.
    nodes.ends(0, "files", "final", SITE, "n1", "n2")
    assert nodes.site("n2") == nodes.site("n1")


def test_a_file_that_changes_within_a_second_and_keeps_its_size_is_brought(
    mounted: TwoNodes,
) -> None:
    fill(mounted)
    counter = mounted.at("n1", "www", SITE, "counter")
    for number, text in enumerate(("41", "42")):
        counter.write_text(text)
        at = SAME_SECOND * 10**9 + 1 + number
        os.utime(counter, ns=(at, at))
        mounted.ends(0, "files", "copy", SITE, "n1", "n2")
    assert mounted.site("n2")["counter"] == b"42"


def test_nothing_is_deleted_for_an_old_node_that_shows_nothing(nodes: TwoNodes) -> None:
    kept = fill(nodes)
    nodes.ends(0, "files", "copy", SITE, "n1", "n2")
    root = nodes.at("n1", "www", SITE)
    root.rename(root.with_name("away"))
    said = nodes.ends(NOT_NOW, "files", "final", SITE, "n1", "n2")
    assert "is empty, or cannot be read" in said
    root.mkdir()
    nodes.ends(NOT_NOW, "files", "final", SITE, "n1", "n2")
    assert nodes.site("n2") == kept


@pytest.mark.slow("ssh")
def test_a_copy_is_removed_once_and_again(nodes: TwoNodes) -> None:
    fill(nodes)
    nodes.ends(0, "files", "copy", SITE, "n1", "n2")
    for _ in range(2):
        nodes.ends(0, "files", "remove", SITE, "n2", "n1")
        assert not nodes.at("n2", "www", SITE).exists()
    assert nodes.site("n1")


@pytest.mark.parametrize("does", ["copy", "remove"])
def test_where_both_nodes_have_one_storage_nothing_is_copied_or_removed(
    nodes: TwoNodes, does: str
) -> None:
    kept = fill(nodes)
    nodes.at("n2", "www", SITE).symlink_to(nodes.at("n1", "www", SITE))
    said = nodes.ends(NEVER, "files", does, SITE, "n2", "n1")
    assert "in one place" in said
    assert nodes.site("n1") == kept


def test_only_a_folder_with_the_name_of_the_site_is_removed(mounted: TwoNodes) -> None:
    fill(mounted)
    mounted.set(f"files_of() {{ printf '%s' {mounted.folder}/$1/www; }}\n")
    said = mounted.ends(NEVER, "files", "remove", SITE, "n1", "n2")
    assert "has not the name of shop.example" in said
    assert mounted.site("n1")


@pytest.mark.parametrize(
    "site",
    [
        *("", "..", ".", "a..b", "../n1", "a/b", "-rf", "a b", "a\nb", "$(reboot)"),
        *("a;b", "*", "[a]", "é.example", "A.example", "a`b", "a'b", 'a"b', "x" * 300),
    ],
)
@pytest.mark.parametrize("hook", ["files", "database", "vhost", "cron"])
def test_a_name_that_is_not_safe_in_a_path_is_refused_before_anything_is_done(
    mounted: TwoNodes, site: str, hook: str
) -> None:
    mounted.set("run_on() { echo RUN >&2; }\nfetch() { echo RUN >&2; }\n")
    verb = "final" if hook == "database" else "copy"
    said = mounted.ends(NEVER, hook, verb, site, "n1", "n2")
    assert "no name of a site" in said
    assert "RUN" not in said


@pytest.mark.parametrize("node", ["", "-oProxyCommand=reboot", "a b", "$(id)", "n1;id"])
def test_a_node_that_ssh_would_take_for_an_option_is_refused(mounted: TwoNodes, node: str) -> None:
    for hook in ("files", "vhost", "cron"):
        for words in ((node, "n2"), ("n1", node)):
            said = mounted.ends(NEVER, hook, "copy", SITE, *words)
            assert "no name or address of a node" in said


@pytest.mark.parametrize("words", [(), ("copy",), ("copy", SITE, "n1"), ("x", SITE, "n1", "n2")])
def test_other_words_are_told_how_it_is_called(mounted: TwoNodes, words: tuple[str, ...]) -> None:
    for hook in ("files", "database", "vhost", "cron"):
        assert "usage: " in mounted.ends(NEVER, hook, *words)


def test_a_node_that_does_not_answer_is_not_now(by_ssh: str, mounted: TwoNodes) -> None:
    fill(mounted)
    mounted.reached = f"{by_ssh}\nSSH+=(-o ControlMaster=no -o ControlPath=none -p 1)\n"
    mounted.set()
    for words in (("copy", SITE, "n1", "n2"), ("remove", SITE, "n1", "n2")):
        mounted.ends(NOT_NOW, "files", *words)
    assert mounted.site("n1")


def test_while_an_earlier_command_is_still_at_work_none_begins(mounted: TwoNodes) -> None:
    fill(mounted)
    mounted.set("LOCKED=(flock --nonblock --conflict-exit-code 75)\n")
    lock = mounted.at("n2", f"lock-{SITE}")
    with subprocess.Popen(
        ["flock", lock, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin
        assert other.stdout
        other.stdin.write(b"x\n")
        other.stdin.flush()
        # It says something once it has the lock.
        assert other.stdout.readline()
        mounted.ends(NOT_NOW, "files", "copy", SITE, "n1", "n2")
        assert mounted.site("n2") == {}
        other.stdin.close()
    mounted.ends(0, "files", "copy", SITE, "n1", "n2")
    assert mounted.site("n2") == mounted.site("n1")
