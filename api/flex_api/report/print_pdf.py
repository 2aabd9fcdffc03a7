"""A report as PDF, printed from its HTML by Chromium where that is installed.

Takes a file and writes another one beside it, or takes text and returns bytes. Chromium runs
headless, without a network, in a folder of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from flex.errors import NotPrinted

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Seconds that the browser may take to print. A guess.
PATIENCE = 60.0


def print_pdf(page: Path, to: Path) -> Path:
    """Whole or not at all. Raises NotPrinted."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise _not_printed(
            to, "there is no Chromium on this machine", "install chromium, or print the HTML file"
        )
    with tempfile.TemporaryDirectory(prefix="flex-print-", dir=to.parent) as folder:
        pdf_path = Path(folder) / "report.pdf"
        try:
            command = _command(browser, page, pdf_path, folder)
            # The program was found on the PATH.
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)  # noqa: S603
            pdf_path.chmod(0o640)
            pdf_path.replace(to)
        except (OSError, subprocess.SubprocessError) as error:
            raise _not_printed(to, str(error)[:300], "print the HTML file by hand") from error
    return to


def pdf(page: str) -> bytes:
    """The PDF of a page, from its text. Raises NotPrinted."""
    with tempfile.TemporaryDirectory(prefix="flex-report-") as folder:
        written = Path(folder) / "report.html"
        written.write_text(page, encoding="utf-8")
        try:
            return print_pdf(written, Path(folder) / "report.pdf").read_bytes()
        except NotPrinted as error:
            kept = "nothing was changed"
            advice = f"{error.advice}; or ask for it as HTML"
            raise NotPrinted(
                "printing the report", error.answer, kept=kept, advice=advice
            ) from error


def _command(browser: str, page: Path, pdf_path: Path, folder: str) -> list[str]:
    # Its sandbox cannot be set up by root; the page is our own and runs no script.
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    return [
        browser,
        "--headless",
        "--disable-gpu",
        "--no-pdf-header-footer",
        ("--host-resolver-rules=MAP * ~NOTFOUND"),
        f"--user-data-dir={folder}/profile",
        *alone,
        f"--print-to-pdf={pdf_path}",
        page.resolve().as_uri(),
    ]


def _not_printed(to: Path, answer: str, advice: str) -> NotPrinted:
    return NotPrinted(
        f"printing the report {to}", answer, kept="the report as HTML is written", advice=advice
    )
