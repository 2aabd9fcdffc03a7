"""Settings of the API and of who may use it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from pydantic import Field, field_validator

from flex.model.access import Role
from flex_api.settings.quantities import Section, Size, Whole


class Api(Section):
    listen: str = Field(
        "127.0.0.1:8080", pattern=r"^(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}$"
    )
    workers: Whole = Field(
        1, ge=1, le=64, description="processes that answer; they share the address"
    )
    requests_per_second: float = Field(
        50.0, ge=0, le=1e6, description="of each token, or address; 0 is no limit"
    )
    max_body: Size = Field(2**20, ge=1024, description="bytes that a request may bring")


class Auth(Section):
    anonymous: Role | None = Field(
        None, description="what anybody may do who shows no token; nothing, if left out"
    )
    proxy_header: str = Field(
        "",
        description="in which a proxy that signs people in says who it is: 'X-Remote-User'",
    )
    trusted_proxies: tuple[str, ...] = Field(
        (),
        description="addresses and networks whose word on who asks, and from where, "
        "is taken; nobody else's is",
    )
    address_header: str = Field(
        "X-Forwarded-For",
        description="in which those proxies say whose requests they pass on, which "
        "are counted by address; '' for none",
    )
    proxy_role: Role = Field(
        "viewer",
        description="of people a proxy vouches for, where `users` says nothing else",
    )
    users: Mapping[str, Role] = Field(
        {}, description="roles of people a proxy vouches for, by name"
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(ipaddress.ip_network(one)) for one in value)
