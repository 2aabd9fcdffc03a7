"""`python native/fuzz/run.py [--seconds N] [--jobs N] [NAME]...`: bytes nobody expects, in every
log format.

A name is one of a log format or of a directive of seeds.py, or `partial` for files of counts.
Builds the fuzzers, runs each for so long with what seeds.py makes for it, and shows how often it
ran. What it finds stays in .cache/fuzz/NAME/found, the inputs that between them reach all the code
that was reached in .cache/fuzz/NAME/corpus. Logs among these are then read by the Python reference
too, which has to say the same of each.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import seeds

from flex import native_or_python
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.site_rules import SiteRule

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / ".cache/fuzz"
PROGRAMS = HOME / "target/x86_64-unknown-linux-gnu/release"
PARTIAL = "partial"
LONGEST = 20_000


def prepare(name: str) -> None:
    for part in ("corpus", "seeds", "found"):
        (HOME / name / part).mkdir(parents=True, exist_ok=True)
    if name == PARTIAL:
        seeds.of_partial(HOME / name)
    else:
        seeds.of_format(name, HOME / name)


def build(sanitizer: str) -> None:
    if subprocess.run(["cargo", "fuzz", "--version"], capture_output=True, check=False).returncode:
        sys.exit("fuzzing needs cargo-fuzz: cargo install cargo-fuzz")
    toolchain = [] if sanitizer == "none" else ["+nightly"]
    command = [
        "cargo",
        *toolchain,
        "fuzz",
        "build",
        "--fuzz-dir",
        str(HERE),
        "--sanitizer",
        sanitizer,
    ]
    subprocess.run([*command, "--target-dir", str(HOME / "target")], check=True)


def fuzz(name: str, seconds: int) -> tuple[str, int, str]:
    """Executions, and what was found."""
    folder, program = HOME / name, PROGRAMS / ("partial" if name == PARTIAL else "scan")
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        "-timeout=10",
        "-rss_limit_mb=1024",
    ]
    options += [
        f"-dict={folder}/words",
        f"-artifact_prefix={folder}/found/",
        "-print_final_stats=1",
    ]
    command = [str(program), *options, str(folder / "corpus"), str(folder / "seeds")]
    environment = os.environ | {"FLEX_LAYOUT": str(folder / "layout")}
    with (folder / "log").open("wb") as log:
        failed = subprocess.run(
            command, env=environment, stdout=log, stderr=log, check=False
        ).returncode
    text = (folder / "log").read_text(errors="replace")
    ran = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    return (name, int(ran[1]) if ran else 0, f"see {folder}/log" if failed else differing(name))


def differing(name: str) -> str:
    """The first log of the corpus about which the two engines do not agree."""
    if native_or_python.NATIVE is None or name == PARTIAL:
        return ""
    for path in sorted((HOME / name / "corpus").iterdir()):
        data = path.read_bytes()
        if len(data) > 2 and count(native_or_python.NATIVE.Scan, name, data) != count(
            ReferenceScan, name, data
        ):
            return f"the engines differ on {path}"
    return ""


def count(scan: type[ReferenceScan], name: str, data: bytes) -> dict[str, object]:
    loop = scan(seeds.LAYOUTS[name], SiteRule(directory=data[1] > 0x7F), data[1] & 0x3F)
    loop.feed(data[2:])
    found = loop.finish()
    columns: dict[str, object] = {**found, **found["tables"].columns()}
    del columns["tables"]
    return {
        key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in columns.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        choices=[[], *seeds.LAYOUTS, PARTIAL],
        help="all of them where none is given",
    )
    parser.add_argument("--seconds", type=int, default=600, help="for each name (%(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="names at once (%(default)s)"
    )
    parser.add_argument(
        "--sanitizer",
        default="none",
        help="`address` once there is unsafe code; takes a nightly Rust",
    )
    wanted = parser.parse_args()
    names = wanted.names or [*seeds.LAYOUTS, PARTIAL]
    for name in names:
        prepare(name)
    build(wanted.sanitizer)
    with ThreadPoolExecutor(wanted.jobs) as pool:
        ended = list(pool.map(lambda name: fuzz(name, wanted.seconds), names))
    for name, ran, found in ended:
        print(f"{name:16} {ran:>13,} executions  {found or 'nothing found'}")
    return int(any(found for _, _, found in ended))


if __name__ == "__main__":
    sys.exit(main())
