"""A private BIND for the demo and for tests: without privileges, on its own loopback port, and gone
when its parent process is.

Takes zones and a key. Returns a Server. It takes updates by the very policy that FLEX asks
operators to install. Does not recurse for anybody, does not answer outside 127.0.0.1, and has no
control channel.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdataclass
import dns.rdatatype

from flex.errors import BadSetting, FlexError, Unreachable
from flex_dns.private.find_named import find_named
from flex_dns.server_configuration.named_conf_lines import update_logging, update_policy
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.zone_contents import HOST_NAME

LOOPBACK = "127.0.0.1"
# Seconds within which named has to answer. One that fails is seen to end earlier; on a busy machine
# a large zone with its journal takes its time. A guess.
START_SECONDS = 90.0
# Seconds more for each zone that it has to load. A guess.
SECONDS_A_ZONE = 0.03
# Seconds between two looks whether it answers. A guess.
LOOK_SECONDS = 0.02
# How many ports are tried until one is free. A guess.
PORT_TRIES = 50
# Ports below those that the system gives to sockets that ask for none. named sends its own
# questions and NOTIFYs from such ports, and shares its own port: a message that by chance went out
# from the port it goes to would come back to named itself and never arrive.
PORTS = range(15_000, 32_768)
# Lines of named's log that an error quotes. A guess.
LOG_LINES = 8
# What named writes about a zone that it cannot load.
BROKEN = "not loaded due to errors"
APPARMOR = Path("/sys/module/apparmor/parameters/enabled")


class PrivateNamed:
    """`with PrivateNamed(directory, ["hosting.example."], key) as named: ... named.server`

    The directory is made if need be and left for the caller to delete. `records` are further lines
    of a zone's file; `readers` are keys that may transfer zones but change nothing; kept `apart`,
    nobody else may transfer. Run by root, the server is the user `bind` or `nobody` instead, or the
    `user` given; where that user cannot reach the directory, a temporary one is used and deleted at
    the end. A `port` that the caller keeps free is used instead of one of its own; `options` are
    further lines of the configuration's options, `beside` what stands beside them, `clause` what
    stands in each zone's instead of a primary's lines, `controls` what lets rndc in. A site may be
    called as its zone is in those of `own_names`. It has `stop_seconds` to end by itself. On Linux
    it ends with the thread that began it.
    """

    def __init__(
        self,
        directory: Path,
        zones: Sequence[str],
        key: Key,
        *,
        user: str | None = None,
        records: Mapping[str, str] | None = None,
        readers: Sequence[Key] = (),
        transfers: bool = True,
        apart: bool = False,
        port: int = 0,
        threads: int = 1,
        options: str = "notify no;",
        beside: str = "",
        clause: str = "",
        stop_seconds: float = 5.0,
        own_names: Collection[str] = (),
        controls: str = "",
    ) -> None:
        self.directory = directory.absolute()
        self.zones = tuple(_check_zone(zone) for zone in zones)
        self.key = key
        self.port = port
        self._threads = threads
        self._options = options
        self._beside = beside
        self._clause = clause
        self._account = _account(user)
        self._records = records or {}
        self._readers = tuple(readers)
        self._transfers = transfers
        self._apart = apart
        self._stop_seconds = stop_seconds
        self._controls = controls
        self._own_names = frozenset(own_names)
        self._nonce = secrets.token_hex(16)
        self._exit = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def server(self) -> Server:
        return Server(LOOPBACK, self.port, self.key)

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server runs inside its with block"
        return self._process.pid

    def __enter__(self) -> PrivateNamed:
        find_named()
        with ExitStack() as started:
            if self._account and not _can_reach(self._account, self.directory):
                folder = started.enter_context(TemporaryDirectory(prefix="flex-named-"))
                self.directory = Path(folder)
            self.port = self.port or started.enter_context(free_port())
            self._write()
            self.start()
            started.callback(self.stop)
            self._exit = started.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exit.close()

    def start(self) -> None:
        """Run the server and wait until it answers for its zones; after a stop, on the same port
        again.
        """
        account = self._account
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - no shell, and every word of it is ours
                [*_words_to_end_with_parent(), self._program(), *self._arguments()],
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
        try:
            self._wait(self._process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server by its own id; kill it when it does not go in time."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(self._stop_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """End the server without a word, as a crash would."""
        if self._process:
            self._process.kill()
            self._process.wait()

    def log(self) -> str:
        """What the server has said so far; it holds no secrets."""
        return self._log.read_text(errors="replace")

    @property
    def _conf(self) -> Path:
        return self.directory / "named.conf"

    @property
    def _log(self) -> Path:
        return self.directory / "named.log"

    def _arguments(self) -> list[str]:
        """With -g it would log whatever the configuration says; -L is for what goes wrong before it
        has read that.
        """
        return ["-f", "-L", str(self._log), "-n", str(self._threads), "-c", str(self._conf)]

    def _write(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._conf.touch(mode=0o600)
        self._conf.write_text(self._configuration())
        self._log.touch()
        for zone in self.zones if "type secondary" not in self._clause else ():
            (self.directory / f"{zone}db").write_text(zone_file(zone, self._records.get(zone, "")))
        if self._account:
            self._give_to(self._account)

    def _give_to(self, account: pwd.struct_passwd) -> None:
        """The account owns the directory and what we wrote. Root can still delete it all."""
        for path in (self.directory, *self.directory.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)

    def _configuration(self) -> str:
        keys = (self.key, *self._readers)
        may = " ".join(f"key {key.name};" for key in (self._readers if self._apart else keys))
        may = may if self._transfers else "none;"
        options = f"""\
options {{
  directory "{self.directory}";
  listen-on port {self.port} {{ {LOOPBACK}; }};
  listen-on-v6 {{ none; }};
  version "{self._nonce}";
  pid-file "named.pid";
  session-keyfile none;
  recursion no;
  dnssec-validation no;
  allow-query {{ {LOOPBACK}; }};
  allow-transfer {{ none; }};
  {self._options}
}};
controls {{ {self._controls} }};
"""
        options += self._beside + update_logging("stderr")
        return (
            options
            + "".join(key.clause() for key in keys)
            + "".join(self._zone(zone, may) for zone in self.zones)
        )

    def _zone(self, zone: str, may_transfer: str) -> str:
        lines = (
            self._clause
            or "type "
            f"primary;\n{update_policy(zone, self.key.name, own_name=zone in self._own_names)}"
        )
        return (
            f'zone "{zone}" {{\nfile "{zone}db";\nallow-transfer {{ {may_transfer} '
            f"}};\n{lines}}};\n"
        )

    def _program(self) -> str:
        """AppArmor confines named, by its path, to the directories of the system's own service.
        This one is not that service, so where AppArmor is on it runs from a copy.
        """
        program = find_named()
        if not APPARMOR.exists() or APPARMOR.read_text().strip() != "Y":
            return program
        copy = self.directory / "named"
        if not copy.exists():
            shutil.copy(program, copy)
        return str(copy)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Until it serves every zone, and has shown that it is ours and not another server on the
        same port.
        """
        deadline = time.monotonic() + START_SECONDS + SECONDS_A_ZONE * len(self.zones)
        while not self._is_up():
            # A server with a broken zone file keeps running, and would never serve it.
            failed = process.poll() is not None or BROKEN in self.log()
            if failed or time.monotonic() > deadline:
                raise self._did_not_come_up()
            time.sleep(LOOK_SECONDS)

    def _is_up(self) -> bool:
        try:
            return self._says_nonce() and all(self._serves(zone) for zone in self.zones)
        except (dns.exception.DNSException, OSError, EOFError):
            return False

    def _says_nonce(self) -> bool:
        query = dns.message.make_query("version.bind", dns.rdatatype.TXT, dns.rdataclass.CH)
        answer = dns.query.tcp(query, LOOPBACK, timeout=1, port=self.port)
        return any(self._nonce in rrset.to_text() for rrset in answer.answer)

    def _serves(self, zone: str) -> bool:
        answer = dns.query.udp(
            dns.message.make_query(zone, "SOA"), LOOPBACK, timeout=1, port=self.port
        )
        return answer.rcode() == dns.rcode.NOERROR and bool(answer.flags & dns.flags.AA)

    def _did_not_come_up(self) -> FlexError:
        last = "\n".join(self.log().splitlines()[-LOG_LINES:])
        return Unreachable(
            f"starting a private name server in {self.directory}",
            f"it did not come up; it said last:\n{last}",
            kept="it was ended again",
            advice=f"run `named -g -c {self._conf}` to see what it needs",
        )


@contextmanager
def free_port() -> Iterator[int]:
    """A loopback port that is free for TCP and UDP alike, kept from other private servers while in
    use.
    """
    for _ in range(PORT_TRIES):
        with ExitStack() as held:
            if port := reserve_port(held, secrets.choice(PORTS)):
                yield port
                return
    raise Unreachable(
        "looking for a free port on loopback",
        f"{PORT_TRIES} ports in a row were taken",
        kept="nothing was started",
        advice="end servers that are no longer needed",
    )


def zone_file(zone: str, records: str = "") -> str:
    """A zone that one name server, ns1 in it, answers for."""
    return f"""\
$ORIGIN {zone}
$TTL 60
@ IN SOA ns1 hostmaster 1 3600 600 86400 30
@ IN NS ns1
ns1 IN A {LOOPBACK}
{records}
"""


def reserve_port(held: ExitStack, port: int) -> int:
    """The port, kept from other private servers until `held` closes; 0 when it is taken.

    BIND binds with SO_REUSEPORT: a second one on the port would not fail but share its packets. So
    the port itself is only tried, without that option, and a name that other private servers look
    for is held instead.
    """
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        try:
            tcp.bind((LOOPBACK, port))
            udp.bind((LOOPBACK, port))
            if sys.platform == "linux":
                held.enter_context(socket.socket(socket.AF_UNIX)).bind(f"\0flex-named-{port}")
        except OSError:
            return 0
    return port


def _account(user: str | None) -> pwd.struct_passwd | None:
    """The account to run as, None where this process is not root and keeps its own."""
    if os.geteuid() != 0:
        return None
    for name in (user,) if user else ("bind", "named", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise BadSetting(
        "running a private name server as root",
        f"there is no user {user or 'bind, named or nobody'} it could run as",
        kept="nothing was started",
        advice="run this as a normal user",
    )


def _can_reach(account: pwd.struct_passwd, directory: Path) -> bool:
    """Whether the account may enter all folders above; the directory itself will be its own."""
    return all(_can_enter(account, parent) for parent in directory.parents if parent.exists())


def _can_enter(account: pwd.struct_passwd, folder: Path) -> bool:
    folder_status = folder.stat()
    if account.pw_uid == 0:
        return True
    if folder_status.st_uid == account.pw_uid:
        return bool(folder_status.st_mode & stat.S_IXUSR)
    if folder_status.st_gid == account.pw_gid:
        return bool(folder_status.st_mode & stat.S_IXGRP)
    return bool(folder_status.st_mode & stat.S_IXOTH)


def _words_to_end_with_parent() -> list[str]:
    """What makes the server end with us even when we are killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


def _check_zone(zone: str) -> str:
    if HOST_NAME.fullmatch(zone):
        return zone
    raise BadSetting(
        f"serving the zone {zone}",
        "wanted a lower-case name with a dot at its end",
        kept="nothing was started",
        advice="write it like hosting.example.",
    )
