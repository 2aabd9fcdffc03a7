"""Packed logs whose gzip headers hold whatever a header may hold, wherever in the file a member
begins.
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from flex_logs_ingest.files.find_and_unpack_logs import Log

FEXTRA, FNAME, FCOMMENT, FHCRC = 4, 8, 16, 2
TEXT = b"".join(b"%d %d\n" % (i, i * i % 997) for i in range(2_000))

words = st.binary(max_size=6_000).map(lambda text: text.replace(b"\0", b"x"))


def member(
    content: bytes, extra: bytes, name: bytes, comment: bytes, *, checked: bool, level: int = 6
) -> bytes:
    flags = bool(extra) * FEXTRA | bool(name) * FNAME | bool(comment) * FCOMMENT | checked * FHCRC
    header = b"\x1f\x8b\x08" + bytes([flags]) + bytes(5) + b"\x03"
    header += struct.pack("<H", len(extra)) + extra if extra else b""
    header += b"".join(text + b"\0" for text in (name, comment) if text)
    header += struct.pack("<H", zlib.crc32(header) & 0xFFFF) if checked else b""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = packer.compress(content) + packer.flush()
    return header + body + struct.pack("<II", zlib.crc32(content), len(content))


@given(
    before=st.integers(0, 5_000),
    extra=words,
    name=words,
    comment=words,
    checked=st.booleans(),
    zeros=st.integers(0, 9),
)
def test_a_member_is_read_whatever_its_header_holds_and_wherever_it_begins(
    before: int, extra: bytes, name: bytes, comment: bytes, checked: bool, zeros: int
) -> None:
    first = member(TEXT[:before], b"", b"", b"", checked=False, level=0)
    second = member(TEXT, extra, name, comment, checked=checked)
    assert unpacked(first + bytes(zeros) + second) == TEXT[:before] + TEXT


def unpacked(packed: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "access.log.gz")
        path.write_bytes(packed)
        with Log(str(path)) as log:
            return b"".join(log.chunks())
