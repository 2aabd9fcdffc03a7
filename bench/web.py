"""The pages over a store of 100,000 sites and 256 nodes: bytes of each, and what it costs on the server.

Each page is asked for once to warm up, as the first visitor after a night does, and then several times. Cost is the
processor's time of this process, so that other programs disturb it little. `SCALE=0.01` only shows that it runs;
`API_FOLDER` keeps the store, which takes minutes to fill, for the next time.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from time import process_time

from starlette.testclient import TestClient

from bench.api import given
from bench.figures import Figures
from flex.store import open_store
from flex_api.app import create_app
from flex_api.settings import file as config
from flex_dns.memory import MemoryTarget

SCALE = float(os.environ.get("SCALE", "1"))
TIMES = 5
MOST_BYTES, MOST_SECONDS = 300_000, 0.2


def measure() -> Figures:
    size = given.Size().scaled(SCALE)
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as name:
        folder = Path(os.environ.get("API_FOLDER", name))
        folder.mkdir(parents=True, exist_ok=True)
        given.installation(folder, size)
        path = folder / "web.toml"
        extra = '[auth]\nanonymous = "admin"\n[api]\nrequests_per_second = 0\n'
        path.write_text((folder / "flex.toml").read_text(encoding="utf-8") + extra, encoding="utf-8")
        settings = config.load(path)
        with open_store(settings.database.url) as store:
            target = MemoryTarget([given.ZONE], settings.owner)
            app = create_app(settings, store, lambda: target, clock=lambda: size.now)
            client = TestClient(app, headers={"Accept": "text/html"})
            return {"sites": size.sites, "nodes": size.nodes, **_pages(client, size)}


def _pages(client: TestClient, size: given.Size) -> Figures:
    found: Figures = {}
    over = []
    for address in _addresses(client, size):
        began = process_time()
        answer = client.get(address)
        first = process_time() - began
        assert answer.status_code == 200, (address, answer.status_code)
        began = process_time()
        for _ in range(TIMES):
            client.get(address)
        seconds = (process_time() - began) / TIMES
        name = re.sub(r"\W+", "_", re.sub(r"/plans/\d[^?]*", "plan", address)).strip("_")[:30] or "overview"
        found |= {
            f"{name}_bytes": len(answer.content),
            f"{name}_first_seconds": round(first, 4),
            f"{name}_seconds": round(seconds, 4),
        }
        if len(answer.content) > MOST_BYTES or seconds > MOST_SECONDS:
            over.append(name)
    return {**found, "pages_over_the_limit": ", ".join(over) or "none"}


def _addresses(client: TestClient, size: given.Size) -> list[str]:
    plan = client.get("/plans", follow_redirects=False).headers["location"]
    site, node = given.site_name(size.sites // 2), given.node_name(1)
    return [
        "/", plan, f"{plan}?tab=dns", f"{plan}?tab=kept", "/plans/all", "/sites", "/sites?name=99&sort=-working_set",
        "/sites?replicated=true", f"/site?name={site}", "/nodes", f"/node?name={node}", "/what-if", "/history",
        "/dns", "/data", "/routing", "/simulate", "/audit", "/settings",
    ]  # fmt: skip
