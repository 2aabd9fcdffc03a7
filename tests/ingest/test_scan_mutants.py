"""Lines that were right once: whatever a mutant of a format's own lines is, both engines say the
same about it.

Where Hypothesis draws any bytes (test_scan_engines.py), this changes sound lines as their structure
suggests, and many more of them. A seed stands for one log; `make torture` goes through thousands of
them in each format.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from flex import native_or_python
from flex_logs_ingest.formats import FORMATS
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.scan.counts_as_columns import Loop
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.worldcup_binary_logs import RecordScan
from tests.ingest.given import RULES

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
SAMPLES = Path(__file__).parent.parent / "data" / "logs"
NUMBERS = (
    *(
        b"-1",
        b"+1",
        b"1.5",
        b"00000000000000000000007",
        b"9" * 18,
        b"9" * 19,
        b"9" * 40,
        b"%d" % 2**63,
        b"%d" % 2**64,
    ),
    *(b"1e3", b"0x10", b"", b"-", b"253402300800", b"17592186044417", b"31", b"60", b"24"),
)
ESCAPES = (
    *(
        b'\\"',
        b"\\\\",
        b"\\",
        b"\\x22",
        b"\\x5c",
        b"\\x0",
        b"\\u0022",
        b"\\ud83d\\ude00",
        b"\\u00",
        b"\\n",
        b"\\/",
    ),
    *(
        b"%",
        b"%2",
        b"%25",
        b"%2f",
        b"%2E%2e",
        b"%00",
        b"%C3%A9",
        b"%c3",
        b"\xc3\xa9",
        b"\xff",
        b"\0",
        b"\r",
        b"\t",
    ),
)
MARKS = (
    b'"',
    b" ",
    b"  ",
    b"\t",
    b"[",
    b"]",
    b"{",
    b"}",
    b":",
    b",",
    b"|",
    b"~",
    b"#",
    b"?",
    b"/",
    b"//",
    b"/../",
    b"/.",
)
ENDS = (b"\n", b"\n", b"\n", b"\r\n", b"\r\r\n", b"\n\n", b"\0\n", b"\n\0\0")

Mutation = Callable[[random.Random, bytes, bytes], bytes]


def span(chance: random.Random, line: bytes) -> tuple[int, int]:
    start = chance.randrange(len(line) + 1)
    return start, min(len(line), start + chance.choice([0, 1, 1, 2, 5, 20, 90]))


def splice(chance: random.Random, line: bytes, other: bytes) -> bytes:
    return line[: chance.randrange(len(line) + 1)] + other[chance.randrange(len(other) + 1) :]


def double(chance: random.Random, line: bytes, _: bytes) -> bytes:
    start, end = span(chance, line)
    return line[:end] + line[start:end] * chance.choice([1, 2, 40]) + line[end:]


def cut_out(chance: random.Random, line: bytes, _: bytes) -> bytes:
    start, end = span(chance, line)
    return line[:start] + line[end:]


def cut_off(chance: random.Random, line: bytes, _: bytes) -> bytes:
    return line[: chance.randrange(len(line) + 1)]


def flip(chance: random.Random, line: bytes, _: bytes) -> bytes:
    changed = bytearray(line or b"\0")
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def renumber(chance: random.Random, line: bytes, _: bytes) -> bytes:
    return at_one_of(chance, rb"\d+", line, chance.choice(NUMBERS))


def escape(chance: random.Random, line: bytes, _: bytes) -> bytes:
    at = chance.randrange(len(line) + 1)
    return line[:at] + chance.choice(ESCAPES) + line[at + chance.randrange(2) :]


def mark(chance: random.Random, line: bytes, _: bytes) -> bytes:
    return at_one_of(chance, rb"[^\w.]+", line, chance.choice(MARKS))


def exchange(chance: random.Random, line: bytes, other: bytes) -> bytes:
    """A field of another line, or of this one, in the place of a field."""
    fields = re.findall(rb"[^ \t,]+", other + b" " + line) or [b"-"]
    return at_one_of(chance, rb"[^ \t,]+", line, chance.choice(fields))


def shout(chance: random.Random, line: bytes, _: bytes) -> bytes:
    start, end = span(chance, line)
    return line[:start] + line[start:end].swapcase() + line[end:]


def at_one_of(chance: random.Random, pattern: bytes, line: bytes, piece: bytes) -> bytes:
    places = [match.span() for match in re.finditer(pattern, line)] or [(0, 0)]
    start, end = chance.choice(places)
    return line[:start] + piece + line[end:]


MUTATIONS: tuple[Mutation, ...] = (
    *(splice, double, cut_out, cut_off, flip, flip),
    *(renumber, renumber, escape, escape, mark, exchange, exchange, shout),
)


def mutants(name: str, seed: int) -> bytes:
    chance = random.Random(f"{name} {seed}")
    good = (SAMPLES / f"{name}.log").read_bytes().splitlines()
    log = b""
    for _ in range(chance.randrange(1, 12)):
        line = chance.choice(good)
        for _ in range(chance.choice([0, 1, 1, 1, 2, 3, 6])):
            line = chance.choice(MUTATIONS)(chance, line, chance.choice(good))
        log += line + chance.choice(ENDS)
    return log[: chance.choice([len(log), len(log), chance.randrange(len(log) + 1)])]


def read(
    engine_: type[ReferenceScan], layout: Layout, log: bytes, seed: int
) -> list[dict[str, object]]:
    """What is counted in each piece; the pieces, and how they are cut into chunks, hang on the seed
    alone.
    """
    chance = random.Random(seed)
    lines: Loop = engine_(layout, chance.choice(RULES), chance.choice([0, 3, 100]), True)
    scan: Loop = RecordScan(lines) if layout.kind == "records" else lines
    found = []
    for piece in cut(log, chance, chance.choice([0, 0, 1, 3])):
        for chunk in cut(piece, chance, chance.choice([0, 1, 7])) if engine_ is NATIVE else [piece]:
            scan.feed(chunk)
        found.append({**plain(scan), "every bad line": scan.take_bad()})
    return [*found, plain(scan, complete=True)]


def cut(log: bytes, chance: random.Random, times: int) -> Iterable[bytes]:
    places = sorted(chance.randrange(len(log) + 1) for _ in range(times))
    return [log[start:end] for start, end in pairwise([0, *places, len(log)])]


def plain(scan: Loop, complete: bool = False) -> dict[str, object]:
    found = scan.finish(complete)
    columns: dict[str, object] = {**found, **found["tables"].columns()}
    del columns["tables"]
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in columns.items()
    }


def check(name: str, seed: int) -> None:
    log = mutants(name, seed)
    assert read(NATIVE, FORMATS[name], log, seed) == read(
        ReferenceScan, FORMATS[name], log, seed
    ), (name, seed, log)


@pytest.mark.parametrize("name", FORMATS)
def test_both_engines_say_the_same_of_any_mutant(name: str) -> None:
    for seed in range(120):
        check(name, seed)


@pytest.mark.torture
@pytest.mark.parametrize("name", FORMATS)
def test_both_engines_say_the_same_of_thousands_of_mutants(name: str) -> None:
    for seed in range(1_000, 4_000):
        check(name, seed)
