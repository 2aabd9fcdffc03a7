"""A cluster with doors for all sites whose every part is a process to be killed: for each node an
HAProxy, a web server, `flex route follow`, and a FLEX server that has the node's layout. Nights and
verbs are those of the installation, on its zone of a real name server. All is on loopback.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench import forked_flex
from bench.forked_flex import Forked
from flex.routing import install_files, owners_map
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.haproxy_socket import Socket
from flex.store import Store, open_store
from flex_api import manage_tokens
from flex_api.manage_tokens import Caller
from flex_api.night import haproxy_pools_and_files
from flex_api.run_nodes_on_loopback import Ports
from flex_api.settings.file import load
from tests.api.torn_visitors import At
from tests.ports import any_port
from tests.routing.certificates import Authority
from tests.routing.conftest import let_others_be_reached

if TYPE_CHECKING:
    from tests.api.conftest import Installation

STEPPED = Path(__file__).with_name("stepped.py")
WEB_SERVER = Path(__file__).with_name("node_web_server.py")
# What connects from this machine to 127.0.0.12 comes from there. It is an address of the first
# node: inner doors listen to nodes alone.
HERE = "127.0.0.1"
# Seconds; more where other programs keep the machine busy.
PATIENCE = float(os.environ.get("PATIENCE", "90"))
# More steps than anything takes: who is to stop behind them does not stop.
NEVER = 10**9

Process = subprocess.Popen[bytes] | Forked


@dataclass(eq=False)
class Node:
    """`killed` is since when its HAProxy or its web server is gone; None while both are there."""

    name: str
    address: str
    folder: Path
    server_port: int
    haproxy: Process | None = None
    web: Process | None = None
    follower: Process | None = None
    server: Process | None = None

    @property
    def files(self) -> Path:
        return self.folder / "haproxy"

    @property
    def master(self) -> Socket:
        return Socket(str(self.files / "m"))

    @property
    def stats(self) -> Socket:
        return Socket(str(self.files / "s"))

    @property
    def settings(self) -> Path:
        return self.folder / "flex.toml"

    @property
    def arm(self) -> Path:
        """There while the follower is to stop at a step of the next order."""
        return self.folder / "arm"


@dataclass(eq=False)
class TornCluster:
    installation: Installation
    found: HaproxyProgram
    ports: Ports
    stack: ExitStack
    # What `[dns]` says beside where the name server is; None where there is no `[dns]` and no key.
    dns: str | None = ""
    # What `[routing]` says of how sites are published.
    publish: str = ""
    # Where visitors' TLS ends: "doors" or "web servers"; "" where nobody speaks it.
    tls: str = ""
    nodes: dict[str, Node] = field(default_factory=dict)
    tls_port: int = 0
    web_tls_port: int = 0

    def begin(self, addresses: dict[str, str]) -> None:
        """A night has passed, and every node goes by its order."""
        self.tls_port, self.web_tls_port = any_port(), any_port()
        if self.tls:
            # HAProxy reads all that is in the folder.
            self._certificates.mkdir()
            authority = Authority(self.installation.folder / "authority", "web").begin()
            signed = authority.sign("sites.example", authority.folder / "sites.pem")
            signed.rename(self._certificates / signed.name)
        self.write_settings(addresses)
        first = self.installation.night()
        assert first.code in (0, 32), first.err
        for name, address in addresses.items():
            self._make_node(name, address)
        for node in self.nodes.values():
            self.start_server(node)
        for node in self.nodes.values():
            store = self.store()
            files = haproxy_pools_and_files.files(load(node.settings), store, node.name)
            install_files.put(files, node.files, self.found)
            store.close()
            self.start_web(node)
            self.start_haproxy(node)
            self.start_follower(node)
        for node in self.nodes.values():
            let_others_be_reached(node.stats)

    @property
    def _certificates(self) -> Path:
        return self.installation.folder / "certificates"

    def doors(self, node: Node) -> dict[str, At]:
        """By what visitors speak there."""
        doors = {"plain": (node.address, self.ports.visitors)}
        return doors | ({"TLS": (node.address, self.tls_port)} if self.tls else {})

    def store(self) -> Store:
        return self.stack.enter_context(open_store(self.url()))

    def url(self) -> str:
        return load(self.installation.settings).database.url

    def write_settings(self, addresses: dict[str, str]) -> None:
        """What is said of doors stands last, and is another one for each node."""
        given = self.installation
        given.write_settings()
        text = given.settings.read_text()
        for number, (name, address) in enumerate(addresses.items(), start=1):
            more = f', "{HERE}"' if number == 1 else ""
            old = f'name = "{name}"\naddresses = ["192.0.2.{number}"]'
            assert old in text
            text = text.replace(old, f'name = "{name}"\naddresses = ["{address}"{more}]')
        # Wishes of several rounds, and what comes back to a node, may meet in one plan.
        text = text.replace(
            "[safety]\n", '[safety]\nplan_expiry = "3000d"\nmax_moved_sites_ratio = 1.0\n'
        )
        if self.dns is None:
            text = _without_dns(text)
            (given.folder / "flex.key").unlink(missing_ok=True)
        else:
            text = text.replace("[dns]\n", f"[dns]\n{self.dns}")
        given.settings.write_text(text + self._routing(given.folder, HERE))

    def _routing(self, here: Path, address: str) -> str:
        ports = self.ports
        return (
            f'[api]\nrequests_per_second = 0\n[routing]\non = true\ndoors = "all"\n'
            f'directory = "{here}"\nsocket = "{here}/s"\nmaster = "{here}/m"\n'
            f'listen = ["{address}:{ports.visitors}"]\norigin = "{address}"\n'
            f"origin_port = {ports.origin}\ninner_port = {ports.inner}\n"
            f'inner_listen = ["{address}:{ports.inner}"]\npeers_port = {ports.peers}\n'
            'metrics = ""\nthreads = 1\nconnections = 1_000\n'
            f"{self._tls(address)}{self.publish}"
        )

    def _tls(self, address: str) -> str:
        listen = f'["{address}:{self.tls_port}"]'
        if self.tls == "doors":
            return f'listen_tls = {listen}\ncertificates = "{self._certificates}"\n'
        if self.tls:
            return f"listen_sni = {listen}\norigin_tls_port = {self.web_tls_port}\n"
        return ""

    def _make_node(self, name: str, address: str) -> None:
        given = self.installation
        node = Node(name, address, given.folder / name, any_port())
        node.files.mkdir(parents=True)
        text = given.settings.read_text().replace(self._routing(given.folder, HERE), "")
        node.settings.write_text(text + self._routing(node.files, address))
        key = () if self.dns is None else ("flex.key",)
        for kept in (*key, "sites", "sources", "partials"):
            (node.folder / kept).symlink_to(given.folder / kept)
        # All nodes' servers have the database of the first one, also where that is a file.
        text = node.settings.read_text()
        if "[database]\n" not in text:
            database = f'[database]\nurl = "{self.url()}"\n'
            node.settings.write_text(text.replace("[api]\n", f"{database}[api]\n"))
        store, now = self.store(), datetime.now(UTC)
        caller = Caller("root", "admin")
        _, secret = manage_tokens.create(store, caller, f"node@{name}", "viewer", now)
        (node.folder / "token").write_text(secret)
        store.close()
        self.nodes[name] = node

    def start_web(self, node: Node) -> None:
        words = [node.address, str(self.ports.origin), node.name]
        if self.tls == "web servers":
            words += [str(self.web_tls_port), str(self._certificates / "sites.pem")]
        node.web = self._start(node, sys.executable, str(WEB_SERVER), *words)
        self._until_listens(node.address, self.ports.origin)

    def start_haproxy(self, node: Node) -> None:
        """Under a master, as systemd does."""
        words = ("-W", "-S", str(node.files / "m"), "-f", str(node.files / "haproxy.cfg"))
        node.haproxy = self._start(node, self.found.path, *words)
        self._until_listens(node.address, self.ports.visitors)

    def start_server(self, node: Node) -> None:
        listen = f"{HERE}:{node.server_port}"
        words = ("--config", str(node.settings), "serve", "--listen", listen)
        with (node.folder / "log").open("ab") as log:
            node.server = forked_flex.start(*words, said=log, folder=node.folder)
        self.stack.callback(_end, node.server)
        self._until_listens(HERE, node.server_port)

    def start_follower(self, node: Node) -> None:
        url = f"http://{HERE}:{node.server_port}/api/v1/routing/nodes/{node.name}"
        where = ("--to", str(node.files), "--master", str(node.files / "m"))
        token = ("--token-file", str(node.folder / "token"))
        stepped = (sys.executable, str(STEPPED), str(node.arm), "_take", "round")
        follow = ("route", "follow", "--from", url, *where, *token)
        node.follower = self._start(node, *stepped, *follow)

    def start_flex(self, steps: int, begin: str, *words: str, by: Node | None = None) -> Process:
        """A verb that stops itself at that step, with the settings of this node, or of the first
        one.
        """
        settings = by.settings if by else self.installation.settings
        arm = self._arm(by)
        arm.write_text(str(steps))
        config = ("--config", str(settings))
        stepped = (sys.executable, str(STEPPED), str(arm), begin, "-")
        return self._start(by, *stepped, *config, *words)

    def _arm(self, by: Node | None) -> Path:
        """There while a verb is to stop at a step."""
        return (by.folder if by else self.installation.folder) / "verb.arm"

    def disarm(self, by: Node | None = None) -> None:
        self._arm(by).unlink(missing_ok=True)

    def steps_taken(self, node: Node | None = None) -> int | None:
        """By the verb, or by the node's follower for an order; None where that was never seen to
        its end.
        """
        arm = node.arm if node else self._arm(None)
        with suppress(FileNotFoundError):
            return int(arm.with_name(f"{arm.name}.steps").read_text())
        return None

    def _start(self, node: Node | None, *words: str) -> Process:
        folder = node.folder if node else self.installation.folder
        with (folder / "log").open("ab") as log:
            started = subprocess.Popen(
                words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder
            )
        self.stack.callback(_end, started)
        return started

    def _until_listens(self, address: str, port: int) -> None:
        until(f"{address}:{port} listens", lambda: not _is_silent(address, port))

    def kill(self, node: Node, what: str) -> None:
        """kill -9 of the HAProxy with all its workers, its workers alone, the web server, the
        follower or the server; returns once all of it is gone.
        """
        what, _, part = what.partition(" ")
        process: Process | None = getattr(node, what)
        assert process
        workers = _children(process.pid)
        for pid in (*workers,) if part else (process.pid, *workers):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(PATIENCE)
        until("its workers are gone", lambda: not any(map(_is_running, workers)))
        setattr(node, what, None)

    def goes_by(self, node: Node) -> int:
        """As HAProxy itself says; 0 where it does not answer. A follower that stopped itself when
        nobody waited for that any more goes on.
        """
        if node.follower and is_stopped(node.follower):
            go_on(node.follower)
        with suppress(Exception):
            return owners_map.order_in_force(node.stats, node.files)[0]
        return 0

    def log(self) -> str:
        logs = (self.installation.folder, *(node.folder for node in self.nodes.values()))
        return "\n".join(
            f"{folder.name}: {(folder / 'log').read_text()[-1500:]}"
            for folder in logs
            if (folder / "log").exists()
        )


def _without_dns(text: str) -> str:
    """As where a panel owns all zones."""
    left = re.sub(r"^\[dns\]\n(?:(?!\[).*\n)*", "", text, flags=re.MULTILINE)
    assert "dns" not in left
    assert "key_file" not in left
    return left


def is_stopped(process: Process) -> bool:
    return _state(process.pid) == "T"


def go_on(process: Process) -> None:
    process.send_signal(signal.SIGCONT)


def until(what: str, is_so: Callable[[], bool], why: Callable[[], str] = str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            pytest.fail(f"not within {PATIENCE:.0f} s: {what}; {why()}")
        time.sleep(0.01)


def _state(pid: int) -> str:
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0]
    return ""


def _is_running(pid: int) -> bool:
    """Not where nobody has asked for its end yet."""
    return _state(pid) not in ("", "Z")


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        said = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return list(map(int, re.findall(r"\d+", said)))
    return []


def _end(process: Process) -> None:
    if process.poll() is not None:
        return
    for pid in (*_children(process.pid), process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(PATIENCE)


def _is_silent(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) != 0
