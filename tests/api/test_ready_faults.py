"""Kinds of fault of a new node, and what is no fault: each is asked for over a real connection, and
stopped with its own reason, or not at all.
"""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.model.nodes import Node
from flex_api.moving.check_site_on_new_node import (
    Checked,
    Nodes,
    SiteRules,
    Wanted,
    check,
    check_by_both_families,
)
from flex_api.moving.compare_answers import Demands
from flex_api.moving.node_question_rate import Turns
from flex_api.moving.trust_in_certificates import Trust
from flex_api.moving.web_server_addresses import Ways, addresses_of_other_family, ways
from flex_api.settings.file import parse
from tests.api.ready_servers import (
    NEW,
    OLD,
    Respond,
    WebServer,
    listening,
    old_and_new,
    page,
    paths,
    raw,
    self_signed,
    valid_between,
)
from tests.routing.certificates import Authority
from tests.thorough import times

SITE, ALIAS = "shop.example", "www.shop.example"
HTML = "<html><title>A shop</title>" + "<p>bread and butter" * 20
GOOD = page(HTML)
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
FAR = 3_600.0
RULES = SiteRules(("http",), "/", Demands(), Trust(lambda: NOW), 20.0, 2**16)
WANTED = Wanted(SITE, "n2", "n1")


def nodes(port: int, *, budget: float = FAR) -> Nodes:
    """Both schemes at one port: a test asks by one of them."""
    turns = Turns(4, 10_000, time.monotonic() + budget, time.monotonic, time.sleep)
    return Nodes({"n1": OLD, "n2": NEW}, Ways(port, port), turns, lambda: NOW)


def checked(
    new: Respond,
    old: Respond | None = GOOD,
    rules: SiteRules = RULES,
    wanted: Wanted = WANTED,
    default: Respond | None = None,
) -> Checked:
    """Two nodes that answer so for the site; one where there is no old one."""
    with old_and_new() as (there, here):
        here.hosts = {SITE: new, ALIAS: new}
        here.default = default or here.default
        if old is None:
            wanted = replace(wanted, source=None)
        else:
            there.hosts = {SITE: old, ALIAS: old}
        return check(wanted, rules, nodes(there.port))


def hang(connection: socket.socket, _: str) -> None:
    """Until whoever asked hangs up."""
    while connection.recv(4096):
        pass


def drip(connection: socket.socket, path: str) -> None:
    """A head that never ends, a line whenever there is room: whoever asked goes on reading."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    connection.settimeout(0.02)
    while True:
        connection.sendall(b"X")
        try:
            if not connection.recv(1):
                return
        except TimeoutError:
            continue


def reset(connection: socket.socket, _: str) -> None:
    linger_for_nothing = b"\1\0\0\0\0\0\0\0"
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_for_nothing)


def endless(start: bytes, part: bytes) -> Respond:
    def respond(connection: socket.socket, _: str) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(part)

    return respond


def at_once(does: Respond) -> Callable[[socket.socket], None]:
    """Before anything was asked, and with no TLS."""

    def serve(connection: socket.socket) -> None:
        with connection:
            does(connection, "")

    return serve


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
HOUR_AGO = format_datetime(NOW - timedelta(hours=1), usegmt=True)
MINUTE_AGO = format_datetime(NOW - timedelta(minutes=1), usegmt=True)
AGED = replace(RULES, age_path="/age", max_age=timedelta(minutes=10))
MARKED = replace(RULES, demands=Demands(marker="A shop"))
SHORT = replace(RULES, patience=0.2)


@dataclass(frozen=True)
class Case:
    new: Respond
    old: Respond | None
    said: str
    rules: SiteRules = RULES
    default: Respond | None = None


def dated(when: str, body: str = "x") -> Respond:
    return paths(root=GOOD, age=page(body, headers={"Last-Modified": when}))


def to(where: str, status: int = 301) -> Respond:
    return page("", status, {"Location": where})


FAULTS = {
    "vhost missing": Case(
        page("welcome" * 60), GOOD, "as for any name", default=page("welcome" * 60)
    ),
    "vhost missing, the page of nginx": Case(
        page("<h1>Welcome to nginx!</h1>" + HTML), GOOD, "not set up"
    ),
    "vhost missing, the page of Debian": Case(
        page("<title>Apache2 Debian Default Page</title>" + HTML), GOOD, "not set up"
    ),
    "not found": Case(page("no", 404), GOOD, "answers 404, and the old node 200"),
    "forbidden": Case(page("no", 403), GOOD, "answers 403, and the old node 200"),
    "found where the old node has nothing": Case(
        GOOD, page("no", 404), "answers 200, and the old node 404"
    ),
    "fails": Case(page("no", 500), GOOD, "answers 500, and the old node 200"),
    "PHP is away": Case(page("no", 502), GOOD, "answers 502, and the old node 200"),
    "too busy": Case(page("no", 503), GOOD, "answers 503, and the old node 200"),
    "wants a password": Case(page("no", 401), GOOD, "answers 401"),
    "PHP is not run": Case(page("<?php echo 1; ?>" + HTML), GOOD, "a program in place"),
    "PHP is sent as a file": Case(
        page(HTML, headers={"Content-Type": "application/octet-stream"}),
        GOOD,
        "answers with application/octet-stream, and the old node with text/html",
    ),
    "PHP ends in an error": Case(
        page("<b>Fatal error</b>: Uncaught" + HTML), GOOD, "an error of PHP"
    ),
    "no database": Case(
        page("<h1>Error establishing a database connection</h1>" + HTML),
        GOOD,
        "there is no database",
    ),
    "document root empty": Case(page("<title>Index of /</title>" + HTML), GOOD, "a list of files"),
    "empty answer": Case(page(""), GOOD, "has 0 bytes, and the old node's 407"),
    "shorter": Case(page(HTML[:200]), GOOD, "a factor over 1.5"),
    "longer": Case(page(HTML * 3), GOOD, "a factor over 1.5"),
    "cut short": Case(
        raw(OK + b"Content-Length: 407\r\n\r\n" + HTML[:390].encode()), GOOD, "cut short"
    ),
    "cut short in chunks": Case(
        raw(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), GOOD, "cut short"
    ),
    "chunks that are none": Case(
        raw(OK + b"Transfer-Encoding: chunked\r\n\r\n-zz\r\nhello\r\n"), GOOD, "cut short"
    ),
    "no marker": Case(page(HTML.replace("A shop", "Shut")), GOOD, "no 'A shop'", MARKED),
    "compressed though nobody asked": Case(
        page(gzip.compress(HTML.encode()), headers={"Content-Encoding": "gzip"}),
        GOOD,
        "no 'A shop'",
        MARKED,
    ),
    "wrong redirect": Case(
        to("https://other.example/"),
        to(f"https://{SITE}/"),
        f"to https://other.example/, and the old node to https://{SITE}/",
    ),
    "redirect to another path": Case(to("/install"), to("/start"), "/install, and"),
    "redirect where the old node has a page": Case(
        to("/install.php", 302), GOOD, "answers 302, and the old node 200"
    ),
    "redirect in a circle": Case(to("/"), None, "in a circle"),
    "redirect in a circle, the old node elsewhere": Case(
        to(f"http://{SITE}/"), to(f"https://{SITE}/"), "and the old node to https"
    ),
    "redirect to what is no address": Case(to("http://[::1"), to("/start"), "what is no address"),
    "hangs": Case(hang, GOOD, "within 0.2 s", SHORT),
    "comes drop by drop": Case(drip, GOOD, "within 0.2 s", SHORT),
    "broken off": Case(raw(), GOOD, "broke the connection off"),
    "reset": Case(reset, GOOD, "broke the connection off"),
    "garbage": Case(raw(b"\x16\x03\0garbage" * 9 + b"\r\n\r\n"), GOOD, "is no HTTP"),
    "endless lines in the head": Case(
        endless(OK, b"X: y\r\n"), GOOD, "is no HTTP: got more than 100 headers"
    ),
    "one endless line": Case(endless(b"HTTP/1.1 200 ", b"y" * 4096), GOOD, "no HTTP"),
    "endless promises to go on": Case(
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), GOOD, "more around its content"
    ),
    "a gigabyte": Case(
        endless(OK + b"Content-Length: 1073741824\r\n\r\n", b"y" * 2**16),
        GOOD,
        "has more than 65,536 bytes",
    ),
    "endless chunks of nothing": Case(
        endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\ny\r\n" * 999),
        GOOD,
        "more around its content",
        replace(RULES, largest=2**18),
    ),
    "old content": Case(dated(HOUR_AGO), dated(MINUTE_AGO), "59 m older", AGED),
    "old content by what it says": Case(
        dated(MINUTE_AGO, (NOW - timedelta(days=3)).isoformat()),
        dated(MINUTE_AGO, f"{NOW.timestamp():.0f}"),
        "3 d older than the old node's",
        AGED,
    ),
    "no age": Case(GOOD, dated(MINUTE_AGO), "does not say how old", AGED),
    "no status that was set": Case(
        GOOD,
        GOOD,
        "answers 200, and move.ready.status is 204",
        replace(RULES, demands=Demands(status=(204,))),
    ),
    "a new site that is not there": Case(page("no", 404), None, "it answers 404"),
    "the old node is away, the new one fails": Case(page("no", 500), raw(), "answers 500"),
    "the old node fails, the new one has nothing": Case(
        page("no", 404), page("no", 500), "it answers 404"
    ),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_what_a_visitor_should_not_see_is_stopped_with_its_reason(kind: str) -> None:
    case = FAULTS[kind]
    found = checked(case.new, case.old, case.rules, default=case.default)
    assert case.said in found.why
    assert f"GET http://{SITE}/" in found.why
    assert "at n2 (127.0.3.2 port" in found.why, "who was asked"


HEALTHY = {
    "the same": Case(GOOD, GOOD, ""),
    "a page with a date": Case(page(HTML + "12:00:01"), page(HTML + "12:00"), ""),
    "a page of another length": Case(page(HTML[:300]), GOOD, ""),
    "another cookie": Case(
        page(HTML, headers={"Set-Cookie": "a=1"}), page(HTML, headers={"Set-Cookie": "a=2"}), ""
    ),
    "to https": Case(to(f"https://{SITE}/"), to(f"https://{SITE}/"), ""),
    "to https, with the port": Case(to(f"https://{SITE.upper()}:443/"), to(f"https://{SITE}/"), ""),
    "to a login with a number": Case(
        to("/login?state=1", 302), to(f"http://{SITE}/login?state=2", 302), ""
    ),
    "wants a password on both": Case(page("no", 401), page("no", 401), ""),
    "nothing at / on both": Case(page("no", 404), page("nothing", 404), ""),
    "the only site of its node": Case(GOOD, GOOD, "", default=GOOD),
    "a list of files on both": Case(
        page("<title>Index of /</title>"), page("<title>Index of /</title>"), ""
    ),
    "without a length": Case(raw(OK + b"\r\n" + HTML.encode()), GOOD, ""),
    "in chunks": Case(
        raw(OK + b"Transfer-Encoding: chunked\r\n\r\n197\r\n", HTML.encode(), b"\r\n0\r\n\r\n"),
        GOOD,
        "",
    ),
    "a charset that differs": Case(page(HTML, headers={"Content-Type": "text/html"}), GOOD, ""),
    "promises to go on first": Case(
        raw(b"HTTP/1.1 100 Continue\r\n\r\n", OK + b"\r\n" + HTML.encode()), GOOD, ""
    ),
    "short answers": Case(page("ok"), page("all is well"), ""),
    "the marker between two parts": Case(
        raw(OK + b"\r\n" + b"y" * (2**16 - 3) + b"A sh", b"op"),
        raw(OK + b"\r\n" + b"y" * (2**16 - 3) + b"A sh", b"op"),
        "",
        replace(MARKED, largest=2**20),
    ),
    "newer content": Case(dated(MINUTE_AGO), dated(HOUR_AGO), "", AGED),
    "no old node": Case(GOOD, None, ""),
    "the old node fails": Case(GOOD, page("no", 500), ""),
    "both fail": Case(page("no", 502), page("no", 500), ""),
    "the old node is away": Case(GOOD, raw(), ""),
    "the old node answers nonsense": Case(GOOD, raw(b"\0\1\2\r\n"), ""),
    "a status that was set": Case(
        page(HTML, 203), GOOD, "", replace(RULES, demands=Demands(status=(200, 203)))
    ),
}


@pytest.mark.parametrize("kind", HEALTHY)
def test_what_is_well_is_not_stopped_for_nothing(kind: str) -> None:
    case = HEALTHY[kind]
    found = checked(case.new, case.old, case.rules, default=case.default)
    assert found.why == ""
    assert found.asked[0].node == "n2"


def test_what_the_old_node_has_broken_is_said() -> None:
    assert checked(GOOD, page("no", 500)).remarks == ("the old node answers 500 already",)
    assert "the old node cannot be compared with" in checked(GOOD, raw()).remarks[0]


def test_a_closed_port_and_a_node_without_an_address_are_named() -> None:
    with listening(WebServer(OLD, 0)) as old:
        old.hosts = {SITE: GOOD}
        found = check(WANTED, RULES, nodes(old.port))
        assert f"at n2 (127.0.3.2 port {old.port}): nobody listens there" in found.why
        lost = check(replace(WANTED, target="n9"), RULES, nodes(old.port))
        assert lost.why == "n9 has no address, or is down"
    directory = check(replace(WANTED, site="/shop/"), RULES, nodes(1))
    assert "no host name" in directory.why


def test_another_name_that_the_new_node_does_not_know_is_stopped() -> None:
    with old_and_new() as (old, new):
        old.hosts = {SITE: GOOD, ALIAS: to(f"http://{SITE}/")}
        new.hosts = {SITE: GOOD}
        wanted = replace(WANTED, others=(ALIAS,))
        found = check(wanted, RULES, nodes(old.port))
        assert f"GET http://{ALIAS}/ at n2" in found.why
        assert "answers 404, and the old node 301" in found.why
        new.hosts[ALIAS] = old.hosts[ALIAS]
        assert check(wanted, RULES, nodes(old.port)).why == ""
        # What neither of them serves gets no worse.
        new.hosts[ALIAS] = old.hosts[ALIAS] = raw()
        served = check(wanted, RULES, nodes(old.port))
        assert served.why == ""
        assert "served by neither node" in served.remarks[0]


def test_no_redirect_is_followed_and_nothing_is_asked_twice() -> None:
    with old_and_new() as (old, new):
        old.hosts = new.hosts = {SITE: to("/there")}
        assert check(WANTED, RULES, nodes(old.port)).why == ""
        assert old.asked == [(SITE, "/")]
        assert new.asked == [(SITE, "/"), ("flex-ready.invalid", "/")]


def test_what_the_budget_did_not_reach_was_not_asked() -> None:
    with old_and_new() as (old, new):
        old.hosts = new.hosts = {SITE: GOOD}
        found = check(WANTED, RULES, nodes(old.port, budget=0))
        assert not found.is_asked
        assert "budget" in found.why
        assert new.asked == []
        new.hosts = {SITE: hang}
        late = check(WANTED, RULES, nodes(old.port, budget=0.2))
        assert not late.is_asked, "it may have had no time to answer"


class Seconds:
    """A clock that goes on where somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def test_a_node_is_asked_at_a_polite_rate() -> None:
    time_of_test = Seconds()
    turns = Turns(1, 4, 100.0, time_of_test.clock, time_of_test.wait)
    for _ in range(9):
        with turns.take_turn("n2"):
            pass
    assert time_of_test.now == pytest.approx(2.0)
    with turns.take_turn("n3"):
        assert time_of_test.now == pytest.approx(2.0), "another node waits for nobody"


TLS = replace(RULES, schemes=("https",))
Shown = Callable[[Path, Authority], Path]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "ca").begin()


def signed(folder: Path, ca: Authority) -> Path:
    return ca.sign(SITE, folder / "good.pem", 30)


CERTIFICATES: dict[str, tuple[Shown, str]] = {
    "expired": (
        lambda folder, ca: valid_between(
            ca, SITE, folder / "e.pem", "20200101000000Z", "20210101000000Z"
        ),
        "its certificate has expired",
    ),
    "not yet valid": (
        lambda folder, ca: valid_between(
            ca, SITE, folder / "y.pem", "20900101000000Z", "20910101000000Z"
        ),
        "its certificate is not valid yet",
    ),
    "of another name": (
        lambda folder, ca: ca.sign("mail.example", folder / "m.pem", 30),
        f"is not for {SITE}: it is for mail.example",
    ),
    "of a star that is not for it": (
        lambda folder, ca: ca.sign(f"*.{SITE}", folder / "s.pem", 30),
        f"is not for {SITE}: it is for *.{SITE}",
    ),
    "of an authority that nobody knows": (
        lambda folder, _: Authority(folder, "other").begin().sign(SITE, folder / "o.pem"),
        "chain is broken",
    ),
    "signed by itself": (
        lambda folder, _: self_signed(SITE, folder / "self.pem"),
        "signed by nobody but itself",
    ),
    "about to end": (
        lambda folder, ca: valid_between(
            ca, SITE, folder / "a.pem", "20200101000000Z", "20901231000000Z"
        ),
        "its certificate ends in 2.0 days, and move.ready.certificate_days is 3",
    ),
}


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_certificate_that_visitors_refuse_is_stopped(
    kind: str, tmp_path: Path, authority: Authority
) -> None:
    make, said = CERTIFICATES[kind]
    # Of a certificate that ends in 2090: two days before that.
    now = datetime(2090, 12, 29, tzinfo=UTC) if kind == "about to end" else NOW
    trust = Trust(lambda: now, authority.ca, days=3)
    with old_and_new() as (old, new):
        old.hosts = new.hosts = {SITE: GOOD}
        new.shown = {SITE: make(tmp_path, authority)}
        # Sound, and valid for longer than those of the new node.
        old.shown = {
            SITE: valid_between(
                authority, SITE, tmp_path / "old.pem", "20200101000000Z", "20950101000000Z"
            )
        }
        rules = replace(TLS, trust=trust)
        found = check(WANTED, rules, nodes(old.port))
        assert said in found.why
        assert f"GET https://{SITE}/ at n2" in found.why
        # What the old node shows already gets no worse, and what is behind it counts.
        old.shown = new.shown
        same = check(WANTED, rules, nodes(old.port))
        assert same.why == ""
        assert same.remarks[0].startswith("on n1, too: its certificate")
        new.hosts = {SITE: page("no", 500)}
        assert "answers 500" in check(WANTED, rules, nodes(old.port)).why


def test_a_sound_certificate_is_taken_and_one_for_each_name_is_wanted(
    tmp_path: Path, authority: Authority
) -> None:
    trust = Trust(lambda: datetime.now(UTC), authority.ca, days=3)
    rules = replace(TLS, trust=trust)
    with old_and_new() as (old, new):
        old.hosts = new.hosts = {SITE: GOOD, ALIAS: GOOD}
        good = signed(tmp_path, authority)
        other = authority.sign(f"*.{SITE}", tmp_path / "other.pem", 30)
        old.shown, new.shown = {SITE: good, ALIAS: other}, {SITE: good}
        wanted = replace(WANTED, others=(ALIAS,))
        assert check(WANTED, rules, nodes(old.port)).why == ""
        found = check(wanted, rules, nodes(old.port))
        assert f"its certificate is not for {ALIAS}: it is for {SITE}" in found.why
        new.shown = old.shown
        assert check(wanted, rules, nodes(old.port)).why == ""


def test_one_that_signed_itself_is_taken_where_that_is_set(tmp_path: Path) -> None:
    trust = Trust(lambda: datetime.now(UTC), self_signed=True, days=3)
    rules = replace(TLS, trust=trust)
    with old_and_new() as (old, new):
        old.hosts = new.hosts = {SITE: GOOD}
        old.shown = new.shown = {SITE: self_signed(SITE, tmp_path / "self.pem")}
        assert check(WANTED, rules, nodes(old.port)).why == ""
        new.shown = {SITE: self_signed("other.example", tmp_path / "other.pem")}
        found = check(WANTED, rules, nodes(old.port))
        assert f"is not for {SITE}" in found.why


def test_plain_http_where_tls_is_wanted_is_said(authority: Authority, tmp_path: Path) -> None:
    rules = replace(TLS, trust=Trust(lambda: NOW, authority.ca), patience=0.2)
    with old_and_new() as (old, new):
        old.hosts = new.hosts = {SITE: GOOD}
        old.shown = {SITE: signed(tmp_path, authority)}
        for does, said in (
            (raw(b"HTTP/1.1 400 No\r\n\r\n"), "does not speak TLS"),
            (hang, "within 0.2 s"),
        ):
            new.serve = at_once(does)  # type: ignore[method-assign,assignment]
            assert said in check(WANTED, rules, nodes(old.port)).why


def test_a_site_without_https_on_its_old_node_needs_none(tmp_path: Path) -> None:
    """Its plain answers are compared; where the old node has HTTPS, the new one must."""
    rules = replace(RULES, schemes=("http", "https"))
    with old_and_new() as (old, new), listening(WebServer(NEW, 0)) as other:
        old.hosts = new.hosts = {SITE: GOOD}
        other.serve = at_once(raw(b"no TLS"))  # type: ignore[method-assign,assignment]
        turns = Turns(4, 10_000, time.monotonic() + FAR, time.monotonic, time.sleep)
        here = Nodes({"n1": OLD, "n2": NEW}, Ways(old.port, other.port), turns, lambda: NOW)
        found = check(WANTED, rules, here)
        assert found.why == ""
        assert found.remarks == (f"{SITE} has no HTTPS on n1",)
        with listening(WebServer(OLD, other.port)) as tls:
            tls.shown = {SITE: self_signed(SITE, tmp_path / "self.pem")}
            assert f"GET https://{SITE}/ at n2" in check(WANTED, rules, here).why


def test_plain_doors_leave_tls_to_web_servers_which_may_have_none() -> None:
    """So a certificate that is missing on the new node alone is seen."""
    node = {"name": "n1", "addresses": ["192.0.2.1"], "ram": "1 GiB"}
    routing = {"on": True, "doors": "all", "listen": [":80"], "origin_port": 8080}
    plain = parse({"schema": 1, "node": [node], "routing": routing}, Path("flex.toml"))
    assert ways(plain) == Ways(8080, 443, tls_may_lack=True)
    rules, new_site = replace(RULES, schemes=("http", "https")), replace(WANTED, source=None)
    with listening(WebServer(NEW, 0)) as closed:
        port = closed.port
    with old_and_new() as (_, new):
        new.hosts = {SITE: GOOD}
        turns = Turns(4, 10_000, time.monotonic() + FAR, time.monotonic, time.sleep)
        for may_lack, remarks in ((True, (f"{SITE} has no HTTPS on n2",)), (False, ())):
            at = Ways(new.port, port, tls_may_lack=may_lack)
            found = check(new_site, rules, Nodes({"n2": NEW}, at, turns, lambda: NOW))
            assert (found.why == "", found.remarks) == (may_lack, remarks)


def test_the_other_family_of_addresses_is_asked_where_the_old_node_answers_by_it() -> None:
    with old_and_new() as (old, new), old_and_new() as (old_by_other, new_by_other):
        turns = Turns(4, 10_000, time.monotonic() + FAR, time.monotonic, time.sleep)
        here, there = (
            Nodes({"n1": OLD, "n2": NEW}, Ways(port, port), turns, lambda: NOW)
            for port in (old.port, old_by_other.port)
        )
        old.hosts = new.hosts = {SITE: GOOD}
        for ours, theirs, why in (
            (GOOD, GOOD, ""),
            (page("no", 404), GOOD, "it answers 404"),
            # Nobody is worse off.
            (page("no", 404), page("no", 404), ""),
        ):
            new_by_other.hosts, old_by_other.hosts = {SITE: ours}, {SITE: theirs}
            found = check_by_both_families(WANTED, RULES, here, there)
            assert (why in found.why, bool(found.why)) == (True, bool(why))
            assert found.wanted == WANTED
        assert {asked.port for asked in found.asked} == {old.port, old_by_other.port}
        alone = replace(there, at={"n2": NEW})
        assert check_by_both_families(WANTED, RULES, here, alone).why == ""
    dual = Node("n1", ("192.0.2.1", "2001:db8::1", "2001:db8::2"), 1)
    plain = Node("n2", ("192.0.2.2", "192.0.2.3"), 1)
    assert addresses_of_other_family([dual, plain]) == {"n1": "2001:db8::1"}


@settings(max_examples=times(100))
@given(
    parts=st.lists(
        st.one_of(
            st.binary(max_size=300),
            st.sampled_from(
                [
                    b"HTTP/1.1 200 OK\r\n",
                    b"HTTP/1.1 301 Go\r\n",
                    b"HTTP/1.1 100 Continue\r\n\r\n",
                    b"HTTP/0.9 \r\n",
                    b"Transfer-Encoding: chunked\r\n",
                    b"Content-Length: 5\r\n",
                    b"Content-Length: -1\r\n",
                    b"Location: //[\r\n",
                    b"Location: \xff\xfe\r\n",
                    b"Last-Modified: Mon, 99 Foo 0000\r\n",
                    b"Content-Encoding: gzip\r\n",
                    b"\r\n",
                    b"5\r\nhello\r\n",
                    b"ffffffffffffffffffff\r\n",
                    b"-5\r\nhello\r\n",
                    b"0\r\n\r\n",
                ]
            ),
        ),
        max_size=9,
    )
)
def test_whatever_a_web_server_sends_is_an_answer_or_a_reason(parts: list[bytes]) -> None:
    with old_and_new() as (old, new):
        old.hosts = {SITE: dated(MINUTE_AGO)}
        new.hosts = {SITE: raw(*parts)}
        found = check(WANTED, AGED, nodes(old.port))
        assert found.is_asked
        assert found.why.isprintable()
        assert all(one.answer.isprintable() for one in found.asked)
