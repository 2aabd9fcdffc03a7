"""What the cgroups of sites say of the processor time that they used.

Takes patterns of paths below the folder of cgroup v2. Returns the counter of each cgroup that
matches, and what is wrong with patterns. Reads files and nothing else, and does not know earlier
values.

A pattern has `{site}` or `{pool}` in place of a name: `system.slice/php-fpm@{site}.service`,
`user.slice/user-{pool}.slice`. systemd writes some letters as `\\x2d`; these are read as what they
stand for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flex_logs_ingest.scan.site_rules import UNKNOWN

# Where cgroup v2 is as a rule, and where it is beside the first version.
ROOTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
# Bytes of a cpu.stat that are read: a page, as the kernel writes it.
_LONGEST = 4096
# Microseconds that a counter may say: three hundred thousand years of one processor.
MOST = 2**63 - 1
_NAME = re.compile(r"\{(site|pool)\}")
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")
_USED = re.compile(rb"^usage_usec (\d{1,19})$", re.MULTILINE)


# From a name to its site.
Naming = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Pattern:
    """`pools` are the sites of each name that stands for {pool}."""

    text: str
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counter:
    """Microseconds since the cgroup was made. One that is made again has another `inode`."""

    path: str
    sites: tuple[str, ...]
    inode: int
    used: int


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why nothing is known of what a pattern names."""

    pattern: str
    why: str


def read(
    patterns: Sequence[Pattern], naming: Naming, root: Path | None = None
) -> tuple[tuple[Counter, ...], tuple[Wrong, ...]]:
    """A cgroup within another one that matches is counted with that one, and not again. `naming`
    says which site a name is of, as of the names in logs.
    """
    root = root or next((each for each in ROOTS if _is_there(each)), ROOTS[0])
    if not _is_there(root):
        why = f"there is no cgroup v2 at {root}; systemd starts machines with it by default"
        return (), tuple(Wrong(pattern.text, why) for pattern in patterns)
    counters: dict[str, Counter] = {}
    wrong: list[Wrong] = []
    for pattern in patterns:
        matches = list(_matches(pattern, root))
        if not matches:
            wrong.append(Wrong(pattern.text, f"no cgroup of {root} matches"))
        for path, name in matches:
            sites = tuple(site for site in map(naming, _names(pattern, name)) if site != UNKNOWN)
            if not sites:
                wrong.append(Wrong(pattern.text, f"{name!r:.100} stands for no site"))
                continue
            try:
                counter = _counter(path, sites)
            except FileNotFoundError:
                # A pool that ended meanwhile.
                continue
            except OSError as error:
                wrong.append(Wrong(pattern.text, f"{path}: {error.strerror or error}"))
                continue
            if counter is None:
                wrong.append(Wrong(pattern.text, f"{path}/cpu.stat says no usage_usec"))
                continue
            counters.setdefault(counter.path, counter)
    return tuple(_outer(counters)), tuple(wrong)


def _is_there(root: Path) -> bool:
    return (root / "cgroup.controllers").exists()


def has_name(text: str) -> bool:
    """Whether the pattern says once where the name stands."""
    return len(_NAME.findall(text)) == 1


def _matches(pattern: Pattern, root: Path) -> Iterator[tuple[Path, str]]:
    text = pattern.text.removeprefix(f"{root}/").lstrip("/")
    before, _, behind = _NAME.split(text)
    wanted = re.compile(f"{_expression(before)}([^/]+){_expression(behind)}")
    glob = f"{before}*{behind}".replace("[", "[[]")
    for path in sorted(root.glob(glob)):
        match = wanted.fullmatch(str(path.relative_to(root)))
        if match and path.is_dir():
            yield path, _unescape(match[1]).lower()


def _expression(text: str) -> str:
    return re.escape(text).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")


def _unescape(name: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), name)


def _names(pattern: Pattern, name: str) -> tuple[str, ...]:
    return pattern.pools.get(name, ()) if "{pool}" in pattern.text else (name,)


def _counter(path: Path, sites: tuple[str, ...]) -> Counter | None:
    """None where it says no time. Raises OSError."""
    inode = path.stat().st_ino
    with (path / "cpu.stat").open("rb") as file:
        used = _USED.search(file.read(_LONGEST))
    return used and Counter(str(path), sites, inode, min(int(used[1]), MOST))


def _outer(counters: Mapping[str, Counter]) -> Iterator[Counter]:
    outer = ""
    for path, counter in sorted(counters.items(), key=lambda item: f"{item[0]}/"):
        if outer and path.startswith(f"{outer}/"):
            continue
        outer = path
        yield counter
