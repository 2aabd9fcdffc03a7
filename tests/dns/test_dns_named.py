"""The private name server: found free ports, nobody disturbed, gone with its block and with its
parent.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from textwrap import indent

import pytest

from flex.errors import BadSetting, FlexError
from flex.model.zone_plan import ZonePlan
from flex_dns.private.private_named import PORTS, PrivateNamed, reserve_port
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.server_configuration.named_conf_lines import (
    PRIMARY_OPTIONS,
    SECONDARY_OPTIONS,
    bind_snippet,
    tcp_only_clause,
    update_logging,
    update_policy,
)
from flex_dns.wire.key import Key, make_key
from tests.dns import given

pytestmark = pytest.mark.real

ZONE = "hosting.example."


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_for_end(pid: int) -> None:
    """Waits for the end of a process that is no child of ours."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            assert select.select([handle], [], [], 10)[0], f"{pid} still runs"
        finally:
            os.close(handle)


def place(server: PrivateNamed, address: str) -> None:
    Rfc2136Publisher(server.server, "flex").apply(
        ZonePlan(ZONE, given.placed(ZONE, f"www.{ZONE}", address, owner="flex"))
    )


def placed(server: PrivateNamed) -> list[str]:
    found = Rfc2136Publisher(server.server, "flex").read(ZONE, [f"www.{ZONE}"]).records
    return [str(value) for value in found["value"]]


def test_two_servers_do_not_disturb_each_other(folder: Path) -> None:
    """Also with the same zone and key name: BIND would let them share a port and mix their
    answers.
    """
    with (
        PrivateNamed(folder / "one", [ZONE], make_key("flex")) as one,
        PrivateNamed(folder / "two", [ZONE], make_key("flex")) as two,
    ):
        assert one.port != two.port
        place(one, "192.0.2.1")
        place(two, "192.0.2.2")
        assert (placed(one), placed(two)) == (["192.0.2.1"], ["192.0.2.2"])


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["TCP", "UDP"])
def test_a_port_that_is_taken_on_either_transport_is_not_used(kind: socket.SocketKind) -> None:
    with socket.socket(type=kind) as taken, ExitStack() as held:
        taken.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            taken.listen()
        assert reserve_port(held, taken.getsockname()[1]) == 0


@pytest.mark.skipif(
    sys.platform != "linux", reason="the name that reserves a port is one that only Linux has"
)
def test_a_port_that_another_private_server_is_about_to_use_is_not_used() -> None:
    with ExitStack() as ours, ExitStack() as theirs:
        port = next(one for one in PORTS if reserve_port(ours, one))
        assert port
        assert reserve_port(theirs, port) == 0
        ours.close()
        assert reserve_port(theirs, port) == port


def test_it_ends_with_its_block_and_leaves_files_that_can_be_deleted(
    folder: Path, key: Key
) -> None:
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


@pytest.mark.skipif(
    sys.platform != "linux", reason="other systems do not tell a child of its parent's death"
)
def test_it_ends_when_its_parent_is_killed(folder: Path) -> None:
    script = f"""\
import sys
from pathlib import Path
from flex_dns.wire.key import make_key
from flex_dns.private.private_named import PrivateNamed
with PrivateNamed(Path({str(folder)!r}), [{ZONE!r}], make_key("flex")) as own:
    print(own.pid, flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not gone(pid)
        parent.kill()
        wait_for_end(pid)


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


def test_what_it_does_is_logged_but_not_each_record(folder: Path, key: Key) -> None:
    with PrivateNamed(folder, [ZONE], key) as own:
        place(own, "192.0.2.1")
        assert placed(own) == ["192.0.2.1"]
        assert f"zone {ZONE.rstrip('.')}/IN: loaded" in own.log()
        assert "adding an RR" not in own.log()


def test_servers_started_at_the_same_time_find_ports_of_their_own(folder: Path) -> None:
    ports: list[int] = []
    gate = threading.Barrier(3, timeout=300)

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


def test_the_snippet_holds_the_policy_that_the_private_server_runs_with(
    folder: Path, key: Key
) -> None:
    own = PrivateNamed(folder, [ZONE], key)
    with own:
        assert update_policy(ZONE, key.name) in (own.directory / "named.conf").read_text()
    snippet = bind_snippet(ZONE, key.name, "reader")
    assert indent(update_policy(ZONE, key.name), "  ") in snippet
    assert indent(update_logging(), "//   ") in snippet
    assert indent(f"{PRIMARY_OPTIONS}\n", "//   ") in snippet
    assert indent(f"{SECONDARY_OPTIONS}\n", "//   ") in snippet
    assert indent(tcp_only_clause("192.0.2.1"), "//   ") in snippet
    assert "-n 8" in snippet
    assert "inline-signing no" in snippet
    assert "allow-transfer { key reader; };" in snippet


def test_every_name_server_of_the_zone_can_be_kept_out_of_reach() -> None:
    policy = update_policy(ZONE, "flex", [f"a.{ZONE}", f"b.{ZONE}"])
    assert f"deny flex name a.{ZONE} ANY;" in policy
    assert f"deny flex name b.{ZONE} ANY;" in policy
    assert "ns1" not in policy
