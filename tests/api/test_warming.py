"""What comes to a node is fetched from it before DNS sends visitors there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from flex.model.drains_and_freezes import Freeze
from flex.store import Store, open_store
from tests.served_in_thread import in_a_thread

if TYPE_CHECKING:
    from tests.api.conftest import Installation, Said

pytestmark = pytest.mark.real


class Web(ThreadingHTTPServer):
    """The web servers of all nodes, which are one; it knows what the name server said when it was
    asked.
    """

    asked: list[tuple[str, str, str]]
    installation: Installation
    # What somebody does while it is asked.
    meanwhile: Callable[[Store], object] | None = None


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        web, site = self.server, self.headers["Host"]
        assert isinstance(web, Web)
        node = str(self.connection.getsockname()[0])
        web.asked.append((node, site, self.path))
        assert node not in web.installation.addresses(site)
        if web.meanwhile:
            with open_store(f"sqlite:///{web.installation.folder}/flex.db") as store:
                web.meanwhile(store)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"." * 100)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        pass


@pytest.fixture
def web(installation: Installation) -> Iterator[Web]:
    with Web(("0.0.0.0", 0), _Answer) as server:
        server.asked, server.installation = [], installation
        with in_a_thread(server):
            yield server


@pytest.fixture
def replicated(installation: Installation) -> str:
    """A site that is on one node, and is to be on two."""
    here = installation.settings
    here.write_text(here.read_text().replace('"192.0.2.', '"127.0.2.'))
    installation.first_night()
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    site = str(max(rows, key=lambda row: row["requests"])["site"])
    assert installation.flex("sites", "pin", site, "--min-replicas", "2").code == 0
    return site


def settings(installation: Installation, more: str) -> None:
    here = installation.settings
    here.write_text(f"{here.read_text()}[warming]\n{more}\n")


def stage(night: Said, name: str) -> str:
    return next(
        (str(each["outcome"]) for each in night.json["run"]["stages"] if each["name"] == name), ""
    )


@pytest.mark.slow
def test_a_night_fetches_a_sites_hottest_targets_from_its_new_node_before_dns_names_it(
    installation: Installation, replicated: str, web: Web
) -> None:
    settings(installation, f'bytes = "10 MB"\nport = {web.server_port}')
    before = installation.addresses(replicated)
    night = installation.night()
    assert night.code == 0, night.err
    (new,) = set(installation.addresses(replicated)) - set(before)
    assert {site for node, site, _ in web.asked if node == new} >= {replicated}
    assert f"{len(web.asked)} paths" in stage(night, "warm")


def test_a_web_server_that_is_not_there_keeps_no_site_from_its_new_node(
    installation: Installation, replicated: str, free_port: int
) -> None:
    settings(installation, f'bytes = "10 MB"\nport = {free_port}')
    installation.flex("plan", "--as-of", installation.as_of())
    applied = installation.flex("apply", "--as-of", installation.as_of())
    assert applied.code == 0, applied.err
    assert "did not answer" in applied.out
    assert len(installation.addresses(replicated)) == 2


def frozen(store: Store) -> None:
    store.put_freeze(Freeze(datetime.now(UTC), None, "wait", "somebody"))


def rejected(store: Store) -> None:
    for plan in store.plans(state="proposed"):
        store.update(replace(plan, state="discarded"))


@pytest.mark.slow
@pytest.mark.slow("frozen-apply-23", "rejected-run-22")
@pytest.mark.parametrize(
    ("meanwhile", "verb", "code"),
    [(frozen, "run", 23), (frozen, "apply", 23), (rejected, "run", 22)],
)
def test_who_thinks_again_while_nodes_are_warmed_up_is_heard(
    installation: Installation,
    replicated: str,
    web: Web,
    meanwhile: Callable[[Store], object],
    verb: str,
    code: int,
) -> None:
    settings(installation, f'bytes = "1 MB"\nport = {web.server_port}')
    if verb == "apply":
        assert installation.flex("plan", "--as-of", installation.as_of()).code == 0
    web.meanwhile, serial = meanwhile, installation.serial()
    assert installation.flex(verb, "--as-of", installation.as_of()).code == code
    assert web.asked
    assert installation.serial() == serial
