"""A report as PDF: printed by Chromium, where it is installed, from the HTML file and nothing else.

In goes a file, out comes another beside it. Chromium runs headless, without a network, in a folder of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from flex.errors import NotWritten

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0


def printed(page: Path, to: Path) -> Path:
    """Whole or not at all. Raises NotWritten."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise _not_written(to, "there is no Chromium on this machine", "install chromium, or print the HTML file")
    with tempfile.TemporaryDirectory(prefix="flex-print-", dir=to.parent) as folder:
        made = Path(folder) / "report.pdf"
        try:
            command = _command(browser, page, made, folder)
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)  # noqa: S603  found on the PATH
            made.chmod(0o644)
            made.replace(to)
        except (OSError, subprocess.SubprocessError) as error:
            raise _not_written(to, str(error)[:300], "print the HTML file by hand") from error
    return to


def _command(browser: str, page: Path, made: Path, folder: str) -> list[str]:
    # Its sandbox cannot be set up by root; the page is our own and runs no script.
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    return [
        browser, "--headless", "--disable-gpu", "--no-pdf-header-footer", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder}/profile", *alone, f"--print-to-pdf={made}", page.resolve().as_uri(),
    ]  # fmt: skip


def _not_written(to: Path, answer: str, advice: str) -> NotWritten:
    return NotWritten(f"writing the report {to}", answer, kept="the report as HTML is written", advice=advice)
