"""What goes wrong at a new node is stopped before a visitor sees it, and what is well goes on: real
nginx, PHP and MariaDB at both nodes are asked, for sites of five kinds.

SITES says how many sites each fault is tried with.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flex_api.moving.check_site_on_new_node import Checked, Nodes, SiteRules, Wanted, check
from flex_api.moving.compare_answers import Demands
from flex_api.moving.node_question_rate import Turns
from flex_api.moving.trust_in_certificates import Trust
from flex_api.moving.web_server_addresses import Ways
from tests.api.ready_servers import NEW, OLD, self_signed, valid_between
from tests.hooks.servers import Database, program, running
from tests.ports import any_port
from tests.routing.certificates import Authority

pytestmark = pytest.mark.real

SITES = [f"site{number:02}.example" for number in range(int(os.environ.get("SITES", "5")))]
KINDS = ("static", "php", "database", "redirect", "login")
FAR = 3_600.0

TEXT = "<html><title>{site}</title>" + "<p>bread and butter of {site}</p>\n" * 60
# Pages differ from one answer to the next, as those of shops do.
PHP = (
    """<?php
header('Set-Cookie: session=' . bin2hex(random_bytes(16)));
?>"""
    + TEXT
    + "<!-- <?= microtime(true), random_int(0, 1000000) ?> -->"
)
DATABASE = (
    """<?php
$at = @stream_socket_client('unix://' . $_SERVER['DATABASE']);
$hello = $at ? fread($at, 200) : '';
if (strpos($hello, 'mysql_native_password') === false) {
    STATUS;
    exit('<h1>Error establishing a database connection</h1>');
}
?>"""
    + TEXT
)
LOGIN = "<?php header('Location: /login.php', true, 302);"


def kind_of(site: str) -> str:
    return KINDS[int(site[4:6]) % len(KINDS)]


@dataclass(eq=False)
class Node:
    """A web server with the content of all sites. `say` writes a virtual host anew."""

    name: str
    address: str
    folder: Path
    database: Path
    ports: tuple[int, int]
    # Where nothing else is said, of all its sites.
    certificate: Path

    def fill(self) -> None:
        for part in ("www", "vhosts", "certificates", "kept"):
            (self.folder / part).mkdir(parents=True)
        for site in SITES:
            self.put(site)

    def put(self, site: str) -> None:
        root = self.root(site)
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        (root / "age.txt").write_text("x")
        content = {
            "static": ("index.html", TEXT),
            "php": ("index.php", PHP),
            "database": ("index.php", DATABASE.replace("STATUS", "http_response_code(500)")),
            "redirect": ("shop.html", TEXT),
            "login": ("index.php", LOGIN),
        }[kind_of(site)]
        (root / content[0]).write_text(content[1].replace("{site}", site))
        self.say(site)

    def root(self, site: str) -> Path:
        return self.folder / "www" / site

    def page(self, site: str) -> Path:
        return next(self.root(site).glob("*.[hp]*"))

    def say(
        self,
        site: str,
        more: str = "",
        *,
        root: Path | None = None,
        names: str = "",
        certificate: Path | None = None,
        php: str = "",
    ) -> None:
        """`more` comes before anything else that it says for /."""
        socket = php or f"fastcgi_pass unix:{self.folder}/php.sock;"
        if kind_of(site) == "redirect" and not more:
            more = "location = / { return 301 /shop.html; }"
        (self.folder / "vhosts" / site).write_text(
            "server {\n"
            f"listen {self.address}:{self.ports[0]};\n"
            f"listen {self.address}:{self.ports[1]} ssl;\n"
            f"server_name {names or f'{site} www.{site}'};\n"
            f"ssl_certificate {certificate or self.certificate};\n"
            f"ssl_certificate_key {certificate or self.certificate};\n"
            f"root {root or self.root(site)};\nindex index.php index.html;\n{more}\n"
            f"location ~ \\.php$ {{\n{socket}\n"
            "fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n"
            "fastcgi_param REQUEST_METHOD $request_method;\n"
            f"fastcgi_param DATABASE {self.database};\n}}\n}}\n"
        )

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Its web server, with what it says now."""
        here = self.folder
        nginx = program("nginx", "nginx")
        parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        kept = "".join(f"{part}_temp_path {here}/kept/{part};\n" for part in parts)
        http, tls = self.ports
        (here / "nginx.conf").write_text(
            f"pid {here}/nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{kept}"
            "server_names_hash_bucket_size 128;\ndefault_type application/octet-stream;\n"
            "types { text/html html; text/plain txt; }\ngzip on;\n"
            f"server {{ listen {self.address}:{http} default_server; "
            f"listen {self.address}:{tls} ssl default_server; "
            f"ssl_certificate {self.certificate}; ssl_certificate_key {self.certificate};\n"
            f"include {here}/default.conf;\n}}\ninclude {here}/vhosts/*;\n}}\n"
        )
        if not (here / "default.conf").exists():
            (here / "default.conf").write_text("return 404;")
        command = [nginx, "-e", f"{here}/nginx.log", "-c", f"{here}/nginx.conf"]
        with running([*command, "-g", "daemon off;"], here / "log", lambda: listens(self)):
            yield


def listens(node: Node) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((node.address, node.ports[0])) == 0


def php(node: Node) -> list[str]:
    found = sorted(Path("/usr/sbin").glob("php-fpm*"))
    if not found:
        pytest.skip("php-fpm is not installed (Debian: php-fpm)")
    account = "user = nobody\ngroup = nogroup\n" if os.geteuid() == 0 else ""
    (node.folder / "php.conf").write_text(
        f"[global]\nerror_log = {node.folder}/php.log\n[www]\n{account}"
        f"listen = {node.folder}/php.sock\nlisten.mode = 0666\n"
        # Scripts of one fault do not keep those of the next one waiting.
        "pm = static\npm.max_children = 6\nrequest_terminate_timeout = 5s\n"
    )
    return [str(found[-1]), "-n", "-F", "-y", f"{node.folder}/php.conf"]


@dataclass(eq=False)
class Pair:
    """The old node is well; the new one is as a test has it."""

    old: Node
    new: Node
    authority: Authority

    def rules(self, scheme: str, patience: float, marker: str) -> SiteRules:
        trust = Trust(lambda: datetime.now(UTC), self.authority.ca, days=3)
        return SiteRules(
            *((scheme,), "/", Demands(marker=marker), trust, patience, 2**20),
            *("/age.txt", timedelta(minutes=10)),
        )

    def look(self, site: str, scheme: str, patience: float = 20.0, marker: str = "") -> Checked:
        turns = Turns(4, 10_000, time.monotonic() + FAR, time.monotonic, time.sleep)
        at = Nodes({"n1": OLD, "n2": NEW}, Ways(*self.new.ports), turns, lambda: datetime.now(UTC))
        wanted = Wanted(site, "n2", "n1", (f"www.{site}",))
        return check(wanted, self.rules(scheme, patience, marker), at)


@pytest.fixture(scope="module")
def pair(databases: dict[str, Database]) -> Iterator[Pair]:
    """Folders that any account may look into: web servers give their rights up."""
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="flex-web-"))
        folder = Path(name)
        folder.chmod(0o755)
        authority = Authority(folder / "ca", "ca").begin()
        sound = folder / "sound.pem"
        names = ",".join(f"DNS:{one},DNS:www.{one}" for one in SITES)
        authority.sign("all.example", sound, 90, names)
        ports = any_port(), any_port()
        made = [
            Node(name, address, folder / name, databases[name].socket, ports, sound)
            for name, address in (("n1", OLD), ("n2", NEW))
        ]
        for node in made:
            databases[node.name].socket.parent.parent.chmod(0o755)
            node.fill()
            there = (node.folder / "php.sock").exists
            stack.enter_context(running(php(node), node.folder / "log", there))
        old, new = made
        stack.enter_context(old.serving())
        yield Pair(old, new, authority)


Breaks = Callable[[Pair, str], None]


@dataclass(frozen=True)
class Fault:
    """`of` are the kinds of sites that have what it breaks."""

    breaks: Breaks
    of: tuple[str, ...] = KINDS
    scheme: str = "http"
    patience: float = 20.0
    # Whether it is told by a text that the page must have, and by nothing else.
    is_marked: bool = False


def vhost(**how: object) -> Breaks:
    return lambda pair, site: pair.new.say(site, **how)  # type: ignore[arg-type]


def page(text: str) -> Breaks:
    """In place of the site's own."""
    return lambda pair, site: _write(pair.new.page(site), text.replace("{site}", site))


def _write(file: Path, text: str) -> None:
    file.write_text(text)


def for_root(text: str) -> Breaks:
    return vhost(more=f"location = / {{ {text} }}")


def shown(make: Callable[[Path, Authority, str], Path]) -> Breaks:
    def breaks(pair: Pair, site: str) -> None:
        file = pair.new.folder / "certificates" / f"{site}.pem"
        for left in file.parent.glob(f"{site}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        pair.new.say(site, certificate=make(file, pair.authority, site))

    return breaks


def day(days: int) -> str:
    return f"{datetime.now(UTC) + timedelta(days=days):%Y%m%d%H%M%SZ}"


def remove_vhost(pair: Pair, site: str) -> None:
    (pair.new.folder / "vhosts" / site).unlink()


def default(text: str) -> Breaks:
    def breaks(pair: Pair, site: str) -> None:
        remove_vhost(pair, site)
        (pair.new.folder / "default.conf").write_text(text)

    return breaks


def empty(pair: Pair, site: str) -> None:
    for file in pair.new.root(site).iterdir():
        file.unlink()


def unreadable(pair: Pair, site: str) -> None:
    pair.new.page(site).chmod(0)


def old(pair: Pair, site: str) -> None:
    day_ago = time.time() - 86_400
    os.utime(pair.new.root(site) / "age.txt", (day_ago, day_ago))


def no_database(pair: Pair, site: str) -> None:
    text = pair.new.page(site).read_text().replace("$_SERVER['DATABASE']", "'/nowhere'")
    pair.new.page(site).write_text(text)


def no_database_said_well(pair: Pair, site: str) -> None:
    no_database(pair, site)
    text = pair.new.page(site).read_text()
    pair.new.page(site).write_text(text.replace("http_response_code(500)", "1"))


def of_another_site(pair: Pair, site: str) -> None:
    """Its pages are as long; they are for a site that is redirected."""
    other = next(one for one in SITES if kind_of(one) != kind_of(site))
    pair.new.say(site, root=pair.new.root(other), more=" ")


def list_of_files(pair: Pair, site: str) -> None:
    pair.new.page(site).unlink()
    pair.new.say(site, more="autoindex on;")


def cut(pair: Pair, site: str) -> None:
    text = pair.new.page(site).read_text()
    pair.new.page(site).write_text(text[: len(text) // 3])


RUN = ("php", "database", "login")
PAGES = ("static", "php", "database")
FAULTS = {
    "virtual host missing": Fault(remove_vhost),
    "virtual host missing, the page of nginx": Fault(
        default('return 200 "<h1>Welcome to nginx!</h1>";')
    ),
    "virtual host missing, another site answers for all": Fault(
        default(f'return 200 "{"<p>hello" * 250}";')
    ),
    "virtual host of another name": Fault(vhost(names="other.example")),
    "www missing": Fault(lambda pair, site: pair.new.say(site, names=site)),
    "root of another site": Fault(of_another_site, of=PAGES, is_marked=True),
    "document root missing": Fault(vhost(root=Path("/nowhere"))),
    "document root empty": Fault(empty),
    "document root unreadable": Fault(unreadable, of=("static", "php", "database", "login")),
    "content old": Fault(old),
    "page cut": Fault(cut, of=("static",)),
    "list of files": Fault(list_of_files, of=PAGES),
    "PHP away": Fault(vhost(php="fastcgi_pass unix:/nowhere;"), of=RUN),
    "PHP is not run": Fault(vhost(php="default_type text/html;"), of=("php", "database")),
    "PHP sent as a file": Fault(vhost(php=" "), of=RUN),
    "PHP does not parse": Fault(page("<?php if ("), of=RUN),
    "PHP fails, and says so in the page": Fault(
        page("<?php ini_set('display_errors', 1); ?>" + TEXT + "<?php no_function();"), of=RUN
    ),
    "PHP lacks an extension": Fault(page("<?php mb_strlen_of_none('x');"), of=RUN),
    "PHP has too little memory": Fault(
        page("<?php ini_set('memory_limit', '4M'); str_repeat('x', 99999999);"), of=RUN
    ),
    "PHP cannot read a file": Fault(page("<?php require '/etc/shadow-none';"), of=RUN),
    "disk full": Fault(
        page(
            "<?php if (@file_put_contents('/dev/full', 'x') === false)"
            " { http_response_code(500); exit('no space left'); } ?>" + TEXT
        ),
        of=RUN,
    ),
    "database unreachable": Fault(no_database, of=("database",)),
    "database unreachable, and said with 200": Fault(no_database_said_well, of=("database",)),
    "database empty": Fault(
        page("<?php header('Location: /install.php', true, 302);"), of=("php", "database")
    ),
    "redirect to another host": Fault(for_root("return 301 http://other.example/;")),
    "redirect to itself": Fault(for_root("return 301 /;")),
    "redirect to another page": Fault(
        for_root("return 301 /none.html;"), of=("static", "redirect", "login")
    ),
    "redirect to where TLS should be": Fault(for_root("return 301 https://$host/;")),
    "answers nothing": Fault(for_root("return 444;")),
    "forbidden": Fault(for_root("deny all;"), of=PAGES),
    "wants a password": Fault(
        lambda pair, site: pair.new.say(
            site, more=f"auth_basic x; auth_basic_user_file {pair.new.folder}/default.conf;"
        ),
        of=PAGES,
    ),
    "under maintenance": Fault(for_root("return 503;")),
    "gone": Fault(for_root("return 410;")),
    "too slow": Fault(page("<?php sleep(60);"), of=RUN, patience=1.0),
    "drips": Fault(vhost(more="limit_rate 50;"), of=("static",), patience=1.0),
    "answers without an end": Fault(
        page("<?php while (true) { echo str_repeat('x', 65536); flush(); }"), of=RUN
    ),
    "certificate of the server alone": Fault(remove_vhost, scheme="https"),
    "certificate expired": Fault(
        shown(lambda file, ca, site: valid_between(ca, site, file, day(-9), day(-1))),
        scheme="https",
    ),
    "certificate ends tomorrow": Fault(
        shown(lambda file, ca, site: valid_between(ca, site, file, day(-9), day(1))), scheme="https"
    ),
    "certificate not yet valid": Fault(
        shown(lambda file, ca, site: valid_between(ca, site, file, day(2), day(90))), scheme="https"
    ),
    "certificate of another name": Fault(
        shown(lambda file, ca, _: ca.sign("other.example", file, 90)), scheme="https"
    ),
    "certificate without www": Fault(
        shown(lambda file, ca, site: ca.sign(site, file, 90)), scheme="https"
    ),
    "certificate signed by itself": Fault(
        shown(lambda file, _, site: self_signed(site, file)), scheme="https"
    ),
    "certificate of nobody known": Fault(
        shown(
            lambda file, _, site: (
                Authority(file.parent / f"{site}-ca", "other").begin().sign(site, file, 90)
            )
        ),
        scheme="https",
    ),
    "virtual host empty": Fault(
        lambda pair, site: _write(pair.new.folder / "vhosts" / site, ""), scheme="https"
    ),
}


def repair(pair: Pair) -> None:
    (pair.new.folder / "default.conf").write_text("return 404;")
    for site in SITES:
        pair.new.put(site)


@pytest.mark.slow("too slow")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_the_new_node_is_stopped(pair: Pair, kind: str) -> None:
    fault = FAULTS[kind]
    repair(pair)
    broken = [site for site in SITES if kind_of(site) in fault.of]
    assert broken
    for site in broken:
        fault.breaks(pair, site)
    with pair.new.serving():
        missed = [
            site
            for site in broken
            if not pair.look(site, fault.scheme, fault.patience, marker_of(fault, site)).why
        ]
    assert missed == []


def marker_of(fault: Fault, site: str) -> str:
    return f"butter of {site}" if fault.is_marked else ""


HEALTHY: dict[str, Breaks] = {
    "as at the old node": lambda *_: None,
    "a day newer": lambda pair, site: os.utime(
        pair.new.root(site) / "age.txt", (time.time() + 1,) * 2
    ),
    "another server name first": lambda pair, site: pair.new.say(
        site, names=f"cdn.{site} www.{site} {site}"
    ),
    "another certificate": lambda pair, site: shown(
        lambda file, ca, _: ca.sign(site, file, 30, f"DNS:{site},DNS:www.{site}")
    )(pair, site),
    "more headers": lambda pair, site: pair.new.say(
        site,
        more="add_header X-Node n2;\nadd_header Strict-Transport-Security max-age=1;"
        + ("location = / { return 301 /shop.html; }" if kind_of(site) == "redirect" else ""),
    ),
    "a tenth longer": lambda pair, site: (
        _write(pair.new.page(site), pair.new.page(site).read_text() + "<p>new</p>" * 20)
        if kind_of(site) == "static"
        else None
    ),
}


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("kind", HEALTHY)
def test_what_is_well_is_not_stopped(pair: Pair, kind: str, scheme: str) -> None:
    repair(pair)
    for site in SITES:
        HEALTHY[kind](pair, site)
    with pair.new.serving():
        stopped = {site: pair.look(site, scheme).why for site in SITES}
    assert {site: why for site, why in stopped.items() if why} == {}
