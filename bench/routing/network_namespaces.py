"""Hosts of a bench's own on this machine: a network namespace for each node and one for visitors,
each with an address of a network that nobody else sees.

Takes names of nodes. Has this process, and what it starts, in the visitors' namespace until the
block is left; then the namespaces are gone. Whoever starts something in them ends it before. Needs
root and `ip`; `lacking` says what is not there.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

# A network for benchmarks (RFC 2544), of which nothing leaves the namespaces.
_NETWORK = "198.18.77"
VISITORS = f"{_NETWORK}.1"
_CLONE_NEWNET = 0x4000_0000


@dataclass(frozen=True, slots=True)
class Hosts:
    """`addresses` by node."""

    prefix: str
    addresses: Mapping[str, str]

    def on(self, node: str, own: tuple[Path, Path] | None = None) -> list[str]:
        """What a command begins with that is to run on the node. It sees the first folder of its
        `own` where the second one is.
        """
        begin = [_ip(), "netns", "exec", f"{self.prefix}{node}"]
        if own is None:
            return begin
        # `ip netns exec` has made a namespace of mounts for the command.
        bind = 'mount --bind "$0" "$1" && shift && exec "$@"'
        return [*begin, "sh", "-c", bind, *map(str, own)]


def lacking() -> str:
    """What is not there for namespaces; "" where all is."""
    if os.geteuid() != 0:
        return "not root"
    if not _ip():
        return "no ip (Debian: iproute2)"
    # Containers may forbid it to root.
    name = f"flex{os.getpid()}x"
    command = [_ip(), "netns", "add", name]
    tried = subprocess.run(command, capture_output=True, check=False)
    if tried.returncode:
        return tried.stderr.decode(errors="replace").strip()
    _run("netns", "del", name)
    return ""


@contextmanager
def hosts(nodes: Sequence[str]) -> Iterator[Hosts]:
    prefix = f"flex{os.getpid()}"
    addresses = {node: f"{_NETWORK}.{number}" for number, node in enumerate(nodes, 11)}
    with ExitStack() as stack:
        hub = f"{prefix}hub"
        _make_namespace(hub, stack)
        _run("-n", hub, "link", "add", "bridge", "type", "bridge")
        _run("-n", hub, "address", "add", f"{VISITORS}/24", "dev", "bridge")
        _run("-n", hub, "link", "set", "bridge", "up")
        for number, (node, address) in enumerate(addresses.items()):
            name, port = f"{prefix}{node}", f"port{number}"
            _make_namespace(name, stack)
            ends = ("type", "veth", "peer", "name", "eth0", "netns", name)
            _run("-n", hub, "link", "add", port, *ends)
            _run("-n", hub, "link", "set", port, "master", "bridge", "up")
            _run("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            _run("-n", name, "link", "set", "eth0", "up")
        stack.enter_context(_inside(hub))
        yield Hosts(prefix, addresses)


def _make_namespace(name: str, stack: ExitStack) -> None:
    _run("netns", "add", name)
    stack.callback(_run, "netns", "del", name)
    _run("-n", name, "link", "set", "lo", "up")


@contextmanager
def _inside(name: str) -> Iterator[None]:
    """This thread, and what it starts."""
    with ExitStack() as stack:
        here = Path("/proc/thread-self/ns/net")
        before = stack.enter_context(here.open("rb"))
        with Path(f"/run/netns/{name}").open("rb") as there:
            _enter(there.fileno())
        try:
            yield
        finally:
            _enter(before.fileno())


def _enter(namespace: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _run(*words: str) -> None:
    subprocess.run([_ip(), *words], check=True)


def _ip() -> str:
    return shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin") or ""
