"""The demo's cluster, kept up: pages to open, a name server that answers, logs that go on growing,
nodes that can be killed.

Takes the demo after its nights, with its name server running. Runs until it is told to end: one
thread writes traffic, runs the nights and watches the nodes, the main one answers browsers. Time
runs faster, from the demo's last night to the present. All is on loopback, in this process, and
ends with it. Does not make the first two nights (demo.py does).
"""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import uvicorn
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from flex.errors import BadInput, Busy, FlexError
from flex.model.nodes import Node
from flex.sim import made_up_cluster, made_up_logs
from flex.sim.made_up_cluster import Accesses, Hosting
from flex.store import open_store
from flex_api import manage_tokens
from flex_api.app import create_app
from flex_api.manage_tokens import Caller
from flex_api.night import nightly, probing
from flex_api.night.health_watch import HealthWatch
from flex_api.report.page import page
from flex_api.routes.sessions import open_session
from flex_api.settings.file import Settings
from flex_api.web.caller_identity import COOKIE
from flex_api.wiring import World, world

# How much faster than ours the demo's time runs: a day in six minutes. A guess.
FASTER = 240
# Days before now on which the demo's last night is: so long time can run faster. A guess.
DAYS_BEHIND = 3
# Seconds of ours between two looks at traffic, nights and nodes. A guess.
PACE = 1.0
# When the nights are, as the timer of an installation has it.
NIGHT = timedelta(hours=2, minutes=17)
# The port of the pages, where it is free.
USUAL_PORT = 8080
# Seconds that answers under way have when all ends. A guess.
PATIENCE = 3

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class FasterClock:
    """The demo's time: from `start` on FASTER, and never past the present."""

    start: datetime
    begun: float = field(default_factory=time.monotonic)

    def __call__(self) -> datetime:
        passed = timedelta(seconds=(time.monotonic() - self.begun) * FASTER)
        return min(self.start + passed, datetime.now(UTC))


class WebServers:
    """A web server on each node's address that says which node it is; each can be killed."""

    def __init__(self, addresses: dict[str, str], port: int) -> None:
        self._addresses, self._port = addresses, port
        self._running: dict[str, tuple[ThreadingHTTPServer, threading.Thread]] = {}

    @property
    def names(self) -> list[str]:
        return sorted(self._addresses)

    def answers(self, node: str) -> bool:
        return node in self._running

    def start(self, node: str) -> None:
        if node in self._running or node not in self._addresses:
            return
        handler = type("Node", (_Answers,), {"node": node})
        server = ThreadingHTTPServer((self._addresses[node], self._port), handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self._running[node] = server, thread

    def kill(self, node: str) -> None:
        if running := self._running.pop(node, None):
            server, thread = running
            server.shutdown()
            server.server_close()
            thread.join()

    def __enter__(self) -> WebServers:
        for node in self._addresses:
            self.start(node)
        return self

    def __exit__(self, *_: object) -> None:
        for node in list(self._running):
            self.kill(node)


class _Answers(BaseHTTPRequestHandler):
    node = ""

    def do_GET(self) -> None:
        body = f"{self.node} serves {self.headers.get('Host', '?')}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    # Its parent names them so.
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nobody reads it."""


class Traffic:
    """Accesses of day after day, written to the logs of the nodes that DNS leads to, up to a
    moment.
    """

    def __init__(
        self, hosting: Hosting, folder: Path, nodes: Sequence[str], requests: int, seed: int
    ) -> None:
        self._hosting, self._folder, self._nodes = hosting, folder, nodes
        self._requests, self._rng = requests, np.random.default_rng(seed)
        self._day: date | None = None
        self._accesses: Accesses | None = None
        self._written = 0

    def write_until(self, moment: datetime, here: World) -> int:
        """How many requests were written. Days that passed meanwhile are written whole."""
        if self._day is None:
            self._begin(moment.date())
        written = 0
        while self._day is not None and self._day < moment.date():
            written += self._write(len(self._times), here)
            self._begin(self._day + timedelta(days=1))
        upto = int(np.searchsorted(self._times, int(moment.timestamp())))
        return written + self._write(upto, here)

    @property
    def _times(self) -> np.ndarray:
        assert self._accesses is not None, "a day was begun"
        return self._accesses.time

    def _begin(self, day: date) -> None:
        if self._day is not None:
            self._hosting = made_up_cluster.drift(self._hosting, self._rng)
        self._day = day
        self._accesses = made_up_cluster.night(self._hosting, day, self._requests, self._rng)
        self._written = 0

    def _write(self, upto: int, here: World) -> int:
        first, self._written = self._written, max(upto, self._written)
        if self._accesses is None or upto <= first:
            return 0
        part = Accesses(
            *(getattr(self._accesses, name)[first:upto] for name in Accesses.__dataclass_fields__)
        )
        made_up_logs.grow(
            self._folder, self._hosting, part, self._nodes, self._rng,
            placement=here.store.placement()[1],
        )  # fmt: skip
        return upto - first


class Life:
    """What happens by itself in the demo: traffic, nights, and dead nodes that leave DNS."""

    def __init__(self, here: World, traffic: Traffic, say: Say) -> None:
        self._here, self._traffic, self._say = here, traffic, say
        self._watch = HealthWatch(here, partial(_probe, here.settings))
        self._next = _night_after(here.clock())
        self.written = 0
        self.nights = 0

    def step(self) -> None:
        now = self._here.clock()
        self.written += self._traffic.write_until(now, self._here)
        self._watch.round()
        if now >= self._next:
            self._night(now)

    def _night(self, now: datetime) -> None:
        try:
            night = nightly.run(self._here)
        except Busy:
            # Somebody makes or applies a plan: the next step tries again.
            return
        except FlexError as error:
            self._say(f"The night of {now:%d %B} did not end well: {error}")
        else:
            self._say(f"The night of {now:%d %B}: {len(night.plan.moves)} moves.")
        self.nights += 1
        self._next = _night_after(now)


def _night_after(moment: datetime) -> datetime:
    night = datetime.combine(moment.date(), datetime.min.time(), UTC) + NIGHT
    return night if night > moment else night + timedelta(days=1)


def _probe(settings: Settings, nodes: Sequence[Node]) -> Mapping[str, Sequence[bool]]:
    watch = settings.watch
    return probing.answers(nodes, watch.probes, watch.timeout.total_seconds())


@dataclass(frozen=True, slots=True)
class ToTry:
    """What somebody may do, and the page for it."""

    said: str
    to: str


def ten_things(folder: Path, dns_port: int, web_port: int, sites: Sequence[str]) -> list[ToTry]:
    first, second = sites[0], sites[1]
    config = f"flex --config {folder}/flex.toml"
    return [
        ToTry("see who serves what, and light up a site by its name", "/#partition"),
        ToTry(f"ask the name server: dig @127.0.0.1 -p {dns_port} {first}", "/dns"),
        ToTry(
            "ask the site's node: curl -H 'Host: " + first + f"' http://ADDRESS:{web_port}/",
            "/nodes",
        ),
        ToTry(f"why is {first} where it is? {config} explain {first}", f"/site?name={first}"),
        ToTry(f"pin {second} to n1, see what that would do, keep the wish", f"/site?name={second}"),
        ToTry("make a plan now, look it over, apply it", "/plans"),
        ToTry("kill a node on this page and see its sites leave it within seconds", "/"),
        ToTry("start it again, then take it back: flex nodes up", "/nodes"),
        ToTry("what if there were a node more, or a third more visitors?", "/what-if"),
        ToTry("wait for 02:17 of the demo's time: a night moves a few sites", "/history"),
    ]


class DemoDoor:
    """Before the pages: one address that nobody can guess signs the browser in, shows what to try,
    and kills and starts nodes.
    """

    def __init__(
        self,
        app: FastAPI,
        servers: WebServers,
        clock: Callable[[], datetime],
        token: str,
        to_try: Sequence[ToTry],
    ) -> None:
        self.path = f"/demo/{secrets.token_urlsafe(16)}"
        self._app, self._servers, self._clock = app, servers, clock
        self._token, self._to_try = token, to_try

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self.path):
            await self._app(scope, receive, send)
            return
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method == "POST":
            fields = parse_qs((await request.body()).decode("utf-8", "replace"))
            node, do = (fields.get(name, [""])[0] for name in ("node", "do"))
            act = self._servers.kill if do == "kill" else self._servers.start
            await run_in_threadpool(act, node)
            return RedirectResponse(self.path, 303)
        nodes = [(name, self._servers.answers(name)) for name in self._servers.names]
        shown = page(
            "demo.html", path=self.path, nodes=nodes, to_try=self._to_try, now=self._clock()
        )
        answer = HTMLResponse(shown, headers={"Cache-Control": "no-store"})
        _, secret = await run_in_threadpool(
            open_session, self._app.state.house, self._token, "demo"
        )
        answer.set_cookie(COOKIE, secret, httponly=True, samesite="strict")
        return answer


def stay(
    here: World,
    hosting: Hosting,
    addresses: dict[str, str],
    web_port: int,
    dns_port: int,
    requests: int,
    seed: int,
    say: Say,
) -> None:
    """Until SIGINT or SIGTERM; then everything that it started has ended."""
    folder = Path(here.settings.database.url.removeprefix("sqlite:///")).parent
    start = here.clock()
    clock = FasterClock(start)
    lived = replace(world(here.settings, clock), say=say)
    traffic = Traffic(hosting, folder / "logs", sorted(addresses), requests, seed)
    store = open_store(here.settings.database.url)
    token = manage_tokens.create(store, Caller("demo", "admin"), "you", "admin", datetime.now(UTC))[
        1
    ]
    to_try = ten_things(folder, dns_port, web_port, sorted(hosting.sites))
    with WebServers(addresses, web_port) as servers, _listening() as bound:
        door = DemoDoor(
            create_app(here.settings, store, clock=clock), servers, clock, token, to_try
        )
        port = bound.getsockname()[1]
        _tell(say, f"http://127.0.0.1:{port}{door.path}", to_try)
        with _living(Life(lived, traffic, say), say):
            _serve(door, bound)
    say("The demo has ended, and everything that it started.")


def _tell(say: Say, link: str, to_try: Sequence[ToTry]) -> None:
    say(f"\nThe cluster stays up until Ctrl-C. A day takes {86_400 // FASTER // 60} minutes.")
    say(f"Open {link}\n\nTen things to try:")
    for number, trial in enumerate(to_try, 1):
        say(f"{number:>3}. {trial.said}")


@contextlib.contextmanager
def _listening() -> Iterator[socket.socket]:
    """The usual port, or any that is free."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for port in (USUAL_PORT, 0):
            try:
                bound.bind(("127.0.0.1", port))
                break
            except OSError as error:
                if port == 0:
                    raise BadInput(
                        "a port for the pages on 127.0.0.1",
                        str(error.strerror or error),
                        kept="the demo's nights are in its folder",
                        advice="free a port, then start the demo again",
                    ) from error
        bound.listen()
        yield bound


@contextlib.contextmanager
def _living(life: Life, say: Say) -> Iterator[None]:
    over = threading.Event()

    def live() -> None:
        while not over.wait(PACE):
            try:
                life.step()
            except FlexError as error:
                say(f"{error}; it goes on.")

    thread = threading.Thread(target=live, name="demo")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _serve(app: ASGIApp, bound: socket.socket) -> None:
    """Until SIGINT or SIGTERM."""
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False,
            proxy_headers=False, timeout_graceful_shutdown=PATIENCE,
        )
    )  # fmt: skip
    with _signals_only_end_it():
        server.run(sockets=[bound])


@contextlib.contextmanager
def _signals_only_end_it() -> Iterator[None]:
    """uvicorn raises a signal again once it has ended, and that is the end that was asked for: not
    an interruption of something that goes on another time.
    """
    before = {
        number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
