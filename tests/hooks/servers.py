"""Private servers for tests of deploy/hooks, each in a folder of its own and ended by its own
process: MariaDB, nginx, Apache, sshd. Tests skip what is not installed.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ports import any_port

_PLACES = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
# Seconds, far beyond what any needs on a busy machine.
PATIENCE = 300


def program(name: str, package: str) -> str:
    """Skips where it is not installed."""
    found = shutil.which(name, path=_PLACES)
    if not found:
        pytest.skip(f"{name} is not installed (Debian: {package})")
    return found


@contextmanager
def running(
    command: Sequence[str], log: Path, is_there: Callable[[], bool]
) -> Iterator[subprocess.Popen[bytes]]:
    """Until the block is left."""
    with log.open("ab") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while not is_there():
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < end, log.read_text(errors="replace")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass(frozen=True, slots=True)
class Database:
    socket: Path

    def ask(self, words: str) -> list[list[str]]:
        """Raises CalledProcessError where it says no."""
        said = self.try_to(words)
        said.check_returncode()
        return [line.split("\t") for line in said.stdout.splitlines()]

    def try_to(self, words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*client(self.socket), "-N", "-B"],
            input=words,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            check=False,
            timeout=PATIENCE,
        )


def client(at: Path) -> list[str]:
    at_it = ("--no-defaults", f"--socket={at}", "--user=root")
    return ["mariadb", *at_it, "--default-character-set=utf8mb4"]


def empty_database(folder: Path) -> Path:
    """The files of a server with nothing in it."""
    install = program("mariadb-install-db", "mariadb-server-core")
    program("mariadb-dump", "mariadb-client")
    made = folder / "empty"
    subprocess.run(
        [
            # A server that begins removes the temporary tables of others from a folder they share.
            *(install, "--no-defaults", f"--datadir={made}", f"--tmpdir={folder}"),
            *("--skip-test-db", "--auth-root-authentication-method=normal", *_as_root()),
        ],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    return made


@contextmanager
def database(folder: Path, empty: Path, *options: str) -> Iterator[Database]:
    shutil.copytree(empty, folder / "data")
    made = Database(folder / "socket")
    command = [
        *(program("mariadbd", "mariadb-server-core"), "--no-defaults", *_as_root()),
        *(f"--datadir={folder}/data", f"--tmpdir={folder}", f"--socket={made.socket}"),
        "--skip-networking",
        *(f"--pid-file={folder}/pid", "--innodb-buffer-pool-size=16M", *options),
        *("--innodb-log-file-size=4M", "--innodb-flush-log-at-trx-commit=0"),
    ]
    with running(command, folder / "log", lambda: made.try_to("SELECT 1").returncode == 0):
        yield made


def _as_root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []


@contextmanager
def nginx(folder: Path, vhosts: Path) -> Iterator[tuple[Path, int]]:
    """Its configuration, and the port that virtual hosts listen on."""
    found, port = program("nginx", "nginx"), any_port()
    parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    kept = "".join(f"{part}_temp_path {folder}/{part};\n" for part in parts)
    user = "user root;\n" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"{user}pid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{kept}"
        f"server {{ listen 127.0.0.1:{port} default_server; return 404; }}\n"
        f"include {vhosts}/*;\n}}\n"
    )
    command = [found, "-e", str(folder / "nginx.log"), "-c", str(configuration)]
    with running([*command, "-g", "daemon off;"], folder / "log", lambda: listens(port)):
        yield configuration, port


@contextmanager
def apache(folder: Path, vhosts: Path) -> Iterator[tuple[Path, int]]:
    found, port = program("apache2", "apache2-bin"), any_port()
    modules = "/usr/lib/apache2/modules"
    configuration = folder / "apache.conf"
    configuration.write_text(
        f"ServerRoot {folder}\nServerName localhost\nListen 127.0.0.1:{port}\n"
        f"PidFile {folder}/apache.pid\nErrorLog {folder}/apache.log\n"
        f"Mutex file:{folder} default\n"
        f"LoadModule mpm_event_module {modules}/mod_mpm_event.so\n"
        f"LoadModule authz_core_module {modules}/mod_authz_core.so\n"
        f"LoadModule alias_module {modules}/mod_alias.so\n"
        f"IncludeOptional {vhosts}/*\n"
    )
    command = [found, "-f", str(configuration), "-D", "FOREGROUND"]
    with running(command, folder / "log", lambda: listens(port)):
        yield configuration, port


@contextmanager
def sshd(folder: Path) -> Iterator[str]:
    """Settings by which the nodes n1 and n2 are reached by ssh: this machine, as this account."""
    found = program("sshd", "openssh-server")
    port, user = any_port(), getpass.getuser()
    folder.mkdir(mode=0o700)
    for name in ("host", "key"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{name}"]
        subprocess.run(words, check=True, timeout=PATIENCE)
    shutil.copy(folder / "key.pub", folder / "authorized")
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
        f"PidFile {folder}/pid\nPasswordAuthentication no\nMaxStartups 100\n"
    )
    host = (folder / "host.pub").read_text()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {host}")
    (folder / "config").write_text(
        f"Host n1 n2\n    HostName 127.0.0.1\n    Port {port}\n"
        f"    IdentityFile {folder}/key\n    IdentitiesOnly yes\n"
        f"    UserKnownHostsFile {folder}/known\n"
    )
    if os.geteuid() == 0:
        # Where sshd drops its rights; Debian makes it when the service begins.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    command = [found, "-D", "-e", "-f", str(folder / "sshd_config")]
    with running(command, folder / "log", lambda: listens(port)):
        kept_open = f"ssh -F {folder}/config -o BatchMode=yes -o ControlMaster=auto"
        kept_open += " -o ControlPersist=5"
        yield (
            f"\nACCOUNT={user}\nSSH=({kept_open} -o ControlPath={folder}/m-%C)\n"
            f"SSH_BETWEEN_NODES='{kept_open} -o ControlPath={folder}/b-%C'\n"
        )
