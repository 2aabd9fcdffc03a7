"""What a fuzzer begins with: a format's layout, its sample and its words from the register, or
files of counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow.parquet as pq

from flex_logs_ingest.formats import FORMATS
from flex_logs_ingest.formats.format_directive import from_directive
from flex_logs_ingest.lines.layout import Layout, Op
from flex_logs_ingest.scan.counts_as_columns import Loop
from flex_logs_ingest.scan.segment_scan import new_scanner
from flex_logs_ingest.scan.site_rules import SiteRule
from flex_logs_ingest.scan.worldcup_binary_logs import RecordScan

SAMPLES = Path(__file__).resolve().parents[2] / "tests/data/logs"
# The shape and the ends are asked for by the search for a log's format, never by the scan.
DESCRIBED = {
    "kind",
    "start",
    "ops",
    "keys",
    "url_site",
    "stops",
    "shape",
    "unsized",
    "moved",
    "ends",
    "lead",
    "after",
    "units",
}
# Directives whose texts can hold what is to end them, and a line of each.
DIRECTIVES = {
    "listed": (
        "$http_x_forwarded_for $time_local $host $request $status $bytes_sent",
        b"192.0.2.1, 192.0.2.2 10/Oct/2000:13:55:36 -0700 example.org GET /a b HTTP/1.1 200 5",
    ),
    "moved": (
        "%{%e.%m.%y %T}t %{User-Agent}i %v%U %m %H %>s %b",
        b" 3.10.00 13:55:36 Mozilla (X11; a) example.org/a b GET HTTP/1.1 200 5",
    ),
    "timed": (
        (
            '$host [$time_local] "$request" $status $bytes_sent "$http_user_agent" '
            '$request_time "$upstream_response_time"'
        ),
        b'a.example [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5 "x" 9.1 "0.1, 0.2 : -"',
    ),
}
LAYOUTS = FORMATS | {name: from_directive(directive) for name, (directive, _) in DIRECTIVES.items()}
WORDS = (
    *(
        b'\\"',
        b"\\x22",
        b"\\u00e9",
        b"\\\\",
        b"%2e",
        b"%2F",
        b"/../",
        b"//",
        b"HTTP/1.1",
        b"http://",
        b"HTTPS://",
    ),
    *(
        b"GET ",
        b"HEAD ",
        b'"-" 400 0',
        b"10/Oct/2000:13:55:36 -0700",
        b"2000-10-10T13:55:36Z",
        b"971211336.000",
    ),
    *(b"#Fields: ", b"null", b"\r\n", b"\n", b"\0", b"200", b"304", b"9" * 20, b"[::1]:80", b"-"),
)


def of_format(name: str, folder: Path) -> None:
    layout = LAYOUTS[name]
    (folder / "layout").write_text(layout_text(layout))
    log = (
        DIRECTIVES[name][1] + b"\n"
        if name in DIRECTIVES
        else (SAMPLES / f"{name}.log").read_bytes()
    )
    sample = lines_of(layout, log)
    for number, seed in enumerate([sample, *sample.splitlines(keepends=True)]):
        (folder / "seeds" / str(number)).write_bytes(b"\x07\x7f" + seed)
    keys = [key for _, keys in layout.keys for key in keys]
    words = {*WORDS, *(op.literal for op in layout.ops), *keys, *(b'"%s":' % key for key in keys)}
    spelled = ("".join(f"\\x{byte:02x}" for byte in word) for word in sorted(words))
    (folder / "words").write_text("".join(f'"{word}"\n' for word in spelled))


def layout_text(layout: Layout) -> str:
    """As src/layout.rs reads it."""
    assert {field.name for field in fields(Layout)} == DESCRIBED, (
        "a layout says more than the fuzzer is told"
    )
    facts = [f"kind {layout.kind}"]
    facts += [
        f"{name} ={value.hex()}"
        for name in ("start", "stops", "lead")
        if (value := getattr(layout, name))
    ]
    facts += ["url_site"] * layout.url_site + ["unsized"] * layout.unsized
    facts += [f"op {' '.join(_facts(op))}" for op in layout.ops]
    facts += [f"after {' '.join(_facts(op))}" for op in layout.after]
    facts += [f"unit {field} {unit}" for field, unit in layout.units]
    facts += [f"moved {' '.join(map(str, layout.moved))}"] * bool(layout.moved)
    facts += [
        f"key {field} " + " ".join(f"={text.hex()}" for text in texts)
        for field, texts in layout.keys
    ]
    return "\n".join(facts) + "\n"


def _facts(op: Op) -> Iterator[str]:
    yield from (op.field or "-", f"={op.literal.hex()}", "quoted" if op.quoted else "bare")
    yield from (
        "plain" if op.plain else "bound",
        str(op.width),
        str(int(op.listed)),
        str(op.ahead),
        op.fits or "-",
    )


def lines_of(layout: Layout, log: bytes) -> bytes:
    """What the scan is fed: records are written as lines first."""
    if layout.kind != "records":
        return log
    lines: list[bytes] = []
    RecordScan(cast("Loop", SimpleNamespace(feed=lines.append))).feed(log)
    return b"".join(lines)


def of_partial(folder: Path) -> None:
    """A file of counts as it is written, and as others might write it: what is not packed can be
    changed everywhere.
    """
    scanner = new_scanner(FORMATS["vhost_combined"], SiteRule(), 100)
    scanner.feed((SAMPLES / "vhost_combined.log").read_bytes())
    written = folder / "written.parquet"
    scanner.finish().write(written, folder / "hours.parquet", folder / "sample.parquet")
    for number, content in enumerate([written.read_bytes(), *_written_anew(written)]):
        for how in (0x40, 0x41, 0x42, 0xC0):
            (folder / "seeds" / f"{number}-{how}").write_bytes(bytes((how,)) + content)
    (folder / "words").write_text('"PAR1"\n')


def _written_anew(partial: Path) -> Iterator[bytes]:
    ways: list[dict[str, Any]] = [
        {"column_encoding": {"target": "DELTA_BYTE_ARRAY"}, "use_dictionary": ["site"]},
        {"use_dictionary": False, "write_statistics": False, "store_schema": False},
        {"data_page_version": "2.0"},
        {"row_group_size": 2},
    ]
    table, copy = pq.read_table(partial), partial.with_name("copy.parquet")
    for way in ways:
        pq.write_table(table, copy, compression="none", **way)
        yield copy.read_bytes()
