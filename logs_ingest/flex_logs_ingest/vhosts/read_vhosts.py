"""The names of every virtual host that the files of nginx or Apache have.

Takes patterns of files. Returns virtual hosts, each with its names in order, and what was not taken
with the place of it. Follows what a file includes. Does not decide which of the names is a site.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from flex.errors import BadSetting
from flex.why_file_unreadable import why_unreadable
from flex_logs_ingest.scan.site_rules import ascii_name, is_host
from flex_logs_ingest.vhosts.apache_steps import APACHE, apache_steps
from flex_logs_ingest.vhosts.nginx_steps import nginx_steps
from flex_logs_ingest.vhosts.steps import HOST_BLOCKS, OTHER_PROTOCOLS, Step

# Bytes of one file. Nobody writes as much; a log that a pattern matches has more. A guess.
LARGEST_FILE = 4 * 2**20
# Files that include each other, one below the other. A guess.
DEEPEST = 10
# What is done for all files, in steps: 20,000 hosts that include ten files each take 4.5 million.
MOST_STEPS = 10_000_000
# Steps that looking for an included file counts as.
STEPS_OF_FILE = 20
# Folders above a file in which what it includes is looked for. Paths are relative to the server's
# own folder, and hosts lie one or two below it.
FOLDERS_ABOVE = 3

# What stands for any host, or for this machine.
_NOBODY = ("", "-", "_", "localhost", "$hostname")
_PATTERN = re.compile(r"[*?~$%@{}()\\^]")
_SCHEME = re.compile(r"[a-z]+://")

# Which file it is, its bytes, and when it was written: another one after each change.
Stamp: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Vhost:
    """The host names of one block, the main one first, as DNS spells them.

    `root` and `logs` are paths as they are written there. `block` is the word of its block, which
    says whose file it is.
    """

    names: tuple[str, ...]
    path: str
    line: int
    root: str = ""
    logs: tuple[str, ...] = ()
    block: str = ""

    @property
    def where(self) -> str:
        return f"{self.path}, line {self.line}"


@dataclass(frozen=True, slots=True)
class NotTaken:
    """What stands where a name stands and is none: a wildcard, a pattern, a variable."""

    text: str
    path: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.path}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Vhosts:
    """`unread` says of files that others include why they could not be read. `files` are all that
    were read, and `empty` the patterns that match none.
    """

    hosts: tuple[Vhost, ...] = ()
    not_taken: tuple[NotTaken, ...] = ()
    unread: tuple[str, ...] = ()
    files: tuple[tuple[str, Stamp], ...] = ()
    empty: tuple[str, ...] = ()


def read_vhosts(patterns: Sequence[str], setting: str) -> Vhosts:
    """Raises BadSetting where a file that a pattern matches cannot be read, or where files include
    one another without end.
    """
    run = _Run(setting)
    empty: list[str] = []
    seen: set[str] = set()
    for pattern in patterns:
        paths = files_of(pattern)
        if not paths:
            empty.append(pattern)
        for path in paths:
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                run.read_first(path)
    return run.result(empty)


class Files(Protocol):
    """Where the files are that patterns mean."""

    def find(self, pattern: str) -> list[str]:
        """In order."""
        ...

    def real(self, path: str) -> str:
        """The same for each way to name a file. Raises OSError, or ValueError with the reason."""
        ...

    def read(self, path: str) -> tuple[str, Stamp]:
        """Raises as well."""
        ...


class OfThisMachine:
    """The files of this machine, wherever they are."""

    def find(self, pattern: str) -> list[str]:
        return files_of(pattern)

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def read(self, path: str) -> tuple[str, Stamp]:
        return _text(path)


def read_what_can_be_read(patterns: Sequence[str], files: Files) -> Vhosts:
    """The same from any files, and without an error: `unread` says what could not be read."""
    run = _Run("", files)
    empty: list[str] = []
    for pattern in patterns:
        paths = files.find(pattern)
        if not paths:
            empty.append(pattern)
        for path in paths:
            run.read_if_possible(path)
    return run.result(empty)


@dataclass(slots=True)
class _Block:
    """An open block. A virtual host collects its names."""

    word: str
    path: str
    line: int
    main: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    root: str = ""
    logs: list[str] = field(default_factory=list)


class _TooMuch(Exception):
    """Files include one another without end."""


class _Run:
    """One reading of all files. A file that many hosts include is read once."""

    def __init__(self, setting: str, files: Files | None = None) -> None:
        self._setting = setting
        self._files = files or OfThisMachine()
        self._left = MOST_STEPS
        self.hosts: list[Vhost] = []
        self.not_taken: list[NotTaken] = []
        self.unread: list[str] = []
        self.steps: dict[str, tuple[Step, ...]] = {}
        self.stamps: dict[str, Stamp] = {}
        self._matches: dict[tuple[str, str], list[str]] = {}

    def read_first(self, path: str) -> None:
        try:
            self._follow(path, [], (), apache=None)
        except (OSError, ValueError) as error:
            raise self._refusal(path, _why(error)) from error
        except _TooMuch as error:
            raise self._refusal(path, "files include one another without end") from error

    def read_if_possible(self, path: str) -> None:
        """A file that another one included is not read again by itself."""
        try:
            if self._files.real(path) not in self.steps:
                self._follow(path, [], (), apache=None)
        except (OSError, ValueError) as error:
            self.unread.append(f"{path}: {_why(error)}")
        except _TooMuch:
            self.unread.append(f"{path}: files include one another without end")

    def result(self, empty: Sequence[str]) -> Vhosts:
        return Vhosts(
            tuple(self.hosts),
            tuple(self.not_taken),
            tuple(dict.fromkeys(self.unread)),
            tuple(self.stamps.items()),
            tuple(empty),
        )

    def _refusal(self, path: str, answer: str) -> BadSetting:
        return BadSetting(
            f"{self._setting}: {path}",
            answer,
            kept="the partition in force stays",
            advice="let the patterns match files of nginx or Apache alone, and make them "
            "readable for FLEX",
        )

    def _follow(
        self, path: str, blocks: list[_Block], inside: tuple[str, ...], apache: bool | None
    ) -> None:
        """`inside` are the files that are open, the innermost last."""
        real = self._files.real(path)
        if real in inside or len(inside) > DEEPEST:
            raise _TooMuch
        if real not in self.steps:
            text, self.stamps[real] = self._files.read(real)
            is_apache = bool(APACHE.search(text)) or bool(apache)
            read = apache_steps(text) if is_apache else nginx_steps(text)
            self.steps[real] = tuple(read)
        outer = len(blocks)
        for step in self.steps[real]:
            self._left -= 1
            if self._left < 0:
                raise _TooMuch
            if step.kind == "includes":
                self._include(path, step, blocks, (*inside, real))
            else:
                self._take(path, step, blocks, outer)
        while len(blocks) > outer:
            self._close(blocks.pop())

    def _include(
        self, path: str, step: Step, blocks: list[_Block], inside: tuple[str, ...]
    ) -> None:
        is_apache = any(block.word == "virtualhost" for block in blocks)
        for pattern in step.words:
            self._left -= STEPS_OF_FILE
            for included in self._find_included(path, pattern):
                self._left -= STEPS_OF_FILE
                try:
                    self._follow(included, blocks, inside, is_apache)
                except (OSError, ValueError) as error:
                    self.unread.append(
                        f"{included}, which {path} includes in line {step.line}: {_why(error)}"
                    )

    def _find_included(self, path: str, pattern: str) -> list[str]:
        """Many hosts of one folder include the same."""
        folder = os.path.dirname(path)  # noqa: PTH120 - strings all the way
        if (folder, pattern) not in self._matches:
            self._matches[folder, pattern] = _included_from(folder, pattern, self._files.find)
        return self._matches[folder, pattern]

    def _take(self, path: str, step: Step, blocks: list[_Block], outer: int) -> None:
        """A file cannot close a block that another file opened."""
        if step.kind == "opens":
            blocks.append(_Block(step.words[0].lower(), path, step.line))
        elif step.kind == "closes":
            if len(blocks) > outer:
                self._close(blocks.pop())
        elif not blocks or not _is_host_block(blocks):
            return
        elif step.kind == "root":
            blocks[-1].root = blocks[-1].root or "".join(step.words)
        elif step.kind == "log":
            blocks[-1].logs += step.words[:1]
        else:
            taken = blocks[-1].main if step.kind == "name" else blocks[-1].others
            for word in step.words:
                name, why = _name(word)
                if name:
                    taken.append(name)
                if why:
                    self.not_taken.append(NotTaken(why[:255], path, step.line))

    def _close(self, block: _Block) -> None:
        if names := tuple(dict.fromkeys((*block.main, *block.others))):
            logs = tuple(dict.fromkeys(block.logs))
            self.hosts.append(Vhost(names, block.path, block.line, block.root, logs, block.word))


def _is_host_block(blocks: Sequence[_Block]) -> bool:
    return blocks[-1].word in HOST_BLOCKS and not any(
        block.word in OTHER_PROTOCOLS for block in blocks
    )


def _name(word: str) -> tuple[str, str]:
    """The host name that a word is; and what of it is none and stands for several or for nobody
    knows which. Addresses and names without a domain are neither.
    """
    text = _SCHEME.sub("", word.strip().lower(), count=1)
    if text in _NOBODY or text.startswith("["):
        return "", ""
    if text.startswith("."):
        # nginx's short form of the name and of all below it.
        name, why = _name(text[1:])
        return name, why or f"*{text}"
    if _PATTERN.search(text):
        return "", word
    if text.count(":") == 1:
        text = text.partition(":")[0]
    elif ":" in text:
        return "", ""
    try:
        name = ascii_name(text.rstrip("."))
    except UnicodeError:
        return "", word
    if is_host(name):
        return (name, "") if "." in name else ("", "")
    is_address = name.rpartition(".")[2].isdigit()
    return "", "" if is_address or not name else word


def files_of(pattern: str) -> list[str]:
    """In order; a folder stands for all files below it."""
    try:
        paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - strings all the way
    except (ValueError, re.error):
        return []
    return [file for path in paths for file in _walk_files(path)]


def _walk_files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):  # noqa: PTH112 - strings all the way
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders.sort()
        yield from (f"{folder}/{name}" for name in sorted(files) if name[0] != ".")


def _included_from(folder: str, pattern: str, find: Callable[[str], list[str]]) -> list[str]:
    """A relative one is looked for in the folder and in those above it."""
    if not pattern or "\0" in pattern:
        return []
    if pattern.startswith("/"):
        return find(pattern)
    here = Path(folder).absolute()
    for place in (here, *list(here.parents)[:FOLDERS_ABOVE]):
        if paths := find(f"{glob.escape(str(place))}/{pattern}"):
            return paths
    return []


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _text(path: str) -> tuple[str, Stamp]:
    """Raises OSError, or ValueError with the reason."""
    with open(path, "rb", buffering=0, opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"it has more than {LARGEST_FILE // 2**20} MiB, so it is no such file")
    return content.decode("utf-8", errors="replace"), stamp_of(status)


def _open_without_waiting(path: str, flags: int) -> int:
    """A named pipe that nobody writes to would keep us forever."""
    return os.open(path, flags | os.O_NONBLOCK)


def _why(error: OSError | ValueError) -> str:
    return why_unreadable(error) if isinstance(error, OSError) else str(error)
