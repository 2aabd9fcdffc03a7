"""After a night, people and programs hear of it; whoever cannot be reached stops nothing."""

from __future__ import annotations

import hashlib
import hmac
import json
import socketserver
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flex_api.night.mail_of_the_night import Bulletin
from flex_api.night.notifying import post
from flex_api.settings.safety_and_notices import Webhook
from tests.served_in_thread import in_a_thread

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

NEWS = Bulletin("applied", "[flex test] applied", "text", {"schema_version": 1, "event": "applied"})


@dataclass
class Heard:
    """What a receiver got; it answers with these codes in turn, then with 200."""

    port: int = 0
    codes: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def json(self, number: int = -1) -> Any:
        """Any: what JSON holds."""
        return json.loads(self.bodies[number])


@pytest.fixture
def hook() -> Iterator[Heard]:
    heard = Heard()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            heard.headers.append(dict(self.headers))
            self.send_response(heard.codes.pop(0) if heard.codes else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        heard.port = server.server_address[1]
        with in_a_thread(server):
            yield heard


@pytest.fixture
def letterbox() -> Iterator[Heard]:
    """A mail server that takes everything."""
    heard = Heard()

    class Postman(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline():
                word = line.split()[0].upper()
                self.wfile.write(
                    {b"DATA": b"354 go on\r\n", b"QUIT": b"221 bye\r\n"}.get(word, b"250 well\r\n")
                )
                if word == b"DATA":
                    heard.bodies.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                    self.wfile.write(b"250 taken\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Postman) as server:
        heard.port = server.server_address[1]
        with in_a_thread(server):
            yield heard


def tell(installation: Installation, lines: str) -> None:
    with installation.settings.open("a", encoding="utf-8") as file:
        file.write(f"\n{lines}\n")


def test_a_webhook_is_signed_says_what_happened_and_has_an_id(
    installation: Installation, hook: Heard
) -> None:
    (installation.folder / "secret").write_text("it's a secret\n", encoding="utf-8")
    tell(
        installation,
        f'[[notify.webhook]]\nurl = "http://127.0.0.1:{hook.port}/flex"\nsecret_file = "secret"\n'
        '[metrics]\ntextfile = "flex.prom"',
    )
    night = installation.night()
    assert night.code == 0
    told = hook.json()
    assert (told["event"], told["result"], told["plan"]) == (
        "applied",
        "applied",
        night.json["plan"]["id"],
    )
    signed = hmac.new(b"it's a secret", hook.bodies[0], hashlib.sha256).hexdigest()
    assert hook.headers[0]["X-Flex-Signature"] == f"sha256={signed}"
    assert hook.headers[0]["X-Flex-Event-Id"] == told["event_id"]
    assert [stage["name"] for stage in night.json["run"]["stages"]] == [
        "ingest", "profile", "tidy", "finish", "plan", "gate", "apply", "verify", "settle",
        "report", "notify",
    ]  # fmt: skip
    metrics = (installation.folder / "flex.prom").read_text(encoding="utf-8")
    assert "flex_build_info" in metrics
    assert 'flex_data_coverage_ratio{node="n1"}' in metrics
    assert "flex_data_age_seconds" in metrics
    installation.first_night()
    assert len(hook.bodies) == 1, "a night with nothing to do is told to nobody"


def test_a_mail_says_the_verdict_in_its_subject(
    installation: Installation, letterbox: Heard
) -> None:
    installation.mode = "review"
    installation.write_settings()
    tell(
        installation,
        f'[notify]\nmail_to = ["ops@example.net"]\nsmtp = "127.0.0.1:{letterbox.port}"',
    )
    assert installation.night().code == 22
    (mail,) = letterbox.bodies
    assert b"Subject: [flex test] waiting for approval: 24 sites would move" in mail.replace(
        b"\r\n ", b" "
    )
    assert b"flex apply" in mail


def test_a_night_that_fails_is_told_and_nobody_at_home_stops_nothing(
    installation: Installation, letterbox: Heard, hook: Heard
) -> None:
    hook.codes += [404, 404]
    tell(
        installation,
        f'[notify]\nmail_to = ["ops@example.net"]\nsmtp = "127.0.0.1:{letterbox.port}"\n'
        f'[[notify.webhook]]\nurl = "http://127.0.0.1:{hook.port}/gone"',
    )
    night = installation.night()
    assert night.code == 0
    assert "webhook webhook failed: HTTP Error 404" in night.json["run"]["stages"][-1]["outcome"]
    assert installation.night(4).code == 20
    assert b"FAILED (20)" in letterbox.bodies[-1]
    assert hook.json()["event"] == "failure"


def test_a_night_without_a_list_of_sites_is_told_and_leaves_the_other_metrics(
    installation: Installation, letterbox: Heard
) -> None:
    metrics = installation.folder / "flex.prom"
    tell(
        installation,
        f'[metrics]\ntextfile = "{metrics}"\n[notify]\nmail_to = ["ops@example.net"]\n'
        f'smtp = "127.0.0.1:{letterbox.port}"',
    )
    (installation.folder / "sites").write_bytes(b"a.example.org\n\xff\n")
    assert installation.night().code == 3
    assert b"FAILED (3)" in letterbox.bodies[-1]
    text = metrics.read_text(encoding="utf-8")
    assert 'flex_metrics_missing{part="logs"} 1' in text
    assert "# missing: logs: ingest.sites_file" in text
    assert 'flex_nodes{state="active"} 3' in text


def test_what_a_receiver_could_not_take_is_sent_again_under_the_same_id(hook: Heard) -> None:
    hook.codes += [503, 429]
    post(Webhook(url=f"http://127.0.0.1:{hook.port}/"), NEWS, "id-1", pauses=(0.0, 0.0))
    assert [headers["X-Flex-Event-Id"] for headers in hook.headers] == ["id-1"] * 3
    hook.codes += [400]
    with pytest.raises(OSError, match="400"):
        post(Webhook(url=f"http://127.0.0.1:{hook.port}/"), NEWS, "id-2", pauses=(0.0, 0.0))
    assert len(hook.bodies) == 4


def test_addresses_of_webhooks_are_not_shown(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "url").write_text("http://127.0.0.1:1/hidden", encoding="utf-8")
    tell(
        installation,
        "[[notify.webhook]]\nurl = "
        '"https://hooks.example/T0/hidden"\n[[notify.webhook]]\nurl_file = "url"',
    )
    assert "hidden" not in installation.flex("config", "show").out
