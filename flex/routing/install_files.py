"""Puts a node's files where its HAProxy reads them: they are checked first, and the files before
them are kept.

Takes the files of haproxy.py and their folder. Returns whether anything changed. Does not write
files that fail HAProxy's own check, and does not leave a file half written. Does not tell HAProxy
to read them.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from flex.errors import BadInput, NotWritten, Unknown
from flex.routing.haproxy import CONFIGURATION, HOSTS, NAMES
from flex.routing.haproxy_frontends import NEIGHBOURS
from flex.routing.haproxy_program import HaproxyProgram, has_lua, refusal, write
from flex.routing.haproxy_writer_sites import HOLD
from flex.routing.host_to_node_maps import MOVED, OWNERS
from flex.routing.rules.popular_targets import POPULAR

BEFORE = ".before"
# Beginnings of the names of folders that are there only while somebody writes: the next files, and
# those that are held meanwhile.
_NEXT = ".next-"
_HELD = ".held-"
_SCRATCHES = (_NEXT, _HELD)
# There while the files of a folder are to be carried on to their node.
OWED = ".owed"
# There while HAProxy may have been started with some of a folder's files and not with others.
_UNTOLD = ".untold"

# Where the configuration names a file beside it.
_FILES = "|".join(map(re.escape, (HOSTS, POPULAR, OWNERS, MOVED, NEIGHBOURS, HOLD)))
_BESIDE = re.compile(rf"(\(|-f |lua-load |\")[^\s(\"]*/({_FILES})([,) \"]|$)", re.MULTILINE)
# A map of owners says itself whether it is whole, and HAProxy's check would take seconds for it.
_UNCHECKED = frozenset((OWNERS, MOVED))
_CERTIFICATES = re.compile(r" (?:crt|ca-file) (\S+)")
# How nodes speak TLS to each other. Other lines name such servers.
_BETWEEN_NODES = re.compile(r" ssl crt (\S+) ca-file (\S+) verify required ssl-min-ver TLSv1\.2")


# Takes the files that come, and those that are there. Raises where they may not.
Guard = Callable[[Mapping[str, str], Mapping[str, str]], None]


def any_files(_coming: Mapping[str, str], _here: Mapping[str, str]) -> None:
    """The guard of those who may put any files in force."""


def put(
    files: Mapping[str, str],
    folder: Path,
    program: HaproxyProgram | None,
    *,
    owing: bool = False,
    guard: Guard = any_files,
) -> bool:
    """Whether anything changed. `program` checks the files first; it is None where this machine has
    no HAProxy.

    With `owing`, files that were put there before and did not reach their node yet count as
    changed, too (see `note_delivery`). Raises BadInput when HAProxy refuses the files, and
    NotWritten when the folder cannot be written: then all is as before. So it is where the `guard`
    raises.
    """
    with alone(folder):
        guard(files, contents(folder))
        return placed(files, folder, program, owing=owing)


def placed(
    files: Mapping[str, str],
    folder: Path,
    program: HaproxyProgram | None,
    *,
    owing: bool = False,
    untold: bool = False,
) -> bool:
    """The same as `put`, for a caller that holds `alone` already; `untold` where HAProxy does not
    run, and may be started at any moment.
    """
    changed = {name: text for name, text in files.items() if content(folder / name) != text}
    if not changed:
        return owing and (folder / OWED).exists()
    with _writing(folder), tempfile.TemporaryDirectory(dir=folder, prefix=_NEXT) as scratch:
        if program and _asks_for_check(changed, folder):
            _check(files, Path(scratch), program)
        write(changed, Path(scratch))
        if owing:
            (folder / OWED).touch()
        if untold:
            (folder / _UNTOLD).touch()
        with undoing(files, folder):
            _exchange(files, changed.keys(), folder, Path(scratch))
    return True


def replace_some(changed: Mapping[str, str], folder: Path) -> None:
    """These files for those of the same names, for a caller that holds `alone` already. All others
    stay, and are of the version before as well. Nothing is checked.
    """
    with written_aside(changed, folder) as put_in_place:
        put_in_place()


@contextmanager
def written_aside(changed: Mapping[str, str], folder: Path) -> Iterator[Callable[[], None]]:
    """The same in two steps: there is room for the files, and what is given puts them in place and
    on the disk. Where that raises, all is as before.
    """
    with _writing(folder), tempfile.TemporaryDirectory(dir=folder, prefix=_NEXT) as scratch:
        write(changed, Path(scratch))

        def put_in_place() -> None:
            names = [
                name for name in there_of(folder) if name in changed or not _is_kept(folder / name)
            ]
            with undoing(names, folder):
                _exchange(names, changed.keys(), folder, Path(scratch))

        yield put_in_place


def _is_kept(path: Path) -> bool:
    """Whether the one before is this very file: it did not change the last time."""
    before = path.with_name(f"{path.name}{BEFORE}")
    return before.exists() and before.samefile(path)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Whoever else changes the folder's files waits until this is done."""
    with _writing(folder):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            _remove_what_was_left(folder)
            yield
        finally:
            os.close(descriptor)


def _remove_what_was_left(folder: Path) -> None:
    """By somebody who was killed: whoever else writes here holds `alone`. A large map of each would
    fill the disk in the end.
    """
    for prefix in _SCRATCHES:
        for left in folder.glob(f"{prefix}*"):
            shutil.rmtree(left, ignore_errors=True)


def note_delivery(folder: Path, those: Mapping[str, str]) -> None:
    """Notes that these files reached their node. Files that were put there meanwhile did not reach
    it yet.
    """
    with alone(folder):
        if contents(folder) == those:
            (folder / OWED).unlink(missing_ok=True)


def is_untold(folder: Path) -> bool:
    """Whether files came while HAProxy did not run, and it has not read all of them anew since."""
    return (folder / _UNTOLD).exists()


def note_told(folder: Path) -> None:
    with _writing(folder):
        (folder / _UNTOLD).unlink(missing_ok=True)


def is_owed(folder: Path) -> bool:
    return (folder / OWED).exists()


def owed_since(folder: Path) -> datetime | None:
    """When the newest files were put there that have not reached their node; None where all have.
    The file that says so outlasts each process.
    """
    try:
        return datetime.fromtimestamp((folder / OWED).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def contents(folder: Path) -> dict[str, str]:
    """By name, of all that a node's HAProxy reads."""
    names = (
        path.name for path in folder.glob("*") if not path.name.endswith((BEFORE, OWED, _UNTOLD))
    )
    texts = {name: content(folder / name) for name in names}
    return {name: text for name, text in texts.items() if text is not None}


def there_of(folder: Path) -> list[str]:
    """The names of the files of haproxy.py that are there and in use: nobody waits by a file that
    the configuration does not load any more.
    """
    names = [name for name in sorted(NAMES) if (folder / name).exists()]
    if HOLD in names and f"/{HOLD}\n" not in (content(folder / CONFIGURATION) or ""):
        names.remove(HOLD)
    return names


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise NotWritten(
            f"writing a configuration of HAProxy to {folder}",
            error.strerror or str(error),
            kept="the configuration before is in force",
            advice="make room or rights there, then write it again",
        ) from error


def _asks_for_check(changed: Mapping[str, str], folder: Path) -> bool:
    """Not where only owners changed, and with them the version at the head of the map of hosts."""
    hosts = changed.get(HOSTS, "").partition("\n")[2]
    has_other_hosts = (
        HOSTS in changed and hosts != (content(folder / HOSTS) or "").partition("\n")[2]
    )
    return has_other_hosts or not changed.keys() <= _UNCHECKED | {HOSTS}


def _check(files: Mapping[str, str], scratch: Path, program: HaproxyProgram) -> None:
    """With the maps of now, and without certificates that only the node has."""
    if HOLD in files and not has_lua(program):
        raise BadInput(
            "a configuration for HAProxy that has requests of sites with one writer wait",
            f"{program.path} was built without Lua",
            kept="the configuration before is in force",
            advice="install a HAProxy with Lua, as Debian's is (`haproxy -vv` says +LUA), or "
            "say in [routing] that no site is stateful",
        )
    text = _BESIDE.sub(rf"\g<1>{scratch}/\2\3", files[CONFIGURATION])
    text = _BETWEEN_NODES.sub(_if_here, text)
    text = "".join(line for line in text.splitlines(keepends=True) if not _elsewhere(line))
    write({**files, CONFIGURATION: text}, scratch)
    if HOLD in files:
        write({HOLD: _BESIDE.sub(rf"\g<1>{scratch}/\2\3", files[HOLD])}, scratch)
    if complaint := refusal(program, scratch):
        raise BadInput(
            "a configuration for HAProxy",
            f"HAProxy refuses it: {complaint}",
            kept="the configuration before is in force",
            advice="correct what it names in [routing]; if nothing there does, please report it",
        )


def _if_here(tls: re.Match[str]) -> str:
    return tls[0] if all(Path(there).exists() for there in tls.groups()) else ""


def _elsewhere(line: str) -> bool:
    return any(not Path(there).exists() for there in _CERTIFICATES.findall(line))


def _exchange(names: Iterable[str], changed: Collection[str], folder: Path, scratch: Path) -> None:
    """The configuration last: it names the others. What did not change is of the version before as
    well.
    """
    for name in sorted(names, key=lambda name: name == CONFIGURATION):
        there = folder / name
        if there.exists():
            before = folder / f"{name}{BEFORE}"
            before.unlink(missing_ok=True)
            os.link(there, before)
        if name in changed:
            _sync(scratch / name)
            (scratch / name).replace(there)
    _sync(folder)


@contextmanager
def undoing(names: Iterable[str], folder: Path) -> Iterator[None]:
    """When the block raises, these files and the ones before them are again what they were. They
    are renamed and not written, because the disk may be full.
    """
    both = [each for name in names for each in (name, f"{name}{BEFORE}")]
    with _writing(folder), tempfile.TemporaryDirectory(dir=folder, prefix=_HELD) as held:
        there = [name for name in both if (folder / name).exists()]
        for name in there:
            os.link(folder / name, Path(held) / name)
        try:
            yield
        except BaseException:
            for name in both:
                (folder / name).unlink(missing_ok=True)
            for name in there:
                (Path(held) / name).replace(folder / name)
            raise


def one_before(folder: Path) -> dict[str, str]:
    """The files that were in force before those of now. Raises Unknown where there are none."""
    kept = {path.name.removesuffix(BEFORE): content(path) for path in folder.glob(f"*{BEFORE}")}
    files = {name: text for name, text in kept.items() if text is not None}
    if not {CONFIGURATION, HOSTS} <= set(files):
        raise Unknown(
            f"the configuration of HAProxy before the one in {folder}",
            "there is none",
            advice="`flex route config NODE --to DIR` writes one",
        )
    return files


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def content(path: Path) -> str | None:
    """None where there is none that was written here."""
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
