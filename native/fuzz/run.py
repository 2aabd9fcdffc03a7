"""`python native/fuzz/run.py [--seconds N] [--jobs N] [FORMAT]...`: bytes nobody expects, for every log format.

Writes what the fuzzer needs of each format from the register (its layout, its sample as seeds, a dictionary), builds
the fuzzer, runs it for so long a format, and shows how often it ran. What it finds stays in .cache/fuzz/FORMAT/found,
the inputs that between them reach all the code that it has reached in .cache/fuzz/FORMAT/corpus. Those are then read
by the Python reference too, which has to say the same of each.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np

from flex import engine
from flex_logs_ingest.columns import Loop
from flex_logs_ingest.formats import FORMATS
from flex_logs_ingest.layout import Layout
from flex_logs_ingest.records import RecordScan
from flex_logs_ingest.reference import ReferenceScan
from flex_logs_ingest.sites import SiteRule

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".cache/fuzz"
TARGET = "x86_64-unknown-linux-gnu"
LONGEST = 20_000
# The shape is asked for by the search for a log's format, never by the scan.
DESCRIBED = {"kind", "start", "ops", "keys", "url_site", "stops", "shape", "unsized"}
WORDS = (
    *(b'\\"', b"\\x22", b"\\u00e9", b"\\\\", b"%2e", b"%2F", b"/../", b"//", b"HTTP/1.1", b"http://", b"HTTPS://"),
    *(b"GET ", b"HEAD ", b'"-" 400 0', b"10/Oct/2000:13:55:36 -0700", b"2000-10-10T13:55:36Z", b"971211336.000"),
    *(b"#Fields: ", b"null", b"\r\n", b"\n", b"\0", b"200", b"304", b"9" * 20, b"[::1]:80", b"-"),
)


def described(layout: Layout) -> str:
    """As src/layout.rs reads it."""
    assert {field.name for field in fields(Layout)} == DESCRIBED, "a layout says more than the fuzzer is told"
    facts = [f"kind {layout.kind}"]
    facts += [f"{name} ={value.hex()}" for name in ("start", "stops") if (value := getattr(layout, name))]
    facts += ["url_site"] * layout.url_site + ["unsized"] * layout.unsized
    facts += [f"op {op.field or '-'} ={op.literal.hex()} {'quoted' if op.quoted else 'bare'}" for op in layout.ops]
    facts += [f"key {field} " + " ".join(f"={text.hex()}" for text in texts) for field, texts in layout.keys]
    return "\n".join(facts) + "\n"


def prepare(name: str) -> None:
    layout, folder = FORMATS[name], HOME / name
    for part in ("corpus", "seeds", "found"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "layout").write_text(described(layout))
    sample = lines_of(layout, (ROOT / f"tests/data/logs/{name}.log").read_bytes())
    for number, seed in enumerate([sample, *sample.splitlines(keepends=True)]):
        (folder / "seeds" / str(number)).write_bytes(b"\x07\x7f" + seed)
    keys = [key for _, keys in layout.keys for key in keys]
    words = {*WORDS, *(op.literal for op in layout.ops), *keys, *(b'"%s":' % key for key in keys)}
    (folder / "words").write_text("".join(f'"{_spelled(word)}"\n' for word in sorted(words)))


def lines_of(layout: Layout, log: bytes) -> bytes:
    """What the scan is fed: records are written as lines first."""
    if layout.kind != "records":
        return log
    lines: list[bytes] = []
    RecordScan(cast("Loop", SimpleNamespace(feed=lines.append))).feed(log)
    return b"".join(lines)


def _spelled(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def build(sanitizer: str) -> Path:
    if subprocess.run(["cargo", "fuzz", "--version"], capture_output=True, check=False).returncode:
        sys.exit("fuzzing needs cargo-fuzz: cargo install cargo-fuzz")
    toolchain = [] if sanitizer == "none" else ["+nightly"]
    command = ["cargo", *toolchain, "fuzz", "build", "scan", "--fuzz-dir", str(ROOT / "native/fuzz")]
    subprocess.run([*command, "--sanitizer", sanitizer, "--target-dir", str(HOME / "target")], check=True)
    return HOME / "target" / TARGET / "release/scan"


def fuzz(program: Path, name: str, seconds: int) -> tuple[str, int, str]:
    """Executions, and what was found."""
    folder = HOME / name
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=10", "-rss_limit_mb=1024"]
    options += [f"-dict={folder}/words", f"-artifact_prefix={folder}/found/", "-print_final_stats=1"]
    command = [str(program), *options, str(folder / "corpus"), str(folder / "seeds")]
    environment = os.environ | {"FLEX_LAYOUT": str(folder / "layout")}
    with (folder / "log").open("wb") as log:
        failed = subprocess.run(command, env=environment, stdout=log, stderr=log, check=False).returncode
    text = (folder / "log").read_text(errors="replace")
    ran = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    return name, int(ran[1]) if ran else 0, f"see {folder}/log" if failed else differing(name)


def differing(name: str) -> str:
    """The first input of the corpus about which the two engines do not agree."""
    if engine.NATIVE is None:
        return ""
    for path in sorted((HOME / name / "corpus").iterdir()):
        data = path.read_bytes()
        if len(data) > 2 and counted(engine.NATIVE.Scan, name, data) != counted(ReferenceScan, name, data):
            return f"the engines differ on {path}"
    return ""


def counted(scan: type[ReferenceScan], name: str, data: bytes) -> dict[str, object]:
    loop = scan(FORMATS[name], SiteRule(directory=data[1] > 0x7F), data[1] & 0x7F)
    loop.feed(data[2:])
    found = loop.finish()
    columns: dict[str, object] = {**found, **found["tables"].columns()}
    del columns["tables"]
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in columns.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", choices=[[], *FORMATS], help="all of them where none is named")
    parser.add_argument("--seconds", type=int, default=600, help="for each format (%(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="formats at once (%(default)s)")
    parser.add_argument("--sanitizer", default="none", help="`address` once there is unsafe code; takes a nightly Rust")
    wanted = parser.parse_args()
    names = wanted.formats or list(FORMATS)
    for name in names:
        prepare(name)
    program = build(wanted.sanitizer)
    with ThreadPoolExecutor(wanted.jobs) as pool:
        ended = list(pool.map(lambda name: fuzz(program, name, wanted.seconds), names))
    for name, ran, found in ended:
        print(f"{name:16} {ran:>13,} executions  {found or 'nothing found'}")
    return int(any(found for _, _, found in ended))


if __name__ == "__main__":
    sys.exit(main())
