"""Two nights of a made-up cluster, from log lines to DNS answers, on a name server of its own.

Everything happens below one folder and on loopback. The nights run through the same code as real
ones: the settings are a file, the logs are files, the name server is BIND, the database is SQLite.
With an HAProxy the doors of all nodes are shown behind them (demo_doors.py).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

from flex import native_or_python
from flex.errors import BadInput
from flex.routing.haproxy_program import HaproxyProgram
from flex.sim import made_up_cluster, made_up_logs
from flex.sim.made_up_cluster import Hosting
from flex.sim.made_up_logs import LogSource
from flex.store import migrate
from flex_api import demo_doors, live_demo
from flex_api.facts import core_to_output_models
from flex_api.in_words import amounts, results_in_terminal
from flex_api.night import nightly
from flex_api.report import write_reports
from flex_api.run_nodes_on_loopback import Ports, free_ports
from flex_api.schemas.verbs_output import DemoOutput, NightRow, PlanOutput
from flex_api.settings import file as settings
from flex_api.settings.file import Settings
from flex_api.wiring import Clock, World, world
from flex_dns.private.private_named import PrivateNamed
from flex_dns.wire.key import Key, make_key

ZONE = "hosting.example."
NODES = ("n1", "n2", "n3", "n4")
# The last part of the first node's addresses.
FIRST = 11
LOOPBACKS = tuple(f"127.0.0.{FIRST + number}" for number in range(len(NODES)))
# Bytes of memory of each node: 48 MiB. A guess.
RAM = 48 * 2**20
# Requests of one night. A guess.
REQUESTS = 75_000
# When its nights are.
NIGHT = timedelta(hours=2, minutes=17)

# What a forecast is of, for somebody who sees one for the first time.
PLACEMENTS = {
    "after": "with this plan",
    "before": "left as it was",
    "from scratch": "with a partition from scratch",
    "round robin": "with every node serving every site in turn",
    "best": "at best, were all nodes one machine",
}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DemoStage:
    """What both nights share: where, which name server and key, and how to tell a person."""

    folder: Path
    server: PrivateNamed
    key: Key
    rng: np.random.Generator
    say: Say
    ports: Ports | None = None
    web_port: int = 0

    def addresses(self, number: int) -> tuple[str, ...]:
        """Nodes that are asked something are on this machine."""
        if self.ports or self.web_port:
            return (LOOPBACKS[number],)
        return f"192.0.2.{FIRST + number}", f"2001:db8::{FIRST + number}"


def run(
    folder: Path,
    seed: int,
    say: Say,
    now: datetime,
    haproxy: HaproxyProgram | None = None,
    *,
    stays_up: bool = False,
) -> DemoOutput:
    """The second of its nights is behind the last day before `now`, so that who looks on can plan
    by its logs. One that `stays_up` does so until a signal, with its last night some days before.

    Raises BadInput when the folder holds something already; nothing outside it is touched, but for
    a temporary folder of the HAProxies.
    """
    started = time.monotonic()
    folder = folder.resolve()
    _claim(folder)
    say(f"FLEX demo in {folder}")
    if native_or_python.NATIVE is None:
        say(f"On the Python loops, which are slower: {native_or_python.WHY_NOT}.")
    rng = np.random.default_rng(seed)
    behind = timedelta(days=live_demo.DAYS_BEHIND if stays_up else 0)
    last = (now - behind).astimezone(UTC).date() - timedelta(days=1)
    key = make_key("flex-update")
    say("Starting a private BIND 9 on loopback for the zone hosting.example …")
    with ExitStack() as running:
        ports = running.enter_context(free_ports(LOOPBACKS)) if haproxy else None
        server = running.enter_context(PrivateNamed(folder / "named", [ZONE], key))
        say(
            f"  it answers on 127.0.0.1 port {server.port}; updates are signed with a "
            "key made for it"
        )
        web_port = running.enter_context(free_ports(LOOPBACKS)).visitors if stays_up else 0
        stage = DemoStage(folder, server, key, rng, say, ports, web_port)
        hosting = made_up_cluster.hosting(rng, ZONE)

        def clock() -> datetime:
            return now + timedelta(seconds=time.monotonic() - started)

        first, here = _night(stage, hosting, last - timedelta(days=1), None, clock)
        drifted = made_up_cluster.drift(hosting, rng)
        second, here = _night(stage, drifted, last, here, clock)
        path = write_reports.write(here, here.store.plans(1)[0])
        shown = demo_doors.show(here, haproxy, ports, say) if haproxy and ports else None
        seconds = time.monotonic() - started
        say(_ending(second, seconds))
        if stays_up:
            addresses = dict(zip(NODES, LOOPBACKS, strict=True))
            live_demo.stay(here, drifted, addresses, web_port, server.port, REQUESTS, seed, say)
    _go_on_on_paper(folder / "flex.toml")
    return DemoOutput(
        directory=str(folder),
        report=str(path),
        nights=[first, second],
        seconds=seconds,
        doors=shown,
    )


def _claim(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        used = any(folder.iterdir())
    except OSError as error:
        raise _unusable(folder, str(error.strerror or error)) from error
    if used:
        raise _unusable(folder, "there is something in it")


def _unusable(folder: Path, answer: str) -> BadInput:
    return BadInput(
        f"a demo in {folder}",
        answer,
        kept="nothing was written",
        advice="name a new folder with --dir, or none",
    )


def _night(
    stage: DemoStage, hosting: Hosting, day: date, before: World | None, clock: Clock
) -> tuple[NightRow, World]:
    """A day's traffic under the partition in force, then the night that follows it; now, where it
    is not yet the hour of nights.
    """
    started = time.monotonic()
    stage.say(f"\nA day of traffic, {day:%d %B %Y}")
    sources = _traffic(stage, hosting, day, before)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
    here = _world(stage, hosting, sources, lambda: min(midnight + NIGHT, clock()))
    stage.say("\nThe night after it")
    night = nightly.run(here)
    lines = write_reports.lines(night.files)
    output = core_to_output_models.plan_output(night.plan)
    _tell(stage.say, output, lines, len(night.files))
    return NightRow(plan=output, lines=lines, seconds=time.monotonic() - started), here


def _traffic(
    stage: DemoStage, hosting: Hosting, day: date, before: World | None
) -> tuple[LogSource, ...]:
    accesses = made_up_cluster.night(hosting, day, REQUESTS, stage.rng)
    placement = before.store.placement()[1] if before else None
    sources = made_up_logs.write(
        stage.folder / "logs", hosting, accesses, NODES, stage.rng, placement=placement
    )
    how = (
        "DNS sends each visitor to the site's own node"
        if before
        else "every node serves every site in turn"
    )
    stage.say(
        f"  {REQUESTS:,} requests for {len(hosting.sites)} sites on {len(NODES)} nodes; {how}"
    )
    return sources


def _world(
    stage: DemoStage, hosting: Hosting, sources: tuple[LogSource, ...], clock: Clock
) -> World:
    """The settings written to a file and read back, as an operator's would be."""
    path = stage.folder / "flex.toml"
    path.write_text(_settings(stage, hosting, sources), encoding="utf-8")
    (stage.folder / "sites").write_text("\n".join(hosting.sites) + "\n", encoding="utf-8")
    loaded: Settings = settings.load(path)
    migrate.upgrade(loaded.database.url)
    return replace(world(loaded, clock), say=lambda line: stage.say(f"  {line}"))


def _go_on_on_paper(path: Path) -> None:
    """Who looks on finds settings that work though the name server has ended."""
    text = path.read_text(encoding="utf-8")
    ended = "# The name server of the demo has ended, so plans are on paper.\nzones = []\n"
    path.write_text(text.replace(f'zones = ["{ZONE}"]\n', ended), encoding="utf-8")


def _settings(stage: DemoStage, hosting: Hosting, sources: tuple[LogSource, ...]) -> str:
    key_file = stage.folder / "flex.key"
    if not key_file.exists():
        key_file.touch(mode=0o600)
        key_file.write_text(stage.key.clause(), encoding="utf-8")
    nodes = "".join(
        f'[[node]]\nname = "{name}"\naddresses = {list(stage.addresses(number))}\nram = {RAM}\n\n'
        for number, name in enumerate(NODES)
    )
    globs = "".join(
        f'[[ingest.source]]\nglob = "{source.glob}"\nnode = "{source.node}"\n'
        + (f'site = "{source.site}"\n' if source.site else "")
        + "\n"
        for source in sources
    )
    aliases = "".join(
        f'"{other}" = "{site}"\n' for other, site in made_up_logs.aliases(hosting).items()
    )
    return f"""\
# The settings of the demo, as `flex init` would write them for a real cluster.
schema = 1

[cluster]
name = "demo"
mode = "auto"

[database]
url = "sqlite:///flex.db"

{nodes}[ingest]
directory = "partials"
sites_file = "sites"

{globs}[ingest.aliases]
{aliases}
[dns]
server = "127.0.0.1"
port = {stage.server.port}
key_file = "flex.key"
zones = ["{ZONE}"]

{_routing(stage.ports)}{_watch(stage.web_port)}[report]
dir = "reports"
"""


def _watch(web_port: int) -> str:
    if not web_port:
        return ""
    return f"""\
[watch]
probes = ["http:{web_port}/"]
interval = "1s"
timeout = "1s"
fails = 2

"""


def _routing(ports: Ports | None) -> str:
    if ports is None:
        return ""
    return f"""\
[routing]
on = true
doors = "all"
listen = [":{ports.visitors}"]
origin_port = {ports.origin}
inner_port = {ports.inner}
peers_port = {ports.peers}

"""


def _tell(say: Say, output: PlanOutput, lines: dict[str, int], files: int) -> None:
    say(
        f"  read      {results_in_terminal.lines(lines).rstrip('.')} "
        f"from {amounts.count(files, 'file')}"
    )
    if output.benefit:
        say(f"  verdict   {output.benefit.said}")
    say(f"  plan      {results_in_terminal.moves_text(output)}")
    say(
        f"  balance   worst node {amounts.share(output.after.worst_ratio)} off its fair "
        f"share{_former_share_text(output)}"
    )
    say(f"  DNS       {_dns(output)}")
    for forecast in output.forecasts:
        if forecast.policy == "from scratch" and not output.before:
            # A first partition is one from scratch.
            continue
        placement = PLACEMENTS.get(forecast.policy, forecast.policy)
        miss = amounts.share(forecast.miss_ratio)
        rate = f"{forecast.operations_per_second:,.0f}"
        say(f"  predicted {miss:>5} of requests from disk, {rate:>5} requests a second {placement}")
    moves = [move for move in output.moves if move.source]
    for move in moves[:12]:
        cold = amounts.size(move.cold_bytes)
        say(f"  moved     {move.site}  {move.source} -> {move.target}  {cold} cold  {move.reason}")


def _former_share_text(output: PlanOutput) -> str:
    return f", was {amounts.share(output.before.worst_ratio)}" if output.before else ""


def _dns(output: PlanOutput) -> str:
    types = Counter(
        line.split(" ", 4)[3]
        for zone in output.zones
        for line in zone.changes
        if line.startswith("+")
    )
    addresses = types["A"] + types["AAAA"]
    wrong = sum(1 for verdict in output.verdicts if not verdict.agrees)
    checked = sum(verdict.checked for verdict in output.verdicts)
    answer = (
        "the name server disagrees"
        if wrong
        else f"asked again, the name server agrees on all {checked}"
    )
    markers = f" and {amounts.count(types['TXT'], 'marker')}" if types["TXT"] else ""
    return f"{amounts.count(addresses, 'address set')}{markers} written by signed updates; {answer}"


def _ending(second: NightRow, seconds: float) -> str:
    sites = len({move.site for move in second.plan.moves if move.target})
    return (
        f"\nDone in {seconds:.0f} s: the second night moved {amounts.count(sites, 'site')}; "
        f"a partition from scratch would have moved {second.plan.moves_from_scratch}."
    )
