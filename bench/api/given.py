"""An installation of any size with a history: sites, nodes, nights of profiles, plans and
partitions, in a database.

Takes a folder and sizes. Returns settings, and fills a SQLite database. The same sizes give the
same database. Does not make logs: what would be learned from them is made up. Does not plan the
nights after the first one, as a hundred nights of a hundred thousand sites would take too long: the
database copies the first one and changes it a little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from sqlalchemy import Connection, insert, text

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.balance import Balance, NodeLoad
from flex.model.limits_and_approvals import Stop
from flex.model.nightly_run import NightlyRun, Stage
from flex.model.period import Period
from flex.model.plan import Move, Plan, Proven
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.store import Store, migrate, open_store, schema
from flex.store.database_by_url import Database
from flex.store.plans import row_of
from flex.zones.marker import marker_name, marker_text
from flex_api.settings import file as config
from flex_api.settings.file import Settings

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
ZONE = "hosting.example."
OFFICE, HOUR = 12 * 2**30, timedelta(hours=1)
# How many of the more popular sites are asked for three to ten times as much in a night.
SURGES = 20
# One of so many sites of the partition that was put aside is on several nodes.
SHARED = 50


@dataclass(frozen=True, slots=True)
class Size:
    sites: int = 100_000
    nodes: int = 256
    nights: int = 90

    def scale(self, scale: float) -> Size:
        every = (self.sites, self.nodes, self.nights)
        return Size(
            *(
                max(round(number * scale), least)
                for number, least in zip(every, (200, 4, 5), strict=True)
            )
        )

    @property
    def now(self) -> datetime:
        """In the night after the last one that is there."""
        return FIRST + timedelta(days=self.nights + 1, hours=2)


def installation(folder: Path, size: Size) -> Settings:
    """Settings of the cluster, whose database is made when it is not there yet."""
    path = folder / "flex.toml"
    if not path.exists():
        path.write_text(_settings(size), encoding="utf-8")
        found = config.load(path)
        migrate.upgrade(found.database.url)
        with open_store(found.database.url) as store:
            _fill(store, found.database.url, size)
    settings = config.load(path)
    # One that was kept may be of an earlier FLEX.
    migrate.upgrade(settings.database.url)
    with open_store(settings.database.url) as store:
        _put_aside(store, size)
    return settings


def site_name(number: int) -> str:
    return f"site-{number:06}.{ZONE.rstrip('.')}"


def node_name(number: int) -> str:
    return f"n{number:03}"


def profiles_of(size: Size, night: int) -> pd.DataFrame:
    """Few sites are asked for most, working sets go with it by half; each night a little else, a
    few surge.
    """
    cluster, tonight = np.random.default_rng(1), np.random.default_rng(night + 2)
    rate = (np.arange(size.sites) + 20.0) ** -0.8
    held = np.sqrt(rate) * cluster.lognormal(0, 0.8, size.sites)
    drift = tonight.lognormal(0, 0.1, size.sites)
    if night:
        popular = max(SURGES, size.sites // 50)
        drift[tonight.choice(popular, SURGES, replace=False)] *= tonight.uniform(3, 10, SURGES)
    requests = np.rint(rate / rate.sum() * 2e9 * drift).astype(np.int64) + 1
    columns = {
        "access_bytes": requests * 15_000,
        "working_set": np.rint(held / held.sum() * size.nodes * OFFICE * 2).astype(np.int64),
        "requests": requests,
        "targets": requests // 50 + 1,
        "one_timers": requests // 200,
        "busy_hour_bytes": requests * 1_500,
    }
    return PROFILES.from_columns(
        {"site": [site_name(number) for number in range(size.sites)], **columns}
    )


def _settings(size: Size) -> str:
    nodes = "".join(
        f'[[node]]\nname = "{node_name(n)}"\naddresses = '
        f'["198.18.{n // 250}.{n % 250 + 1}"]\nram = "12 GiB"\n'
        for n in range(size.nodes)
    )
    dns = f'[dns]\nkey_file = "none.key"\nzones = ["{ZONE}"]\n'
    return f'schema = 1\n{nodes}[cluster]\nname = "bench"\nmode = "auto"\n{dns}'


def _fill(store: Store, url: str, size: Size) -> None:
    placement = _balance(size)
    for night in range(size.nights):
        if not night:
            store.put_profiles(_period(0), profiles_of(size, 0), SPREADS.empty())
            plan = _plan(size, 0, "")
            store.propose(plan, placement)
            store.settle(replace(plan, state="applied", settled=plan.created), placement)
    database = Database(url)
    with database.writing() as connection:
        for night in range(1, size.nights):
            _night(connection, size, night)
        last = _plan(size, size.nights - 1, "").id
        connection.execute(text("UPDATE in_force SET cycle = :last"), {"last": last})
        connection.execute(
            insert(schema.runs), [_run_row(size, night) for night in range(size.nights)]
        )
        connection.execute(
            insert(schema.stages), [row for n in range(size.nights) for row in _stage_rows(size, n)]
        )
    database.close()


def put_aside(size: Size) -> str:
    """The id of the plan whose lists are the longest: none of its sites is where it is now."""
    return _plan(size, 0, "").id.replace("T02", "T01")


def _put_aside(store: Store, size: Size) -> None:
    """The oldest plan, so that no night looks at it: each site gets its records and their
    marker.
    """
    if store.headline(put_aside(size)):
        return
    placement = _elsewhere(size)
    sites, nodes = placement["site"].tolist(), placement["node"].tolist()
    first = _plan(size, 0, "")
    plan = replace(
        first,
        id=put_aside(size),
        created=first.created - HOUR,
        moves=tuple(
            Move(site, None, node, 2**20, "new") for site, node in zip(sites, nodes, strict=True)
        ),
        zone_plans=(ZonePlan(ZONE, tuple(_records(placement))),),
    )
    store.propose(plan, placement)
    store.update(replace(plan, state="discarded", message="put aside", settled=first.created))
    with store.together():
        for site, of_site in placement[placement["site"].duplicated(keep=False)].groupby("site")[
            "node"
        ]:
            store.put_slots(str(site), {node: slot for slot, node in enumerate(of_site)}, {})


def _elsewhere(size: Size) -> pd.DataFrame:
    """Each site on one node, every fiftieth on two or three."""
    rows = [
        (site_name(number), node_name((number * 31 + replica * 7) % size.nodes))
        for number in range(size.sites)
        for replica in range(1 if number % SHARED else 2 + number // SHARED % 2)
    ]
    return PLACEMENT.make(pd.DataFrame(rows, columns=["site", "node"]))


def _records(placement: pd.DataFrame) -> Iterator[Change]:
    for site, nodes in placement.groupby("site")["node"]:
        name = f"{site}."
        addresses = sorted(
            f"198.18.{int(node[1:]) // 250}.{int(node[1:]) % 250 + 1}" for node in nodes
        )
        yield Change(None, Rrset(name, "A", 300, tuple(addresses)))
        yield Change(None, Rrset(marker_name(name, ZONE), "TXT", 300, (marker_text("bench"),)))


def _night(connection: Connection, size: Size, night: int) -> None:
    """Copies of the first, a little changed: rows by the million are made where they are kept."""
    period = _period(night)
    made = (
        insert(schema.periods)
        .values(start=period.start, end=period.end)
        .returning(schema.periods.c.id)
    )
    given = {"night": connection.execute(made).scalar_one(), "shift": 90 + night % 20}
    connection.execute(
        text(
            "INSERT INTO profiles (period, position, site, access_bytes, "
            "working_set, requests, targets, one_timers,"
            " busy_hour_bytes) SELECT :night, position, site,"
            " access_bytes * (:shift + (position * 7919 + :night * 104729) % 997 % 10) / 100,"
            " working_set, requests, targets, one_timers, busy_hour_bytes FROM profiles"
            " WHERE period = (SELECT min(id) FROM periods)"
        ),
        given,
    )
    plan = _plan(size, night, _plan(size, night - 1, "").id)
    applied = replace(plan, state="applied", settled=plan.created)
    connection.execute(insert(schema.plans), row_of(applied))
    connection.execute(
        text(
            "INSERT INTO placements (cycle, position, site, node) SELECT :cycle, "
            "position, site, node FROM placements"
            " WHERE cycle = :first"
        ),
        {"cycle": plan.id, "first": _plan(size, 0, "").id},
    )


def _period(night: int) -> Period:
    return Period(FIRST + timedelta(days=night), FIRST + timedelta(days=night + 1))


def _plan(size: Size, night: int, base: str) -> Plan:
    created = FIRST + timedelta(days=night + 1, hours=2)
    nodes = tuple(
        NodeLoad(node_name(n), 100.0, 100.0, size.sites // size.nodes) for n in range(size.nodes)
    )
    balance = Balance(nodes, 0.03, node_name(0), "access rate")
    moved = (
        [(night * 7 + number) % size.sites for number in range(min(20, size.sites))]
        if night
        else []
    )
    digest = f"{night:064x}"
    return Plan(
        id=f"{created:%Y%m%dT%H%M%S}-{digest[-12:]}",
        created=created,
        period=_period(night),
        base=base,
        digest=digest,
        quality=Proven("auto", 18, proven=False),
        moves=tuple(
            Move(site_name(s), node_name(0), node_name(1), 2**20, "n000 over access rate by 6 %")
            for s in moved
        ),
        scratch_moves=size.sites // 2,
        sites=size.sites,
        before=replace(balance, worst=0.06) if night else None,
        after=balance,
        forecasts=(),
        zone_plans=(),
        stops=(
            Stop("safety.site_cooldown", "in force", "20 sites", "sites that moved lately stay"),
        ),
    )


def _run_row(size: Size, night: int) -> dict[str, object]:
    run = _run(size, night)
    names = ("id", "holder", "started", "ended", "exit_code", "message")
    return {"cycle": run.plan, **{name: getattr(run, name) for name in names}}


def _stage_rows(size: Size, night: int) -> Iterator[dict[str, object]]:
    run = _run(size, night)
    for position, stage in enumerate(run.stages):
        row = {
            "name": stage.name,
            "started": stage.started,
            "ended": stage.ended,
            "outcome": stage.outcome,
        }
        yield {"run": run.id, "position": position, **row}


def _run(size: Size, night: int) -> NightlyRun:
    plan = _plan(size, night, "")
    stages = [
        Stage(name, plan.created, plan.created + HOUR, "done")
        for name in ("ingest", "profile", "plan", "apply")
    ]
    return NightlyRun(
        f"run-{night:04}",
        "bench:1:1",
        plan.created,
        plan.created + HOUR,
        0,
        plan.id,
        "nightly",
        tuple(stages),
    )


def _balance(size: Size) -> pd.DataFrame:
    """The largest first, each where it fits what is left of a fair share of both best: in balance,
    as after many nights of FLEX.
    """
    profiles = profiles_of(size, 0)
    asked = np.stack(
        [profiles[name] / profiles[name].sum() for name in ("access_bytes", "working_set")], axis=1
    )
    ordered = np.argsort(-asked.max(axis=1), kind="stable")
    left, node = (np.full((2, size.nodes), 1 / size.nodes), np.empty(size.sites, dtype=np.int64))
    for place, (rate, held) in enumerate(asked[ordered].tolist()):
        # What is left counts squared: a node that is full of one takes what asks for little of
        # that.
        worth = rate * left[0] * np.abs(left[0]) + held * left[1] * np.abs(left[1])
        node[place] = worth.argmax()
        left[:, node[place]] -= rate, held
    names = np.array([node_name(n) for n in range(size.nodes)], dtype=object)
    return PLACEMENT.from_columns(
        {"site": profiles["site"].to_numpy()[ordered], "node": names[node]}
    )
