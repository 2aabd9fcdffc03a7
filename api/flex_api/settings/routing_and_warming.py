"""Settings of the routing of replicated sites: whether, by which policy and limits, where HAProxy
is. And settings of how nodes warm up for what comes to them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from pydantic import Field, field_validator, model_validator

from flex.errors import BadInput
from flex.model.led_by_doors_or_dns import Publishing, Way
from flex.routing import port_clashes
from flex.routing.firewall_ports import PortBetweenNodes
from flex.routing.firewall_ports import ports_between_nodes as ports_of
from flex.routing.member_pools import LardLimits, is_host
from flex.routing.ports_and_paths import DIRECTORY, MASTER, Layout
from flex.routing.rules import BY_CONTENT, RULES
from flex_api.settings.explain_bad_settings import require_known, twice_in
from flex_api.settings.quantities import Section, Size, Span, Whole
from flex_api.settings.zone_names import SiteName, absolute_zone

# Beside the two waits of a held request, its answer has so much time. A guess.
_MARGIN = timedelta(seconds=10)


class Warming(Section):
    bytes: Size = Field(
        0,
        description="how many bytes of the most wanted paths a node fetches before "
        "DNS sends their visitors there; 0: none",
    )
    per_second: Size = Field(
        10_000_000, ge=1, description="bytes in a second that each node is asked for, on average"
    )
    time: Span = Field(
        timedelta(minutes=10),
        description="how long the warm-up of all nodes together may take; then the plan goes on",
    )
    port: Whole = Field(
        0,
        le=65_535,
        description="port of the web servers; 0: routing.origin_port with routing on, else 80",
    )


class RoutedSite(Section):
    """What is otherwise for one site; None is as for all."""

    name: SiteName
    policy: str | None = None
    low: Whole | None = None
    high: Whole | None = None
    hold: Span | None = None
    popular: Whole | None = None
    by_query: bool = Field(
        False, description="answers differ by the query, so each query is a path of its own"
    )
    dynamic: tuple[str, ...] = Field(
        (),
        description="the nodes that compute: requests that change something, or "
        "whose path ends in one of routing.endings, go there",
    )
    publish: Way | None = Field(
        None,
        description="how it becomes known which node has the site, otherwise than for its zone",
    )
    stateful: bool | None = Field(
        None, description="whether it has one writer, otherwise than for all"
    )

    @field_validator("policy")
    @classmethod
    def _known_policy(cls, value: str | None) -> str | None:
        return value and require_known(value, value, list(RULES))


@dataclass(frozen=True, slots=True)
class ByContent:
    """The sites whose members share their working set: those with host names whose policy tells
    targets apart, `others` being otherwise than most; and those that somebody named.
    """

    most: bool
    others: frozenset[str]
    named: frozenset[str]

    def __contains__(self, site: object) -> bool:
        routed = isinstance(site, str) and is_host(site) and (site in self.others) != self.most
        return routed or site in self.named


class PublishedZone(Section):
    """What is otherwise for the sites of one zone, whoever owns it."""

    name: str = Field(min_length=1, description="a zone, also one that FLEX may not change")
    publish: Way = Field(description="how it becomes known which node has a site of this zone")

    @field_validator("name")
    @classmethod
    def _absolute(cls, value: str) -> str:
        return absolute_zone(value)


class Routing(Section):
    on: bool = Field(
        False, description="replicated sites are routed by content, by HAProxy on their nodes"
    )
    doors: Literal["replicated", "all"] = Field(
        "replicated",
        description="which sites HAProxy knows: those on several nodes, or all, so "
        "that any node leads a visitor to the site's own",
    )
    content: Literal["everywhere", "owner"] = Field(
        "everywhere",
        description="what each node can serve: all sites, or its own alone; with "
        "`doors` for all, where a site's node does not answer",
    )
    publish: Way = Field(
        "doors+dns",
        description="with `doors` for all, how it becomes known which node has a site: "
        "by the doors of all nodes and then by DNS, by the doors alone, or by DNS alone",
    )
    stateful: bool = Field(
        False,
        description="with `doors` for all, sites have one writer: the node that owns a site "
        "alone answers for it, and where it does not, nobody does",
    )
    hold_time: Span = Field(
        timedelta(seconds=10),
        description="how long a request waits at most while its site with one writer moves",
    )
    hold_requests: Whole = Field(
        1000,
        ge=1,
        description="how many requests for one name wait at each node at most; the next one "
        "is asked to come again",
    )
    policy: str = Field("lardr", description=f"who gets a request: {', '.join(RULES)}")
    low: Whole = Field(25, description="a member with fewer requests under way has room")
    high: Whole = Field(65, description="a member with more requests has too many")
    delay: Span = Field(
        timedelta(),
        description="how much longer a request may wait at a busy member than at one "
        "with room; sets high",
    )
    service_ms: Whole = Field(
        10, ge=1, description="how long a mean request takes a member, where delay is set"
    )
    endings: tuple[str, ...] = Field(
        (".php",), description="how paths end that are computed, for sites with `dynamic` nodes"
    )
    hold: Span = Field(
        timedelta(seconds=20),
        description="paths whose members did not change for this long lose a member",
    )
    popular: Whole = Field(
        0,
        le=20_000,
        description="this many paths of a site get more members the more they are "
        "asked for (lardr)",
    )
    admission: bool = Field(
        True, description="let in as many requests at a time as the members can take"
    )
    directory: str = Field(
        DIRECTORY, description="where each node has the files of its configuration"
    )
    listen: tuple[str, ...] = Field(
        (":80",), description="addresses for HTTP, as HAProxy's `bind` takes them"
    )
    listen_tls: tuple[str, ...] = Field(
        (), description="addresses for HTTPS, as HAProxy's `bind` takes them"
    )
    listen_sni: tuple[str, ...] = Field(
        (),
        description="addresses for HTTPS that web servers end themselves, with `doors` for "
        "all: the site's node is found by the name in the visitor's first message",
    )
    certificates: str = Field(
        "", description="folder of certificates, chosen by the name that is asked for"
    )
    origin: str = Field(
        "127.0.0.1", description="where a node's HAProxy reaches its own web server"
    )
    origin_port: Whole = Field(8080, description="port of every node's web server")
    origin_tls_port: Whole = Field(
        8443, description="port on which every node's web server ends TLS, with `listen_sni`"
    )
    proxy_protocol: bool = Field(
        False, description="tell web servers of visitors by the PROXY protocol, not in a header"
    )
    check_path: str = Field(
        "",
        description="path that is asked for to see whether a web server is well; "
        "empty: whether it listens",
    )
    peers_port: Whole = Field(
        10_000, description="port on which distributors tell each other what they decided"
    )
    inner_port: Whole = Field(
        10_001, description="port on which nodes pass requests to each other, with `doors` for all"
    )
    inner_listen: tuple[str, ...] = Field(
        (),
        description="addresses on which they do, as HAProxy's `bind` takes them; empty: "
        "inner_port of all addresses",
    )
    inner_certificate: str = Field(
        "",
        description="PEM file of each node's own certificate and key, by which nodes speak "
        "TLS to each other; empty: they do not",
    )
    inner_ca: str = Field(
        "",
        description="PEM file of who signed those of all nodes, and of nobody else: "
        "whoever has one counts as a node",
    )
    member_port: Whole = Field(
        10_002, description="port on which members of replicated sites reach each other by that TLS"
    )
    socket: str = Field(
        "/run/haproxy/flex.sock", description="socket by which a node's HAProxy is told of changes"
    )
    sockets: str = Field(
        "",
        description="where the sockets of all nodes are on this machine, with {node} "
        "for each name; empty: only this machine's own",
    )
    master: str = Field(
        MASTER,
        description="socket of HAProxy's master process, by which it is told "
        "to reload its configuration",
    )
    deliver: str = Field(
        "", description="folder for the files of each node, which {node} stands for; empty: none"
    )
    deliver_command: tuple[str, ...] = Field(
        (),
        description="a command that is run for each node whose files changed; {node} "
        "and {directory} are filled in, no shell",
    )
    run_as: str = Field(
        "",
        description="the user, and the group of that name, as which HAProxy answers visitors, such "
        "as 'haproxy'; empty: whoever starts it, which is root where systemd does",
    )
    chroot: str = Field(
        "",
        description="the directory that is all that HAProxy sees of the machine once it has begun, "
        "such as '/var/lib/haproxy'; empty: it sees all",
    )
    metrics: str = Field(
        "127.0.0.1:8405", description="address at which HAProxy answers Prometheus; empty: none"
    )
    threads: Whole = Field(0, description="0: one for each core")
    connections: Whole = Field(
        20_000,
        ge=1,
        description="connections at a time, at most; visitors have three quarters of "
        "them, the rest is for what nodes pass on to each other",
    )
    bypass: bool = Field(
        False,
        description="visitors come to the web servers, which pass on what is for the "
        "sites of routed.map",
    )
    timeout: Span = Field(
        timedelta(minutes=1),
        description="how long a visitor, a web server, a WebSocket or a node may say nothing "
        "before HAProxy hangs up; a second to a day",
    )
    hard_stop_after: Span = Field(
        timedelta(minutes=5),
        description="how long the process before a reload may finish what it has begun",
    )
    zone: tuple[PublishedZone, ...] = Field(
        (), description="settings for the names of single zones"
    )
    site: tuple[RoutedSite, ...] = Field((), description="settings for single sites")

    @model_validator(mode="after")
    def _can_be_written(self) -> Routing:
        require_known(self.policy, self.policy, list(RULES))
        try:
            layout = self.layout()
            if self.on:
                port_clashes.refuse(layout, to_all_sites=self.leads_to_all)
            for site in (RoutedSite(name="every site"), *self.site):
                self.limits(site)
        except (BadInput, ValueError) as error:
            raise ValueError(str(error)) from None
        if self.bypass and self.doors == "all":
            raise ValueError(
                'doors = "all" needs visitors to come to HAProxy, which bypass keeps them from'
            )
        return self

    @model_validator(mode="after")
    def _has_inner_doors(self) -> Routing:
        """Nobody shall take for encrypted what is not."""
        if self.listen_sni and self.doors != "all":
            raise ValueError(
                'listen_sni needs doors = "all": other doors see paths, which TLS hides'
            )
        if self.inner_certificate and self.doors != "all":
            raise ValueError(
                'inner_certificate needs doors = "all": without inner doors nodes reach '
                "each other's web servers alone"
            )
        return self

    @model_validator(mode="after")
    def _may_have_one_writer(self) -> Routing:
        """Nobody shall take for one writer what may be two."""
        if not self.has_stateful:
            return self
        if not self.leads_to_all:
            raise ValueError(
                'stateful needs on = true and doors = "all": without them every node answers '
                "what comes to it"
            )
        if self.timeout < 2 * self.hold_time + _MARGIN:
            raise ValueError(
                f"timeout is too short for stateful: a request may wait for hold_time at two "
                f"nodes, and the first one hangs up after timeout. It has to be "
                f"{(2 * self.hold_time + _MARGIN).total_seconds():g} s at least"
            )
        if self.listen_sni:
            raise ValueError(
                "stateful cannot be had with listen_sni: such connections go past the inner "
                "doors to web servers, and HAProxy cannot have their requests wait; end TLS at "
                "HAProxy with listen_tls"
            )
        publishing = self.publishing()
        for site in self.site:
            if site.stateful and not publishing.sites_led_by_doors([site.name]):
                raise ValueError(
                    f"{site.name} cannot be stateful and published by DNS alone: the doors "
                    "would not know its writer"
                )
        return self

    @field_validator("deliver")
    @classmethod
    def _a_folder_each(cls, value: str) -> str:
        if value and ("{node}" not in value or not value.startswith("/")):
            raise ValueError("a whole path with {node} in it, so that each node has its own folder")
        return value

    @model_validator(mode="after")
    def _each_once(self) -> Routing:
        """Nobody could tell which of two is meant."""
        for what, names in (
            ("site", [section.name.lower() for section in self.site]),
            ("zone", [section.name.lower() for section in self.zone]),
        ):
            if twice := twice_in(names):
                raise ValueError(f"the {what} {twice!r} is there twice")
        return self

    @model_validator(mode="after")
    def _doors_know_them(self) -> Routing:
        """Doors that know replicated sites alone lead nobody to the others."""
        ways = [self.publish] if "publish" in self.model_fields_set else []
        ways += [section.publish for section in self.zone]
        ways += [section.publish for section in self.site if section.publish]
        if not self.leads_to_all and any(way != "dns" for way in ways):
            raise ValueError(
                'publish by doors needs on = true and doors = "all": other doors know '
                "replicated sites alone"
            )
        return self

    @property
    def leads_to_all(self) -> bool:
        """Whether every node leads a visitor of any site to the node that has it."""
        return self.on and self.doors == "all"

    @property
    def has_stateful(self) -> bool:
        """Whether there may be sites with one writer."""
        return self.stateful or any(site.stateful for site in self.site)

    def stateful_of(self, sites: Iterable[str]) -> frozenset[str]:
        """Those of the sites that have one writer."""
        if not self.has_stateful:
            return frozenset()
        by_site = {
            section.name: section.stateful for section in self.site if section.stateful is not None
        }
        return frozenset(site for site in sites if by_site.get(site, self.stateful))

    def publishing(self) -> Publishing:
        if not self.leads_to_all:
            return Publishing()
        return Publishing(
            self.publish,
            {section.name: section.publish for section in self.zone},
            {section.name: section.publish for section in self.site if section.publish},
        )

    def layout(self, *, counts_answers: bool = False) -> Layout:
        names = Layout.__dataclass_fields__.keys() - {"counts_answers"}
        fields = {name: getattr(self, name) for name in names}
        return Layout(**fields, counts_answers=counts_answers)

    def ports_between_nodes(self) -> tuple[PortBetweenNodes, ...]:
        """Which ports of the nodes to open to the nodes alone; none while it is off."""
        if not self.on:
            return ()
        return tuple(ports_of(self.layout(), to_all_sites=self.leads_to_all))

    @property
    def delivers(self) -> bool:
        """Whether FLEX carries the nodes' files to them itself, whenever the partition changes."""
        return self.on and bool(self.deliver)

    def sites_routed_by_content(self, named: Iterable[str]) -> Container[str]:
        """`named` are routed so by others than FLEX."""
        if not self.on:
            return frozenset(named)
        most = self.policy in BY_CONTENT
        others = (
            site.name for site in self.site if ((site.policy or self.policy) in BY_CONTENT) != most
        )
        return ByContent(most, frozenset(others), frozenset(named))

    def section_of_site(self, site: str) -> RoutedSite:
        return next(
            (section for section in self.site if section.name == site), RoutedSite(name=site)
        )

    def most_popular(self, site: str) -> int:
        """How many targets of it are told their members; 0 where the policy has no sets."""
        own = self.section_of_site(site)
        given = self.popular if own.popular is None else own.popular
        return given if (own.policy or self.policy) == "lardr" else 0

    def limits(self, site: RoutedSite) -> LardLimits:
        hold = self.hold if site.hold is None else site.hold
        low, high = (
            getattr(self if getattr(site, name) is None else site, name) for name in ("low", "high")
        )
        if self.delay and site.high is None:
            high = low + max(1, round(self.delay / timedelta(milliseconds=self.service_ms)))
        return LardLimits(low, high, round(hold.total_seconds()), self.admission)
