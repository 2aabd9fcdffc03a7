"""What a reading is compared with: wc, gzip and zstd before it, GoAccess.

Takes logs. Returns what each program spent. GoAccess is the one that the variable GOACCESS names,
else the one on the PATH. Its job is larger than ours in some ways (visitors, agents, referrers) and
smaller in others (no counts per site and target, nothing that makes a line count once).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.ingest.rounds import Spent, time_command


def wc(*logs: Path) -> Spent:
    return time_command("wc", "-l", *logs)


def unpacked_wc(program: str, log: Path) -> Spent:
    """`gzip -dc LOG | wc -l`, both processes together."""
    return time_command("sh", "-c", '"$0" -dc "$1" | wc -l', program, log)


@dataclass(frozen=True, slots=True)
class GoAccess:
    program: str
    version: str

    @property
    def figure(self) -> str:
        """How its version stands in the names of figures."""
        return self.version.replace(".", "_")

    def spend(self, log: Path, format_: str) -> Spent:
        """From the log to a report in JSON beside it, with one job."""
        return time_command(
            *self._command([log], format_, log.with_name("report.json")), "--jobs=1"
        )

    def count(self, logs: list[Path], kept: Path) -> int:
        """How many requests it knows of after reading these, too, going on from what it kept in the
        folder.
        """
        report = kept / "report.json"
        time_command(
            *self._command(logs, "COMBINED", report), "--restore", "--persist", f"--db-path={kept}"
        )
        return int(json.loads(report.read_text())["general"]["total_requests"])

    def _command(self, logs: list[Path], format_: str, report: Path) -> list[str | Path]:
        return [
            self.program,
            *logs,
            f"--log-format={format_}",
            "--no-global-config",
            "--no-progress",
            "-o",
            report,
        ]


def goaccess() -> GoAccess | None:
    program = os.environ.get("GOACCESS") or shutil.which("goaccess")
    if not program:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"GoAccess - ([\d.]*\d)", said)
    return GoAccess(program, found[1]) if found else None
