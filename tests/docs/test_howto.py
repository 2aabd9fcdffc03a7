"""Each command of the README and of the how-to pages does what its page says, in the order of the
page, on a demo whose name server runs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flex_api.demo import ZONE
from flex_api.settings.file import load
from flex_dns.private.private_named import PrivateNamed
from flex_dns.wire.key import read_key
from tests.api.conftest import passable
from tests.docs.commands import Shown, shown
from tests.docs.pages import pages, read_by_people

pytestmark = [pytest.mark.real, pytest.mark.torture]

PAGES = [name for name in pages() if name.startswith("docs/howto/")]
PAGES = [*sorted(PAGES), "README.md"]
# Seconds, far beyond what one command takes on a busy machine.
PATIENCE = 300
# A site of the demo for the one that pages speak of.
NAMES = {"shop.example.org": "fir-tours.hosting.example"}
PLAN = re.compile(r"\b\d{8}T\d{4}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ")

# Why a command is not run here, by its first words.
NOT_RUN = {
    "onboard": "it reads what this machine hosts; tests/api/test_onboard.py runs it",
    "route apply": "it runs on a node with HAProxy; tests/routing runs it",
    "route follow": "it runs on a node with HAProxy until it is ended; tests/routing runs it",
    "route config n1 --to": "it runs on a node with HAProxy; tests/routing runs it",
    "route deliver": "it needs a folder for each node; tests/routing runs it",
    "import": "it takes parcels that nodes made; tests/api/test_logs.py runs it",
    "-q ingest --partials-only": "it runs beside the logs; tests/api/test_later.py runs it",
    "apply --resume": "one of three ways out; tests/api/test_on_the_way.py runs them",
    "apply --undo": "one of three ways out; tests/api/test_on_the_way.py runs them",
    "apply --abandon": "one of three ways out; tests/api/test_on_the_way.py runs them",
    "route show --live": "it asks a HAProxy that is at work; tests/routing runs it",
    "wishes diff": "it reads what another wrote; tests/api/test_wishes_as_a_file.py runs it",
    "wishes apply": "as wishes diff",
    "dns takeover": "this installation holds its zones itself; tests/api/test_takeover.py runs it",
}


# Folders of a machine that pages name, and what the demo has in their place.
FOLDERS = {"/etc/flex": "etc", "/var/log/apache2": "logs"}


@dataclass(frozen=True, slots=True)
class Demo:
    """Two nights old, with its name server at work again."""

    folder: Path
    reader: dict[str, str]

    def flex(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from flex_api.cli import main; main()", *words],
            cwd=self.folder,
            env=self.reader,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[Path, Path]]:
    """Where the demo is, and a copy of it as it was."""
    with passable() as folder:
        place, kept = folder / "demo", folder / "kept"
        words = ["demo", "--dir", str(place)]
        done = Demo(folder, dict(os.environ)).flex(words)
        assert done.returncode == 0, done.stderr
        # Its name server is at work again.
        settings = place / "flex.toml"
        text = settings.read_text(encoding="utf-8").replace("zones = []", f'zones = ["{ZONE}"]')
        settings.write_text(text, encoding="utf-8")
        copy(place, kept)
        yield place, kept


@pytest.fixture
def demo(made: tuple[Path, Path]) -> Iterator[Demo]:
    place, kept = made
    shutil.rmtree(place)
    copy(kept, place)
    reader = {**os.environ, "FLEX_CONFIG": f"{place}/flex.toml", "NO_COLOR": "1"}
    with name_server(place):
        yield Demo(place, reader)


def copy(place: Path, other: Path) -> None:
    """With the owners of all files: run by root, the name server is another user."""
    subprocess.run(["cp", "-a", str(place), str(other)], check=True)


@contextmanager
def name_server(place: Path) -> Iterator[None]:
    """The one of the demo, with what it was told then."""
    settings = load(place / "flex.toml")
    assert settings.dns.key_file
    key = read_key(settings.dns.key_file)
    zones = settings.dns.every_zone
    named = PrivateNamed(place / "named", zones, key, port=settings.dns.port)
    # By this word it knows its own server, which the demo's configuration says.
    (named._nonce,) = re.findall(
        r'version "(\w+)"', (place / "named" / "named.conf").read_text(encoding="utf-8")
    )
    named.start()
    try:
        yield
    finally:
        named.stop()


def commands(page: str) -> list[Shown]:
    """Those that a reader copies."""
    return [one for one in shown(read_by_people()[page]) if one.is_whole]


def words_of(command: Shown) -> tuple[str, ...]:
    """Without the settings that it names: the demo's are used."""
    return command.words[2:] if command.words[0] == "--config" else command.words


def is_run(command: Shown) -> bool:
    words = " ".join(words_of(command))
    return not any(words.startswith(first) for first in NOT_RUN)


def as_in_demo(word: str, page: str, earlier: str) -> str:
    """With the demo's names, times that are to come, and the id of its `earlier` plan."""
    times = [_moment(found) for found in TIME.findall(read_by_people()[page])]
    later = datetime.now(UTC) + timedelta(days=1) - min(times) if times else timedelta()
    for shown_name, name in NAMES.items():
        word = word.replace(shown_name, name)
    word = PLAN.sub(earlier, word)
    return TIME.sub(lambda found: f"{_moment(found[0]) + later:%Y-%m-%dT%H:%MZ}", word)


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)


@pytest.mark.parametrize("page", PAGES)
def test_each_command_of_a_page_does_what_the_page_says(page: str, demo: Demo) -> None:
    plans = json.loads(demo.flex(["-o", "json", "plan", "list"]).stdout)["items"]
    earlier = min(plan["id"] for plan in plans)
    for command in filter(is_run, commands(page)):
        words = [as_in_demo(word, page, earlier) for word in words_of(command)]
        for shown_folder, its in FOLDERS.items():
            words = [word.replace(shown_folder, f"{demo.folder}/{its}") for word in words]
        done = demo.flex(words)
        assert done.returncode == 0, (str(command), done.stdout, done.stderr)


def test_what_is_not_run_is_on_a_page() -> None:
    """Nothing is left out that nobody shows."""
    shown_there = [" ".join(words_of(one)) for page in PAGES for one in commands(page)]
    assert [
        first for first in NOT_RUN if not any(words.startswith(first) for words in shown_there)
    ] == []
