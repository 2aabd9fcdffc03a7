"""Histories of a mixed cluster: kill -9 of FLEX, of a second one at work on the same database, of
followers, of servers, of HAProxies or their workers, of whole nodes, of the name server and of the
database at any step while sites change their nodes. Some sites
are published by doors, some by DNS, most by both; some have one writer; visitors speak TLS, too.
Doors, DNS and the partition in force agree in the end, and nobody but a site's nodes answered.

Each round is a real plan. FLEX or a follower stops itself at a step that is drawn; then somebody is
killed, and what stopped goes on. A round is drawn by its number and the seed, which it says. ROUNDS
in the environment says how many there are, FIRST with which to begin, SEED which they are,
DATABASE, sqlite or postgresql, where it is all kept, WAVES=yes that sites move in waves, each with
its new node in DNS before the old one leaves it, TLS whether it ends at "doors" or at "web
servers", and PATIENCE how many seconds anything may take.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
import pytest

from flex.errors import BadSetting
from flex.frame_schemas import texts
from flex.model.led_by_doors_or_dns import Way
from flex.routing import haproxy_program
from flex.store import migrate
from flex_api.run_nodes_on_loopback import free_ports
from tests.api.torn_agreement import look, placed
from tests.api.torn_cluster import (
    NEVER,
    PATIENCE,
    Node,
    Process,
    TornCluster,
    go_on,
    is_stopped,
    until,
)
from tests.api.torn_visitors import (
    Gone,
    Owners,
    Request,
    Visitors,
    by_strangers,
    lost,
    stands_in,
    turns,
)

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = [pytest.mark.real, pytest.mark.torture]

ROUNDS = int(os.environ.get("ROUNDS", "200"))
DATABASE = os.environ.get("DATABASE", "sqlite")
FIRST = int(os.environ.get("FIRST", "0"))
SEED = os.environ.get("SEED", "22")
WAVES = os.environ.get("WAVES", "") == "yes"
TLS = os.environ.get("TLS", "doors")
# Nobody waits long for those that were killed.
SETTLE = 'settle = "1s"\n'
# The TTL is a second, so that nobody waits long for resolvers.
IN_WAVES = "ttl = 1\nmake_before_break = true\nwaves = [0.01, 0.5]\n"
ADDRESSES = {"n1": "127.0.0.31", "n2": "127.0.0.32", "n3": "127.0.0.33"}
# The share of wishes by which a site is on two nodes, and is routed by content. A guess.
ON_TWO_NODES = 0.1
# The share of rounds in which a second FLEX is at work, too, and in which that is killed. Guesses.
SECOND, SECOND_DIES = 0.4, 0.5
# The share of requests that a door answers itself because it did not get through to a node that is
# reloading. A guess.
RARELY = 0.01
# Who is killed; a node with all that runs on it. Of the database, which is PostgreSQL then, it is a
# process that serves: all others end with it, and the database begins anew by itself.
VICTIMS = {
    "flex": (),
    "follower": ("follower",),
    "server": ("server",),
    "haproxy": ("haproxy",),
    # Its master ends by itself then.
    "worker of haproxy": ("haproxy worker",),
    "name server": ("name server",),
    "database": ("database",),
    "haproxy and follower": ("haproxy", "follower"),
    "node": ("haproxy", "web", "follower"),
}
# Where steps begin to count: of a plan that is carried out, of a dead node, of a new order.
PLAN, DEAD, ORDER = "carry_out", "take_down", "_take"
# A node that a site with one writer moves to has not heard, and all was taken back.
ASIDE = 22
# What a verb ends with: well, not all nodes or name servers have heard, names are left, or that.
WELL = (0, 32, 33, ASIDE)
KILLED = -9
# What a verb may end with besides while the name server or the database is away: what was begun is
# finished, or taken back, by the next one.
CUT_OFF = (24, 25, 30, 31)
# Another run is at work.
BUSY = 23
# What a site's settings say, in turn.
ONE_WRITER = "stateful = true\n"
WAYS: dict[str, Way] = {'publish = "doors"\n': "doors", 'publish = "dns"\n': "dns"}
SITES = (*WAYS, ONE_WRITER, "")


@dataclass(eq=False)
class Round:
    """What happens in a round, all of it drawn, and what was killed in it."""

    cluster: TornCluster
    number: int
    steps: dict[str, int]
    one_writer: Collection[str]
    gone: list[Gone] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    # After each verb that carried something out.
    placed: list[dict[str, set[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.drawn = random.Random(f"{SEED} {self.number}")
        self.away: list[tuple[Node, str, float, float]] = []
        store = self.cluster.store()
        self.known = {one.id for one in store.headlines()}
        store.close()

    @property
    def given(self) -> Installation:
        return self.cluster.installation

    def say(self, words: str) -> None:
        self.said.append(words)

    def planned(self) -> dict[str, set[str]]:
        """The nodes of sites by plans of this round, also of those that were taken back."""
        nodes_of: dict[str, set[str]] = {}
        store = self.cluster.store()
        for one in store.headlines():
            if one.id not in self.known:
                for move in store.plan(one.id).moves:
                    nodes_of.setdefault(move.site, set()).add(move.target or "")
        store.close()
        return nodes_of

    def play(self) -> None:
        drawn = self.drawn
        victim = drawn.choice(["flex", *(each for each in VICTIMS if self._is_there(each))])
        node = drawn.choice(list(self.cluster.nodes.values()))
        self._wish()
        words = self._words()
        second = self._second()
        of_all = ("flex", "server", "name server", "database")
        follower_stops = victim not in of_all and drawn.random() < 0.5
        if follower_stops:
            node.arm.write_text(str(drawn.randint(1, self.steps[ORDER])))
        at = NEVER if follower_stops else drawn.randint(1, self.steps[words[0]])
        self.say(f"{' '.join(words)}; {victim} of {node.name}")
        flex = self.cluster.start_flex(at, PLAN, *words)
        assert node.follower
        self._kill_at_a_step(flex, node, victim, node.follower if follower_stops else flex)
        self._learn(words[0], flex, node)
        if second:
            self._end(second, victim)
        if victim == "node":
            self._take_down(node)
        self._bring_back()
        node.arm.unlink(missing_ok=True)
        ended = {flex.returncode, second and second.returncode}
        if KILLED in ended:
            self._resume("apply", "--resume")
        elif not ended.isdisjoint(CUT_OFF):
            self._resume("run", "--wait", "60s", "--as-of", self.given.as_of())
        if victim == "node":
            code = self.given.flex("nodes", "up", node.name).code
            assert code in WELL, code

    def _wish(self) -> None:
        """Some sites are to be elsewhere."""
        store = self.cluster.store()
        _, placement = store.placement()
        store.close()
        for site in self.drawn.sample(sorted(set(texts(placement["site"]))), 3):
            on_two = site not in self.one_writer and self.drawn.random() < ON_TWO_NODES
            count = 2 if on_two else 1
            nodes = ",".join(self.drawn.sample(sorted(self.cluster.nodes), count))
            done = self.given.flex("sites", "pin", site, "--nodes", nodes)
            assert done.code == 0, done.err

    def _words(self) -> tuple[str, ...]:
        """A plan is applied, or a night makes its own."""
        as_of = ("--as-of", self.given.as_of())
        if self.drawn.random() < 0.3:
            return ("run", *as_of)
        made = self.given.flex("-o", "json", "plan", *as_of)
        assert made.code == 0, made.err
        return ("apply", made.json["id"])

    def _second(self) -> Process | None:
        """A night by another node's settings, at the same time."""
        if self.drawn.random() >= SECOND:
            return None
        other = self.cluster.nodes["n2"]
        dies = self.drawn.random() < SECOND_DIES
        at = self.drawn.randint(1, self.steps["run"]) if dies else NEVER
        as_of = ("--as-of", self.given.as_of())
        return self.cluster.start_flex(at, PLAN, "run", *as_of, by=other)

    def _is_there(self, victim: str) -> bool:
        return victim != "database" or DATABASE == "postgresql"

    def _codes(self, victim: str) -> tuple[int, ...]:
        """What a verb may end with beside which that was killed."""
        cut_off = CUT_OFF if victim in ("name server", "database") else ()
        return (*WELL, BUSY, KILLED, *cut_off)

    def _end(self, second: Process, victim: str) -> None:
        until(
            "the second FLEX stops or ends",
            lambda: is_stopped(second) or second.poll() is not None,
            self.cluster.log,
        )
        if second.poll() is None:
            second.kill()
        second.wait(PATIENCE)
        self.cluster.disarm(self.cluster.nodes["n2"])
        self.placed.append(placed(self.cluster))
        self.say(f"a second one ended with {second.returncode}")
        assert second.returncode in self._codes(victim), self.cluster.log()

    def _kill_at_a_step(self, flex: Process, node: Node, victim: str, stops: Process) -> None:
        until(
            "somebody stops or FLEX ends",
            lambda: is_stopped(stops) or flex.poll() is not None,
            self.cluster.log,
        )
        where = "follower" if stops is not flex else "FLEX"
        self.say(f"{where} stopped" if is_stopped(stops) else "nobody stopped")
        if victim == "flex":
            if flex.poll() is None:
                flex.kill()
        else:
            for what in VICTIMS[victim]:
                self._kill(node, what)
            self._let_all_go_on(flex)
            if victim == "database":
                until("the database is back", lambda: serves(self.cluster.url()))
            if victim == "name server":
                # What is sent meanwhile is not heard.
                time.sleep(self.drawn.choice([0, 1]))
                self.given.server.start()
        flex.wait(PATIENCE)
        self.placed.append(placed(self.cluster))
        self.say(f"FLEX ended with {flex.returncode}")
        assert flex.returncode in self._codes(victim), self.cluster.log()

    def _learn(self, verb: str, flex: Process, node: Node) -> None:
        """How many steps there are, by what was seen to its end."""
        taken = self.cluster.steps_taken() if flex.returncode != KILLED else None
        for what, steps in ((verb, taken), (ORDER, self.cluster.steps_taken(node))):
            self.steps[what] = steps or self.steps[what]

    def _let_all_go_on(self, flex: Process) -> None:
        followers = (node.follower for node in self.cluster.nodes.values())
        for process in (flex, *followers):
            if process and process.poll() is None:
                go_on(process)

    def _kill(self, node: Node, what: str) -> None:
        if what == "name server":
            self.given.server.kill()
            return
        if what == "database":
            kill_a_process_of(self.cluster.url())
            return
        killed = time.monotonic()
        self.cluster.kill(node, what)
        self.away.append((node, what.removesuffix(" worker"), killed, time.monotonic()))

    def _bring_back(self) -> None:
        starts: dict[str, Callable[[Node], None]] = {
            "web": self.cluster.start_web,
            "server": self.cluster.start_server,
            "haproxy": self.cluster.start_haproxy,
            "follower": self.cluster.start_follower,
        }
        self.away.sort(key=lambda one: list(starts).index(one[1]))
        for node, what, killed, gone in self.away:
            starts[what](node)
            self.gone.append(Gone(node.name, what, killed, gone, time.monotonic()))
        self.away.clear()

    def _take_down(self, node: Node) -> None:
        """Somebody says that it is dead; FLEX may die of it, too."""
        dies = self.drawn.random() < 0.5
        at = self.drawn.randint(1, self.steps[DEAD]) if dies else NEVER
        words = ("nodes", "down", node.name)
        flex = self.cluster.start_flex(at, DEAD, *words)
        until(
            "FLEX stops or ends",
            lambda: is_stopped(flex) or flex.poll() is not None,
            self.cluster.log,
        )
        if flex.poll() is None:
            flex.kill()
        flex.wait(PATIENCE)
        self.placed.append(placed(self.cluster))
        self.say(f"{' '.join(words)} ended with {flex.returncode}")
        assert flex.returncode in (*WELL, KILLED), self.cluster.log()
        self._learn(DEAD, flex, node)
        if flex.returncode == KILLED:
            self._resume(*words)

    def _resume(self, *words: str) -> None:
        """By the next night, or as somebody says it with these words."""
        if self.drawn.random() < 0.5:
            said, by = self.given.night(1, "--wait", "60s"), "a night"
        else:
            said, by = self.given.flex(*words), "the same verb"
            # A server's health watch goes on with a node that is down by itself, and was first.
            while said.code == BUSY:
                time.sleep(1)
                said = self.given.flex(*words)
        self.placed.append(placed(self.cluster))
        why = f" {' '.join(said.err.split())[-400:]}" if said.code == ASIDE else ""
        self.say(f"resumed by {by}: {said.code}{why}")
        assert said.code in WELL, (self.said, said.err, self.cluster.log())


def kill_a_process_of(database: str) -> None:
    """The one that serves us."""
    with suppress(psycopg.OperationalError), psycopg.connect(database) as connection:
        os.kill(connection.info.backend_pid, signal.SIGKILL)


def serves(database: str) -> bool:
    try:
        psycopg.connect(database).close()
    except psycopg.OperationalError:
        return False
    return True


def tell(words: str) -> None:
    """Verbs that are called here have what is printed captured."""
    print(words, file=sys.__stdout__, flush=True)


def mixed(sites: Sequence[str]) -> tuple[str, dict[str, Way]]:
    """What settings say of sites, and how each is published."""
    said, way_of = "", dict[str, Way]()
    for number, site in enumerate(sites):
        words = SITES[number % len(SITES)]
        way_of[site] = WAYS.get(words, "doors+dns")
        if words == ONE_WRITER and TLS != "doors":
            continue
        said += f'[[routing.site]]\nname = "{site}"\n{words}' if words else ""
    return said, way_of


@pytest.fixture
def torn(installation: Installation, request: pytest.FixtureRequest) -> Iterator[TornCluster]:
    try:
        found = haproxy_program.program()
    except BadSetting as error:
        pytest.skip(str(error))
    if DATABASE == "postgresql":
        url = request.getfixturevalue("cluster").new_database()
        migrate.upgrade(url)
        installation.extra += f'[database]\nurl = "{url}"\n'
    assert installation.hosting
    publish, _ = mixed(sorted(installation.hosting.sites))
    with ExitStack() as stack:
        ports = stack.enter_context(free_ports([*ADDRESSES.values(), "127.0.0.1"]))
        dns = SETTLE + (IN_WAVES if WAVES else "")
        made = TornCluster(installation, found, ports, stack, dns, publish, TLS)
        made.begin(ADDRESSES)
        yield made


def owners(begun: Round, before: Mapping[str, set[str]], after: Mapping[str, set[str]]) -> Owners:
    nodes_of: dict[str, set[str]] = {}
    planned = begun.planned()
    for site in before:
        had = [placed[site] for placed in (before, *begun.placed, after)]
        for host in (site, f"www.{site}"):
            nodes_of[host] = set().union(*had, planned.get(site, ()))
    of_one = {host for host in nodes_of if host.removeprefix("www.") in begun.one_writer}
    moved = {host for host in of_one if len(nodes_of[host]) > 1}
    return Owners(nodes_of, of_one, moved)


def lately(
    requests: Sequence[Request], placements: Sequence[Mapping[str, set[str]]], began: float
) -> str:
    """Where sites were before each of the last rounds, and when in this one they were asked for."""
    told = []
    for one in requests[:5]:
        had = [placed[one.host.removeprefix("www.")] for placed in placements[-4:]]
        told.append(f"{one} after {one.sent - began:.2f} s, had {had}")
    return "; ".join(told)


def test_whatever_is_killed_while_sites_move_doors_dns_and_partition_agree_in_the_end(
    torn: TornCluster,
) -> None:
    cluster = torn
    before = placed(cluster)
    _, way_of = mixed(sorted(before))
    one_writer = {
        site
        for number, site in enumerate(sorted(before))
        if SITES[number % len(SITES)] == ONE_WRITER and TLS == "doors"
    }
    look(cluster, way_of)
    by_doors = [site for site in sorted(before) if way_of[site] != "dns"]
    hosts = sorted({*by_doors, *(f"www.{site}" for site in by_doors)})
    doors = {node.name: cluster.doors(node) for node in cluster.nodes.values()}
    # About as many as each takes; those that are seen to their end say it anew.
    steps = {"apply": 400, "run": 500, DEAD: 800, ORDER: 40}
    asked = 0
    placements: list[dict[str, set[str]]] = []
    for number in range(FIRST, ROUNDS):
        begun, began = Round(cluster, number, steps, one_writer), time.monotonic()
        placements.append(before)
        try:
            with Visitors(doors, hosts, f"{SEED} {number}") as visitors:
                begun.play()
                after = look(cluster, way_of)
            could = owners(begun, before, after)
            requests = visitors.requests
            failed = lost(requests, begun.gone, could)
            assert failed == [], (
                f"{lately(failed, placements, began)}, {begun.gone}, had on the way "
                f"{could.nodes_of[failed[0].host]} {cluster.log()}"
            )
            strange = by_strangers(requests, begun.gone, could)
            stood_in = [one for one in strange if stands_in(one, could)]
            told = f"{lately(strange, placements, began)} {cluster.log()}"
            assert strange == stood_in, told
            assert len(stood_in) <= RARELY * len(requests), told
            for host in could.one_writer:
                turned = turns(requests, host)
                assert len(turned) <= len(begun.placed) + 2, (host, turned)
        except BaseException:
            tell(f"SEED={SEED}, round {number}: {'; '.join(begun.said)}")
            raise
        before = after
        asked += len(requests)
        again = sum(request.come_again for request in requests)
        troubled = sum(bool(request.trouble) for request in requests) - again
        tell(
            f"round {number}: {'; '.join(begun.said)}; {len(requests)} requests,"
            f" {troubled} in what was killed, {again} asked to come again,"
            f" {len(stood_in)} answered by a door that stood in"
        )
    assert asked > ROUNDS - FIRST
