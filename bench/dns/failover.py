"""How long a failover takes: a node that serves all of 10,000 sites dies, and its last address has
to be gone from both servers.

Takes a number of sites. Returns two times. One is that of the whole command `flex nodes down`, from
the start of its process until it says that both servers agree. The other is that of the health
watch in a running process, from the moment it calls the node dead. Four of five sites have a second
node; the others get a new one.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pandas as pd

from bench.dns.rig import OWNER, ZONE, Rig, plan, rig
from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.period import Period
from flex.model.zone_plan import ZonePlan
from flex.store import migrate, open_store
from flex.zones.marker import marker_name, marker_text

NODES = {f"n{number}": f"192.0.2.{number}" for number in range(1, 5)}
COMMAND = "from flex_api.cli import main; main()"
# Each fifth site has no second node. A guess.
ALONE = 5
# The last of the rounds after which a node is dead, in a process that has loaded all it needs, as
# `flex serve` has.
WATCH = """
import sys, time
from datetime import UTC, datetime
from pathlib import Path
import pandas as pd
from flex_api import wiring
from flex_api.night.health_watch import Watch
from flex_api.settings import file
settings = file.load(Path(sys.argv[1]))
pd.DataFrame()
watch = Watch(
    wiring.world(
        settings,
        lambda: datetime.now(UTC),
        say=lambda line: print(line, file=sys.stderr),
    ),
    lambda nodes: {node.name: [node.name != "n1"] for node in nodes},
)
for _ in range(settings.watch.fails - 1):
    watch.round()
started = time.perf_counter()
watch.round()
print(time.perf_counter() - started)
"""


def failover_figures(size: int) -> dict[str, float]:
    """`failover_10000_s`, with the processor time of that process, and
    `failover_watched_10000_s`.
    """
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as bytecode:
        installed = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        # Whatever the command loads is compiled when FLEX is installed.
        _command(10, installed)
        took, worked = _command(size, installed)
        return {
            "failover_10000_s": took,
            "failover_cpu_10000_s": worked,
            "failover_watched_10000_s": _watch(size, installed),
        }


def _command(size: int, environment: Mapping[str, str]) -> tuple[float, float]:
    """The seconds of the whole command, and those its process worked."""
    with _serve(size) as one:
        command = [
            sys.executable,
            "-c",
            COMMAND,
            "--config",
            str(one.folder / "flex.toml"),
            "nodes",
            "down",
            "n1",
        ]
        before, started = (resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter())
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        took, after = (time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN))
        return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _watch(size: int, environment: Mapping[str, str]) -> float:
    with _serve(size) as one:
        command = [sys.executable, "-c", WATCH, str(one.folder / "flex.toml")]
        return float(
            subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment
            ).stdout
        )


@contextmanager
def _serve(size: int) -> Iterator[Rig]:
    """Every site in DNS and in the database; and none of them leads to the node that died when this
    ends.
    """
    sites = [f"site-{number}.{ZONE}".rstrip(".") for number in range(size)]
    with rig(0, records={ZONE: "".join(_records(sites))}) as one:
        _settle(one, sites)
        yield one
        assert not any(_names_left(one, sites)), "no address of the dead node is left anywhere"


def _homes(number: int) -> list[str]:
    return ["n1"] if number % ALONE == 0 else ["n1", f"n{number % 3 + 2}"]


def _records(sites: list[str]) -> Iterator[str]:
    for number, site in enumerate(sites):
        yield f'{marker_name(f"{site}.", ZONE)} 300 TXT "{marker_text(OWNER)}"\n'
        yield from (f"{site}. 300 A {NODES[node]}\n" for node in _homes(number))


def _settle(one: Rig, sites: list[str]) -> None:
    """A store in which that placement is in force, and settings."""
    now = datetime.now(UTC)
    period = Period.days_before(now, 1)
    rows = [(site, node) for number, site in enumerate(sites) for node in _homes(number)]
    placement = PLACEMENT.make(pd.DataFrame(rows, columns=["site", "node"]))
    loads = [(site, 10**6, 10**6, 1000, 10, 1, 10**5) for site in sites]
    url = f"sqlite:///{one.folder}/flex.db"
    migrate.upgrade(url)
    with open_store(url) as store:
        store.put_profiles(
            period, PROFILES.make(pd.DataFrame(loads, columns=PROFILES.earlier)), SPREADS.empty()
        )
        made = replace(plan(), created=now - timedelta(hours=1), zone_plans=(ZonePlan(ZONE, ()),))
        store.propose(made, placement)
        store.settle(replace(made, state="applied", settled=now), placement)
    nodes = "".join(
        f'[[node]]\nname = "{name}"\naddresses = ["{address}"]\nram = "1 GiB"\n'
        for name, address in NODES.items()
    )
    servers = ", ".join(f'"127.0.0.1:{server.port}"' for server in (one.primary, one.secondary))
    (one.folder / "flex.toml").write_text(
        f'schema = 1\n{nodes}[cluster]\nname = "{OWNER}"\nmode = "auto"\n'
        f'[watch]\nprobes = ["tcp:80"]\n[database]\nurl = "{url}"\n'
        f'[dns]\nport = {one.primary.port}\nkey_file = "key"\nzones = '
        f'["{ZONE}"]\nverify = [{servers}]\n',
        encoding="utf-8",
    )


def _names_left(one: Rig, sites: list[str]) -> Iterator[bool]:
    for server in (one.primary, one.secondary):
        target = replace(one.target, server=server.server)
        yield "192.0.2.1" in set(target.read(ZONE, [f"{site}." for site in sites]).records["value"])
