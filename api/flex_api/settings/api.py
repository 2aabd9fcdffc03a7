"""Settings of the API and of who may use it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, field_validator

from flex.model.roles_and_tokens import Role
from flex_api.settings.quantities import Section, Size, Whole


class Api(Section):
    listen: str = Field("127.0.0.1:8080", pattern=r"^(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}$")
    hosts: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:\[\]-]+$")], ...] = Field(
        (),
        description="names by which people and programs reach the server, besides localhost, its "
        "own address and name, and the host of notify.base_url; asked for any other, it "
        "answers 421",
    )
    workers: Whole = Field(
        1, ge=1, le=64, description="how many processes answer; they share the address"
    )
    requests_per_second: float = Field(
        50.0,
        ge=0,
        le=1e6,
        description="how many requests one token, or one address "
        "without a token, may make in a second; 0 is "
        "no limit",
    )
    max_body: Size = Field(2**20, ge=1024, description="the largest body of a request, in bytes")


class Auth(Section):
    anonymous: Role | None = Field(
        None, description="the role of callers without a token; none when left out"
    )
    proxy_header: str = Field(
        "",
        description="the header in which a proxy that signs people in names the "
        "user, such as 'X-Remote-User'",
    )
    trusted_proxies: tuple[str, ...] = Field(
        (),
        description="addresses and networks of trusted proxies; only they may name "
        "the user and the address of a request",
    )
    address_header: str = Field(
        "X-Forwarded-For",
        description="the header in which trusted proxies name the address of the "
        "visitor, by which requests are counted; '' for none",
    )
    proxy_role: Role = Field(
        "viewer", description="the role of people that a proxy names, unless `users` gives another"
    )
    users: Mapping[str, Role] = Field(
        {}, description="roles of people that a proxy names, by user name"
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(ipaddress.ip_network(proxy)) for proxy in value)
