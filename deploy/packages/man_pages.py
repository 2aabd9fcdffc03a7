"""Pages of the manual, made from the help of the command line.

Run by a Python that finds FLEX, it writes `flex.8` and a page for each verb into a folder:
`python man_pages.py FOLDER VERSION DAY`. Does not pack them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flex_api.cli import EXIT_CODES, application
from flex_api.cli.common import Context
from flex_api.cli.verb_groups import GROUPS

# An administrator's command: /usr/sbin/flex. The lexer flex(1) is another program.
SECTION = 8


def pages(version: str, day: str) -> Iterator[tuple[str, str]]:
    """The name of each page, and its text."""
    top = application()
    verbs: Mapping[str, Any] = getattr(top, "commands", {})
    yield "flex", "\n".join(_overview(top, verbs, version, day)) + "\n"
    for name, verb in verbs.items():
        if not verb.hidden:
            yield f"flex-{name}", "\n".join(_page(name, verb, version, day)) + "\n"


def _overview(top: Any, verbs: Mapping[str, Any], version: str, day: str) -> Iterator[str]:
    yield _title("FLEX", version, day)
    yield from (".SH NAME", r"flex \- decides which node of a cluster serves which site")
    yield from (".SH SYNOPSIS", r".B flex", r"[\fIOPTIONS\fR] \fIVERB\fR [\fIARGS\fR]...")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(top.help or "")
    yield ".SH OPTIONS"
    yield "These stand before the verb."
    yield from _parameters(top, ())
    for heading, names in GROUPS.items():
        yield f".SH {_text(heading).upper()}"
        for name in names:
            yield ".TP"
            yield rf"\fBflex\-{_text(name)}\fR({SECTION})"
            yield _text(verbs[name].get_short_help_str(200))
    yield ".SH EXIT STATUS"
    yield from _paragraphs(EXIT_CODES)
    yield ".SH FILES"
    for path, what in (
        ("/etc/flex/flex.toml", "the settings"),
        ("/var/lib/flex", "the database, and counts of logs"),
        ("/var/spool/flex", "on a node: counts on their way to the controller"),
    ):
        yield from (".TP", rf"\fI{_text(path)}\fR", what)


def _page(name: str, verb: Any, version: str, day: str) -> Iterator[str]:
    yield _title(f"FLEX-{name}".upper(), version, day)
    yield ".SH NAME"
    short = verb.get_short_help_str(200).rstrip(".")
    yield rf"flex\-{_text(name)} \- {_text(short)}"
    yield ".SH SYNOPSIS"
    yield from _synopsis((name,), verb)
    yield ".SH DESCRIPTION"
    yield from _paragraphs(verb.help or short)
    yield from _options(verb, (name,))
    for path, below in _below(verb, (name,)):
        yield f".SH FLEX {_text(' '.join(path)).upper()}"
        yield from _synopsis(path, below)
        yield ".PP"
        yield from _paragraphs(below.help or "")
        yield from _parameters(below, path)
    yield from (".SH SEE ALSO", rf".BR flex ({SECTION})")


def _title(name: str, version: str, day: str) -> str:
    return f'.TH "{_text(name)}" "{SECTION}" "{_text(day)}" "FLEX {_text(version)}" "FLEX"'


def _below(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, verb in getattr(group, "commands", {}).items():
        if not verb.hidden:
            yield (*path, name), verb
            yield from _below(verb, (*path, name))


def _context(verb: Any, path: tuple[str, ...]) -> Any:
    return verb.context_class(
        verb, info_name=" ".join(("flex", *path)), obj=Context(), terminal_width=100
    )


def _synopsis(path: tuple[str, ...], verb: Any) -> Iterator[str]:
    pieces = verb.collect_usage_pieces(_context(verb, path))
    yield rf"\fBflex {_text(' '.join(path))}\fR {_text(' '.join(pieces))}"


def _options(verb: Any, path: tuple[str, ...]) -> Iterator[str]:
    found = list(_parameters(verb, path))
    if found:
        yield ".SH OPTIONS"
        yield from found


def _parameters(verb: Any, path: tuple[str, ...]) -> Iterator[str]:
    context = _context(verb, path)
    for parameter in verb.get_params(context):
        record = parameter.get_help_record(context)
        if record and record[0] != "--help":
            # A moment may be written in five ways, which would take the width of the page.
            called = re.sub(r"<%Y[^>]*>", "TIME", record[0])
            yield from (".TP", rf"\fB{_text(called)}\fR", _text(record[1]) or r"\&")


def _paragraphs(text: str) -> Iterator[str]:
    said = [part for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]
    for number, part in enumerate(said):
        if number:
            yield ".PP"
        yield _text(part)


def _text(text: str) -> str:
    """On one line, with nothing that troff takes for its own."""
    line = re.sub(r"\s+", " ", text.replace("\b", "")).strip()
    line = line.replace("\\", r"\e").replace("-", r"\-")
    line = line.replace("…", "...").replace("–", r"\(en")
    return rf"\&{line}" if line[:1] in {".", "'"} else line


def main(folder: str, version: str, day: str) -> None:
    for name, text in pages(version, day):
        (Path(folder) / f"{name}.{SECTION}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
