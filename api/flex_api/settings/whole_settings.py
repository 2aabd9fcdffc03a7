"""All settings, section by section: names, defaults, meaning, and allowed values.

Takes values. Returns values. Does not know where the file is, or what its relative paths and
placeholders mean: file.py does.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Container, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import Field, PrivateAttr, field_validator, model_validator

import flex_solver
from flex.errors import BadInput
from flex.model.nodes import Node
from flex.model.wish import Pin
from flex.placing.problem import DIMENSIONS, MoveLimits, Terms
from flex.routing.ports_and_paths import Layout
from flex.traffic.replicas_and_demand import RESOURCES
from flex_api.settings.api import Api, Auth
from flex_api.settings.cpu_of_sites import CpuSection
from flex_api.settings.explain_bad_settings import require_known, twice_in
from flex_api.settings.file_changed import Origin
from flex_api.settings.health_watch_settings import Watch
from flex_api.settings.move_commands import Move
from flex_api.settings.name_servers_and_zones import Dns
from flex_api.settings.quantities import Section, Share, Size, Span, Whole
from flex_api.settings.routing_and_warming import Routing, Warming
from flex_api.settings.safety_and_notices import Metrics, Notify, Safety
from flex_api.settings.zone_names import SiteName
from flex_logs_ingest import formats
from flex_logs_ingest.counts import SIZE_LOOKBACK_DAYS

# The shortest span that a setting takes which must not be 0.
SECOND = timedelta(seconds=1)
# A leap year: a period of logs lasts no longer.
YEAR = timedelta(days=366)


class Cluster(Section):
    name: str = Field(
        "flex",
        min_length=1,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="names the cluster in reports and markers",
    )
    mode: Literal["shadow", "review", "auto"] = Field(
        "review",
        description="shadow never writes to DNS, review waits for `flex apply`, auto "
        "applies within [safety]",
    )
    timezone: str = Field(
        "UTC", description="the time zone of safety.windows; everything is stored and shown in UTC"
    )

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError):
            raise ValueError("wanted a time zone such as 'Europe/Berlin'") from None
        return value


class Database(Section):
    url: str = Field("sqlite:///flex.db", description="SQLite file, or postgresql://user@host/name")
    url_file: Path | None = Field(
        None, description="a file with the URL in place of url, where it holds a password"
    )

    @model_validator(mode="after")
    def _one_url(self) -> Database:
        if self.url_file and "url" in self.model_fields_set:
            raise ValueError("give either url or url_file")
        return self


def _public_address(address: str) -> str:
    """An address as visitors can reach it. Loopback is let through: the demo and the tests live
    there.
    """
    parsed = ipaddress.ip_address(address)
    if parsed.is_unspecified or parsed.is_multicast or parsed.is_link_local or "%" in address:
        raise ValueError(f"{address} is no address that visitors could reach")
    return str(parsed)


class NodeSection(Section):
    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    addresses: tuple[str, ...] = Field(
        min_length=1, description="what DNS says for a site on this node"
    )
    ram: Size = Field(ge=2**20, description="memory of the node that holds files: its page cache")
    capacity: float = Field(
        1.0, ge=0.001, le=1000, description="service rate, compared with the other nodes"
    )

    @field_validator("addresses")
    @classmethod
    def _real_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Each once, in the order given."""
        return tuple(dict.fromkeys(_public_address(address) for address in value))


def _directive(value: str) -> str:
    try:
        formats.layout_of(value, unsized=True)
    except BadInput as error:
        raise ValueError(f"{error.answer}; {error.advice}") from None
    return value


class SourceSection(Section):
    glob: str | tuple[str, ...] = Field(
        (), description="which files; rotated and compressed ones too"
    )
    shipped: bool = Field(
        False,
        description="logs that are counted on another machine; `flex import` takes the counts",
    )
    node: str = Field(description="the node whose logs these are")
    format: str = Field("auto", description="a log format, or auto to look at the files")
    site: str = Field("", description="the site of logs whose lines do not name it")

    site_pattern: str = Field(
        "",
        description="a pattern of the file's name without folders, for logs whose files are "
        "named for their site: `'(?P<site>.+)[.]access[.]log.*'`; with a slash in it, of "
        "the end of the path: `'(?P<site>[^/]+)/access[.]log.*'`. A file that it matches "
        "without a site is left out",
    )
    site_by: Literal["log", "directory"] = Field(
        "log",
        description="log: what a line says; directory: the first directory of the "
        "path, such as /shop/",
    )
    document_root: str = Field(
        "",
        description="where the sites' files are on this machine, '{site}' for the "
        "name of each: targets get their true "
        "sizes, also in logs that name no bytes",
    )

    @field_validator("format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        """A file that holds a directive is looked at when logs are read: it may be on another
        machine.
        """
        if value.startswith("/"):
            return value
        if "%" in value or "$" in value:
            return _directive(value)
        return require_known(value, value.partition(" ")[0], ["auto", *formats.FORMATS])

    @field_validator("site_pattern")
    @classmethod
    def _names_the_site(cls, value: str) -> str:
        try:
            groups = re.compile(value).groupindex
        except re.error as error:
            raise ValueError(f"this is no regular expression: {error}") from None
        if value and "site" not in groups:
            raise ValueError(
                "it has no group (?P<site>...) that says which part of the name is the site"
            )
        return value

    @model_validator(mode="after")
    def _one_site(self) -> SourceSection:
        given = [name for name in ("site", "site_pattern") if getattr(self, name)]
        given += ["site_by = 'directory'"] * (self.site_by == "directory")
        if len(given) > 1:
            raise ValueError(
                f"{given[0]} and {given[1]} both say which site it is: leave one of them out"
            )
        if self.site_by == "directory" and "{site}" in self.document_root:
            raise ValueError(
                "paths begin with the site's directory already: leave {site} out of document_root"
            )
        return self

    @model_validator(mode="after")
    def _one_way(self) -> SourceSection:
        if bool(self.globs) == self.shipped:
            raise ValueError(
                "give either glob, for logs that are read here, or shipped = true, "
                "for counts that arrive"
            )
        return self

    @property
    def globs(self) -> tuple[str, ...]:
        return (self.glob,) if isinstance(self.glob, str) else self.glob


class Ingest(Section):
    directory: Path = Field(Path("partials"), description="the folder with the counts of read logs")
    sample_limit: Whole = Field(
        2_000_000, ge=1000, le=10**9, description="accesses kept for the prediction of load"
    )
    keep_days: int = Field(
        90,
        ge=0,
        le=36_500,
        description="counts, profiles and tables that are older are deleted; 0 keeps all",
    )
    workers: Whole = Field(
        0, le=64, description="logs read at the same time; 0: one for each core, up to 4"
    )
    aliases: dict[str, str] = Field(
        default_factory=dict, description="other names of sites: 'www.a.example' = 'a.example'"
    )
    aliases_file: Path | None = Field(
        None, description="a file with more of them: on each line a name and its site"
    )
    vhosts: tuple[str, ...] = Field(
        (),
        description="globs of files of nginx and Apache: the names of each virtual "
        "host are other names of the first of them, or of the one that is a site",
    )
    www: Literal["listed", "same", "apart"] = Field(
        "listed",
        description="whether www.a.example and a.example are one site. listed: when "
        "only one of them is in sites_file "
        "or aliases; same: always; apart: never",
    )
    sites_file: Path | None = Field(
        None,
        description="a file with the hosted sites, each on a line; requests for "
        "other names count for the site (unknown)",
    )
    source: tuple[SourceSection, ...] = ()
    cpu: tuple[CpuSection, ...] = ()


class Profile(Section):
    window: Span = Field(
        timedelta(days=1), description="how many past days make a profile, in whole UTC days"
    )
    half_life: Span | None = Field(
        None, description="a day weighs half as much as one that is this much later"
    )
    forecast: Literal["auto", "off"] = Field(
        "auto",
        description="auto: plan for what the next day is expected to be, once that "
        "proves better on this cluster",
    )
    surge: float = Field(
        3.0, gt=1, le=1000, description="a site that grew this many times is reported"
    )
    max_age: Span = Field(
        timedelta(hours=36), description="a source whose last line is older keeps the old partition"
    )
    max_malformed: float = Field(
        0.05,
        ge=0,
        le=1,
        description="a larger share of malformed lines in a node's logs keeps the old partition",
    )
    min_coverage: float = Field(
        0.8,
        ge=0,
        le=1,
        description="so does a smaller share of the hours in which a node's logs "
        "should not be silent",
    )
    max_skew: Span = Field(
        timedelta(minutes=10), description="so do lines that are dated later than they were read"
    )

    @field_validator("window")
    @classmethod
    def _whole_days(cls, value: timedelta) -> timedelta:
        if value < timedelta(days=1) or value % timedelta(days=1):
            raise ValueError("wanted whole days, such as '1d' or '7d'")
        if value > YEAR:
            raise ValueError(f"wanted {YEAR.days}d at most")
        return value


class ClassSection(Section):
    """Sites that are promised more than they ask for."""

    headroom: float = Field(
        ge=0,
        le=10,
        description="each site of the class counts as this much larger than it is, such as 0.2",
    )
    sites: tuple[SiteName, ...] = Field(
        (), description="the sites of the class, besides those that pins put there"
    )


class Solver(Section):
    engine: str = Field(
        "auto", description="a solver, or auto to choose by the size of the cluster"
    )
    tolerance: Share = Field(
        0.03, description="aim: every node within this share of its fair share"
    )
    replicate_above: float = Field(
        0.60, gt=0, le=1, description="a site larger than this share of a node is split"
    )
    replicate_below: float = Field(
        0.50,
        gt=0,
        le=1,
        description="a split site is joined again when it is smaller than this, or replicate_above",
    )
    dimensions: tuple[str, ...] = Field(
        DIMENSIONS,
        description=f"what is balanced: {', '.join(RESOURCES)}; the first two always are",
    )
    content_routed: tuple[SiteName, ...] = Field(
        (), description="sites whose requests are sent to replicas by content, not at random"
    )
    classes: Mapping[str, ClassSection] = Field(
        {}, description="classes of sites, by name: how much spare capacity each gets"
    )
    max_moves: Whole | None = Field(
        None, description="moves in one plan, at the cost of balance if necessary"
    )
    max_cold: Size | None = Field(
        None,
        description="bytes that all new nodes of one plan have to read, at the "
        "cost of balance if necessary",
    )
    max_cold_per_node: Size | None = Field(
        None, description="bytes that any one node has to read, at the cost of balance if necessary"
    )
    steps: Whole = Field(
        200_000,
        ge=1,
        le=10**12,
        description="length of the search where the exact method is too slow",
    )
    time_limit: Span = Field(
        timedelta(seconds=30),
        ge=SECOND,
        description="time for the searches of a plan, of which the first has most, and each at "
        "least a twentieth: ends them where the steps have not ended them before; a plan that is "
        "made again without sites that cannot move has it again",
    )

    @field_validator("engine")
    @classmethod
    def _known_solver(cls, value: str) -> str:
        return require_known(value, value, list(flex_solver.SOLVERS))

    @field_validator("dimensions")
    @classmethod
    def _known_dimensions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            require_known(name, name, list(RESOURCES))
        if value[: len(DIMENSIONS)] != DIMENSIONS or len(set(value)) < len(value):
            raise ValueError(f"wanted {', '.join(DIMENSIONS)} first, and each once")
        return value

    @model_validator(mode="after")
    def _one_class_a_site(self) -> Solver:
        sites = [site for each in self.classes.values() for site in each.sites]
        if twice := sorted({site for site in sites if sites.count(site) > 1}):
            raise ValueError(f"{twice[0]} is in two classes")
        return self

    def terms(self, pins: Sequence[Pin] = (), *, routed: Container[str] = frozenset()) -> Terms:
        """Pins put sites into classes, and weigh them: twice as large and half a node more are
        three times as large.
        """
        headroom = {site: each.headroom for each in self.classes.values() for site in each.sites}
        for pin in pins:
            promised = (
                self.classes[pin.sla].headroom
                if pin.sla in self.classes
                else headroom.get(pin.site, 0.0)
            )
            headroom[pin.site] = (1 + promised) * pin.weight - 1
        return Terms(
            dimensions=self.dimensions,
            replicate_below=min(self.replicate_below, self.replicate_above),
            headroom=headroom,
            routed=routed,
            limits=MoveLimits(self.max_moves, self.max_cold, self.max_cold_per_node),
        )


class Report(Section):
    dir: Path = Path("reports")
    pdf: bool = Field(
        False, description="write each night's report as PDF, too, where Chromium is installed"
    )


class Settings(Section):
    schema_: Literal[1] = Field(1, alias="schema")
    cluster: Cluster = Cluster()
    database: Database = Database()
    node: tuple[NodeSection, ...] = ()
    ingest: Ingest = Ingest()
    profile: Profile = Profile()
    solver: Solver = Solver()
    safety: Safety = Safety()
    dns: Dns = Dns()
    routing: Routing = Routing()
    warming: Warming = Warming()
    move: Move = Move()
    report: Report = Report()
    notify: Notify = Notify()
    metrics: Metrics = Metrics()
    api: Api = Api()
    auth: Auth = Auth()
    watch: Watch = Watch()
    _given: frozenset[str] = PrivateAttr(frozenset())
    _origin: Origin | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        names = [node.name for node in self.node]
        if twice := twice_in(names):
            raise ValueError(f"the node {twice!r} is there twice")
        if twice := twice_in([address for node in self.node for address in node.addresses]):
            raise ValueError(
                f"two nodes have the address {twice}: nobody could tell which of them serves a site"
            )
        needed = self.profile.window.days + SIZE_LOOKBACK_DAYS
        if 0 < self.ingest.keep_days < needed:
            raise ValueError(
                f"ingest.keep_days = {self.ingest.keep_days} is too short: "
                f"profile.window and the {SIZE_LOOKBACK_DAYS} days "
                f"before it, which tell sizes, take {needed}"
            )
        for source in self.ingest.source:
            if source.node not in names:
                raise ValueError(
                    f"a source names the node {source.node!r}; the nodes are "
                    f"{', '.join(names) or 'none'}"
                )
        if self.solver.tolerance > self.safety.trigger_imbalance:
            raise ValueError(
                "solver.tolerance is the aim and must not be over "
                "safety.trigger_imbalance, which starts a plan"
            )
        return self

    @model_validator(mode="after")
    def _known_classes(self) -> Settings:
        for hook in self.move.hook:
            for name in hook.classes:
                if name not in self.solver.classes:
                    raise ValueError(
                        f"the hook {hook.shown_name!r} of {hook.stage} is for the class {name!r}; "
                        f"[solver.classes] has {', '.join(self.solver.classes) or 'none'}"
                    )
        return self

    @property
    def owner(self) -> str:
        return self.dns.owner or self.cluster.name

    def layout(self) -> Layout:
        """Where things are on the machine of every node."""
        return self.routing.layout(counts_answers=bool(self.move.watch))

    def nodes(self) -> tuple[Node, ...]:
        return tuple(Node(node.name, node.addresses, node.ram, node.capacity) for node in self.node)
