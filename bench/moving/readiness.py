"""How long it takes to ask whether 20,000 sites are ready on new nodes, at which rate each node is
asked, and in how much memory: one nginx that ends TLS by name, on as many addresses as nodes.

Takes SITES, NODES, PER_SECOND (questions to one node in a second) and BUDGET (seconds) from the
environment. Returns figures. Needs nginx and openssl.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bench.figures import Figures
from flex.store import migrate
from flex_api import wiring
from flex_api.moving.check_site_on_new_node import Wanted
from flex_api.moving.check_sites_on_new_nodes import check_sites
from flex_api.settings.file import load

SITES = int(os.environ.get("SITES", "20000"))
NODES = int(os.environ.get("NODES", "16"))
PER_SECOND = int(os.environ.get("PER_SECOND", "20"))
BUDGET = int(os.environ.get("BUDGET", "600"))
_PAGE = "<html><title>A site</title>" + "<p>what it sells</p>" * 200 + "</html>"
# Seconds for nginx to begin.
_PATIENCE = 30.0


def measure() -> Figures:
    if missing := [one for one in ("nginx", "openssl") if not shutil.which(one)]:
        return {"readiness": f"not measured: {', '.join(missing)} is not there"}
    with tempfile.TemporaryDirectory(prefix="flex-ready-") as folder:
        return _measure(Path(folder))


def _measure(folder: Path) -> Figures:
    port, tls = _free_port(), _free_port()
    authority = _certificates(folder)
    with _nginx(folder, port, tls):
        return _ask_all(folder, port, tls, authority)


def _ask_all(folder: Path, port: int, tls: int, authority: Path) -> Figures:
    url = f"sqlite:///{folder}/flex.db"
    migrate.upgrade(url)
    file = folder / "flex.toml"
    nodes = "".join(
        f'[[node]]\nname = "n{one}"\naddresses = ["{_address(one)}"]\nram = "1 GiB"\n'
        for one in range(NODES)
    )
    file.write_text(
        f'schema = 1\n[cluster]\nname = "ready"\n{nodes}[database]\nurl = "{url}"\n'
        f"[move.ready]\ncheck = true\nport = {port}\ntls_port = {tls}\n"
        f'ca_file = "{authority}"\nper_second = {PER_SECOND}\nbudget = "{BUDGET}s"\n'
    )
    world = wiring.world(load(file), lambda: datetime.now(UTC))
    wanted = [
        Wanted(f"s{one}.sites.example", f"n{one % NODES}", f"n{(one + 1) % NODES}")
        for one in range(SITES)
    ]
    before, began, cpu = _resident(), time.monotonic(), time.process_time()
    found = check_sites(world, wanted)
    seconds, spent = time.monotonic() - began, time.process_time() - cpu
    world.close()
    log = (folder / "access.log").read_text().splitlines()
    asked = Counter(tuple(line.split()) for line in log)
    ready = sum(not one.why for one in found)
    return {
        "sites": SITES,
        "nodes": NODES,
        "ready": ready,
        "not_asked_in_time": sum(not one.is_asked for one in found),
        "questions": len(log),
        "seconds": round(seconds, 1),
        "budget_seconds": BUDGET,
        "cpu_seconds": round(spent, 1),
        "cpu_ms_of_question": round(1000 * spent / max(len(log), 1), 2),
        # By the clock's whole seconds.
        "most_questions_to_a_node_per_second": max(asked.values(), default=0),
        "memory_more_bytes": max(_resident() - before, 0),
    }


def _resident() -> int:
    """The most that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _address(node: int) -> str:
    return f"127.0.4.{node + 1}"


def _certificates(folder: Path) -> Path:
    """One for all sites, by a star, with its key; and who signed it."""
    authority, asked = folder / "ca.pem", folder / "asked.csr"
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    star = "*.sites.example"
    _openssl(
        *("req", "-x509", *key, "-keyout", f"{folder}/ca.key", "-out", str(authority)),
        *("-subj", "/CN=authority", "-days", "30"),
    )
    _openssl(
        *("req", *key, "-keyout", f"{folder}/site.key", "-out", str(asked)),
        *("-subj", f"/CN={star}", "-addext", f"subjectAltName=DNS:{star}"),
    )
    _openssl(
        *("x509", "-req", "-in", str(asked), "-out", f"{folder}/site.pem"),
        *("-CA", str(authority), "-CAkey", f"{folder}/ca.key", "-CAcreateserial"),
        *("-days", "30", "-copy_extensions", "copy"),
    )
    # As on a real machine: who signed is one of all those that the system trusts.
    system = ssl.get_default_verify_paths().cafile
    trusted = folder / "trusted.pem"
    others = Path(system).read_text() if system else ""
    trusted.write_text(others + authority.read_text())
    return trusted


def _openssl(*words: str) -> None:
    subprocess.run(("openssl", *words), check=True, capture_output=True)


@contextmanager
def _nginx(folder: Path, port: int, tls: int) -> Iterator[None]:
    (folder / "index.html").write_text(_PAGE)
    listens = "".join(
        f"listen {_address(one)}:{port};\nlisten {_address(one)}:{tls} ssl;\n"
        for one in range(NODES)
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    file = folder / "nginx.conf"
    file.write_text(
        f"{user}pid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\n"
        "events { worker_connections 4096; }\nhttp {\n"
        "types { text/html html; }\n"
        "log_format asked '$server_addr $time_iso8601';\n"
        f"access_log {folder}/access.log asked;\n"
        f"server {{ {listens}server_name *.sites.example;\n"
        f"ssl_certificate {folder}/site.pem;\nssl_certificate_key {folder}/site.key;\n"
        f"root {folder}; }}\n}}\n"
    )
    command = ["nginx", "-e", f"{folder}/nginx.log", "-c", str(file)]
    started = subprocess.Popen([*command, "-g", "daemon off;"])
    try:
        end = time.monotonic() + _PATIENCE
        while not _listens(tls):
            if time.monotonic() > end:
                raise TimeoutError("nginx did not begin")
            time.sleep(0.05)
        yield
    finally:
        started.terminate()
        started.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((_address(0), port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
