"""A night that a timer runs is nobody's, one that a person runs is that person's."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flex_api.cli import is_started_by_timer
from flex_api.cli.common import author
from flex_api.cli.is_started_by_timer import NOBODY, is_started_by_cron

FLEX, ROOT, ANNA = 990, 0, 1000
JOB, SHELL, CHILD, DAEMON = 40, 30, 20, 10


def process(
    proc: Path,
    pid: int,
    name: str,
    parent: int,
    user: int = FLEX,
    *,
    terminal: int = 0,
    signed_in: int = NOBODY,
) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "stat").write_text(
        f"{pid} ({name}) S {parent} {pid} {pid} {terminal} -1 4194304 102 0\n"
    )
    (folder / "status").write_text(f"Name:\t{name}\nUid:\t{user}\t{user}\t{user}\t{user}\n")
    (folder / "loginuid").write_text(str(signed_in))


def above(proc: Path, name: str, user: int = ROOT) -> None:
    """As Debian's cron runs a line of a crontab: a child of the daemon, a shell, the command."""
    process(proc, 1, "init", 0, ROOT)
    process(proc, DAEMON, name, 1, user)
    process(proc, CHILD, name, DAEMON, user)
    process(proc, SHELL, "sh", CHILD)


@pytest.mark.parametrize("name", ["cron", "crond", "anacron"])
@pytest.mark.parametrize("signed_in", [NOBODY, ROOT, FLEX])
def test_what_cron_runs_is_nobodys(tmp_path: Path, name: str, signed_in: int) -> None:
    above(tmp_path, name)
    process(tmp_path, JOB, "flex) (run", SHELL, signed_in=signed_in)
    assert is_started_by_cron(tmp_path, JOB)


def test_what_a_shell_runs_is_somebodys(tmp_path: Path) -> None:
    above(tmp_path, "sshd")
    process(tmp_path, JOB, "flex", SHELL)
    assert not is_started_by_cron(tmp_path, JOB)


def test_who_signed_in_and_became_the_account_is_a_person_whatever_is_above(tmp_path: Path) -> None:
    above(tmp_path, "cron")
    process(tmp_path, JOB, "flex", SHELL, signed_in=ANNA)
    assert not is_started_by_cron(tmp_path, JOB)


@pytest.mark.parametrize("person", ["root", "daemon"])
def test_who_signed_in_is_the_author_whoever_the_command_runs_as(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, person: str
) -> None:
    """sudo and runuser change the account, and not who signed in."""
    user = pwd.getpwnam(person).pw_uid
    process(tmp_path, os.getpid(), "flex", 1, signed_in=user)
    monkeypatch.setattr(is_started_by_timer, "PROC", tmp_path)
    assert author() == person


def test_where_nobody_signed_in_the_account_is_the_author(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process(tmp_path, os.getpid(), "flex", 1)
    monkeypatch.setattr(is_started_by_timer, "PROC", tmp_path)
    assert author() == pwd.getpwuid(os.getuid()).pw_name


def test_who_has_a_terminal_is_a_person(tmp_path: Path) -> None:
    above(tmp_path, "cron")
    process(tmp_path, JOB, "flex", SHELL, terminal=34816)
    assert not is_started_by_cron(tmp_path, JOB)


def test_a_cron_of_ones_own_is_no_timer(tmp_path: Path) -> None:
    above(tmp_path, "cron", ANNA)
    process(tmp_path, JOB, "flex", SHELL)
    assert not is_started_by_cron(tmp_path, JOB)


def test_what_is_called_cron_itself_is_not_run_by_it(tmp_path: Path) -> None:
    process(tmp_path, 1, "init", 0, ROOT)
    process(tmp_path, JOB, "cron", 1, ROOT)
    assert not is_started_by_cron(tmp_path, JOB)


def test_where_others_cannot_be_seen_a_person_is_taken_to_have_started_it(tmp_path: Path) -> None:
    process(tmp_path, JOB, "flex", SHELL)
    assert not is_started_by_cron(tmp_path, JOB)
    assert not is_started_by_cron(tmp_path, SHELL)


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="cron runs as root")
def test_the_kernel_says_so_of_real_processes(tmp_path: Path) -> None:
    """A shell under the name of cron stands for it: jobs of cron are children of children of it,
    without a terminal.
    """
    question = (
        "import os; from flex_api.cli.is_started_by_timer import PROC, is_started_by_cron;"
        "print(is_started_by_cron(PROC, os.getpid()))"
    )
    said = {}
    for name in ("cron", "other"):
        shell = tmp_path / name
        shutil.copy("/bin/sh", shell)
        done = subprocess.run(
            [
                shell,
                "-c",
                '/bin/sh -c \'"$@"; true\' sh "$@"; true',
                "sh",
                sys.executable,
                "-c",
                question,
            ],
            check=True,
            capture_output=True,
            text=True,
            start_new_session=True,
        )
        said[name] = done.stdout.strip()
    assert said == {"cron": "True", "other": "False"}
