"""Debian's Chromium on the pages of a running application: with and without scripts, light and
dark, narrow and wide.

What is looked at is kept as pictures in artefacts/web, unless the environment has CI.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "artefacts/web"
AXE = ROOT / "tests/data/axe"

Scheme = Literal["light", "dark"]


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Nobody but root runs tests in a container, and a sandbox inside of one cannot be had.
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Where the application answers, until the end of the block. Any: an ASGI application."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@dataclass(frozen=True, slots=True)
class Look:
    """One way to look at a page."""

    width: int
    scheme: Scheme
    scripts: bool = True

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}{'' if self.scripts else '-plain'}"


@dataclass(slots=True)
class Visitor:
    """Somebody who is signed in; what the browser complains of is remembered."""

    page: Page
    address: str
    look: Look
    complaints: list[str]

    def go(self, path: str) -> Page:
        answer = self.page.goto(self.address + path)
        assert answer is not None
        assert answer.status == 200, (path, answer.status)
        return self.page

    def done(self) -> str:
        """What a page says was done."""
        return self.page.locator("p.done").inner_text()

    def picture(self, name: str) -> None:
        """For people; where nobody watches there is none."""
        if "CI" in os.environ:
            return
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}-{self.look}.png", full_page=True)

    def wider_than_it_is(self) -> int:
        """Pixels that a page sticks out to the right."""
        said: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return said


@contextmanager
def visitor(browser: Browser, address: str, token: str, look: Look) -> Iterator[Visitor]:
    context = browser.new_context(
        viewport={"width": look.width, "height": 900},
        color_scheme=look.scheme,
        java_script_enabled=look.scripts,
    )
    page, complaints = context.new_page(), []
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{address}/login")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    yield Visitor(page, address, look, complaints)
    context.close()


def axe_of_contrast(page: Page, look: Look) -> Sequence[str]:
    """In the other colours: nothing else of a page depends on them."""
    page.emulate_media(color_scheme="light" if look.scheme == "dark" else "dark")
    found = axe(page, "{resultTypes: ['violations'], runOnly: ['color-contrast']}")
    page.emulate_media(color_scheme=look.scheme)
    return found


def axe(page: Page, asked: str = "{resultTypes: ['violations']}") -> Sequence[str]:
    """What axe-core finds wrong with the page, each with the first element it is about."""
    source = (AXE / "axe.min.js").read_bytes()
    digest = (AXE / "SHA256SUMS").read_text().split()[0]
    assert hashlib.sha256(source).hexdigest() == digest, "it is not the file that was looked at"
    page.evaluate(f"{source.decode()};0")
    found = page.evaluate(f"axe.run(document, {asked})")
    return [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
    ]
