"""What can go wrong with a name server, as whoever types `flex apply` sees it: one line, an exit
code, no change.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import dns.message
import dns.query
import dns.rcode
import pandas as pd
import pytest

from flex.frame_schemas import PLACEMENT
from flex.model.balance import Balance
from flex.model.period import Period
from flex.model.plan import Plan, Proven
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.store import migrate, open_store
from flex_api import cli
from flex_dns.private.private_named import PrivateNamed
from flex_dns.private.private_named import free_port as kept_port
from flex_dns.wire.key import Key, make_key
from tests.api.conftest import passable
from tests.dns.given import placed
from tests.dns.test_dns_trouble import answering, framed

pytestmark = pytest.mark.real

ZONE = "hosting.example."
WWW, LATE = f"www.{ZONE}", f"late.{ZONE}"
KEY, READER, RNDC = make_key("flex"), make_key("reader"), make_key("rndc-key")
MANY = tuple(f"192.0.2.{number}" for number in range(1, 102))


@dataclass(slots=True)
class Desk:
    """Settings, a database and a primary, on which two sites of ours are; and a server that heard
    of neither.
    """

    folder: Path
    primary: PrivateNamed
    other: PrivateNamed
    control: int
    plans: int = 0

    def settings(self, key: Key = KEY, *, port: int = 0, zone: str = ZONE, verify: int = 0) -> None:
        path = self.folder / "key"
        path.touch(mode=0o600)
        path.write_text(key.clause(), encoding="ascii")
        asked = f'verify = ["127.0.0.1:{verify}"]\n' if verify else "verify_ns = false\n"
        (self.folder / "flex.toml").write_text(
            'schema = 1\n[cluster]\nname = "flex-eu1"\n'
            '[[node]]\nname = "n1"\naddresses = ["192.0.2.1"]\nram = "1 GiB"\n'
            '[[node]]\nname = "n2"\naddresses = ["192.0.2.2"]\nram = "1 '
            f'GiB"\n[database]\nurl = "{self.url}"\n'
            f'[dns]\nport = {port or self.primary.port}\nkey_file = "key"\nzones = '
            f'["{zone}"]\ntimeout = "1s"\n'
            f'ttl = 60\nsettle = "1s"\n{asked}',
            encoding="utf-8",
        )

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder}/flex.db"

    def plan(self, made: ZonePlan) -> str:
        """One that waits for `flex apply`, on top of what is in force."""
        self.plans += 1
        now = datetime.now(UTC)
        with open_store(self.url) as store:
            told = Proven("none", 0, False)
            every = Period.days_before(now, 1)
            plan = Plan(
                f"plan-{self.plans}",
                now,
                every,
                store.in_force(),
                "",
                told,
                (),
                0,
                0,
                None,
                Balance((), 0.0),
                (),
                (),
            )
            at = (
                "n2"
                if any(change.name == LATE and change.before for change in made.changes)
                else "n1"
            )
            rows = pd.DataFrame({"site": [LATE[:-1]], "node": [at]})
            store.propose(replace(plan, zone_plans=(made,)), PLACEMENT.make(rows))
        return f"plan-{self.plans}"

    def apply(self, plan: str) -> int:
        arguments = [
            "--config",
            str(self.folder / "flex.toml"),
            "apply",
            plan,
            "--force",
            "plan.addresses",
        ]
        return cli.run(arguments)

    def zones(self) -> list[str]:
        """All that both servers have."""
        ring = {KEY.signer().name: KEY.signer()}
        transfers = [
            dns.query.xfr("127.0.0.1", ZONE, port=on.port, keyring=ring)
            for on in (self.primary, self.other)
        ]
        return [
            str(rrset) for transfer in transfers for message in transfer for rrset in message.answer
        ]


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with passable() as folder, kept_port() as port:
        control = f'inet 127.0.0.1 port {port} allow {{ 127.0.0.1; }} keys {{ "{RNDC.name}"; }};'
        with (
            PrivateNamed(
                folder / "a", [ZONE], KEY, readers=[READER, RNDC], controls=control
            ) as primary,
            PrivateNamed(folder / "b", [ZONE], KEY) as other,
        ):
            made = Desk(folder, primary, other, port)
            migrate.upgrade(made.url)
            made.settings()
            sites = (*placed(ZONE, WWW, "192.0.2.1"), *placed(ZONE, LATE, "192.0.2.1"))
            assert made.apply(made.plan(ZonePlan(ZONE, tuple(sites)))) == 0
            yield made


def moved(name: str = WWW, *after: str) -> ZonePlan:
    new = Rrset(name, "A", 60, after or ("192.0.2.2",))
    return ZonePlan(ZONE, (Change(Rrset(name, "A", 60, ("192.0.2.1",)), new),))


def plain(
    desk: Desk, key: Key = KEY, *, port: int = 0, zone: str = ZONE
) -> AbstractContextManager[ZonePlan]:
    desk.settings(key, port=port, zone=zone)
    return nullcontext(replace(moved(), zone=zone))


@contextmanager
def fake(desk: Desk, reply: Callable[[bytes], bytes]) -> Iterator[ZonePlan]:
    with answering(reply) as port:
        desk.settings(port=port)
        yield moved()


def bad_time(request: bytes) -> bytes:
    """As a server answers whose clock is an hour ahead; it signs with the time that it was asked
    with.
    """
    query = dns.message.from_wire(request[2:], keyring={KEY.signer().name: KEY.signer()})
    answer = dns.message.make_response(query)
    now = (int(time.time()) + 3600).to_bytes(6)
    answer.use_tsig(KEY.signer(), tsig_error=18, other_data=now, original_id=query.id)
    answer.set_rcode(dns.rcode.NOTAUTH)
    answer.request_mac = query.mac or b""
    return framed(answer.to_wire())


def cut_off(desk: Desk) -> Callable[[bytes], bytes]:
    def reply(request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", desk.primary.port)) as real:
            real.sendall(request)
            return real.recv(65535)[:-20]

    return reply


@contextmanager
def frozen(desk: Desk) -> Iterator[ZonePlan]:
    desk.settings()
    rndc = desk.folder / "rndc.conf"
    rndc.touch(mode=0o600)
    rndc.write_text(f'{RNDC.clause()}options {{ default-key "{RNDC.name}"; }};\n')
    command = ["rndc", "-c", str(rndc), "-s", "127.0.0.1", "-p", str(desk.control)]
    subprocess.run([*command, "freeze", ZONE], check=True, capture_output=True, timeout=300)
    yield moved()
    subprocess.run([*command, "thaw", ZONE], check=True, capture_output=True, timeout=300)


@contextmanager
def unwritable(desk: Desk) -> Iterator[ZonePlan]:
    """A folder where the journal of the other server would be, whose zone nobody changed yet."""
    desk.settings(port=desk.other.port)
    journal = desk.other.directory / f"{ZONE}db.jnl"
    journal.mkdir()
    yield ZonePlan(ZONE, placed(ZONE, WWW, "192.0.2.1"))
    journal.rmdir()


@contextmanager
def stopped(desk: Desk) -> Iterator[ZonePlan]:
    desk.settings()
    os.kill(desk.primary.pid, signal.SIGSTOP)
    os.waitpid(desk.primary.pid, os.WUNTRACED)
    try:
        yield moved()
    finally:
        os.kill(desk.primary.pid, signal.SIGCONT)


@contextmanager
def late(desk: Desk) -> Iterator[ZonePlan]:
    desk.settings(verify=desk.other.port)
    yield moved(LATE)


@contextmanager
def outside(desk: Desk) -> Iterator[ZonePlan]:
    desk.settings()
    yield ZonePlan(ZONE, (Change(None, Rrset("www.example.org.", "A", 60, ("192.0.2.2",))),))


@contextmanager
def many(desk: Desk) -> Iterator[ZonePlan]:
    desk.settings()
    yield moved(WWW, *MANY)


WEB = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" + b" " * 20_000
Given = Callable[[Desk], AbstractContextManager[ZonePlan]]

# What is wrong, the exit code, and what the line that tells of it says.
TABLE: dict[str, tuple[Given, int, str]] = {
    "wrong key": (
        lambda on: plain(on, key=make_key("flex")),
        30,
        "the key's secret is another one there",
    ),
    "unknown key": (lambda on: plain(on, key=make_key("who")), 30, "does not know this key"),
    "BADTIME": (lambda on: fake(on, bad_time), 30, "its clock is 3600 seconds ahead of ours"),
    "REFUSED": (
        lambda on: plain(on, key=READER),
        30,
        "REFUSED: the key reader may not change this",
    ),
    "zone that is not served": (
        lambda on: plain(on, port=on.other.port, zone="no.example."),
        30,
        "REFUSED: it does not serve this zone",
    ),
    "NOTZONE": (outside, 30, "NOTZONE: a name lies outside the zone"),
    "SERVFAIL, for its journal cannot be written": (unwritable, 30, "SERVFAIL: it could not do it"),
    "frozen zone": (frozen, 30, "a frozen zone needs `rndc thaw`"),
    "stopped by SIGSTOP": (stopped, 30, "no answer in time"),
    "port of another server": (
        lambda on: fake(on, lambda _: WEB),
        30,
        "the answer is to another question",
    ),
    "101 addresses": (many, 30, "101 records of type A; a name server stores at most 100"),
    "cut-off answers": (
        lambda on: fake(on, cut_off(on)),
        30,
        "broke before the answer was complete",
    ),
    "a secondary that never catches up": (late, 32, "1 of 2 record sets differ"),
}


@pytest.mark.slow("a secondary that never catches up", "wrong key")
@pytest.mark.parametrize("wrong", TABLE)
def test_it_is_told_in_a_line_and_nothing_is_changed(
    desk: Desk, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given, code, line = TABLE[wrong]
    before = desk.zones()
    with given(desk) as made:
        found = desk.apply(desk.plan(made))
    said = capsys.readouterr()
    told = [one for one in said.err.splitlines() if line in one]
    assert (found, len(told)) == (code, 1), said.err
    assert "Traceback" not in said.err
    assert all(secret not in said.out + said.err for secret in (KEY.secret, READER.secret))
    if code == 30:
        assert "nothing was changed" in said.err
        assert desk.zones() == before
    else:
        assert "the changes are applied" in said.err
