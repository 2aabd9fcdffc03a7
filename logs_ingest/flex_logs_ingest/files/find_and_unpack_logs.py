"""Which files a source means, and their bytes whatever they are packed in.

Takes a Source with its globs. Returns paths in canonical order and, for each, a Log: decompressed
bytes that are streamed, never held whole. The first bytes of a file say what it is packed in, not
its name. Does not parse a line, and does not remember anything (reading/log_identity.py does).
"""

from __future__ import annotations

import bz2
import glob
import io
import lzma
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self, cast

import zstandard
from isal import isal_zlib

from flex_logs_ingest.scan.site_rules import SiteRule

# Bytes of a log that are read at a time. A guess.
CHUNK = 2**18

# Packed bytes that are unpacked at a time. Half a kilobyte of zstd can stand for 50,000 kilobytes
# of text, and its decoder gives all of them at once.
_BITE = 2**9
# The same for gzip, where a byte stands for at most 1,000. Damaged data take the rest of their bite
# with them.
_GZIP_BITE = 2**12
# The flags of a gzip header with nothing special in it, with extra fields, or with a name (RFC
# 1952). A header with other flags may be longer.
_USUAL = (b"", b"\0", b"\x04", b"\x08")
# Bytes in which a gzip header with these flags ends. A guess.
_SHORT_HEADER = 1024
# Bytes in which any other gzip header ends. A guess.
_LONG_HEADER = 2**17
# Bytes of memory for unpacking xz: what `xz -9` needs (65 MiB), and some more.
_XZ_MEMORY = 80 * 2**20
# Bytes that zstd may look back. It looks as far only when it was told to.
_ZSTD_WINDOW = 2**26
# Bytes of the longest header of a zstd frame (RFC 8878).
_ZSTD_HEADER = 18
# Bytes of memory. A log that needs more to be unpacked is unpacked by one reader at a time. A
# guess.
_NARROW = 2**23
# zlib's number for the largest window, with a header of gzip's.
_GZIP = 31

# Reasons that are no fault: a glob matched something that is no log.
NO_FILE = ("it is a directory", "it is not a regular file")

# What programs that pack logs put behind their names.
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
BEING_PACKED = (
    "the log without that ending is still beside it, so it is being packed: the next "
    "reading goes on"
)
# What is being packed is written to again within so many seconds: xz, the slowest, writes each few
# seconds. A guess.
PACKING_PAUSE = 600
LEFT_BEHIND = (
    "the log without that ending is still beside it, but nobody has written here for "
    f"{PACKING_PAUSE // 60} minutes: packing has ended early, so delete this one and pack again"
)

_DEEP = re.compile(r"(?:/\*\*)+(?:/|$)")


@dataclass(frozen=True, slots=True)
class Source:
    """Log files that are read alike. Rotated and compressed copies belong into the same source as
    the live file.

    `files` are named one by one, as they are: `-` is standard input, and a named pipe is read until
    it ends.
    """

    name: str
    globs: tuple[str, ...]
    node: str
    site: SiteRule
    format: str = "auto"
    document_root: str = ""
    files: tuple[str, ...] = ()


class Unusable(Exception):
    """Why this one file cannot be read; the run goes on without it."""


class Status(Protocol):
    """What is asked of os.fstat."""

    @property
    def st_dev(self) -> int: ...
    @property
    def st_ino(self) -> int: ...
    @property
    def st_size(self) -> int: ...
    @property
    def st_mtime_ns(self) -> int: ...


class Bytes(Protocol):
    """What unpacks: some more bytes, none at the end; one of BROKEN when they are damaged."""

    def read1(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class _Unpacker(Protocol):
    """Unpacks one stream. `unused_data` is what stands behind it, once it is at its end."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Streams:
    """Streams one behind the other: the readers of zstandard and of Python take a cut file for a
    whole one, or as much memory as it asks for. `called` is what the packing calls one of them.
    """

    def __init__(
        self, raw: BinaryIO, new: Callable[[], _Unpacker], called: str, bite: int = _BITE
    ) -> None:
        self._raw = raw
        self._new = new
        self._called = called
        self._bite = bite
        self._stream = new()
        self._rest = b""
        self._inside = False

    def read1(self, _size: int, /) -> bytes:
        while True:
            packed = self._rest or self._raw.read(self._bite)
            self._rest = b""
            if not packed and self._inside:
                raise EOFError(f"the last {self._called} is incomplete")
            if not packed:
                return b""
            packed = packed if self._inside else self._begin(packed)
            if packed and (plain := self._unpack(packed)):
                return plain

    def _begin(self, packed: bytes) -> bytes:
        """Where a stream begins: xz fills its streams up with zeros to whole words, tapes their
        blocks behind one.
        """
        return packed.lstrip(b"\0")

    def _unpack(self, packed: bytes) -> bytes:
        plain: bytes = self._stream.decompress(packed)
        self._inside = not self._stream.eof
        if self._stream.eof:
            self._rest = self._stream.unused_data
            self._stream = self._new()
        return plain

    def close(self) -> None:
        self._rest = b""


class _Gzip(_Streams):
    """Python's own reader takes three times as long; that of isal gives nothing of data that end
    early.
    """

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(raw, lambda: isal_zlib.decompressobj(_GZIP), "gzip member", _GZIP_BITE)

    def _begin(self, packed: bytes) -> bytes:
        """With all of the member's header: isal stumbles over some that come in two pieces."""
        packed = super()._begin(packed)
        while packed and len(packed) < (_SHORT_HEADER if packed[3:4] in _USUAL else _LONG_HEADER):
            more = self._raw.read(self._bite)
            if not more:
                break
            packed += more
        return packed


def _zstd(raw: BinaryIO) -> Bytes:
    return _Streams(
        raw,
        lambda: zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj(),
        "zstd frame",
    )


def _xz(raw: BinaryIO) -> Bytes:
    return _Streams(
        raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), "xz stream"
    )


@dataclass(frozen=True, slots=True)
class Packing:
    """What its files begin with, one of these."""

    magics: tuple[bytes, ...]
    unpack: Callable[[BinaryIO], Bytes]


# `plain` is what is left when no magic fits.
PACKINGS: dict[str, Packing] = {
    "gzip": Packing((b"\x1f\x8b",), _Gzip),
    "bzip2": Packing((b"BZh",), bz2.BZ2File),
    "xz": Packing((b"\xfd7zXZ\x00",), _xz),
    # A frame, or one of those that hold other things than data: packing in parallel begins with
    # one.
    "zstd": Packing(
        (b"\x28\xb5\x2f\xfd", *(bytes((0x50 + n, 0x2A, 0x4D, 0x18)) for n in range(16))), _zstd
    ),
}
MAGIC_SIZE = max(len(magic) for packing in PACKINGS.values() for magic in packing.magics)
# Its own stubs say that this is an exception, not a class of them.
_IsalError = cast("type[Exception]", isal_zlib.IsalError)
BROKEN = (EOFError, OSError, _IsalError, lzma.LZMAError, zstandard.ZstdError)


def unpacked_no_further(packing: str, error: Exception) -> str:
    if "memory" in str(error).lower():
        how = "zstd -dc --long=31" if packing == "zstd" else f"{packing} -dc"
        return (
            f"it takes too much memory to unpack; let its own program do it: {how} "
            "LOG | flex ingest - --node NODE"
        )
    return f"the {packing} data end early or are damaged: {error}"


def has_plain_beside(path: str) -> bool:
    """Whether what it was packed from is still there beside it: gzip and its like take it away when
    they are done.
    """
    plain, suffix = os.path.splitext(path)  # noqa: PTH122 - names may be no UTF-8
    return suffix in PACKED_SUFFIXES and Path(plain).is_file()


class Unpacked(ABC):
    """What files and pipes have in common: decompressed bytes, as many as one asks for."""

    _raw: io.RawIOBase | BinaryIO
    _bytes: Bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._bytes.close()
        self._raw.close()

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the end of what can be read."""
        parts = []
        while size and (part := self._some(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def chunks(self) -> Iterator[bytes]:
        while chunk := self.read(CHUNK):
            yield chunk

    @abstractmethod
    def _some(self, size: int) -> bytes: ...


class Log(Unpacked):
    """The decompressed bytes of one file, from wherever one asks. `note` says when they end before
    their time.

    Raises Unusable when the file cannot be opened or is not a regular file.
    """

    status: Status
    _raw: BinaryIO

    def __init__(self, path: str) -> None:
        self.path = path
        self.note = ""
        self.position = 0
        self._raw = _open(path)
        self.status = os.fstat(self._raw.fileno())
        self.size = self.status.st_size
        self.packing = _packing(self._raw)
        self._left = b""
        self._bytes = self._unpack()

    @property
    def read_on_disk(self) -> int:
        """How far into the file itself, for a progress bar."""
        return min(self._raw.tell(), self.size)

    @property
    def is_plain(self) -> bool:
        return self.packing == "plain"

    @property
    def is_wide(self) -> bool:
        """Whether unpacking it takes much memory, as far as its beginning says."""
        if self.packing != "zstd":
            return self.packing == "xz"
        begin = os.pread(self._raw.fileno(), _ZSTD_HEADER, 0)
        try:
            return zstandard.get_frame_parameters(begin).window_size > _NARROW
        except zstandard.ZstdError:
            return True

    def seek(self, offset: int) -> bool:
        """Whether the log is that long; packed files are read again from the start where they
        must.
        """
        if self.is_plain:
            self._raw.seek(offset)
            self.position = offset
            return offset <= os.fstat(self._raw.fileno()).st_size
        if offset < self.position:
            self._rewind()
        while self.position < offset and self._some(min(CHUNK, offset - self.position)):
            pass
        return self.position == offset

    def begins_with(self, head: bytes) -> bool:
        """Whether it still does: a log may be truncated while it is read. Packed ones are not
        written in place.
        """
        if not self.is_plain:
            return True
        descriptor = self._raw.fileno()
        try:
            return (
                os.fstat(descriptor).st_size >= self.position
                and os.pread(descriptor, len(head), 0) == head
            )
        except OSError:
            return False

    def _some(self, size: int) -> bytes:
        # Behind what is damaged nothing is asked for: it would only be said that it ends too early.
        if not self._left and not self.note:
            try:
                self._left = self._bytes.read1(size) or b""
            except BROKEN as error:
                self.note = unpacked_no_further(self.packing, error)
        part, self._left = self._left[:size], self._left[size:]
        self.position += len(part)
        return part

    def _unpack(self) -> Bytes:
        if self.is_plain:
            return cast("Bytes", self._raw)
        return PACKINGS[self.packing].unpack(self._raw)

    def _rewind(self) -> None:
        self._raw.seek(0)
        self.position, self._left, self.note = 0, b"", ""
        self._bytes = self._unpack()


def paths(source: Source) -> tuple[str, ...]:
    """Every path the globs of the source match, each once, sorted, without what its pattern says to
    be no log.
    """
    matches = {path for pattern in source.globs for path in _matches(pattern)}
    return tuple(sorted(source.site.drop_other_files(matches)))


def _matches(pattern: str) -> Iterator[str]:
    """As a shell does it: `**` follows no symbolic links, for two that lead back make paths without
    end.
    """
    top, *rest = _DEEP.split(pattern, maxsplit=1)
    if not rest:
        yield from glob.iglob(pattern)  # noqa: PTH207 - absolute patterns
        return
    for root in glob.iglob(top or "/"):  # noqa: PTH207 - absolute patterns
        for folder in _folders(root):
            yield from _matches(f"{glob.escape(folder)}/{rest[0] or '*'}")


def _folders(root: str) -> Iterator[str]:
    """The folder and those in it, however deep, hidden ones apart."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        yield folder
        with suppress(OSError), os.scandir(folder) as entries:
            waiting += [
                each.path
                for each in entries
                if each.is_dir(follow_symlinks=False) and each.name[0] != "."
            ]


def path_text(path: str) -> str:
    """The path as text that any table and terminal takes, even where the name is not UTF-8 or holds
    a line's end.
    """
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def _open(path: str) -> BinaryIO:
    try:
        # Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unusable(error.strerror or str(error)) from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise Unusable(NO_FILE[0] if stat.S_ISDIR(mode) else NO_FILE[1])
    return os.fdopen(descriptor, "rb")


def _packing(raw: BinaryIO) -> str:
    try:
        start = raw.read(MAGIC_SIZE)
        raw.seek(0)
    except OSError as error:
        raw.close()
        raise Unusable(error.strerror or str(error)) from error
    if start is None:
        # There are files that pass for regular ones and are not: the kernel's own messages wait to
        # be written.
        raw.close()
        raise Unusable("it has nothing to read yet")
    return packing_of(start)


def packing_of(start: bytes) -> str:
    return next(
        (name for name, packing in PACKINGS.items() if start.startswith(packing.magics)), "plain"
    )
