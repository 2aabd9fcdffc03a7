"""Makes real things from settings: the one place that knows every edge. Does not decide
anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import flex_solver
from flex.errors import BadSetting
from flex.identify_machine import machine
from flex.model.audit_chain import Author
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.wish import Pin
from flex.placing import problem
from flex.planning import facts_and_rules
from flex.store import Store, open_store
from flex.wishes import wishes_in_force_now
from flex_api import other_names_in_settings
from flex_dns import rfc2136, several_primaries
from flex_dns.wire import key, name_server_and_key
from flex_logs_ingest.files import find_and_unpack_logs
from flex_logs_ingest.reading import read_logs

if TYPE_CHECKING:
    from flex.planning.facts_and_rules import Rules
    from flex.ports import Publisher, Solver
    from flex.store import Store
    from flex_api.settings.file import Settings
    from flex_api.settings.name_servers_and_zones import Primary
    from flex_dns.rfc2136 import Rfc2136Publisher
    from flex_dns.wire.key import Key
    from flex_dns.wire.name_server_and_key import Server
    from flex_logs_ingest.files.find_and_unpack_logs import Source
    from flex_logs_ingest.scan.site_rules import SiteRule

Clock = Callable[[], datetime]
# What is done so much later than it was asked for is not done as of another time. A guess.
CLOCKS_APART = timedelta(minutes=1)
HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class World:
    """Everything a run needs. The name server is only reached for when a step asks for it.

    `clock` says as of when a plan is made, `time_of_day` what time it really is; `say` tells a
    person how it goes, `progress` follows the reading of logs.
    """

    settings: Settings
    store: Store
    connect: Callable[[], Publisher]
    clock: Clock
    time_of_day: Clock
    say: Callable[[str], None]
    progress: read_logs.Progress

    @property
    def publisher(self) -> Publisher:
        return self.connect()

    @property
    def solver(self) -> Solver:
        return solver(self.settings.solver.engine)

    @property
    def scratch(self) -> Solver:
        return flex_solver.SOLVERS["scratch"]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return nodes(self.settings, self.store)

    @property
    def is_as_of(self) -> bool:
        """Whether what is done is done as of another time than it is."""
        return abs(self.time_of_day() - self.clock()) > CLOCKS_APART

    def close(self) -> None:
        """Give the database's connections back; whoever goes on gets new ones."""
        if isinstance(self.store, Store):
            self.store.close()

    @property
    def pins(self) -> tuple[Pin, ...]:
        """The wishes that hold now, at most one for each site."""
        return wishes_in_force_now.pins_in_force(self.store.pins(), self.clock())

    @property
    def pins_of_next_plan(self) -> tuple[Pin, ...]:
        """One a site, those included that begin before the night after the next plan: that night
        would be too late for them.
        """
        pins, now = self.store.pins(), self.clock()
        wishes = wishes_in_force_now.pins_in_force(pins, now, wishes_in_force_now.NIGHT)
        # Where not all can be kept, those give way that do not hold yet: they come last.
        return tuple(sorted(wishes, key=lambda pin: not pin.holds(now)))

    @property
    def rules(self) -> Rules:
        return rules(self.settings, self.pins_of_next_plan)


def merging(world: World, period: Period) -> Callable[[int, int], None]:
    """The same bar that follows the logs, for the counts of a period."""
    name = f"counts of {period}"
    return lambda done, size: world.progress(
        read_logs.Step("merge", name, done, size, done, size, 0)
    )


def silent(*_: object) -> None:
    """What a program that nobody watches says."""


def world(
    settings: Settings,
    clock: Clock,
    *,
    say: Callable[[str], None] = silent,
    progress: read_logs.Progress = silent,
    author: Author | None = None,
) -> World:
    store = open_store(settings.database.url).in_the_name_of(author or Author())
    return World(
        settings=settings,
        store=store,
        connect=lambda: publisher(settings, store),
        clock=clock,
        time_of_day=lambda: datetime.now(UTC),
        say=say,
        progress=progress,
    )


def solver(name: str) -> Solver:
    if name not in flex_solver.SOLVERS:
        raise BadSetting(
            f"solver.engine = {name!r}",
            f"the solvers are {', '.join(flex_solver.SOLVERS)}",
            kept="nothing was planned",
            advice="choose one of them, or leave the setting out",
        )
    return flex_solver.SOLVERS[name]


def nodes(settings: Settings, store: Store) -> tuple[Node, ...]:
    """The nodes of the settings and those that people added, as they changed them, in the state
    they put them into.
    """
    orders = {order.node: order.state for order in store.node_orders()}
    known = {node.name: node for node in (*settings.nodes(), *store.own_nodes())}
    states = {name: orders.get(name, "active") for name in known}
    return tuple(
        replace(node, state=state)
        for name, node in known.items()
        if (state := states[name]) != "removed"
    )


def rules(settings: Settings, pins: Sequence[Pin] = ()) -> Rules:
    """What the settings say; pins say it of single sites."""
    return facts_and_rules.Rules(
        tolerance=settings.solver.tolerance,
        trigger=settings.safety.trigger_imbalance,
        margin=settings.safety.min_improvement,
        replicate_above=settings.solver.replicate_above,
        limits=settings.safety.limits(),
        zones=settings.dns.every_zone,
        owner=settings.owner,
        ttl=settings.dns.ttl,
        adopt=settings.dns.adopt,
        budget=problem.Budget(settings.solver.steps, settings.solver.time_limit.total_seconds()),
        terms=settings.solver.terms(
            pins, routed=settings.routing.sites_routed_by_content(settings.solver.content_routed)
        ),
        publishing=settings.routing.publishing(),
        dependents=settings.dns.what_to_do_with_dependents(),
        families=settings.dns.families_of_sites(),
        follow=settings.dns.other_names == "follow",
        below_wildcards=settings.dns.below_wildcards == "make",
        address_hints_follow=settings.dns.address_hints == "follow",
    )


def keys(primary: Primary) -> tuple[Key, ...]:
    if primary.key_file is None:
        raise BadSetting(
            "signing updates for the name server",
            f"dns.key_file is not set for {primary.server}",
            kept="nothing was sent",
            advice="`flex init DIR` makes a key; once it is set `flex config named` "
            "prints the BIND side of it",
        )
    return key.read_keys(primary.key_file)


def publisher(settings: Settings, store: Store) -> Publisher:
    """Without any zone there is no name server to ask, nor a key to ask it with: plans are on
    paper.
    """
    if not settings.dns.every_zone:
        return several_primaries.SeveralPublishers({})
    us = controller(settings, store)
    publishers = [
        (primary, _publisher(settings, primary, store, us)) for primary in settings.dns.primaries
    ]
    if len(publishers) == 1:
        return publishers[0][1]
    if not publishers:
        return _publisher(settings, settings.dns, store, us)
    return several_primaries.SeveralPublishers(
        {zone: zone_publisher for primary, zone_publisher in publishers for zone in primary.zones}
    )


def _publisher(settings: Settings, primary: Primary, store: Store, us: str) -> Rfc2136Publisher:
    name_server = server(settings, primary)
    return rfc2136.Rfc2136Publisher(
        name_server,
        settings.owner,
        servers(primary),
        controller=us,
        verify_ns=primary.verify_ns,
        refuse_lost=lambda: refuse_lost(store),
    )


def refuse_lost(store: Store) -> None:
    """Raises LostLease where the step that asks holds the lease no more; whoever holds none may."""
    with store.together():
        """Each transaction looks before anything else."""


def controller(settings: Settings, store: Store) -> str:
    """This installation: by what its database drew when it was made and, where that is on this
    machine, by the machine.

    So a copy on another machine is another one, and one that moves to another folder or gets
    another host name is not.
    """
    host = urlsplit(settings.database.url).hostname
    ours = "" if host and host not in HERE else machine()
    return " ".join(filter(None, (settings.owner, store.installation(), ours)))


def servers(primary: Primary) -> tuple[tuple[str, int], ...]:
    """All that are asked after a change."""
    return tuple(_address(name) for name in primary.verify)


def server(settings: Settings, primary: Primary) -> Server:
    """With the first of its keys that the name server knows, while one key takes the place of
    another.
    """
    from flex_dns.preflight import primary_check

    timeout = settings.dns.timeout.total_seconds()
    reader = primary.transfer_key_file and key.read_keys(primary.transfer_key_file)[0]
    candidates = [
        name_server_and_key.Server(
            primary.server,
            primary.port,
            server_key,
            timeout,
            reader or None,
            hints=settings.dns.address_hints == "follow",
        )
        for server_key in keys(primary)
    ]
    return (
        candidates[0]
        if len(candidates) == 1
        else primary_check.choose_key(candidates, primary.zones)
    )


def _address(name: str) -> tuple[str, int]:
    host, colon, port = name.rpartition(":")
    if colon and port.isdigit() and not host.endswith(":"):
        return host.strip("[]"), int(port)
    return name.strip("[]"), 53


def site_names(settings: Settings) -> SiteRule:
    """What all sources have in common in how their sites are named."""
    return other_names_in_settings.site_rule(settings.ingest)


def source_name(node: str, site: str) -> str:
    return f"{node}:{site}" if site else node


def sources(settings: Settings) -> tuple[Source, ...]:
    """Logs go by their node, and by their site where it is set: a glob that is edited, or two of
    one node that overlap, never make a line count twice, and logs of two sites that begin alike are
    still two. With another node or site a source is another one, and counts its logs anew.
    """
    names = site_names(settings)
    return tuple(
        find_and_unpack_logs.Source(
            name=source_name(source.node, source.site),
            globs=source.globs,
            node=source.node,
            format=source.format,
            site=replace(
                names,
                fixed=source.site or None,
                pattern=source.site_pattern,
                directory=source.site_by == "directory",
            ),
            document_root=source.document_root,
        )
        for source in settings.ingest.source
    )
