"""Sites with one writer move while visitors write, and something is killed at a random moment: FLEX
itself, a command that brings content, or a service of a node.

Counts what a hoster must never see: acknowledged writes that are gone or there twice, reads that
are older than what was acknowledged, sites that two nodes answer for, and plans that the next run
neither finishes nor takes back. HISTORIES says how many are tried, SEED which ones. With WATCH,
such as 20s, sites that moved are watched for so long, one of them fails at its new node, and
something is killed while it goes back.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.figures import Figures
from bench.forked_flex import Forked, start
from bench.moving.hosting_cluster import Hosting, base_of, hooks_of, hosting, lacking
from bench.moving.visitors_who_write import Visitors, visitors
from flex.errors import Busy
from flex.model.site_moves import StageRun
from flex.model.wish import Pin

NODES = ("n1", "n2", "n3", "n4")
SITES = int(os.environ.get("SITES", "200"))
HISTORIES = int(os.environ.get("HISTORIES", "100"))
SEED = int(os.environ.get("SEED", "1"))
WATCH = os.environ.get("WATCH", "")
# Sites that move in one history.
MOST_MOVING = 4
# Of so many histories nothing is killed: they say how long one takes.
_WHOLE_EVERY = 10
# The next run, and more where that one is killed too, or something was still away.
_RUNS = 5
_TORN_AGAIN = 0.25
# Seconds in which a command that brings content should have begun.
_UNTIL_HOOK = 2.0
# Seconds until sites that moved are watched, and until that is over.
_UNTIL_WATCHED = 30.0
_UNTIL_NOT_WATCHED = 120.0
# Answers that are well, at most, before a site fails at its new node; what is killed behind that
# is within the time that the way back usually takes.
_WELL_FOR = 3.0
_WAY_BACK = 12.0
# What is killed, and how often of so many.
_VICTIMS = {"flex": 8, "hook": 5, "hook and all": 3, "haproxy": 4, "mariadb": 3}
_VICTIMS |= {"follower": 2, "server": 2, "nginx": 2, "php": 2}


@dataclass(eq=False)
class Found:
    lost: int = 0
    doubled: int = 0
    not_sent: int = 0
    left_behind: int = 0
    two_writers: int = 0
    # Sites whose jobs of cron are at a wrong node, and those whose jobs wait.
    jobs: int = 0
    jobs_off: int = 0
    not_ended: int = 0
    moved: int = 0
    stayed: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    took: list[float] = field(default_factory=list)
    slowest: list[float] = field(default_factory=list)
    slowest_whole: list[float] = field(default_factory=list)
    runs: Counter[int] = field(default_factory=Counter)
    # Sites that failed at their new node: after how many seconds they were back, and why others
    # stayed.
    back: list[float] = field(default_factory=list)
    not_back: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        self.faults.append(text)
        print(text, flush=True)


def measure() -> Figures:
    if missing := lacking():
        return {"torn_moves": f"not measured: {missing}"}
    with hosting(NODES, SITES, watch=WATCH) as made:
        at = made.cluster.ports["visit"]
        doors = {node: (address, at) for node, address in made.cluster.addresses.items()}
        with visitors(doors, made.sites) as people:
            world = Histories(made, people, random.Random(SEED))
            world.begin()
            for number in range(HISTORIES):
                world.play(number)
            return world.figures()


@dataclass(frozen=True, slots=True)
class Ended:
    # Below 0 where it was killed.
    code: int
    said: str


@dataclass(eq=False)
class Histories:
    made: Hosting
    people: Visitors
    chance: random.Random
    found: Found = field(default_factory=Found)

    def begin(self) -> None:
        read = self._run("ingest")
        assert not read.code, read.said
        for site, node in self.made.cluster.owner_of.items():
            self._pin(site, node)

    def play(self, number: int) -> None:
        chance, made = self.chance, self.made
        before = self._in_force()
        moving = chance.sample(made.sites, chance.randint(1, MOST_MOVING))
        target = {
            site: chance.choice([node for node in NODES if node != before[site]]) for site in moving
        }
        for site, node in target.items():
            self._pin(site, node)
        self.people.go_to(moving)
        victim = "" if number % _WHOLE_EVERY == 0 else self._victim()
        planned = self._plan()
        if planned.code:
            self.found.fault(f"{number}: no plan: {planned.said[-500:]}")
            return
        begun = time.monotonic()
        flex = self._begin("apply", json.loads(planned.said)["id"])
        if victim:
            self._kill(victim, flex, target, moving)
        ended = self._end(flex)
        if not victim:
            self.found.took.append(time.monotonic() - begun)
        made.until_serves()
        self._until_ended(number, f"{victim}: {ended.said[-700:]}")
        if WATCH:
            moved = [site for site in moving if self._in_force()[site] == target[site]]
            self._watch(number, moved, before)
        after = self._in_force()
        self._judge(number, moving, after, victim)
        for site in moving:
            if after[site] == target[site]:
                self.found.moved += 1
            else:
                self.found.stayed += 1
                self._pin(site, after[site])
        slowest = float(str(self.people.so_far()["slowest"]))
        (self.found.slowest if victim else self.found.slowest_whole).append(slowest)
        if not (victim or WATCH) and any(after[site] != target[site] for site in moving):
            self.found.fault(
                f"{number}: nothing was killed, and a site stayed: {ended.said[-500:]}"
            )

    def _plan(self) -> Ended:
        """Who led a site back may not have ended yet."""
        end = time.monotonic() + _UNTIL_WATCHED
        while (planned := self._run("plan", "-o", "json")).code == Busy.exit_code:
            if time.monotonic() > end:
                break
        return planned

    def _victim(self) -> str:
        return self.chance.choices([*_VICTIMS], [*_VICTIMS.values()])[0]

    def _kill(
        self, victim: str, flex: Forked, target: dict[str, str], moving: Sequence[str]
    ) -> None:
        time.sleep(self.chance.uniform(0.0, self._usual()))
        self.found.stages[self._stage(moving)] += 1
        self.found.killed[victim] += 1
        if victim == "flex":
            flex.kill()
        elif victim.startswith("hook"):
            self._kill_hook(is_whole=victim.endswith("all"))
        else:
            # The old node, the new one, or any.
            site = moving[0]
            some = [target[site], self._in_force()[site], self.chance.choice(NODES)]
            self.made.kill(self.chance.choice(some), victim)

    def _stage(self, moving: Collection[str]) -> str:
        """What was run last for one of the sites."""
        store = self.made.cluster.store
        moves = [one for one in store.site_moves(only_open=True) if one.site in moving]
        runs = store.stage_runs([one.id for one in moves])
        return f"{runs[-1].stage} {runs[-1].state}" if runs else "before or after"

    def _kill_hook(self, *, is_whole: bool) -> None:
        """One that is at work, or the next one that begins."""
        end = time.monotonic() + _UNTIL_HOOK
        while time.monotonic() < end:
            for pid in self._hooks_at_work():
                with suppress(OSError):
                    if is_whole:
                        os.killpg(os.getpgid(pid), signal.SIGKILL)
                    else:
                        os.kill(pid, signal.SIGKILL)
                    return
        self.found.killed["no hook at work"] += 1

    def _hooks_at_work(self) -> Iterator[int]:
        own = f"{hooks_of(self.made.cluster.folder)}/".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if words[1:2] and words[1].startswith(own):
                    yield int(process.name)

    def _until_ended(self, number: int, said: str) -> None:
        """What the next run does."""
        store = self.made.cluster.store
        for run in range(_RUNS):
            if not self._is_open():
                self.found.runs[run] += 1
                break
            way = self.chance.choice(("--resume", "--resume", "--undo"))
            last = self._run_or_tear("apply", way)
            said = f"{said}\n{way}: {last.code} {last.said[-500:]}"
            self.made.until_serves()
        if self._is_open():
            self.found.not_ended += 1
            self.found.fault(f"{number}: not ended: {said}")
        order = store.door_order()
        assert order
        self.made.cluster.until_all_go_by(order.number)

    def _is_open(self) -> bool:
        store = self.made.cluster.store
        order = store.door_order()
        return bool(store.plans(state="applying") or (order and order.held))

    def _watch(self, number: int, moved: Sequence[str], before: dict[str, str]) -> None:
        """The first of them fails at its new node after a while, and may go back."""
        if not moved:
            return
        moves = self._until_watched(number, moved)
        for site in moved:
            self.made.cluster.store.drop_pin(site)
        time.sleep(self.chance.uniform(0.0, _WELL_FOR))
        watched = [site for site in moved if self._watches_of(moves[site])[0].ended is None]
        if not watched:
            return
        failing, begun = watched[0], time.monotonic()
        self.made.fail(self._in_force()[failing], failing)
        if self.chance.random() < 1 / 2:
            time.sleep(self.chance.uniform(0.0, _WAY_BACK))
            self._kill_on_way_back(failing, before)
        end = begun + _UNTIL_NOT_WATCHED
        while (run := self._watches_of(moves[failing])[0]).ended is None and time.monotonic() < end:
            time.sleep(0.1)
        if run.state == "undone":
            self.found.back.append(time.monotonic() - begun)
        else:
            self.found.not_back[f"{run.state}: {run.said}"] += 1
        while any(self._watches_of(move)[0].ended is None for move in moves.values()):
            if time.monotonic() > end:
                self.found.not_ended += 1
                self.found.fault(f"{number}: still watched: {moves}")
                break
            time.sleep(0.1)
        self.made.until_serves()
        self._until_ended(number, f"{failing} failed: {run}")
        self.made.fail_no_more()

    def _until_watched(self, number: int, moved: Sequence[str]) -> dict[str, str]:
        """Their moves, by site. Where what was killed came back late, a watch may be over."""
        store, end = self.made.cluster.store, time.monotonic() + _UNTIL_WATCHED
        last = {site: store.site_moves(1, site=site)[0] for site in moved}
        while not all(self._watches_of(move.id) for move in last.values()):
            assert time.monotonic() < end, f"{number}: not all of {last} are watched"
            time.sleep(0.1)
        return {site: move.id for site, move in last.items()}

    def _watches_of(self, move: str) -> list[StageRun]:
        runs = self.made.cluster.store.stage_runs([move])
        return [run for run in runs if run.stage == "watch"]

    def _kill_on_way_back(self, failing: str, before: dict[str, str]) -> None:
        victim = self._victim()
        self.found.killed[f"{victim}, going back"] += 1
        if victim == "flex":
            # Who leads it back is one of them.
            for node in NODES:
                self.made.kill(node, "server")
        elif victim.startswith("hook"):
            self._kill_hook(is_whole=victim.endswith("all"))
        else:
            some = [self._in_force()[failing], before[failing], self.chance.choice(NODES)]
            self.made.kill(self.chance.choice(some), victim)

    def _judge(
        self, number: int, moving: Sequence[str], after: dict[str, str], victim: str
    ) -> None:
        known = self.people.known_of(moving)
        for site in moving:
            acknowledged, _ = known[site]
            where = f"{number}: {site} at {after[site]} after {victim or 'nothing'}"
            answering = self._who_answer(site)
            if answering != {after[site]}:
                self.found.two_writers += 1
                self.found.fault(f"{where}: {sorted(answering)} answer")
            try:
                rows = self._rows(after[site], site)
            except subprocess.CalledProcessError as error:
                self.found.lost += len(acknowledged)
                self.found.fault(f"{where}: its database is gone: {error.stderr}")
                continue
            in_table, in_file = Counter(rows), Counter(self._lines(after[site], site))
            lost = {id_ for id_ in acknowledged if not in_table[id_] or not in_file[id_]}
            doubled = [id_ for id_ in {*in_table, *in_file} if max(in_table[id_], in_file[id_]) > 1]
            # More was sent while the table was read.
            sent = self.people.known_of([site])[site][1]
            strange = [id_ for id_ in {*in_table, *in_file} if id_ > sent]
            if lost or doubled or strange:
                self.found.fault(
                    f"{where}: lost {sorted(lost)[:5]} of {len(lost)}, doubled "
                    f"{doubled[:5]}, never sent {strange[:5]}"
                )
            self.found.lost += len(lost)
            self.found.doubled += len(doubled)
            self.found.not_sent += len(strange)
            self._look_behind(site, after[site], set(rows))
            self._look_at_jobs(site, after[site], where)

    def _look_at_jobs(self, site: str, node: str, where: str) -> None:
        """At one node at most; at none where a command that is to switch them on is still due."""
        on = [one for one in NODES if self.made.jobs(one, site).exists()]
        if len(on) > 1 or (on and on != [node]):
            self.found.jobs += 1
            self.found.fault(f"{where}: its jobs are on at {on}")
        self.found.jobs_off += not on

    def _look_behind(self, site: str, node: str, rows: Collection[int]) -> None:
        """Writes that nobody acknowledged and that are at another node alone."""
        for other in NODES:
            if other != node:
                with suppress(subprocess.CalledProcessError):
                    left = set(self._rows(other, site)) - set(rows)
                    self.found.left_behind += len(left)

    def _rows(self, node: str, site: str) -> list[int]:
        asked = f"SELECT id FROM {base_of(site)}.orders ORDER BY seq"
        return [int(id_) for (id_,) in self.made.ask_database(node, asked)]

    def _lines(self, node: str, site: str) -> list[int]:
        file = self.made.root(node, site) / "orders"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def _who_answer(self, site: str) -> set[str]:
        """Through every door."""
        found = set()
        for address in self.made.cluster.addresses.values():
            url = f"http://{address}:{self.made.cluster.ports['visit']}/"
            command = ["curl", "-s", "-m", "20", "-H", f"Host: {site}", url]
            said = subprocess.run(command, capture_output=True, text=True, check=False)
            found.add(said.stdout.split()[-1] if said.stdout.split() else "nobody")
        return found

    def _in_force(self) -> dict[str, str]:
        _, partition = self.made.cluster.store.placement()
        return dict(zip(partition["site"], partition["node"], strict=True))

    def _pin(self, site: str, node: str) -> None:
        self.made.cluster.store.put_pin(Pin(site, nodes=(node,), author="bench"))

    @property
    def _said(self) -> Path:
        return self.made.cluster.folder / "said"

    def _begin(self, *words: str) -> Forked:
        with self._said.open("wb") as said:
            return start("--config", str(self.made.settings), *words, said=said)

    def _end(self, flex: Forked) -> Ended:
        return Ended(flex.wait(), self._said.read_text(errors="replace"))

    def _run(self, *words: str) -> Ended:
        return self._end(self._begin(*words))

    def _run_or_tear(self, *words: str) -> Ended:
        """One of several such runs is killed as well."""
        if self.chance.random() > _TORN_AGAIN:
            return self._run(*words)
        flex = self._begin(*words)
        time.sleep(self.chance.uniform(0.0, self._usual()))
        flex.kill()
        self.found.killed["flex again"] += 1
        return self._end(flex)

    def _usual(self) -> float:
        """Seconds that a run takes where nothing is killed."""
        return median(self.found.took) if self.found.took else 2.0

    def figures(self) -> Figures:
        found, seen = self.found, self.people.so_far()
        old = seen["old"]
        assert isinstance(old, list)
        for text in old:
            found.fault(f"old: {text}")
        if not seen["writes"]:
            found.fault("no write was acknowledged: nothing can be lost")
        waited = self.made.cluster.store.count_site_moves(datetime(2000, 1, 1, tzinfo=UTC)).waited
        return {
            "histories": HISTORIES,
            "seed": SEED,
            "sites": SITES,
            "load_average": os.getloadavg()[0],
            "writes_acknowledged": int(str(seen["writes"])),
            "writes_lost": found.lost,
            "writes_doubled": found.doubled,
            "writes_never_sent": found.not_sent,
            "writes_not_acknowledged_left_behind": found.left_behind,
            "reads": int(str(seen["reads"])),
            "reads_older_than_acknowledged": len(old),
            "requests_failed": int(str(seen["failed"])),
            "sites_with_two_answers": found.two_writers,
            "sites_with_jobs_at_a_wrong_node": found.jobs,
            "sites_with_jobs_still_off": found.jobs_off,
            "plans_not_ended": found.not_ended,
            "waited_s": median(waited or [0.0]),
            "waited_s_p99": waited[int(len(waited) * 0.99)] if waited else 0.0,
            "waited_s_max": max(waited, default=0.0),
            "moved": found.moved,
            "stayed": found.stayed,
            "whole_s": median(found.took),
            "whole_s_max": max(found.took),
            "slowest_write_whole_s": median(found.slowest_whole),
            "slowest_write_whole_s_max": max(found.slowest_whole),
            "slowest_write_killed_s": median(found.slowest or [0.0]),
            "slowest_write_killed_s_max": max(found.slowest or [0.0]),
            "killed": json.dumps(found.killed),
            "killed_at": json.dumps(found.stages),
            "runs_until_ended": json.dumps(found.runs),
            **({"watch": WATCH, **_watched(found)} if WATCH else {}),
            "faults": len(found.faults),
        }


def _watched(found: Found) -> Figures:
    back = sorted(found.back)
    return {
        "failing": len(back) + found.not_back.total(),
        "went_back": len(back),
        "went_back_s": median(back or [0.0]),
        "went_back_s_max": max(back, default=0.0),
        "why_not_back": json.dumps(found.not_back),
    }
