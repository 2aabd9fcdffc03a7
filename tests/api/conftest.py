"""A small made-up cluster in a folder of its own, on a private BIND, driven through the command
line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeVar

import dns.message
import dns.query
import numpy as np
import pytest

from flex.sim import made_up_cluster, made_up_logs
from flex.sim.made_up_cluster import Hosting, Shape
from flex_api import cli
from flex_dns.private.private_named import PrivateNamed
from flex_dns.wire.key import Key, make_key
from tests.api.beginnings import Home
from tests.migrated import new_database

NODES = ("n1", "n2", "n3")
DAY = date(2026, 3, 2)
# Each test finds this one as if nobody had been there before.
HOME = "home.example."
ZONES = tuple(f"z{number}.example." for number in range(8))
# In this zone a site may be called as the zone is.
OWN_NAME = "own.example."
Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Said:
    """What a call of the command line gave back."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Any: what JSON holds."""
        return json.loads(self.out)


@dataclass(slots=True)
class Installation:
    """A folder with settings, key and logs, for one zone of the private name server."""

    folder: Path
    zone: str
    server: PrivateNamed
    # None where what it says is nobody's: for a whole module nothing is captured.
    capture: pytest.CaptureFixture[str] | None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))
    hosting: Hosting | None = None
    mode: str = "auto"
    extra: str = ""
    calls: int = 0
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    # None where folder and zone are this one's alone.
    home: Home | None = None

    @property
    def settings(self) -> Path:
        return self.folder / "flex.toml"

    def as_of(self, nights: int = 1) -> str:
        """In the night after that day, and later each time: no two calls are made at one moment."""
        self.calls += 1
        return f"{DAY + timedelta(days=nights)}T02:{17 + self.calls // 60:02}:{self.calls % 60:02}"

    def flex(self, *arguments: str) -> Said:
        """In this process: the same entry as the program's, without a second of start-up."""
        if self.capture is None:
            return Said(cli.run(["--config", str(self.settings), *arguments]), "", "")
        self.capture.readouterr()
        code = cli.run(["--config", str(self.settings), *arguments])
        captured = self.capture.readouterr()
        return Said(code, captured.out, captured.err)

    def night(self, number: int = 1, *arguments: str) -> Said:
        return self.flex("-o", "json", "run", "--as-of", self.as_of(number), *arguments)

    def run(self, number: int = 1) -> Said:
        """The same for people."""
        return self.flex("run", "--as-of", self.as_of(number))

    def once(self, steps: Callable[[Installation], Given]) -> Given:
        """Where these steps lead. They are gone once; from then on what they left is put back."""
        return steps(self) if self.home is None else self.home.begin(self, steps)

    def first_day(self) -> None:
        """As `traffic`."""
        self.once(_first_day)

    def first_night(self) -> None:
        """As `night`, where a test is about what comes then."""
        assert self.once(_first_night) == 0

    def read_logs(self) -> None:
        assert self.once(_read_logs) == 0

    def first_plan(self) -> Any:
        """With the logs read. Any: what JSON holds."""
        return self.once(_first_plan)

    def process(self, *arguments: str) -> subprocess.Popen[str]:
        """The program itself, to be killed."""
        command = [
            sys.executable,
            "-c",
            "from flex_api.cli import main; main()",
            "--config",
            str(self.settings),
        ]
        process = subprocess.Popen(
            [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        return process

    def close(self) -> None:
        """What a test that failed left behind."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    def traffic(self, number: int = 1, requests: int = 3_000) -> None:
        """A further day of logs."""
        day = DAY + timedelta(days=number - 1)
        assert self.hosting is not None
        accesses = made_up_cluster.night(self.hosting, day, requests, self.rng)
        sources = made_up_logs.write(self.folder / "logs", self.hosting, accesses, NODES, self.rng)
        globs = "".join(
            f'[[ingest.source]]\nglob = "{source.glob}"\nnode = "{source.node}"\n'
            + (f'site = "{source.site}"\n' if source.site else "")
            for source in sources
        )
        (self.folder / "sources").write_text(globs, encoding="utf-8")
        self.write_settings()

    def write_settings(self) -> None:
        assert self.hosting is not None
        nodes = "".join(
            f'[[node]]\nname = "{name}"\naddresses = ["192.0.2.{number}"]\nram = "8 MiB"\n'
            for number, name in enumerate(NODES, start=1)
        )
        aliases = "".join(
            f'"{other}" = "{site}"\n' for other, site in made_up_logs.aliases(self.hosting).items()
        )
        (self.folder / "sites").write_text("\n".join(self.hosting.sites) + "\n", encoding="utf-8")
        self.settings.write_text(
            f'schema = 1\n{nodes}[cluster]\nname = "test"\nmode = "{self.mode}"\n'
            "[solver]\ntolerance = 0.15\n[safety]\ntrigger_imbalance = 0.2\nmin_improvement = 0.0\n"
            f'[dns]\nport = {self.server.port}\nkey_file = "flex.key"\nzones = '
            f'["{self.zone}"]\ntimeout = "2s"\n'
            f'[ingest]\nsites_file = "sites"\n{(self.folder / "sources").read_text()}'
            f"[ingest.aliases]\n{aliases}{self.extra}",
            encoding="utf-8",
        )

    def serial(self) -> int:
        answer = self.ask(self.zone, "SOA")
        return int(answer.answer[0][0].serial)

    def addresses(self, site: str) -> list[str]:
        return sorted(str(value) for rrset in self.ask(site, "A").answer for value in rrset)

    def ask(self, name: str, kind: str) -> dns.message.Message:
        return dns.query.tcp(
            dns.message.make_query(name, kind), "127.0.0.1", port=self.server.port, timeout=60
        )


@pytest.fixture(scope="session")
def key() -> Key:
    return make_key("flex-update")


@contextmanager
def passable() -> Iterator[Path]:
    """A folder that other users can pass through. Run by root, a private name server is another
    user; and every other pytest that starts meanwhile closes the folder that all of them share.
    """
    with tempfile.TemporaryDirectory(prefix="flex-test-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with passable() as folder:
        yield folder


@pytest.fixture(scope="session")
def named(key: Key) -> Iterator[PrivateNamed]:
    with (
        passable() as folder,
        PrivateNamed(
            folder / "data", (HOME, OWN_NAME, *ZONES), key, own_names=[OWN_NAME]
        ) as server,
    ):
        yield server


@pytest.fixture(scope="session")
def free_zones() -> Iterator[str]:
    return iter(ZONES)


def _first_night(installation: Installation) -> int:
    return installation.night().code


def _read_logs(installation: Installation) -> int:
    return installation.flex("ingest").code


def _first_plan(installation: Installation) -> Any:
    installation.read_logs()
    return installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json


def _first_day(installation: Installation) -> None:
    installation.traffic()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, named: PrivateNamed) -> Iterator[Home]:
    with tempfile.TemporaryDirectory(prefix="flex-beginnings-") as aside:
        folder = tmp_path_factory.mktemp("home")
        yield Home(folder / "flex", Path(aside), HOME, named)


@pytest.fixture
def empty(
    home: Home, named: PrivateNamed, key: Key, capsys: pytest.CaptureFixture[str]
) -> Iterator[Installation]:
    """Settings, key and database, and no log yet."""
    with closing(new_at(home, named, key, capsys)) as made:
        yield made


def new_at(
    home: Home, named: PrivateNamed, key: Key, capture: pytest.CaptureFixture[str] | None
) -> Installation:
    home.clear()
    made = new(home.folder, named, key, home.zone, capture)
    made.home = home
    return made


def new(
    folder: Path,
    named: PrivateNamed,
    key: Key,
    zone: str,
    capture: pytest.CaptureFixture[str] | None,
) -> Installation:
    made = Installation(folder, zone, named, capture)
    made.hosting = made_up_cluster.hosting(
        made.rng, made.zone, Shape(sites=24, files_per_site=12, site_skew=0.6)
    )
    key_file = folder / "flex.key"
    key_file.touch(mode=0o600)
    key_file.write_text(key.clause(), encoding="utf-8")
    (folder / "sources").write_text("", encoding="utf-8")
    made.write_settings()
    new_database(folder / "flex.db")
    return made


@pytest.fixture
def installation(empty: Installation) -> Installation:
    """With a day of logs."""
    empty.first_day()
    return empty
