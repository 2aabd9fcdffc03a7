"""How fast updates are beside nsupdate, on a real primary and secondary, in one run and in turns.

Takes SCALE and ROUNDS from the environment; `SCALE=0.01 ROUNDS=1` only shows that it runs. Returns
figures. A ratio compares two measurements of one round; the figure is the median over the rounds.
"""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import dns.message

from bench.dns.failover import failover_figures
from bench.dns.rig import CLAIM, OLD, ZONE, Rig, rig
from bench.figures import Figures
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex_api.cli import COLLECTED_AFTER
from flex_dns.checks.settling import UNHEARD, nudged
from flex_dns.private.private_named import PrivateNamed
from flex_dns.update import change_messages, message_pipeline
from flex_dns.update.change_messages import Message
from flex_dns.wire import messages as wire

# Share of the full sizes.
SCALE = float(os.environ.get("SCALE", "1"))
# How often each figure is taken; the median counts.
ROUNDS = int(os.environ.get("ROUNDS", "3"))
# Changes in one message of nsupdate: what it is quickest with, on one machine or another.
BATCHES = (250, 500)
# Seconds until a secondary counts as lost. A guess.
PATIENCE = 300.0
# Seconds between one look at a secondary that is behind and the next.
LOOK_SECONDS = 0.005
# Seconds of one tick, in which the system counts the processor's time.
TICK = 1 / os.sysconf("SC_CLK_TCK")
# Reads the zone as FLEX does, in a process of its own; says the seconds and the most memory it
# took.
READING = """
import re, sys, time
from pathlib import Path
from flex_dns.zone import reading
from flex_dns.wire.zone_contents import Asked
from flex_dns.wire.key import read_key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
port, key, zone, size = sys.argv[1:]
asked = Asked(zone, [f"site-{number}.{zone}" for number in range(int(size))])
server = Server("127.0.0.1", int(port), read_key(Path(key)))
started = time.perf_counter()
with Session(server) as session:
    sets = reading.read(session, server, zone, asked).sets
    assert sum(kind == "A" for _, kind in sets) == int(size)
took = time.perf_counter() - started
# Unlike getrusage's, this peak is not that of the process we were forked from.
print(took, int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024)
"""

# Asks a server for a name now and then, until its input ends; says how long each answer took. In a
# process of its own, or it would wait for the one that sends the changes. Each question comes from
# a port of its own, as resolvers' do: by that named chooses the thread that answers, and one of
# them is busy with the change.
ASKING = """
import random, select, socket, sys, time
zone = b"".join(bytes((len(label),)) + label for label in sys.argv[2].encode().split(b"."))
while True:
    with socket.socket(type=socket.SOCK_DGRAM) as asked:
        asked.connect(("127.0.0.1", int(sys.argv[1])))
        asked.settimeout(5)
        name = b"site-%d" % random.randrange(20)
        head = random.randbytes(2) + bytes((0, 0, 0, 1, 0, 0, 0, 0, 0, 0, len(name)))
        started = time.perf_counter()
        asked.send(head + name + zone + bytes((0, 1, 0, 1)))
        asked.recv(512)
        print(time.perf_counter() - started)
    if select.select([sys.stdin], [], [], 0.02)[0]:
        break
"""


def measure() -> Figures:
    # The whole run is measured in this process: it collects as the command line does.
    gc.set_threshold(COLLECTED_AFTER)
    figures: Figures = {"rounds": ROUNDS, "scale": SCALE, "load_average": os.getloadavg()[0]}
    figures |= _one_zone("10k", _scale(10_000))
    figures |= _one_zone("100k", _scale(100_000))
    figures |= _many_zones(_scale(2000))
    times = [_tell(failover_figures(_scale(10_000))) for _ in range(ROUNDS)]
    return figures | _medians(times)


def _tell(found: dict[str, float], of: str = "") -> dict[str, float]:
    """The same, told as soon as it is known: the whole takes minutes."""
    print(
        f"{of}: " if of else "",
        ", ".join(f"{name} {value:.3g}" for name, value in found.items()),
        sep="",
        flush=True,
    )
    return found


def _medians(rounds: Sequence[dict[str, float]], of: str = "") -> Figures:
    found: Figures = {}
    for name in rounds[0]:
        found[f"{name}{of}"] = median(each[name] for each in rounds)
    return found


def _scale(count: int) -> int:
    return max(int(count * SCALE), 20)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _one_zone(label: str, size: int) -> Figures:
    with rig(size) as one:
        rounds = [_tell(_round(one), label) for _ in range(ROUNDS)]
        found = _medians(rounds, f"_{label}")
        if label == "100k":
            return found | _read(one)
        script = one.script(one.next_zone_plan(_scale(1000)), 1)
        singly = _seconds(lambda: one.nsupdate(script)) * size / _scale(1000)
        return found | {
            "verified_vs_one_send_per_site": singly
            / median(each["verified_seconds"] for each in rounds)
        }


def _round(one: Rig) -> dict[str, float]:
    """Everything once, each time from what the zone says to something else."""
    unchecked = min(_by_nsupdate(one, batch) for batch in BATCHES)
    zone_plan, worked = one.next_zone_plan(), _cpu(one.primary)
    plain = _seconds(lambda: deliver(one.primary, _without_prerequisites(zone_plan)))
    server = _cpu(one.primary) - worked
    zone_plan = one.next_zone_plan()
    with _asking(one.primary) as latencies:
        checked = _seconds(
            lambda: deliver(
                one.primary,
                change_messages.messages(zone_plan.zone, zone_plan.changes, claim=CLAIM),
            )
        )
    whole, lag = _whole(one)
    return {
        "nsupdate_seconds": unchecked,
        "plain_vs_nsupdate": unchecked / plain,
        "plain_at_best": unchecked / max(server, TICK),
        "cas_vs_nsupdate": unchecked / checked,
        "verified_seconds": whole,
        "verified_vs_nsupdate_unchecked": whole / unchecked,
        "secondary_agrees_seconds": lag,
        "query_latency_median_ms": 1000 * median(latencies),
    }


def _cpu(server: PrivateNamed) -> float:
    """The seconds that its threads have worked."""
    behind_the_name = (
        Path(f"/proc/{server.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    )
    return sum(map(int, behind_the_name[11:13])) * TICK


def _by_nsupdate(one: Rig, batch: int) -> float:
    script = one.script(one.next_zone_plan(), batch)
    return _seconds(lambda: one.nsupdate(script))


def deliver(server: PrivateNamed, messages: Iterable[Message], *secondaries: PrivateNamed) -> None:
    """Encoded, signed, sent and acknowledged."""
    every, followers = (list(messages), [secondary.server.address for secondary in secondaries])
    outcomes = list(
        message_pipeline.deliver(server.server, every, time.time, lambda _: None, followers)
    )
    assert [outcome for _, outcome in outcomes] == [0] * len(every)


class _Unchecked(Message):
    """As nsupdate sends them: nobody asks what was there before."""

    def wire(self) -> bytes:
        whole = wire.parts(self.zone, self.changes)
        return wire.body(self.zone, [whole._replace(required=b"", requirements=0)])


def _without_prerequisites(zone_plan: ZonePlan) -> Iterator[Message]:
    for message in change_messages.messages(zone_plan.zone, zone_plan.changes):
        yield _Unchecked(message.zone, message.changes)


def _whole(one: Rig) -> tuple[float, float]:
    """Journal on disk, prerequisites, and every name checked on both servers; and how long the last
    one took.
    """
    # A plan knows the serial of the zone it was made from.
    zone_plan, wanted = (
        replace(one.next_zone_plan(), serial=one.target.read(ZONE, []).serial),
        one.wanted_records(),
    )
    started = time.perf_counter()
    one.target.apply(zone_plan, journal=one.journal())
    verdicts = one.target.verify(zone_plan.zone, wanted, patience=PATIENCE)
    took = time.perf_counter() - started
    assert all(verdict.agrees for verdict in verdicts), verdicts
    return took, max(verdict.lag for verdict in verdicts)


@contextmanager
def _asking(server: PrivateNamed) -> Iterator[list[float]]:
    """Somebody asks the server for a name now and then; how long each answer took, in seconds."""
    latencies: list[float] = []
    command = [sys.executable, "-c", ASKING, str(server.port), ZONE]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield latencies
        said, _ = process.communicate()
        latencies += map(float, said.split())


def _read(one: Rig) -> Figures:
    """A transfer, parsed and checked, beside dig's, whose text is thrown away."""
    dig = ["dig", "@127.0.0.1", "-p", str(one.primary.port), "-k", str(one.key_file), ZONE, "AXFR"]
    ours = [
        sys.executable,
        "-c",
        READING,
        str(one.primary.port),
        str(one.key_file),
        ZONE,
        str(one.size),
    ]
    ratios, peaks = [], []
    for _ in range(ROUNDS):
        theirs = _seconds(lambda: subprocess.run(dig, check=True, stdout=subprocess.DEVNULL))
        said = subprocess.run(ours, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        ratios.append(_tell({"read_vs_dig_100k": float(said[0]) / theirs})["read_vs_dig_100k"])
        peaks.append(float(said[1]))
    return {"read_vs_dig_100k": median(ratios), "read_peak_mib": max(peaks)}


def _many_zones(count: int) -> Figures:
    """Two records in each, one message a zone; and how long after the last answer the secondary has
    the last zone.
    """
    zones = [f"z{number}.example." for number in range(count)]
    with rig(0, zones) as many:
        rounds = []
        for turn in range(ROUNDS):
            first, second = f"192.0.2.{2 * turn + 2}", f"192.0.2.{2 * turn + 3}"
            script = many.script_of([_both(zone, first) for zone in zones])
            theirs = _seconds(partial(many.nsupdate, script))
            _behind(many.secondary, zones, first)
            messages = [
                Message(zone, _both(zone, second, first).changes, claim=CLAIM) for zone in zones
            ]
            worked = _cpu(many.secondary)
            ratio = theirs / _seconds(partial(deliver, many.primary, messages, many.secondary))
            lag = _behind(many.secondary, zones, second)
            ms = 1000 * (_cpu(many.secondary) - worked) / count
            found = {
                "zones2000_vs_nsupdate": ratio,
                "secondary_lag_s": lag,
                "secondary_cpu_ms_a_zone": ms,
            }
            rounds.append(_tell(found))
    return _medians(rounds)


def _both(zone: str, address: str, before: str = OLD) -> ZonePlan:
    return ZonePlan(
        zone,
        tuple(Change(_set(name, before), _set(name, address)) for name in (zone, f"www.{zone}")),
    )


def _set(name: str, address: str) -> Rrset:
    return Rrset(name, "A", 60, (address,))


def _behind(secondary: PrivateNamed, zones: Sequence[str], address: str) -> float:
    """Until the last of the zones says it. The questions are made before the clock starts.

    A zone that is behind for too long is told of once more, as FLEX does: the primary may have lost
    that NOTIFY.
    """
    asked = {number: _question(number, f"www.{zone}") for number, zone in enumerate(zones)}
    wanted, unheard = socket.inet_aton(address), UNHEARD
    with socket.socket(type=socket.SOCK_DGRAM) as secondaries:
        secondaries.connect(secondary.server.address)
        secondaries.settimeout(1.0)
        started = time.perf_counter()
        while asked:
            for number in list(asked):
                secondaries.send(asked[number])
                if wanted not in secondaries.recv(512):
                    if time.perf_counter() - started > unheard:
                        unheard *= 2
                        _tell(
                            {
                                "told_again": nudged(
                                    secondary.server.address, zones[number], secondary.key, 1.0
                                )
                            }
                        )
                    # Who asks all the time keeps the secondary from what it is asked for.
                    time.sleep(LOOK_SECONDS)
                    break
                del asked[number]
        return time.perf_counter() - started


def _question(number: int, name: str) -> bytes:
    query = dns.message.make_query(name, "A", flags=0)
    query.id = number
    return query.to_wire()
