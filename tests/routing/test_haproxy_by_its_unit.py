"""HAProxy as the unit of its Debian package starts it: it reads FLEX's file, answers visitors as a
user without rights who sees nothing of the machine, and follows orders all the same.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from flex.errors import Away
from flex.routing.haproxy import CONFIGURATION
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.haproxy_socket import Socket
from tests.api.conftest import passable
from tests.migrated import new_database
from tests.routing.conftest import Members
from tests.routing.following import Following
from tests.routing.test_following import AWAY, HOME, SITE

pytestmark = pytest.mark.real

UNIT = Path("/usr/lib/systemd/system/haproxy.service")
USER, ROOT = "haproxy", Path("/var/lib/haproxy")
# Looks at a HAProxy that begins, and seconds between two.
LOOKS, PAUSE = 1200, 0.05


def of_unit(key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text(), re.MULTILINE)


def command(**given: str) -> list[str]:
    """Its own, with what a file of the environment says in place of the unit's own words."""
    [line] = of_unit("ExecStart")
    said = dict(word.split("=", 1) for text in of_unit("Environment") for word in shlex.split(text))
    for name, value in {**said, **given}.items():
        line = line.replace(f"${name}", value)
    return shlex.split(line)


class ByUnit(Following):
    """With another file in front of FLEX's, where somebody else has one."""

    other = ""

    def write_settings(self, node: str) -> None:
        super().write_settings(node)
        with (self.folder / node / "flex.toml").open("a") as settings:
            settings.write(f'run_as = "{USER}"\nchroot = "{ROOT}"\n')

    def start_haproxy(self, node: str) -> None:
        here = self.here(node)
        ours, extra = str(here / CONFIGURATION), f"-S {here}/m"
        if self.other:
            theirs = here.parent / "theirs.cfg"
            theirs.write_text(self.other)
            extra, ours = f"{extra} -f {ours}", str(theirs)
        line = command(CONFIG=ours, PIDFILE=str(here / "pid"), EXTRAOPTS=extra)
        opened = self.haproxies[node] = self.stack.enter_context(ExitStack())
        opened.enter_context(self._started(line, node))

    @contextmanager
    def _started(self, line: list[str], node: str) -> Iterator[None]:
        process = subprocess.Popen(
            line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            for _ in range(LOOKS):
                ended = process.poll()
                assert ended is None, process.communicate()[1]
                with socket.socket() as probe:
                    if not probe.connect_ex((self.members.addresses[node], self.port)):
                        break
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PAUSE)
            else:
                raise AssertionError(f"the HAProxy of {node} did not listen")
            yield
        finally:
            process.terminate()
            process.communicate(timeout=60)

    def worker(self, node: str) -> int:
        told = Socket(str(self.here(node) / "m"), 30.0).ask("show", "proc")
        [found] = re.findall(r"^(\d+)\s+worker", told.partition("# old")[0], re.MULTILINE)
        return int(found)

    def next_worker(self, node: str, before: int) -> int:
        """A master that reloads answers nobody for a moment."""
        for _ in range(LOOKS):
            with suppress(Away):
                if (after := self.worker(node)) != before:
                    return after
            time.sleep(PAUSE)
        raise AssertionError(f"the HAProxy of {node} did not reload")


def is_unprivileged(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    [uids] = re.findall(r"^Uid:\s+(.*)$", status, re.MULTILINE)
    [rights] = re.findall(r"^CapEff:\s+(.*)$", status, re.MULTILINE)
    sees = Path(f"/proc/{pid}/root").readlink()
    own = str(pwd.getpwnam(USER).pw_uid)
    return (set(uids.split()), int(rights, 16), sees) == ({own}, 0, ROOT)


@pytest.fixture
def can_be_started() -> None:
    """By root, who alone may become somebody else, where the package is installed."""
    if os.geteuid() or not UNIT.is_file() or not ROOT.is_dir() or not shutil.which("haproxy"):
        pytest.skip("this takes root, and HAProxy's Debian package")


THEIRS = """global
    maxconn 500
    user haproxy
    group haproxy
    chroot /var/lib/haproxy
defaults
    mode tcp
    timeout connect 1s
    timeout client 1s
    timeout server 1s
"""


@pytest.mark.slow
@pytest.mark.usefixtures("can_be_started")
@pytest.mark.parametrize("other", ["", THEIRS], ids=["alone", "behind another file"])
def test_it_answers_and_follows_without_rights(
    found: HaproxyProgram, members: Members, other: str
) -> None:
    with ExitStack() as stack, passable() as folder:
        url = new_database(folder / "flex.db")
        made = ByUnit(folder, found, members, stack, url)
        made.other = other
        made.begin(HOME)
        made.until_all_go_by(1)
        for node in made.nodes:
            assert is_unprivileged(made.worker(node))
        assert [made.answers(node, SITE) for node in made.nodes] == ["n0", "n0"]
        order = made.flip(AWAY)
        made.until_all_go_by(order.number)
        assert [made.answers(node, SITE) for node in made.nodes] == ["n1", "n1"]

        # A reload makes another worker, which has no more rights.
        before = made.worker("n0")
        Socket(str(made.here("n0") / "m"), 60.0).ask("reload")
        after = made.next_worker("n0", before)
        assert is_unprivileged(after)
        assert made.answers("n0", SITE) == "n1"
