"""A hosting cluster on this machine: nodes with a door, a web server, PHP, a database and document
roots of their own, that follow FLEX's orders.

Takes names of nodes and sites. Each node is a network namespace and a folder; every site has one
writer, a table and a file, and commands that bring both. Sites begin on the nodes in turn. Ends all
of it when the block is left. Needs root, ip, HAProxy, nginx, php-fpm, MariaDB and rsync; `lacking`
says what is not there.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.moving.services import Kept, kept_services
from bench.routing import network_namespaces, web_servers
from bench.routing.follow_doors import (
    FLEX,
    Cluster,
    free_port,
    new_token,
    put_in_force,
    write_settings,
)
from bench.routing.network_namespaces import VISITORS, Hosts
from bench.routing.web_servers import until_listens
from flex.routing import haproxy_program, install_files
from flex.store import migrate, open_store
from flex_api.night import haproxy_pools_and_files, store_order_for_doors
from flex_api.settings.file import load

_HERE = Path(__file__).parent
_SHIPPED = _HERE.parents[1] / "deploy/hooks"
_PLACES = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"
_PHP = ("php-fpm", "php-fpm8.2", "php-fpm8.3", "php-fpm8.4")
_DATABASE = ("mariadbd",)
_SSHD = ("sshd",)
_PATIENCE = 60.0
# Content beside what visitors write, in files of a site.
_FILES = 20
# Of one site; requests wait for no longer.
HOLD = "20s"
SERVICES = ("haproxy", "follower", "server", "nginx", "php", "mariadb")


def lacking() -> str:
    """What is not there for it; "" where all is."""
    programs = {"php-fpm": _PHP, "mariadbd": _DATABASE, "rsync": ("rsync",), "sshd": _SSHD}
    missing = [name for name, ways in programs.items() if not _program(ways)]
    if "php-fpm" not in missing and not _has_mysqli():
        missing.append("PHP's mysqli (Debian: php-mysql)")
    return network_namespaces.lacking() or web_servers.lacking_for_hosts() or ", ".join(missing)


def _has_mysqli() -> bool:
    done = subprocess.run([_program(_PHP), "-m"], capture_output=True, text=True, check=False)
    return "mysqli" in done.stdout.split()


def _program(ways: Sequence[str]) -> str:
    found = (shutil.which(way, path=_PLACES) for way in ways)
    return next(filter(None, found), "")


@dataclass(eq=False)
class Hosting:
    cluster: Cluster
    sites: Sequence[str]
    kept: Kept

    @property
    def nodes(self) -> list[str]:
        return [*self.cluster.addresses]

    @property
    def settings(self) -> Path:
        """Any node's do for a run of FLEX: they differ in the layout of machines alone."""
        return self.cluster.folder / self.nodes[0] / "flex.toml"

    def sites_of(self, node: str) -> list[str]:
        """Where they begin."""
        return [site for site, owner in self.cluster.owner_of.items() if owner == node]

    def kill(self, node: str, service: str) -> None:
        """It is begun again. Until then a socket of it may still take connections."""
        killed = self.kept.services[f"{node} {service}"]
        begun, end = killed.times_begun, time.monotonic() + _PATIENCE
        killed.kill()
        while killed.times_begun == begun:
            assert time.monotonic() < end, f"{service} of {node} is not begun again"
            time.sleep(0.01)

    def until_serves(self) -> None:
        """Whatever was killed has begun again."""
        places = [
            (address, self.cluster.ports[port])
            for address in self.cluster.addresses.values()
            for port in ("visit", "origin")
        ]
        until_listens(iter(places))
        for node in self.nodes:
            self._until_php_listens(node)
            self._until_database_answers(node)

    def ask_database(self, node: str, words: str) -> list[list[str]]:
        """Raises CalledProcessError where it says no."""
        place = f"{self.cluster.folder}/{node}/mariadb.sock"
        command = ["mariadb", "--no-defaults", "-S", place, "-uroot", "-N", "-e", words]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        return [line.split("\t") for line in said.stdout.splitlines()]

    def _until_php_listens(self, node: str) -> None:
        end, place = time.monotonic() + _PATIENCE, f"{self.cluster.folder}/{node}/php.sock"
        with socket.socket(socket.AF_UNIX) as probe:
            while probe.connect_ex(place):
                assert time.monotonic() < end, f"PHP of {node} does not listen"
                time.sleep(0.02)

    def _until_database_answers(self, node: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not self._is_database_there(node):
            assert time.monotonic() < end, f"the database of {node} does not answer"
            time.sleep(0.1)

    def _is_database_there(self, node: str) -> bool:
        try:
            self.ask_database(node, "SELECT 1")
        except subprocess.CalledProcessError:
            return False
        return True

    def jobs(self, node: str, site: str) -> Path:
        """Its jobs of cron, where they are switched on."""
        return self.cluster.folder / node / "cron" / base_of(site)

    def fail(self, node: str, site: str) -> None:
        """Its application does there what it does, and says that it failed."""
        (self._failing(node) / site).touch()

    def fail_no_more(self) -> None:
        for node in self.nodes:
            for site in self._failing(node).iterdir():
                site.unlink()

    def _failing(self, node: str) -> Path:
        return self.cluster.folder / node / "failing"

    def root(self, node: str, site: str) -> Path:
        return self.cluster.folder / node / "www" / site


@contextmanager
def hosting(
    nodes: Sequence[str],
    count: int,
    more: Callable[[Path], str] = lambda _: "",
    *,
    by_ssh: bool = False,
    watch: str = "",
) -> Iterator[Hosting]:
    """`more` says what else is in the settings, given the folder of all. Commands reach nodes by
    ssh, or their folders as disks that are mounted. Sites that moved are watched for `watch`.
    """
    sites = [f"site{number:03}.example" for number in range(count)]
    owner_of = {site: nodes[at % len(nodes)] for at, site in enumerate(sites)}
    with (
        tempfile.TemporaryDirectory(prefix="flex-bench-") as name,
        network_namespaces.hosts(nodes) as hosts,
        kept_services() as kept,
    ):
        folder = Path(name)
        url = os.environ.get("DATABASE") or f"sqlite:///{folder}/flex.db"
        migrate.upgrade(url)
        with open_store(url) as store:
            names = ("visit", "inner", "origin", "peers")
            ports = {one: free_port() for one in names}
            addresses = dict(hosts.addresses)
            cluster = Cluster(folder, store, owner_of, "", ports, addresses)
            cluster.hosts = hosts
            _write_log(folder / "access.log", sites)
            reached = _sshd_of_nodes(folder, hosts, kept) if by_ssh else _MOUNTED
            _put_hooks(folder, hosts, reached)
            settings = _settings(folder, sites, watch) + more(folder)
            for node in nodes:
                write_settings(cluster, node, url, settings)
            made = Hosting(cluster, sites, kept)
            _begin_services(made, hosts)
            _fill(made)
            _begin_doors(made, hosts)
            cluster.until_all_say(1)
            yield made


# What a hook's command and its undo are told, by stage: those of docs/howto/move-whole-sites.md.
_HOOKS = (
    ("prepare", "vhost copy {site} {from} {to}", "vhost remove {site} {to}"),
    ("copy", "files copy {site} {from} {to}", "files remove {site} {to} {from}"),
    ("copy", "database load {site} {from} {to}", "database remove {site} {to} {from}"),
    ("copy", "cron copy {site} {from} {to}", "cron remove {site} {to}"),
    ("final copy", "cron off {site} {from}", "cron on {site} {from}"),
    ("final copy", "files final {site} {from} {to}", ""),
    (*("final copy", "database final {site} {from} {to}"), "database remove {site} {to} {from}"),
    ("release", "cron on {site} {to}", ""),
    ("clean", "cron remove {site} {from}", ""),
    ("clean", "vhost remove {site} {from}", ""),
    ("clean", "database remove {site} {from} {to}", ""),
    ("clean", "files remove {site} {from} {to}", ""),
)


def _settings(folder: Path, sites: Sequence[str], watch: str) -> str:
    """With the shipped hooks; what needs time is done before the hold, and again within it."""
    writers = "".join(f'[[routing.site]]\nname = "{site}"\nstateful = true\n' for site in sites)
    hooks = "".join(
        f'[[move.hook]]\nstage = "{stage}"\nname = "{number}"\nretries = 1\n'
        f'timeout = "60s"\ncommand = {_words(folder, command)}\nundo = {_words(folder, undo)}\n'
        for number, (stage, command, undo) in enumerate(_HOOKS)
    )
    return (
        f'hold_time = "{HOLD}"\n{writers}'
        f'[[ingest.source]]\nglob = "{folder}/access.log"\nnode = "n1"\n'
        f'[watch]\ninterval = "2s"\n[move]\nrest = "0s"\nclean_after = "5s"\n'
        f'watch = "{watch or "0s"}"\n{hooks}'
    )


def _words(folder: Path, command: str) -> list[str]:
    name, *words = command.split() or [""]
    return [f"{hooks_of(folder)}/{name}", *words] if name else []


def hooks_of(folder: Path) -> Path:
    return folder / "hooks"


# Nodes are folders of this machine, as disks are that are mounted.
_MOUNTED = """
run_on() { shift; "$@"; }
fetch() {
    local lock=$3
    shift 3
    "${LOCKED[@]}" "$lock" rsync "$@"
}
"""


def _sshd_of_nodes(folder: Path, hosts: Hosts, kept: Kept) -> str:
    """A server of each node. How settings.sh reaches them."""
    here, port = folder / "ssh", free_port()
    here.mkdir(mode=0o700)
    # What the shells of this machine's user read first is no part of a node.
    home = here / "home"
    home.mkdir()
    # Where sshd drops its rights; Debian makes it when the service begins.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    for name in ("host", "key"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{here}/{name}"]
        subprocess.run(words, check=True)
    host = (here / "host.pub").read_text()
    known, config = "", f"IdentityFile {here}/key\nUserKnownHostsFile {here}/known\nUser root\n"
    for node, address in hosts.addresses.items():
        (here / node).write_text(
            f"ListenAddress {address}:{port}\nHostKey {here}/host\nStrictModes no\nUsePAM no\n"
            f"AuthorizedKeysFile {here}/key.pub\nPidFile none\nMaxStartups 100\n"
        )
        server = [_program(_SSHD), "-D", "-e", "-f", f"{here}/{node}"]
        on = hosts.on(node, (home, Path.home()))
        kept.add(f"{node} sshd", [*on, *server], here / "log")
        known += f"[{address}]:{port} {host}"
        config += f"Host {node}\n    HostName {address}\n    Port {port}\n"
    (here / "known").write_text(known)
    (here / "config").write_text(config)
    until_listens((address, port) for address in hosts.addresses.values())
    kept_open = f"ssh -F {here}/config -o BatchMode=yes -o ControlMaster=auto -o ControlPersist=60"
    # All are one machine's: a node has connections of its own.
    return (
        f"SSH=({kept_open} -o ControlPath={here}/%C)\n"
        f"SSH_BETWEEN_NODES='{kept_open} -o ControlPath={here}/between-%C'\n"
    )


def _put_hooks(folder: Path, hosts: Hosts, reached: str) -> None:
    """Every other site's database is taken for a large one."""
    shutil.copytree(_SHIPPED, hooks_of(folder))
    # It tries to listen where it would.
    on = " ".join(hosts.on("$1"))
    nginx = f"{on} {web_servers.nginx()} -e {folder}/$1/nginx.log -c {folder}/$1/nginx.conf"
    own = f"""{reached}
lock_of() {{ printf '%s' "{folder}/$1/lock-$2"; }}
kept_of() {{ printf '%s' "{folder}/$1/kept"; }}
files_of() {{ printf '%s' "{folder}/$1/www/$2"; }}
vhost_of() {{ printf '%s' "{folder}/$1/vhosts/$2"; }}
certificate_of() {{ printf '%s' "{folder}/$1/certificates/$2"; }}
cron_of() {{ printf '%s' "{folder}/$1/cron/$(printf '%s' "$2" | tr . _)"; }}
web_test() {{ printf '%s' "{nginx} -t -q"; }}
web_reload() {{ printf '%s' "{nginx} -s reload"; }}
database_of() {{ printf '%s' "$1" | tr . _; }}
is_large() {{ [[ $1 == *[02468].example ]]; }}
mariadb_on() {{
    local node=$1 program=$2
    shift 2
    run_on "$node" "$program" --no-defaults -S "{folder}/$node/mariadb.sock" -u root "$@"
}}
"""
    with (hooks_of(folder) / "settings.sh").open("a") as file:
        file.write(own)


def _write_log(file: Path, sites: Sequence[str]) -> None:
    """Yesterday all sites were asked as often."""
    day = datetime.now(UTC) - timedelta(days=1)
    file.write_text(
        "".join(
            f"{site}:80 192.0.2.1 - - [{day:%d/%b/%Y}:{hour:02}:00:00 +0000] "
            f'"GET /page{hour}.html HTTP/1.1" 200 100000 "-" "bench"\n'
            for hour in range(24)
            for site in sites
        )
    )


def _begin_services(made: Hosting, hosts: Hosts) -> None:
    folder, kept = made.cluster.folder, made.kept
    empty = folder / "empty"
    # A server that begins removes the temporary tables of others from a folder they share.
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={empty}", f"--tmpdir={folder}"]
    made_empty = subprocess.run(
        [*install, "--user=root", "--auth-root-authentication-method=normal"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert not made_empty.returncode, made_empty.stdout + made_empty.stderr
    for node in made.nodes:
        here, on = folder / node, hosts.on(node)
        shutil.copytree(empty, here / "data")
        database = [
            *(_program(_DATABASE), "--no-defaults", f"--datadir={here}/data"),
            *(f"--tmpdir={here}", f"--socket={here}/mariadb.sock", "--skip-networking"),
            "--user=root",
            # A killed process loses nothing by that, only a machine without power.
            *("--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=32M"),
            *(f"--pid-file={here}/mariadb.pid", "--log-bin", "--binlog-format=ROW"),
            f"--server-id={node[1:]}",
        ]
        kept.add(f"{node} mariadb", [*on, *database], here / "log")
        (here / "php.conf").write_text(_php(here))
        php = [_program(_PHP), "-n", *_php_modules(), "-F", "-R", "-y", f"{here}/php.conf"]
        kept.add(f"{node} php", [*on, *php], here / "log")
        for part in ("vhosts", "certificates", "cron", "kept", "failing"):
            (here / part).mkdir()
        for site in made.sites_of(node):
            vhost = f"server {{ server_name {site}; include site.conf; }}\n"
            (here / "vhosts" / site).write_text(vhost)
        (here / "nginx.conf").write_text(_nginx(made, node))
        (here / "site.conf").write_text(_site_of_nginx(made, node))
        program = web_servers.nginx()
        assert program
        nginx = [program, "-e", f"{here}/nginx.log", "-c", f"{here}/nginx.conf"]
        kept.add(f"{node} nginx", [*on, *nginx], here / "log")
    for node in made.nodes:
        made._until_database_answers(node)


def _php_modules() -> list[str]:
    """With no other configuration of this machine."""
    return [word for name in ("mysqlnd", "mysqli") for word in ("-d", f"extension={name}")]


def _php(here: Path) -> str:
    return (
        f"[global]\nerror_log = {here}/php.log\n[www]\nlisten = {here}/php.sock\n"
        "user = root\ngroup = root\nlisten.mode = 0666\n"
        "pm = static\npm.max_children = 4\n"
    )


def _nginx(made: Hosting, node: str) -> str:
    """A node answers for those sites that it has a virtual host of."""
    here = made.cluster.folder / node
    at = f"{made.cluster.addresses[node]}:{made.cluster.ports['origin']}"
    parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"    {part}_temp_path {here}/{part};\n" for part in parts)
    return (
        f"user root;\ndaemon off;\nworker_processes 1;\npid {here}/nginx.pid;\n"
        "events { worker_connections 1024; }\nhttp {\n    access_log off;\n"
        "    server_names_hash_bucket_size 128;\n"
        f"{temporary}    server {{ listen {at} backlog=1024; return 404; }}\n"
        f"    include {here}/vhosts/*;\n}}\n"
    )


def _site_of_nginx(made: Hosting, node: str) -> str:
    """What virtual hosts include, which are the same at all nodes."""
    here = made.cluster.folder / node
    at = f"{made.cluster.addresses[node]}:{made.cluster.ports['origin']}"
    given = {
        "SCRIPT_FILENAME": _HERE / "application.php",
        "REQUEST_METHOD": "$request_method",
        "QUERY_STRING": "$query_string",
        "CONTENT_LENGTH": "$content_length",
        "HTTP_HOST": "$host",
        "FLEX_NODE": node,
        "FLEX_ROOT": f"{here}/www/$host",
        "FLEX_DATABASE": f"{here}/mariadb.sock",
        "FLEX_FAILING": f"{here}/failing/$host",
    }
    told = "".join(f"    fastcgi_param {key} {value};\n" for key, value in given.items())
    return f"listen {at};\nlocation / {{\n    fastcgi_pass unix:{here}/php.sock;\n{told}}}\n"


def _fill(made: Hosting) -> None:
    for node in made.nodes:
        its = made.sites_of(node)
        made.ask_database(node, "".join(map(_new_database, its)))
        for site in its:
            root = made.root(node, site)
            root.mkdir(parents=True)
            made.jobs(node, site).write_text("jobs\n")
            (root / "orders").touch()
            for number in range(_FILES):
                (root / f"page{number}.html").write_text(f"{site} {number}\n" * 100)


def _new_database(site: str) -> str:
    # `seq` is the order in which they came.
    name = base_of(site)
    return (
        f"CREATE DATABASE {name}; CREATE TABLE {name}.orders (seq BIGINT AUTO_INCREMENT "
        "PRIMARY KEY, id BIGINT NOT NULL, node VARCHAR(8) NOT NULL, KEY (id));"
    )


def base_of(site: str) -> str:
    return site.replace(".", "_")


def _begin_doors(made: Hosting, hosts: Hosts) -> None:
    cluster, kept = made.cluster, made.kept
    store, owner_of = cluster.store, cluster.owner_of
    put_in_force(store, {"site": [*owner_of], "node": [*owner_of.values()]})
    found = haproxy_program.program()
    ordered = store_order_for_doors.order(load(made.settings), store)
    assert ordered
    cluster.number = ordered.number
    servers = {node: (VISITORS, free_port()) for node in made.nodes}
    for node in made.nodes:
        here = cluster.here(node)
        settings = here.parent / "flex.toml"
        files = haproxy_pools_and_files.files(load(settings), store, node)
        install_files.put(files, here, found)
        haproxy = [found.path, "-W", "-S", f"{here}/m", "-f", f"{here}/haproxy.cfg"]
        kept.add(f"{node} haproxy", [*hosts.on(node), *haproxy], here.parent / "log")
        listen = "{}:{}".format(*servers[node])
        serve = [str(FLEX), "--config", str(settings), "serve", "--listen", listen]
        kept.add(f"{node} server", serve, here.parent / "log")
        (here.parent / "token").write_text(new_token(store, node), encoding="ascii")
    made.until_serves()
    until_listens(iter(servers.values()))
    for node, (address, port) in servers.items():
        here = cluster.here(node)
        follow = [
            *(*hosts.on(node), str(FLEX), "route", "follow", "--to", str(here)),
            *("--from", f"http://{address}:{port}/api/v1/routing/nodes/{node}"),
            *("--master", f"{here}/m", "--token-file", str(here.parent / "token")),
        ]
        kept.add(f"{node} follower", follow, here.parent / "log")
