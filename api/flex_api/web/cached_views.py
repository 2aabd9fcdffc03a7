"""What many requests read alike: made once for each state of the store, whichever process changed
the store.

Takes the store. Returns an answer that was made before, where it still holds. Does not say what
outdates which answer: cache_invalidation.py does, by the actions of the audit log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import TypeVar, cast

import numpy as np
import pandas as pd

from flex.frame_schemas import PLACEMENT
from flex.model.balance import NodeLoad
from flex.model.nightly_run import NightlyRun
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.model.plan_summary import Headline
from flex.model.wish import Pin
from flex.planning.traffic_by_other_names import partition_of_parts, parts_of, profiles_with
from flex.planning.unmovable_sites import strays_in
from flex.store import Store
from flex.wishes import wishes_in_force_now
from flex_api.facts import core_to_output_models, leaning_on_sites, names_of_sites
from flex_api.facts.names_of_sites import NamesOfSites, ReadNames
from flex_api.facts.site_table import Catalogue, catalogue
from flex_api.schemas.verbs_output import PlanOutput
from flex_api.settings.file import Settings
from flex_api.web.cache_invalidation import outdated_by

View = TypeVar("View")

# How many answers of one kind a process remembers where each may be large, such as plans. A guess.
FEW = 4
# Seconds after which files of other names are looked at again. A guess.
NAMES_READ = 10.0
# How many rows these have together at most. A guess.
ROWS = 300_000


@dataclass(slots=True)
class Keeping:
    """A view, the last entry of its kinds that it knows of, and of all when it was last looked
    at.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    version: int = -1
    seen: int = -1
    made: float = 0.0
    rows: int = 0
    value: object = None


@dataclass(frozen=True, slots=True)
class Carried:
    """How many sites each node has, and what load."""

    sites: dict[str, int]
    loads: dict[str, NodeLoad]


@dataclass(slots=True)
class Views:
    store: Store
    held: dict[str, Keeping] = field(default_factory=dict)
    ticks: Callable[[], float] = time.monotonic

    def get_or_make(self, name: str, make: Callable[[], View]) -> View:
        """As the store has it now. One request makes it, the others wait for that."""
        held = self.held.setdefault(name, Keeping())
        now = self.store.last_number()
        if held.seen == now and held.version >= 0:
            return cast(View, held.value)
        with held.lock:
            # Asked before it is made: what changes meanwhile is seen the next time.
            version = self.store.last_number(*outdated_by(name))
            if version != held.version:
                held.value, held.version = make(), version
            held.seen = now
            return cast(View, held.value)

    def lately(self, name: str, seconds: float, make: Callable[[], View]) -> View:
        """What no store knows, made anew when it is so old. One request makes it, the others wait
        for that.
        """
        held = self.held.setdefault(name, Keeping())
        with held.lock:
            if held.version < 0 or self.ticks() - held.made > seconds:
                held.value, held.version, held.made = make(), 0, self.ticks()
            return cast(View, held.value)

    def pins(self) -> dict[str, Pin]:
        """By site the wish as it is now, or the first where none holds."""
        now = datetime.now(UTC)
        return {
            site: next(iter(wishes_in_force_now.pins_in_force(pins, now)), pins[0])
            for site, pins in self.wishes().items()
        }

    def wishes(self) -> dict[str, tuple[Pin, ...]]:
        """Every wish by its site, the permanent one first."""
        return self.get_or_make("pins", self._wishes)

    def _wishes(self) -> dict[str, tuple[Pin, ...]]:
        return {
            site: tuple(pins) for site, pins in groupby(self.store.pins(), lambda pin: pin.site)
        }

    def headlines(self) -> tuple[Headline, ...]:
        return self.get_or_make("headlines", self.store.headlines)

    def catalogue(self) -> Catalogue:
        return self.get_or_make(
            "catalogue", lambda: catalogue(self.store.profiles(), self.store.placement()[1])
        )

    def rows_as_planned(self) -> Catalogue:
        """The same as the partition in force counts it: what comes by other names that do not move
        with their sites is in rows of its own, at the nodes where these lead.
        """
        return self.get_or_make("rows-as-planned", self._rows_as_planned)

    def _rows_as_planned(self) -> Catalogue:
        kept, (_, plan) = self.store.profiles(), self.base()
        if kept is None or plan is None:
            return self.catalogue()
        partition, names = self.store.placement()[1], set(self.catalogue().sites)
        strays = (stray for stray in strays_in(plan) if stray.name not in names)
        nodes = [Node(load.node, (), 1) for load in plan.after.nodes if load.fair]
        parts = parts_of(strays, nodes)
        profiles, spreads = profiles_with(parts, kept[1], kept[2])
        there = pd.concat([partition, partition_of_parts(parts)], ignore_index=True)
        return catalogue((kept[0], profiles, spreads), PLACEMENT.make(there))

    def nodes_view(self) -> Carried:
        return self.get_or_make("carried", self._nodes_view)

    def _nodes_view(self) -> Carried:
        site_table = self.catalogue()
        names, counts = np.unique(site_table.nodes.astype(str), return_counts=True)
        _, plan = self.base()
        loads = {load.node: load for load in plan.after.nodes} if plan else {}
        return Carried(dict(zip(names.tolist(), counts.tolist(), strict=True)), loads)

    def base(self) -> tuple[str, Plan | None]:
        """The partition in force."""
        return self.get_or_make("base", self._base)

    def _base(self) -> tuple[str, Plan | None]:
        base = self.store.in_force()
        return base, self.store.plan(base) if base else None

    def runs(self) -> tuple[NightlyRun, ...]:
        return self.get_or_make("runs", lambda: self.store.runs(1000))

    def stays_for(self) -> dict[str, list[str]]:
        """What a move would take along, by site, of the sites that stay for it."""
        return self.get_or_make("stays-for", self._stays_for)

    def _stays_for(self) -> dict[str, list[str]]:
        latest = self.headlines()[:1]
        return leaning_on_sites.stays_for(self.plan(latest[0].id) if latest else None)

    def names(self, settings: Settings) -> NamesOfSites:
        """All other names of sites, anew where files of them have changed."""
        read = self.lately("names-read", NAMES_READ, lambda: names_of_sites.read_names(settings))
        return self.few(f"names {read.state}", lambda: self._names(settings, read), _names_kept)

    def _names(self, settings: Settings, read: ReadNames) -> NamesOfSites:
        latest = self.headlines()[:1]
        return names_of_sites.names_of_sites(
            settings,
            self.plan(latest[0].id) if latest else None,
            frozenset(self.catalogue().sites.astype(str).tolist()),
            read,
        )

    def plan(self, plan_id: str) -> Plan:
        """One of the few that were read last."""
        return self.few(f"plan {plan_id}", lambda: self.store.plan(plan_id), _rows)

    def plan_output(self, plan_id: str) -> PlanOutput:
        """The same as it is answered: of a first night that takes longer than everything else."""
        return self.few(
            f"told {plan_id}",
            lambda: core_to_output_models.plan_output(self.plan(plan_id)),
            _told_rows,
        )

    def placement(self, plan_id: str) -> pd.DataFrame:
        return self.few(f"placement {plan_id}", lambda: self.store.placement_of(plan_id), len)

    def warm(self) -> None:
        """Make beforehand what most pages are made from, so that nobody waits for it after a
        night.
        """
        self.catalogue().order("-access_bytes")
        self.nodes_view()
        if latest := self.headlines()[:1]:
            self.plan_output(latest[0].id)
        if base := self.base()[0]:
            self.plan_output(base)

    def few(self, name: str, make: Callable[[], View], rows: Callable[[View], int]) -> View:
        """One of the few of its kind, which is the first word of the name, that were read last."""
        view = self.get_or_make(name, make)
        if (held := self.held.get(name)) is not None:
            held.rows = rows(view)
        self._let_go(name)
        return view

    def _let_go(self, name: str) -> None:
        """Drops the oldest views of the same kind, where there are more than FEW or they are too
        large together.
        """
        kind = name.partition(" ")[0]
        alike = {
            view_name: held.rows
            for view_name, held in list(self.held.items())
            if view_name.partition(" ")[0] == kind
        }
        for view_name in [view_name for view_name in alike if view_name != name]:
            if len(alike) <= FEW and sum(alike.values()) <= ROWS:
                return
            self.held.pop(view_name, None)
            del alike[view_name]


def _rows(plan: Plan) -> int:
    return len(plan.moves) + plan.changes


def _names_kept(names: NamesOfSites) -> int:
    return len(names.by_site)


def _told_rows(plan: PlanOutput) -> int:
    return len(plan.moves)
