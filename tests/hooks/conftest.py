"""Two nodes and private servers, for the tests of deploy/hooks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hooks import servers
from tests.hooks.servers import Database, program
from tests.hooks.two_nodes import MOUNTED, TwoNodes


@pytest.fixture(scope="session")
def by_ssh() -> Iterator[str]:
    # Paths of sockets hold about a hundred characters.
    with (
        tempfile.TemporaryDirectory(prefix="flex-ssh-") as name,
        servers.sshd(Path(name) / "ssh") as settings,
    ):
        yield settings


@pytest.fixture(params=["mounted", "ssh"])
def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> TwoNodes:
    program("rsync", "rsync")
    is_mounted = request.param == "mounted"
    reached = MOUNTED if is_mounted else request.getfixturevalue("by_ssh")
    return TwoNodes(tmp_path, reached).begin()


@pytest.fixture
def mounted(tmp_path: Path) -> TwoNodes:
    program("rsync", "rsync")
    return TwoNodes(tmp_path).begin()


@pytest.fixture(scope="session")
def databases() -> Iterator[dict[str, Database]]:
    """One for each node. The old one writes a binary log by rows."""
    with tempfile.TemporaryDirectory(prefix="flex-db-") as name:
        folder = Path(name)
        for node in ("n1", "n2"):
            (folder / node).mkdir()
        empty = servers.empty_database(folder)
        log = ("--log-bin", "--binlog-format=ROW", "--server-id=1")
        with (
            servers.database(folder / "n1", empty, *log) as old,
            servers.database(folder / "n2", empty, "--server-id=2") as new,
        ):
            yield {"n1": old, "n2": new}
