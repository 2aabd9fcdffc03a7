"""A site's virtual host and certificate come to the new node, or its web server stays as it was."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hooks import servers
from tests.hooks.two_nodes import NOT_NOW, SITE, TAKE_BACK, TwoNodes

pytestmark = pytest.mark.real

Server = Callable[[Path, Path], object]


@dataclass(eq=False)
class Web:
    """The new node's web server; the old node only has files."""

    nodes: TwoNodes
    kind: str
    configuration: Path
    port: int

    def vhost(self, says: str, more: str = "") -> str:
        if self.kind == "nginx":
            return (
                f"server {{ listen 127.0.0.1:{self.port}; server_name {SITE};\n"
                f'location / {{ return 200 "{says}"; }} {more}\n}}\n'
            )
        page = self.nodes.at("n2", f"page-{says}")
        page.write_text(says)
        page.chmod(0o644)
        return (
            f"<VirtualHost 127.0.0.1:{self.port}>\nServerName {SITE}\nAlias / {page}\n"
            f"<Directory {page.parent}>\nRequire all granted\n</Directory>\n"
            f"{more}\n</VirtualHost>\n"
        )

    def put_old(self, says: str, more: str = "") -> None:
        self.nodes.at("n1", "vhosts", SITE).write_text(self.vhost(says, more))

    def answer(self) -> tuple[int, str]:
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            asked.request("GET", "/", headers={"Host": SITE})
            said = asked.getresponse()
            return said.status, said.read().decode()
        finally:
            asked.close()

    def until_says(self, status: int, says: str = "") -> None:
        """Workers of the configuration before may answer for a moment."""
        end = time.monotonic() + servers.PATIENCE
        while True:
            try:
                found = self.answer()
            except OSError:
                found = 0, ""
            if found[0] == status and says in found[1]:
                return
            assert time.monotonic() < end, found
            time.sleep(0.05)

    def files(self) -> dict[str, bytes]:
        """All that is on the new node of virtual hosts and certificates."""
        return {
            str(file): file.read_bytes()
            for part in ("vhosts", "certificates")
            for file in self.nodes.at("n2", part).rglob("*")
            if file.is_file()
        }


@contextmanager
def web(nodes: TwoNodes, kind: str) -> Iterator[Web]:
    here = nodes.at("n2", "web")
    here.mkdir()
    nodes.folder.chmod(0o755)
    server = {"nginx": servers.nginx, "apache": servers.apache}[kind]
    # So that there is something to include.
    with server(here, nodes.at("n2", "vhosts")) as (configuration, port):
        if kind == "nginx":
            command = f"{servers.program('nginx', 'nginx')} -e {here}/nginx.log -c {configuration}"
            test, again = f"{command} -t -q", f"{command} -s reload"
        else:
            command = f"{servers.program('apache2', 'apache2-bin')} -f {configuration}"
            test, again = f"{command} -t", f"{command} -k graceful"
        nodes.set(
            f"web_test() {{ printf '%s' '{test}'; }}\nweb_reload() {{ printf '%s' '{again}'; }}\n"
        )
        yield Web(nodes, kind, configuration, port)


@pytest.fixture(params=["nginx", "apache"])
def one(request: pytest.FixtureRequest, mounted: TwoNodes) -> Iterator[Web]:
    with web(mounted, request.param) as made:
        yield made


def test_the_new_node_answers_with_what_the_old_one_has(one: Web) -> None:
    one.put_old("bread")
    certificate = one.nodes.at("n1", "certificates", SITE)
    certificate.mkdir()
    (certificate / "key.pem").write_text("secret")
    (certificate / "key.pem").chmod(0o600)
    (certificate / "linked.pem").symlink_to("key.pem")
    one.nodes.ends(0, "vhost", "copy", SITE, "n1", "n2")
    one.until_says(200, "bread")
    there = one.nodes.at("n2", "certificates", SITE)
    assert sorted(file.name for file in there.iterdir()) == ["key.pem", "linked.pem"]
    assert (there / "key.pem").stat().st_mode & 0o777 == 0o600
    assert not (there / "linked.pem").is_symlink()
    one.put_old("butter")
    one.nodes.ends(0, "vhost", "copy", SITE, "n1", "n2")
    one.until_says(200, "butter")
    for _ in range(2):
        one.nodes.ends(0, "vhost", "remove", SITE, "n2")
        assert one.files() == {}
    left = [file.name for file in one.nodes.at("n2", "kept").iterdir()]
    assert sorted(left) == ["lock", "none"]


@pytest.mark.slow
def test_it_is_brought_by_ssh(by_ssh: str, mounted: TwoNodes) -> None:
    mounted.reached = by_ssh
    with web(mounted, "nginx") as made:
        made.put_old("bread")
        mounted.ends(0, "vhost", "copy", SITE, "n1", "n2")
        made.until_says(200, "bread")


@pytest.mark.parametrize("was_there", [False, True])
def test_what_the_web_server_does_not_take_is_taken_back(one: Web, was_there: bool) -> None:
    if was_there:
        one.put_old("bread")
        one.nodes.ends(0, "vhost", "copy", SITE, "n1", "n2")
        one.until_says(200, "bread")
    before = one.files()
    one.put_old("butter", more="no_such_word on;")
    said = one.nodes.ends(TAKE_BACK, "vhost", "copy", SITE, "n1", "n2")
    assert "does not take the configuration of shop.example" in said
    assert "no_such_word" in said
    assert one.files() == before
    if was_there:
        # A worker from before the first copy may still take a connection.
        one.until_says(200, "bread")
    else:
        assert one.answer()[1] != "bread"


def test_a_web_server_that_was_broken_before_is_not_blamed_on_the_site(one: Web) -> None:
    one.put_old("bread")
    broken = one.nodes.at("n2", "vhosts/other.example")
    broken.write_text("no_such_word on;\n")
    said = one.nodes.ends(NOT_NOW, "vhost", "copy", SITE, "n1", "n2")
    assert "even without shop.example" in said
    assert one.files() == {str(broken): b"no_such_word on;\n"}
    broken.unlink()
    one.nodes.ends(0, "vhost", "copy", SITE, "n1", "n2")
    one.until_says(200, "bread")


def test_a_virtual_host_that_others_need_is_not_removed(one: Web) -> None:
    one.put_old("bread")
    one.nodes.ends(0, "vhost", "copy", SITE, "n1", "n2")
    before = one.files()
    word = "include {};\n" if one.kind == "nginx" else "Include {}\n"
    here = one.nodes.at("n2", "vhosts", SITE)
    one.nodes.at("n2", "vhosts/zz.example").write_text(word.format(here))
    one.nodes.ends(TAKE_BACK, "vhost", "remove", SITE, "n2")
    assert {**before, **one.files()} == one.files()


def test_where_the_old_node_has_none_nothing_changes(one: Web) -> None:
    done = one.nodes.run("vhost", "copy", SITE, "n1", "n2")
    assert done.returncode not in (0, 75, 78, 70)
    assert "No such file" in done.stderr
    assert one.files() == {}


def test_a_place_that_is_none_is_refused(one: Web) -> None:
    one.put_old("bread")
    one.nodes.set("certificate_of() { :; }\n")
    assert "no place for" in one.nodes.ends(78, "vhost", "remove", SITE, "n2")
