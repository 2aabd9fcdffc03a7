"""Settings of DNS: name servers, keys and zones, and how a site moves from one node to another."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from flex.model.dependents_of_moves import Dependents, WhatToDo
from flex.model.setting_precedence import SaidOfSites
from flex.model.zone_plan import Families
from flex_api.settings.explain_bad_settings import twice_in
from flex_api.settings.quantities import Section, Share, Span, Whole
from flex_api.settings.zone_names import SiteName, absolute_zone

# The shortest span that a setting takes which must not be 0.
SECOND = timedelta(seconds=1)


class Primary(Section):
    server: str = Field("127.0.0.1", description="the primary that takes updates")
    port: Whole = Field(53, ge=1, le=65535)
    key_file: Path | None = Field(
        None, description="TSIG key; may start with ${CREDENTIALS_DIRECTORY}"
    )
    transfer_key_file: Path | None = Field(
        None,
        description="TSIG key for zone transfers, also from the servers to check; "
        "key_file when not set",
    )
    verify: tuple[str, ...] = Field(
        (),
        description="servers to check, host or host:port; the primary when empty, "
        "and each zone's NS with verify_ns",
    )
    verify_ns: bool = Field(
        True,
        description="with verify empty, check every name server that a zone names, "
        "at the primary's port",
    )
    zones: tuple[str, ...] = Field((), description="zones in which sites have their names")

    @field_validator("zones")
    @classmethod
    def _absolute(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(absolute_zone(zone) for zone in value)

    @field_validator("verify")
    @classmethod
    def _reachable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            host, colon, port = name.rpartition(":")
            if not name or (colon and port.isdigit() and not (host and 0 < int(port) < 65536)):
                raise ValueError(f"{name!r} is no server; wanted 'host' or 'host:port'")
        return value


class DnsZone(Section):
    """What is otherwise for the sites of one zone; None is as for all."""

    name: str = Field(min_length=1, description="a zone, or any name above sites")
    dependents: WhatToDo | None = Field(
        None,
        description="what becomes of a site of this zone on whose name mail or "
        "another service leans, or whose addresses other records repeat",
    )
    families: Families | None = Field(
        None, description="whether its sites that have IPv4 alone, or IPv6, keep it so"
    )

    @field_validator("name")
    @classmethod
    def _absolute(cls, value: str) -> str:
        return absolute_zone(value)


class DnsSite(Section):
    """What is otherwise for one site; None is as for its zone."""

    name: SiteName
    dependents: WhatToDo | None = Field(
        None,
        description="what becomes of it if mail or another service leans on its name, "
        "or other records repeat its addresses",
    )
    families: Families | None = Field(
        None, description="whether it keeps IPv4 alone, or IPv6, if it has one alone"
    )


class Dns(Primary):
    ttl: Whole = Field(300, ge=1, le=604800, description="the TTL of the address records")
    owner: str = Field(
        "", description="the mark of the names that this FLEX owns; the cluster's name when empty"
    )
    adopt: bool = Field(
        False, description="take over names that lead to addresses of our nodes only"
    )
    other_names: Literal["stay", "follow"] = Field(
        "stay",
        description="follow: other names of a site in your zones get its addresses, "
        "too; stay: FLEX changes the site's own name alone",
    )
    address_hints: Literal["stay", "follow"] = Field(
        "stay",
        description="follow: ipv4hint and ipv6hint in HTTPS and SVCB records at a site's own "
        "name change with its addresses, if they are exactly the addresses of the name, and "
        "those that lead to a dead node go (FLEX's key then needs the right to change HTTPS "
        "and SVCB, as `flex config named` prints it); stay: FLEX changes no such record",
    )
    timeout: Span = Field(
        timedelta(seconds=5),
        ge=SECOND,
        le=timedelta(minutes=5),
        description="how long FLEX waits for the answer to one question",
    )
    settle: Span = Field(
        timedelta(seconds=30),
        le=timedelta(hours=1),
        description="how long FLEX waits for all servers to agree after a change",
    )
    dependents: WhatToDo = Field(
        "refuse",
        description="a site on whose name mail or another service leans (MX, SRV, NS), "
        "so that a move would take it along, or whose addresses HTTPS or SVCB records "
        "repeat as hints, which a move would leave behind: it stays, it moves and that "
        "is said, or nobody looks",
    )
    below_wildcards: Literal["leave", "make"] = Field(
        "leave",
        description="a site without records of its own, for which a wildcard of the zone "
        "answers: leave: it counts where the wildcard leads; make: it gets records, which "
        "hide all that the wildcard says (MX, TXT, ...) from it and from the names below",
    )
    families: Families = Field(
        "keep",
        description="a site that has IPv4 alone, or IPv6, when FLEX takes it over: keep: it "
        "gets no address of the other family; all: it gets every address of its node",
    )
    make_before_break: bool = Field(
        False,
        description="a site that moves has both nodes first, and only the new one "
        "after a TTL has passed",
    )
    moving_ttl: Whole = Field(
        0,
        le=604800,
        description="with make_before_break: the TTL of names that move, lowered one "
        "old TTL before and restored at the end; 0: the same as ttl",
    )
    waves: tuple[Share, ...] = Field(
        (0.01, 0.1),
        max_length=10,
        description="with make_before_break: the shares of the moving sites that go "
        "wave by wave; each wave waits until the one before is well, and "
        "the rest goes last",
    )
    warm_command: tuple[str, ...] = Field(
        (),
        description="with make_before_break: a command that is run for each node of "
        "a wave before DNS names it; {node}, {address} and {sites}, a "
        "file that lists them, are filled in, no shell",
    )
    warm_time: Span = Field(
        timedelta(minutes=10), ge=SECOND, description="how long one warm_command may take"
    )
    warm_or_stop: bool = Field(
        False,
        description="take the plan back when a warm_command fails, instead of only reporting it",
    )
    primary: tuple[Primary, ...] = Field(
        (), description="further primaries, each with its own key and zones"
    )
    zone: tuple[DnsZone, ...] = Field((), description="settings for the sites of single zones")
    site: tuple[DnsSite, ...] = Field((), description="settings for single sites")

    @model_validator(mode="after")
    def _once(self) -> Dns:
        if twice := twice_in(self.every_zone):
            raise ValueError(
                f"the zone {twice} is there twice: nobody could tell which primary "
                "takes its updates"
            )
        return self

    @model_validator(mode="after")
    def _gentle(self) -> Dns:
        alone = [
            name
            for name in ("moving_ttl", "waves", "warm_command")
            if name in self.model_fields_set
        ]
        if alone and not self.make_before_break:
            raise ValueError(f"{alone[0]} does nothing without make_before_break = true")
        of_command = [
            name for name in ("warm_time", "warm_or_stop") if name in self.model_fields_set
        ]
        if of_command and not self.warm_command:
            raise ValueError(f"{of_command[0]} does nothing without warm_command")
        if self.moving_ttl >= self.ttl:
            raise ValueError(
                f"moving_ttl = {self.moving_ttl} does nothing: it is not below ttl = {self.ttl}"
            )
        return self

    def what_to_do_with_dependents(self) -> Dependents:
        return Dependents(
            self.dependents,
            {section.name: section.dependents for section in self.zone if section.dependents},
            {section.name: section.dependents for section in self.site if section.dependents},
        )

    def families_of_sites(self) -> SaidOfSites[Families]:
        return SaidOfSites(
            self.families,
            {section.name: section.families for section in self.zone if section.families},
            {section.name: section.families for section in self.site if section.families},
        )

    @property
    def primaries(self) -> tuple[Primary, ...]:
        """Those that have zones."""
        return tuple(primary for primary in (self, *self.primary) if primary.zones)

    @property
    def every_zone(self) -> tuple[str, ...]:
        return tuple(zone for primary in (self, *self.primary) for zone in primary.zones)
