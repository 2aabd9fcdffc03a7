"""The files of a machine's configuration, below a folder: this machine's own, or a copy of another
one's.

Takes the folder and the places in it that may be read. Returns texts, and what was not read with
the reason. Does not execute anything, does not wait for a file, and does not read what may be a
secret.

A symbolic link is followed as that machine would follow it: an absolute one begins at the folder
again. Where it leads out of the places, into a customer's home say, it is not followed, and that is
said. What visitors and customers may write is never read for its own sake.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from dataclasses import dataclass, field

from flex.why_file_unreadable import why_unreadable
from flex_logs_ingest.files.find_and_unpack_logs import path_text
from flex_logs_ingest.vhosts.read_vhosts import Stamp, stamp_of

# Bytes of one file. Panels write one for all hosts: 100,000 of them take 60 MB.
LARGEST_FILE = 256 * 2**20
# Links that lead from one to the next; Linux follows 40.
MOST_LINKS = 40
# Reasons that are kept; others are counted. A guess of what anybody reads.
MOST_REASONS = 1_000
# Files that may hold keys or passwords, whoever names them.
SECRET = re.compile(
    r"(?:^|[./_-])(?:g?shadow-?|htpasswd|passwd|my\.cnf|private|privkey\d*)(?:$|[./_-])"
    r"|\.(?:key|pem|p12|pfx|jks)$"
)
_WILD = re.compile(r"[*?\[]")


class OutOfPlaces(ValueError):
    """It lies where nothing is read."""


@dataclass(slots=True)
class Tree:
    """`folder` is "" for this machine itself. All paths are those of the machine that the tree is
    of, from its root. `patterns` are names that stand for several, which no site can have.
    """

    folder: str
    places: tuple[str, ...]
    unread: dict[str, str] = field(default_factory=dict)
    left_alone: dict[str, str] = field(default_factory=dict)
    not_kept: int = 0
    patterns: dict[str, None] = field(default_factory=dict)
    _folders: dict[str, str] = field(default_factory=dict, repr=False)

    def has(self, path: str) -> bool:
        try:
            return os.path.exists(self._local_path(self._resolve(path)))  # noqa: PTH110 - strings all the way
        except (OSError, ValueError):
            return False

    def names_in(self, path: str) -> list[str]:
        """The names in a folder, in order. What cannot be read is noted."""
        try:
            return sorted(os.listdir(self._local_path(self._resolve(path))))  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, ValueError) as error:
            self.note(path, error)
            return []

    def text(self, path: str) -> str | None:
        """None where there is no such file, or where it cannot be read, which is noted."""
        try:
            return self.read(self.real(path))[0]
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self.note(path, error)
            return None

    def note(self, path: str, error: OSError | ValueError) -> None:
        kept = self.left_alone if isinstance(error, OutOfPlaces) else self.unread
        if len(kept) >= MOST_REASONS:
            self.not_kept += path not in kept
            return
        why = why_unreadable(error) if isinstance(error, OSError) else str(error)
        kept[path_text(path)] = path_text(why)

    # What reads virtual hosts asks for.

    def find(self, pattern: str) -> list[str]:
        """In order; a folder stands for the files in it and below. Includes that match nothing are
        no fault.
        """
        places = [""]
        for part in filter(None, pattern.split("/")):
            if part == "..":
                places = [place.rpartition("/")[0] for place in places]
            elif _WILD.search(part):
                match = re.compile(fnmatch.translate(part)).match
                places = [
                    f"{place}/{name}"
                    for place in places
                    for name in self.names_in(place or "/")
                    if match(name) and (name[0] != "." or part[0] == ".")
                ]
            elif part != ".":
                places = [f"{place}/{part}" for place in places]
        return [path for place in places for path in self._files_below(place)]

    def real(self, path: str) -> str:
        """Where the file is. Raises OutOfPlaces where that is not for us to read."""
        real_path = self._resolve(path)
        why = ""
        if not self._is_in_places(real_path):
            where = "" if real_path == path else f"it is a link to {real_path}, "
            why = f"{where}outside of the folders of configuration: not followed"
        elif SECRET.search(real_path.lower()):
            why = "it may hold a secret: not read"
        if why:
            error = OutOfPlaces(why)
            self.note(path, error)
            raise error
        return real_path

    def read(self, path: str) -> tuple[str, Stamp]:
        """The file that `real` says."""
        with open(self._local_path(path), "rb", buffering=0, opener=_as_it_is) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("it is not a regular file")
            if status.st_size > LARGEST_FILE:
                raise ValueError(
                    f"it has more than {LARGEST_FILE // 2**20} MiB, so it is no such file"
                )
            content = file.readall()[:LARGEST_FILE]
        return content.decode("utf-8", errors="replace"), stamp_of(status)

    def _files_below(self, path: str) -> list[str]:
        try:
            at = self._local_path(self._resolve(path))
            if not os.path.isdir(at):  # noqa: PTH112 - strings all the way
                # A link that leads nowhere is there.
                folder = self._local_path(self._resolve(path.rpartition("/")[0]))
                itself = f"{folder}/{path.rpartition('/')[2]}"
                return [path] if os.path.lexists(itself) else []
        except (OSError, ValueError) as error:
            self.note(path, error)
            return []
        if not self._is_in_places(self._resolve(path)):
            self.note(path, OutOfPlaces("outside of the folders of configuration"))
            return []
        files: list[str] = []
        for name in self.names_in(path):
            inner = f"{path}/{name}"
            # A link to a folder may lead round in a circle.
            if os.path.isdir(f"{at}/{name}") and not os.path.islink(f"{at}/{name}"):  # noqa: PTH112, PTH114
                files += self._files_below(inner)
            elif name[0] != ".":
                files.append(inner)
        return files

    def _is_in_places(self, path: str) -> bool:
        return any(path == place or path.startswith(f"{place}/") for place in self.places)

    def _local_path(self, path: str) -> str:
        return f"{self.folder}{path}" or "/"

    def _resolve(self, path: str) -> str:
        """Without links. What is not there stays as it is written."""
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = self._follow(folder)
        at = self._folders[folder]
        return self._follow(f"{at}/{name}", known=at)

    def _follow(self, path: str, known: str = "") -> str:
        here = known.split("/")[1:] if known else []
        left = path[len(known) :].split("/")[::-1]
        links = 0
        while left:
            part = left.pop()
            if part == "..":
                del here[-1:]
            if part in ("", ".", ".."):
                continue
            if "\0" in part:
                raise ValueError("it has a zero byte in its name")
            try:
                target = os.readlink(self._local_path("/".join(("", *here, part))))  # noqa: PTH115
            except OSError:
                here.append(part)
                continue
            links += 1
            if links > MOST_LINKS:
                raise ValueError("its links lead round in a circle")
            if target.startswith("/"):
                here = []
            left += target.split("/")[::-1]
        return "/".join(("", *here))


def _as_it_is(path: str, flags: int) -> int:
    """What became a link since is not followed, and a pipe that nobody writes to keeps nobody."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)


def pairs(text: str, between: str = "=") -> dict[str, str]:
    """From lines such as `key=value`; the first of each key counts."""
    by_key: dict[str, str] = {}
    for line in text.splitlines():
        key, is_there, value = line.partition(between)
        if is_there and not line.lstrip().startswith("#"):
            by_key.setdefault(key.strip(), value.strip())
    return by_key
