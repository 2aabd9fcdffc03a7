"""Readiness asked of real nginx, which ends TLS for each site by its name (SNI): two nodes, each
with an address of its own.
"""

from __future__ import annotations

import os
import socket
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flex_api.moving.check_site_on_new_node import Checked, Nodes, SiteRules, Wanted, check
from flex_api.moving.compare_answers import Demands
from flex_api.moving.node_question_rate import Turns
from flex_api.moving.trust_in_certificates import Trust
from flex_api.moving.web_server_addresses import Ways
from tests.api.ready_servers import NEW, OLD, self_signed, valid_between
from tests.hooks.servers import program, running
from tests.ports import any_port
from tests.routing.certificates import Authority

pytestmark = pytest.mark.real

SITE, OTHER = "shop.example", "blog.example"
PAGE = "<html><title>A shop</title>" + "<p>what it sells</p>" * 20 + "</html>"
GIB = 2**30


@dataclass
class Web:
    """An nginx for both nodes. `hosts` are what a server block has, by address and name."""

    folder: Path
    authority: Authority
    port: int
    tls: int

    def root(self, name: str, text: str = PAGE) -> str:
        root = self.folder / name
        root.mkdir(exist_ok=True)
        (root / "index.html").write_text(text)
        return f"root {root};"

    @property
    def trust(self) -> Trust:
        return Trust(lambda: datetime.now(UTC), self.authority.ca, days=3)

    @property
    def rules(self) -> SiteRules:
        return SiteRules(("http", "https"), "/", Demands(), self.trust, 30.0, 2**16)

    def server(self, address: str, name: str, certificate: Path, says: str) -> str:
        default = " default_server" if name == "_" else ""
        return (
            f"server {{ listen {address}:{self.port}{default}; server_name {name};\n"
            f"listen {address}:{self.tls} ssl{default};\n"
            f"ssl_certificate {certificate};\nssl_certificate_key {certificate};\n{says} }}\n"
        )

    @contextmanager
    def serves(self, servers: list[str]) -> Iterator[None]:
        found, folder = program("nginx", "nginx"), self.folder
        parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        kept = "".join(f"{part}_temp_path {folder}/{part};\n" for part in parts)
        user = "user root;\n" if os.geteuid() == 0 else ""
        file = folder / "nginx.conf"
        file.write_text(
            f"{user}pid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\nevents {{}}\n"
            f"http {{\naccess_log off;\ntypes {{ text/html html; }}\n{kept}{''.join(servers)}}}\n"
        )
        command = [found, "-e", f"{folder}/nginx.log", "-c", str(file)]
        with running([*command, "-g", "daemon off;"], folder / "log", lambda: self._listens):
            yield

    @property
    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((NEW, self.tls)) == 0

    def check(self, rules: SiteRules | None = None, site: str = SITE) -> Checked:
        turns = Turns(4, 10_000, time.monotonic() + 600, time.monotonic, time.sleep)
        nodes = Nodes(
            {"n1": OLD, "n2": NEW}, Ways(self.port, self.tls), turns, lambda: datetime.now(UTC)
        )
        return check(Wanted(site, "n2", "n1"), rules or self.rules, nodes)


@pytest.fixture
def web(tmp_path: Path) -> Web:
    program("nginx", "nginx")
    authority = Authority(tmp_path / "ca", "ca").begin()
    return Web(tmp_path, authority, any_port(), any_port())


def certificates(web: Web) -> dict[str, tuple[Path, str]]:
    """What the new node shows, and what is said of it."""
    folder, ca = web.folder, web.authority
    return {
        "sound": (ca.sign(SITE, folder / "good.pem", 30), ""),
        "sound, by a star": (ca.sign("*.example", folder / "star.pem", 30), ""),
        "of another site": (
            ca.sign(OTHER, folder / "other.pem", 30),
            f"is not for {SITE}: it is for {OTHER}",
        ),
        "expired": (
            valid_between(ca, SITE, folder / "old.pem", "20200101000000Z", "20210101000000Z"),
            "has expired",
        ),
        "about to end": (ca.sign(SITE, folder / "short.pem", 1), "certificate ends in"),
        "signed by itself": (self_signed(SITE, folder / "self.pem"), "signed by nobody but itself"),
        "of an unknown authority": (
            Authority(folder / "ca2", "other").begin().sign(SITE, folder / "x.pem", 30),
            "chain is broken",
        ),
    }


def test_the_certificate_that_nginx_shows_for_a_name_decides(web: Web) -> None:
    good = web.authority.sign(SITE, web.folder / "there.pem", 30)
    fallback = web.authority.sign("default.example", web.folder / "d.pem", 30)
    says = web.root("shop")
    for kind, (shown, said) in certificates(web).items():
        servers = [
            web.server(OLD, SITE, good, says),
            web.server(NEW, "_", fallback, "return 404;"),
            web.server(NEW, SITE, shown, says),
        ]
        with web.serves(servers):
            why = web.check().why
            assert (said in why) if said else why == "", (kind, why)


def test_a_site_that_nginx_does_not_know_is_not_ready(web: Web) -> None:
    """It shows the certificate of whichever server comes first."""
    good = web.authority.sign(SITE, web.folder / "there.pem", 30)
    star = web.authority.sign("*.example", web.folder / "star.pem", 30)
    for certificate, said in ((good, "as for any name"), (star, "as for any name")):
        servers = [
            web.server(OLD, SITE, good, web.root("shop")),
            web.server(
                NEW, "_", certificate, web.root("welcome", PAGE.replace("A shop", "Welcome"))
            ),
        ]
        with web.serves(servers):
            assert said in web.check().why


WAYS: Mapping[str, tuple[str, str]] = {
    "itself": ("return 301 $scheme://$host/;", "in a circle"),
    "http to https and back": (
        "if ($scheme = http) { return 301 https://$host/; } return 301 http://$host/;",
        "answers 301, and the old node 200",
    ),
    "to another site": (f"return 302 https://{OTHER}/;", "answers 302"),
}


@pytest.mark.parametrize("way", WAYS)
def test_redirects_of_nginx_are_not_followed(web: Web, way: str) -> None:
    does, said = WAYS[way]
    good = web.authority.sign(SITE, web.folder / "there.pem", 30)
    servers = [web.server(OLD, SITE, good, web.root("shop")), web.server(NEW, SITE, good, does)]
    with web.serves(servers):
        found = web.check()
        assert found.why
        assert said in found.why or "answers 301" in found.why
        assert len(found.asked) <= 4


def test_a_gigabyte_takes_little_time_and_less_memory(web: Web) -> None:
    good = web.authority.sign(SITE, web.folder / "there.pem", 30)
    big = web.folder / "big"
    big.mkdir()
    with (big / "index.html").open("wb") as file:
        file.truncate(GIB)
    servers = [
        web.server(OLD, SITE, good, f"root {big};"),
        web.server(NEW, SITE, good, f"root {big};"),
    ]
    largest = 4 * 2**20
    with web.serves(servers):
        tracemalloc.start()
        found = web.check(replace(web.rules, largest=largest))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert "has more than 4,194,304 bytes" in found.why
    assert peak < largest


def test_what_trickles_is_cut_off_at_the_patience(web: Web) -> None:
    good = web.authority.sign(SITE, web.folder / "there.pem", 30)
    servers = [
        web.server(OLD, SITE, good, web.root("shop")),
        web.server(NEW, SITE, good, web.root("shop") + " limit_rate 10;"),
    ]
    with web.serves(servers):
        found = web.check(replace(web.rules, patience=1.0))
    assert "did not answer whole within 1 s" in found.why
