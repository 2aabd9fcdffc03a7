"""The application over a store that holds one night, asked with tokens of every role."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import uvicorn
from starlette.testclient import TestClient

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.balance import Balance, NodeLoad
from flex.model.jobs import Job
from flex.model.limits_and_approvals import Breach
from flex.model.log_reading import Segment, Stream
from flex.model.nightly_run import NightlyRun, Stage
from flex.model.period import Period
from flex.model.plan import Move, Plan, Proven
from flex.model.roles_and_tokens import ROLES, Role
from flex.model.wish import Pin
from flex.model.zone_plan import ZonePlan
from flex.ports import Publisher
from flex.store import MemoryStore, Store, holder, open_store
from flex.zones import records_of_partition, zone_changes
from flex_api import manage_tokens
from flex_api.app import create_app
from flex_api.manage_tokens import Caller
from flex_api.settings import file as config
from tests.memory_publisher import MemoryPublisher
from tests.migrated import new_database

NOW = datetime.now(UTC).replace(microsecond=0)
PERIOD = Period.days_before(NOW, 1)
SITES = tuple(f"s{number:03}.example.org" for number in range(40))
NODES = ("n1", "n2", "n3")
ROOT = Caller("root", "admin")


def still() -> float:
    """A clock on which nothing takes long, and no bucket fills again."""
    return 0.0


def settings(**sections: object) -> config.Settings:
    node = [
        {"name": name, "addresses": [f"192.0.2.{number}"], "ram": "1 GiB"}
        for number, name in enumerate(NODES, start=11)
    ]
    given = {
        "schema": 1,
        "cluster": {"name": "shared-eu1"},
        "node": node,
        "api": {"requests_per_second": 0},
        "dns": {"zones": ["example.org"]},
    }
    return config.parse({**given, **sections}, Path("flex.toml"))


def plan(number: int, state: str = "applied", base: str = "", **more: Any) -> Plan:
    """The plan of one night; a later number is a later night. Any: fields of a plan."""
    balance = Balance(
        tuple(NodeLoad(name, 98.0 + at, 101.0, 10) for at, name in enumerate(NODES)),
        0.02,
        "n3",
        "access rate",
    )
    made = NOW - timedelta(days=9 - number)
    return Plan(
        id=f"{made:%Y%m%dT%H%M%S}-{number:012x}",
        created=NOW - timedelta(minutes=10 - number) if state == "proposed" else made,
        period=PERIOD,
        base=base,
        digest=f"{number:064x}",
        quality=Proven("exact", 1, proven=True),
        moves=tuple(
            Move(site, "n1", "n2", 4_500 + at, "n1 over access rate by 31 %")
            for at, site in enumerate(SITES[:5])
        ),
        scratch_moves=20,
        sites=len(SITES),
        before=balance,
        after=balance,
        forecasts=(),
        zone_plans=(ZonePlan("example.org.", (), owned=3),),
        state=state,  # type: ignore[arg-type]  # one of its words
        settled=made if state == "applied" else None,
        **more,
    )


@cache
def placed(*, shifted: int = 0) -> pd.DataFrame:
    """Each site on one node, the last three on two; the first few of another night one node
    further.
    """
    rows = [(site, NODES[(at + (at < shifted)) % 3]) for at, site in enumerate(SITES)]
    rows += [(site, NODES[(at + 1) % 3]) for at, site in enumerate(SITES) if at >= len(SITES) - 3]
    sites, nodes = zip(*sorted(rows), strict=True)
    return PLACEMENT.from_columns({"site": list(sites), "node": list(nodes)})


@cache
def profiles() -> pd.DataFrame:
    counts = {
        name: [100 + at * 7 % 50 for at in range(len(SITES))]
        for name in PROFILES.columns
        if name != "site"
    }
    return PROFILES.from_columns({"site": list(SITES), **counts})


def fill(store: Store, *, read: int = 5) -> Store:
    """Two nights, a third plan that waits, wishes, readings, a run and a job."""
    if type(store) is not MemoryStore or store.last_number():
        return _fill(store, read)
    store.begin_with_all_of(_filled(read))
    return store


@cache
def _filled(read: int) -> MemoryStore:
    """Nobody writes into it: to fill one takes longer than most tests."""
    store = MemoryStore()
    _fill(store, read)
    return store


def _fill(store: Store, read: int) -> Store:
    for night in (2, 1):
        store.put_profiles(
            Period.days_before(NOW - timedelta(days=night - 1), 1), profiles(), SPREADS.empty()
        )
    first, placement = plan(1), placed()
    second = plan(2, base=first.id)
    for one, there in ((first, placed(shifted=4)), (second, placement)):
        store.propose(replace(one, state="proposed", settled=None), there)
        store.settle(one, there)
    for at, site in enumerate(SITES[:6]):
        store.put_pin(Pin(site, (NODES[at % 3],), author="anna" if at % 2 else "bert"))
    waiting = plan(
        3, "proposed", second.id, breaches=(Breach("safety.max_moved_sites", 2, 5),), author="root"
    )
    store.propose(waiting, placement)
    day = PERIOD.first_day
    for number in range(read):
        lines = (("counted", 990), ("malformed", 10))
        segment = Segment(
            f"g{number}",
            "n1:log",
            "n1",
            "access.log",
            "combined",
            0,
            10,
            day,
            day,
            0,
            9,
            lines,
            read_at=1_760_000_000 + number,
        )
        store.record(segment, Stream("n1:log", f"h{number}", 1, 10, "t", "access.log"), None)
    for number in range(3):
        run = NightlyRun(f"r{number}", holder(), NOW, message="nightly")
        store.begin(run, timedelta(hours=1), NOW)
        store.stage(run.id, Stage("plan", NOW, NOW))
        store.end(NightlyRun(f"r{number}", holder(), NOW, NOW, 0, message="nightly"))
        store.put_job(
            Job(
                f"j{number}",
                "plan",
                "anna",
                holder(),
                NOW + timedelta(seconds=number),
                "done",
                ended=NOW,
            )
        )
    return store


@cache
def first_changes() -> ZonePlan:
    zone, known = "example.org.", settings()
    return zone_changes.diff(
        zone,
        records_of_partition.records(placed(), known.nodes(), known.dns.ttl),
        MemoryPublisher([zone], known.owner).read(zone, []),
        owner=known.owner,
        ttl=known.dns.ttl,
        left_alone={},
    )


def published() -> MemoryPublisher:
    """What the name servers say after those nights."""
    changes = first_changes()
    target = MemoryPublisher([changes.zone], settings().owner)
    target.apply(changes)
    return target


@dataclass(slots=True)
class Door:
    """A running application, and a client for each role. Its time to count requests by stands
    still, and its pages wait for what is worked out aside: whether a request is refused, and
    whether a page has its answer, does not depend on how busy the machine is.
    """

    store: Store
    settings: config.Settings = field(default_factory=settings)
    target: Publisher = field(default_factory=published)
    secrets: dict[str, str] = field(default_factory=dict)
    app: Any = None

    def __post_init__(self) -> None:
        self.app = create_app(self.settings, self.store, lambda: self.target, ticks=still)
        self.app.state.house.later.patience = 60.0
        for role in ROLES:
            self.secrets[role] = manage_tokens.create(self.store, ROOT, role, role, NOW)[1]

    def open(
        self,
        role: Role | None = None,
        headers: Mapping[str, str] | None = None,
        peer: str = "198.51.100.7",
    ) -> TestClient:
        """Any headers; the token of the role, where there is one."""
        shown = {"Authorization": f"Bearer {self.secrets[role]}"} if role else {}
        return TestClient(
            self.app,
            headers={**shown, **(headers or {})},
            raise_server_exceptions=False,
            client=(peer, 5000),
        )


@pytest.fixture(scope="session")
def doors() -> Callable[..., Door]:
    """Another one, with these sections in its settings."""
    return lambda **sections: Door(fill(MemoryStore()), settings(**sections))


@pytest.fixture(scope="session")
def filling() -> Callable[[Store], Store]:
    """Without readings of logs that are nowhere."""
    return lambda store: fill(store, read=0)


@pytest.fixture
def door() -> Door:
    return Door(fill(MemoryStore()))


@pytest.fixture
def filled() -> Iterator[Callable[[str], Door]]:
    """The same over a database, without readings of logs that are nowhere."""
    with ExitStack() as later:
        yield lambda url: Door(fill(later.enter_context(open_store(url)), read=0))


@pytest.fixture
def stamped(tmp_path: Path, filled: Callable[[str], Door]) -> Door:
    """Over a store that says when it was changed, so that answers are given again."""
    return filled(new_database(tmp_path / "flex.db"))


@pytest.fixture
def address(door: Door) -> Iterator[str]:
    """Where the application answers: who connects before it is ready waits in the queue of the
    socket.
    """
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        server = uvicorn.Server(
            uvicorn.Config(door.app, log_level="error", lifespan="off", timeout_graceful_shutdown=5)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        server.should_exit = True
        thread.join()
