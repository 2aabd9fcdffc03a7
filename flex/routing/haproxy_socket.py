"""The sockets of a running HAProxy: sends commands, and returns the answers as values.

Takes the words of a command. Refuses a word that could begin another command, so no name can do so.
Returns the answer. Does not guess: HAProxy may be of another version, and what cannot be read in
its answer is left out.
"""

from __future__ import annotations

import csv
import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from flex.errors import Away, BadInput

_WORD = re.compile(r"[A-Za-z0-9_.:/\[\]@-]{1,300}")
_LINE = re.compile(r"[A-Za-z0-9_.:-]{1,300} [A-Za-z0-9_.:-]{1,300}")
_PREPARED = re.compile(r"New version created: (\d+)")
# Bytes. HAProxy's buffer for a command is 16 KiB, of which it keeps 1 KiB free for itself.
_PAYLOAD = 14_000
_ENTRY = re.compile(r"0x[0-9a-f]+: key=(\S+) (.*)")
_FOUND = re.compile(r'found=yes, .*value="([^"]*)"')
_MAP = re.compile(r"^\S+ \((\S+)\) .* entry_cnt=(\d{1,18})$", re.MULTILINE)
_MASTER = re.compile(r"^(\d+)\s+master\s+(\d+)\s+\[failed: (\d+)\]", re.MULTILINE)
# The first of them is the one that serves; those that end after a reload come later.
_WORKER = re.compile(r"^\d+\s+worker\s+\d+\s+(\d+)d(\d+)h(\d+)m(\d+)s", re.MULTILINE)
# A table of every target of a large site; more than this is no answer to anything asked here.
_LONGEST = 256 * 2**20
# Bytes. A line of a table is HAProxy's buffer of 16 KiB at most.
_LONGEST_LINE = 2**14


@dataclass(frozen=True, slots=True)
class Socket:
    """`named` is who says where it is; `patience` is for the whole of an answer."""

    path: str
    patience: float = 5.0
    named: str = "[routing]"

    def is_deserted(self) -> bool:
        """Whether no process listens there; not where that cannot be told."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(self.patience)
            try:
                connection.connect(self.path)
            except (FileNotFoundError, ConnectionRefusedError):
                return True
            except OSError:
                return False
        return False

    def ask(self, *words: str) -> str:
        """One command's answer. Raises Away where nobody answers, BadInput for a word that cannot
        be said.
        """
        return self._answer(command_bytes(words), " ".join(words))

    def ask_all(self, commands: Sequence[tuple[str, ...]]) -> str:
        """The answers of several commands, one behind the other. Raises as `ask` does."""
        every = b";".join(command_bytes(words)[:-1] for words in commands) + b"\n"
        return self._answer(every, " ".join(commands[0])) if commands else ""

    def lines(self, *words: str) -> Iterator[str]:
        """One command's answer, line by line as it comes, however long it is. A line that is longer
        than any of HAProxy's own is left out. Raises as `ask` does.
        """
        command = command_bytes(words)
        with self._answering(" ".join(words)), self._send(command) as connection:
            for line in _received_lines(connection, self.patience):
                yield line.decode("utf-8", "replace")

    def replace_map(self, path: str, text: str, *then: tuple[str, ...]) -> str:
        """Every entry of a map for others, all in the same moment; further commands are carried out
        in that moment, too. What HAProxy has against it; "" where it was done.
        """
        prepared = self.ask("prepare", "map", path)
        version = _PREPARED.fullmatch(prepared)
        if not version:
            return prepared or "it made no new version of the map"
        begin = command_bytes(("add", "map", f"@{version[1]}", path))[:-1] + b" <<\n"
        for part in _payloads(text):
            if refused := self._answer(begin + part + b"\n", f"add map {path}"):
                return refused
        last = ("commit", "map", f"@{version[1]}", path), *then
        together = b";".join(command_bytes(words).rstrip() for words in last)
        return self._answer(together + b"\n", f"commit map {path}")

    def _answer(self, command: bytes, told: str) -> str:
        with self._answering(told), self._send(command) as connection:
            answer = _receive(connection, self.patience)
            return answer.decode("utf-8", "replace").strip()

    @contextmanager
    def _send(self, command: bytes) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(self.patience)
            connection.connect(self.path)
            connection.sendall(command)
            connection.shutdown(socket.SHUT_WR)
            yield connection

    @contextmanager
    def _answering(self, told: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Away(
                f"telling HAProxy {told[:100]}",
                f"{self.path}: {error.strerror or error}",
                kept="HAProxy goes on as it did",
                advice=f"see that it runs, and that its socket is where {self.named} "
                "says; then do it again",
            ) from error


def _receive(connection: socket.socket, patience: float) -> bytes:
    """All of it, however little comes at a time."""
    return b"".join(_parts_of_answer(connection, patience))


def _parts_of_answer(connection: socket.socket, patience: float) -> Iterator[bytes]:
    size, end = 0, time.monotonic() + patience
    while part := connection.recv(2**20):
        yield part
        size += len(part)
        left = end - time.monotonic()
        if size > _LONGEST or left <= 0:
            raise OSError("its answer does not end")
        connection.settimeout(left)


def _received_lines(connection: socket.socket, patience: float) -> Iterator[bytes]:
    """No more than one line, and one part of the answer, is in memory."""
    rest, is_too_long = b"", False
    for part in _parts_of_answer(connection, patience):
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            if not is_too_long and len(line) <= _LONGEST_LINE:
                yield line
            is_too_long = False
        if len(rest) > _LONGEST_LINE:
            rest, is_too_long = b"", True
    if rest and not is_too_long:
        yield rest


def _payloads(text: str) -> Iterator[bytes]:
    """The lines of a map, as many at a time as a command may have with them."""
    part: list[str] = []
    size = 0
    for line in text.splitlines():
        if not _LINE.fullmatch(line):
            raise BadInput(
                f"telling HAProxy {line!r:.100}",
                "it is no entry of a map",
                kept="HAProxy was told nothing",
                advice="correct what names it",
            )
        if size + len(line) + 1 > _PAYLOAD:
            yield "".join(part).encode("ascii")
            part, size = [], 0
        part.append(f"{line}\n")
        size += len(line) + 1
    if part:
        yield "".join(part).encode("ascii")


def command_bytes(words: tuple[str, ...]) -> bytes:
    """As the socket takes it. Raises BadInput for a word that is not one."""
    for word in words:
        if not _WORD.fullmatch(word):
            raise BadInput(
                f"telling HAProxy {word!r:.100}",
                "it is not one word of a command",
                kept="HAProxy was told nothing",
                advice="correct what names it",
            )
    return " ".join(words).encode("ascii") + b"\n"


@dataclass(frozen=True, slots=True)
class BackendServer:
    """A server of a backend as HAProxy sees it: under way, waiting for it, served since it
    started; and what the last check of it came to, in HAProxy's words (L4TOUT: nobody answered).
    """

    backend: str
    server: str
    status: str
    under_way: int
    waiting: int
    served: int
    weight: int
    check: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """What the distributors remember of one: the members that have it, and how often that was not
    enough.
    """

    key: str
    set: int
    changed: int
    overloaded: int


@dataclass(frozen=True, slots=True)
class Master:
    """A master process: how often it read its configuration anew, how often that went wrong, and
    for how many seconds its worker serves.
    """

    reloads: int
    failed: int
    serves: int


def parse_stat(answer: str) -> tuple[BackendServer, ...]:
    """Takes the answer to `show stat`."""
    lines = answer.lstrip("# ").splitlines()
    return tuple(
        _parse_stat_row(row)
        for row in csv.DictReader(lines, restkey="", restval="")
        if row.get("svname")
    )


def _parse_stat_row(row: dict[str, str]) -> BackendServer:
    under_way, waiting, served, weight = (
        _number(row.get(name, "")) for name in ("scur", "qcur", "stot", "weight")
    )
    return BackendServer(
        row.get("pxname", ""),
        row["svname"],
        row.get("status", ""),
        under_way,
        waiting,
        served,
        weight,
        # While a check is under way there is a star before what the one before came to.
        row.get("check_status", "").removeprefix("* "),
    )


def targets(answer: str) -> Iterator[Target]:
    """Takes the answer to `show table`."""
    for line in answer.splitlines():
        if entry := _ENTRY.fullmatch(line):
            fields = dict(part.partition("=")[::2] for part in entry[2].split())
            yield Target(
                entry[1], *(_number(fields.get(name, "")) for name in ("gpt0", "gpt1", "gpc0"))
            )


def parse_node_name(answer: str) -> str:
    """Takes the answer to `show info`. Returns the node that the configuration is for, "" where it
    names none.
    """
    matched = re.search(r"^node: (\S+)", answer, re.MULTILINE)
    return matched[1] if matched else ""


def parse_uptime(answer: str) -> int | None:
    """Takes the answer to `show info`. Returns for how many seconds the process has run; None where
    it does not say.
    """
    matched = re.search(r"^Uptime_sec: (\d{1,18})$", answer, re.MULTILINE)
    return int(matched[1]) if matched else None


def parse_map_value(answer: str) -> str:
    """Takes the answer to `get map`. Returns the value, "" where there is none."""
    matched = _FOUND.search(answer)
    return matched[1] if matched else ""


def parse_map_sizes(answer: str) -> dict[str, int]:
    """Takes the answer to `show map`. Returns by path how many entries each map has."""
    return {path: int(count) for path, count in _MAP.findall(answer)}


def master(answer: str) -> Master | None:
    """Takes the answer to `show proc`. Returns None where it is not the answer of a master."""
    matched, worker = _MASTER.search(answer), _WORKER.search(answer)
    if not matched:
        return None
    days, hours, minutes, seconds = map(int, worker.groups()) if worker else (0, 0, 0, 0)
    return Master(
        int(matched[2]), int(matched[3]), ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    )


def has_master_and_worker(answer: str) -> bool:
    """Takes the answer to `show proc`. A master that has only begun names no worker yet."""
    return bool(_MASTER.search(answer) and _WORKER.search(answer))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
