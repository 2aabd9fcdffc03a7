"""The pages over a store of 100,000 sites and 256 nodes: bytes of each, and what it costs on the
server.

Each page is asked for once, as the first visitor after a night does, and then several times; what
most pages are made from is made before, as a server does by itself. What is worked out aside is
asked for until it is there: what counts is what the first answer and the last take. Cost is the
processor's time of this process, so that other programs disturb it little; of a first answer that
waits for what is worked out aside it is the time on the clock, as both share a process.
`SCALE=0.01` only shows that it runs; `API_FOLDER` keeps the store, which takes minutes to fill, for
the next time.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time, sleep

from starlette.testclient import TestClient

from bench.api import given
from bench.figures import Figures
from flex.store import migrate, open_store
from flex_api.app import create_app
from flex_api.settings import file as config
from flex_api.web.cached_views import Views
from tests.memory_publisher import MemoryPublisher

SCALE = float(os.environ.get("SCALE", "1"))
TIMES = 5
MOST_BYTES, MOST_SECONDS = 300_000, 0.2
# What stands on a page whose answer is still being worked out, and how often it is asked for then.
COMING, AGAIN = 'class="coming"', 0.4


def measure() -> Figures:
    size = given.Size().scale(SCALE)
    with _client(size) as (client, views):
        began = process_time()
        views.warm()
        found: Figures = {
            "sites": size.sites,
            "nodes": size.nodes,
            "warming_seconds": round(process_time() - began, 4),
        }
        over = []
        for address in _addresses(client, size):
            name, figures = _page(client, address)
            found |= figures
            within = (
                figures[f"{name}_bytes"] <= MOST_BYTES
                and figures[f"{name}_seconds"] <= MOST_SECONDS
            )
            over += [] if within and figures[f"{name}_first_seconds"] <= MOST_SECONDS else [name]
            print(", ".join(f"{key} {value}" for key, value in figures.items()), flush=True)
    return {**found, "pages_over_the_limit": ", ".join(over) or "none"}


@contextmanager
def _client(size: given.Size) -> Iterator[tuple[TestClient, Views]]:
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as name:
        folder = Path(os.environ.get("API_FOLDER", name))
        folder.mkdir(parents=True, exist_ok=True)
        given.installation(folder, size)
        path = folder / "web.toml"
        extra = '[auth]\nanonymous = "admin"\n[api]\nrequests_per_second = 0\n'
        path.write_text(
            (folder / "flex.toml").read_text(encoding="utf-8") + extra, encoding="utf-8"
        )
        settings = config.load(path)
        # A store that was kept may be of an older version.
        migrate.upgrade(settings.database.url)
        with open_store(settings.database.url) as store:
            target = MemoryPublisher([given.ZONE], settings.owner)
            app = create_app(settings, store, lambda: target, clock=lambda: size.now)
            yield (TestClient(app, headers={"Accept": "text/html"}), app.state.house.views)


def _page(client: TestClient, address: str) -> tuple[str, dict[str, float]]:
    name = (
        re.sub(r"\W+", "_", re.sub(r"/plans/\d[^?]*", "plan", address)).strip("_")[:40]
        or "overview"
    )
    began, clock = process_time(), perf_counter()
    answer = client.get(address)
    first, waited = process_time() - began, 0.0
    assert answer.status_code == 200, (address, answer.status_code, answer.text[-1000:])
    if COMING in answer.text:
        first = perf_counter() - clock
        while COMING in client.get(address).text:
            sleep(AGAIN)
        waited = perf_counter() - clock
    began = process_time()
    for _ in range(TIMES):
        answer = client.get(address)
    seconds = (process_time() - began) / TIMES
    figures = {
        "bytes": len(answer.content),
        "first_seconds": round(first, 4),
        "seconds": round(seconds, 4),
    }
    if waited:
        figures["answered_after_seconds"] = round(waited, 2)
    return name, {f"{name}_{key}": value for key, value in figures.items()}


def _addresses(client: TestClient, size: given.Size) -> list[str]:
    plan = client.get("/plans", follow_redirects=False).headers["location"]
    site, node = given.site_name(size.sites // 2), given.node_name(1)
    other = re.findall(r'<option value="(\d+T[^"]+)"', client.get("/history").text)[-1]
    return [
        "/", plan, f"{plan}?tab=dns", f"{plan}?tab=kept", f"{plan}?tab=frontier", "/plans/all",
        "/sites",
        "/sites?name=99&sort=-working_set", "/sites?replicated=true", f"/site?name={site}",
        f"/site?part=why&name={site}", f"/site?part=files&name={site}",
        f"/site?part=hours&name={site}",
        f"/site?part=preview&nodes={node}&name={site}", "/nodes", f"/node?name={node}",
        f"/node?preview=drain&name={node}", "/what-if", "/what-if?ask=now&more_nodes=1", "/history",
        f"/history?one={other}", "/dns", "/data", "/routing", "/simulate", "/audit", "/settings",
    ]  # fmt: skip
