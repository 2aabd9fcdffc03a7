"""Two that listen at one port would share its connections, and HAProxy would be its own web server:
HAProxy itself accepts both, and so visitors would find out.
"""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from flex_api.settings.routing_and_warming import Routing

ALL = {"on": True, "doors": "all"}
TLS = {"inner_certificate": "/etc/node.pem", "inner_ca": "/etc/ca.pem"}


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"origin_port": 80}, ("listen", "origin_port")),
        ({"listen": ["192.0.2.1:80"], "origin_port": 80}, ("listen", "origin_port")),
        ({"listen": ["127.0.0.1:8080"]}, ("listen", "origin_port")),
        ({"listen": [":8000-8100"]}, ("listen", "origin_port")),
        ({"inner_port": 80}, ("listen", "inner_port")),
        ({"listen": ["192.0.2.1:10001"]}, ("listen", "inner_port")),
        ({"inner_port": 8080}, ("inner_port", "origin_port")),
        ({"inner_listen": ["0.0.0.0:8080"]}, ("inner_listen", "origin_port")),
        ({"inner_port": 10_000}, ("inner_port", "peers_port")),
        ({"peers_port": 8080}, ("peers_port", "origin_port")),
        ({"listen": ["ipv4@*:10000"]}, ("listen", "peers_port")),
        ({"metrics": "127.0.0.1:80"}, ("listen", "metrics")),
        ({"metrics": "127.0.0.1:8080"}, ("metrics", "origin_port")),
        ({**TLS, "member_port": 10_001}, ("inner_port", "member_port")),
        ({"listen_sni": [":10000"]}, ("listen_sni", "peers_port")),
        ({"doors": "replicated", "origin_port": 80}, ("listen", "origin_port")),
    ],
)
def test_who_would_listen_at_one_port_is_named_before_any_haproxy_is(
    said: dict[str, Any], named: tuple[str, str]
) -> None:
    with pytest.raises(ValidationError) as refused:
        Routing(**{**ALL, **said})
    assert all(setting in str(refused.value) for setting in named), refused.value
    assert "port" in str(refused.value)


@pytest.mark.parametrize(
    "said",
    [
        ALL,
        # What is not used, or is at another address.
        {"on": True, "listen": [":10001"]},
        {"on": False, "origin_port": 80},
        {**ALL, "listen": [":10002"]},
        {**ALL, "listen": ["0.0.0.0:80", "[::]:80"]},
        {**ALL, "metrics": "127.0.0.1:10000"},
        {**ALL, "metrics": ""},
        {**ALL, **TLS, "listen": ["192.0.2.1:80"], "origin_port": 80},
        {**ALL, "listen": ["192.0.2.1:80"], "inner_listen": ["192.0.2.2:80"]},
        {"on": True, "bypass": True, "listen": ["127.0.0.1:8081"], "origin_port": 80},
    ],
)
def test_what_listens_at_ports_of_its_own_is_taken(said: dict[str, Any]) -> None:
    assert Routing(**said).layout().listen
