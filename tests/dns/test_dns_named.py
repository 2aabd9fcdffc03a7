"""The private name server: found free ports, nobody disturbed, gone with its block and with its parent."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import indent

import pytest

from flex.domain import Change, Plan, Rrset
from flex.errors import BadSetting, FlexError
from flex_dns.bind import bind_snippet, update_policy
from flex_dns.key import Key, make_key
from flex_dns.named import PrivateNamed, free_port
from flex_dns.rfc2136 import Rfc2136Target

pytestmark = pytest.mark.real

ZONE = "hosting.example."


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def ended(connection: socket.socket) -> bool:
    """Waits for the other side to go: a connection ends when its server does."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def place(server: PrivateNamed, address: str) -> None:
    Rfc2136Target(server.server, "flex").apply(Plan(ZONE, (Change(None, Rrset(f"www.{ZONE}", "A", 60, (address,))),)))


def placed(server: PrivateNamed) -> list[str]:
    found = Rfc2136Target(server.server, "flex").read(ZONE, [f"www.{ZONE}"]).records
    return [str(value) for value in found["value"]]


def test_two_servers_do_not_disturb_each_other(folder: Path) -> None:
    """Also with the same zone and key name: BIND would let them share a port and mix their answers."""
    with (
        PrivateNamed(folder / "one", [ZONE], make_key("flex")) as one,
        PrivateNamed(folder / "two", [ZONE], make_key("flex")) as two,
    ):
        assert one.port != two.port
        place(one, "192.0.2.1")
        place(two, "192.0.2.2")
        assert (placed(one), placed(two)) == (["192.0.2.1"], ["192.0.2.2"])


def test_a_port_is_free_for_both_transports_and_kept_from_others() -> None:
    with free_port() as first, free_port() as second:
        assert first != second
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(type=kind) as sock:
                sock.bind(("127.0.0.1", first))


def test_it_ends_with_its_block_and_leaves_files_that_can_be_deleted(folder: Path, key: Key) -> None:
    with PrivateNamed(folder / "made", [ZONE], key) as own:
        pid = own.pid
        place(own, "192.0.2.1")
    assert gone(pid)
    for path in (folder / "made").iterdir():
        path.unlink()


def test_it_is_killed_when_it_does_not_end(folder: Path, key: Key) -> None:
    with PrivateNamed(folder, [ZONE], key, stop_seconds=0.1) as own:
        pid = own.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)
    assert gone(pid)


def test_it_ends_when_the_block_raises(folder: Path, key: Key) -> None:
    pids = []

    def fail() -> None:
        with PrivateNamed(folder, [ZONE], key) as own:
            pids.append(own.pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert gone(pids[0])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a child of its parent's death")
def test_it_ends_when_its_parent_is_killed(folder: Path) -> None:
    script = f"""\
import sys
from pathlib import Path
from flex_dns.key import make_key
from flex_dns.named import PrivateNamed
with PrivateNamed(Path({str(folder)!r}), [{ZONE!r}], make_key("flex")) as own:
    print(own.port, flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        port = int(parent.stdout.readline())
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            parent.kill()
            assert ended(connection)


def test_it_gives_up_being_root(folder: Path, key: Key) -> None:
    with PrivateNamed(folder, [ZONE], key) as own:
        assert Path(f"/proc/{own.pid}").stat().st_uid != 0


def test_a_directory_that_its_user_cannot_reach_is_replaced(folder: Path, key: Key) -> None:
    folder.chmod(0o700)
    with PrivateNamed(folder / "inside", [ZONE], key) as own:
        used = own.directory
        place(own, "192.0.2.1")
    assert used == folder / "inside" or not used.exists()


def test_a_server_that_does_not_come_up_says_why(folder: Path, key: Key) -> None:
    broken = PrivateNamed(folder, [ZONE], key, records={ZONE: "www A not-an-address"})
    with pytest.raises(FlexError, match="not-an-address"), broken:
        pass
    assert key.secret not in broken.log()


def test_a_zone_name_cannot_bring_configuration_with_it(folder: Path, key: Key) -> None:
    with pytest.raises(BadSetting, match="lower-case"):
        PrivateNamed(folder, ['a." { }; zone "b.'], key)


def test_the_server_keeps_its_zones_through_a_restart(folder: Path, key: Key) -> None:
    with PrivateNamed(folder, [ZONE], key) as own:
        place(own, "192.0.2.1")
        own.stop()
        own.start()
        assert placed(own) == ["192.0.2.1"]


def test_servers_started_at_the_same_time_find_ports_of_their_own(folder: Path) -> None:
    ports: list[int] = []
    gate = threading.Barrier(3)

    def run(number: int) -> None:
        gate.wait()
        with PrivateNamed(folder / str(number), [ZONE], make_key("flex")) as own:
            place(own, f"192.0.2.{number + 1}")
            ports.append(own.port)
            gate.wait()
            assert placed(own) == [f"192.0.2.{number + 1}"]

    threads = [threading.Thread(target=run, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ports)) == 3


def test_the_snippet_holds_the_policy_that_the_private_server_runs_with(folder: Path, key: Key) -> None:
    own = PrivateNamed(folder, [ZONE], key)
    with own:
        assert update_policy(ZONE, key.name) in (own.directory / "named.conf").read_text()
    snippet = bind_snippet(ZONE, key.name)
    assert indent(update_policy(ZONE, key.name), "  ") in snippet
    assert "inline-signing no" in snippet


def test_every_name_server_of_the_zone_can_be_kept_out_of_reach() -> None:
    policy = update_policy(ZONE, "flex", [f"a.{ZONE}", f"b.{ZONE}"])
    assert f"deny flex name a.{ZONE} ANY;" in policy
    assert f"deny flex name b.{ZONE} ANY;" in policy
    assert "ns1" not in policy
