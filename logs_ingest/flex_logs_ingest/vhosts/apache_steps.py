"""What a file of Apache says about virtual hosts.

Takes a text. Returns steps, in order. Never fails: what is no configuration has no steps, or few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flex_logs_ingest.vhosts.steps import Step

# What makes a file one of Apache's, whatever else stands in it.
APACHE = re.compile(
    r"^[ \t\ufeff]*(?:<VirtualHost\b|ServerName[ \t]|ServerAlias[ \t]|IncludeOptional[ \t])",
    re.IGNORECASE | re.MULTILINE,
)
_WORD = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|\'[^\'\\]*(?:\\.[^\'\\]*)*\'|\S+')
_OPENS = "<virtualhost"
_CLOSES = "</virtualhost"


def apache_steps(text: str) -> Iterator[Step]:
    for number, line in _whole_lines(text):
        plain = line.strip("\ufeff \t\r")
        if not plain or plain.startswith("#"):
            continue
        low = plain[: len(_CLOSES)].lower()
        if low.startswith(_OPENS):
            yield Step("opens", ("virtualhost",), number)
        elif low.startswith(_CLOSES):
            yield Step("closes", (), number)
        else:
            yield from _steps_of_directive(plain, number)


def _steps_of_directive(line: str, number: int) -> Iterator[Step]:
    directive, _, rest = line.partition(" ")
    if "\t" in directive:
        directive, _, rest = line.partition("\t")
    match directive.lower():
        case "servername":
            yield Step("name", _words(rest)[:1], number)
        case "serveralias":
            yield Step("names", _words(rest), number)
        case "documentroot":
            yield Step("root", _words(rest)[:1], number)
        case "customlog" | "transferlog":
            yield Step("log", _words(rest)[:2], number)
        case "include" | "includeoptional":
            yield Step("includes", _words(rest), number)


def _whole_lines(text: str) -> Iterator[tuple[int, str]]:
    """With the number of the first; a backslash at the end of a line continues it."""
    parts: list[str] = []
    first = 1
    for number, line in enumerate(text.split("\n"), start=1):
        first = first if parts else number
        line = line.removesuffix("\r")
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        yield first, "".join((*parts, line))
        parts = []
    if parts:
        yield first, "".join(parts)


def _words(text: str) -> tuple[str, ...]:
    return tuple(
        word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word
        for word in _WORD.findall(text)
    )
