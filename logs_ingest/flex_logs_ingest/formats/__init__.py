"""The log formats that are known by name, and which of them a log is in."""

from __future__ import annotations

from flex.errors import BadInput, NoData, Unknown
from flex_logs_ingest.extract import Texts, extractor
from flex_logs_ingest.formats import combined, nginx_json, vhost_combined
from flex_logs_ingest.layout import Layout, from_apache
from flex_logs_ingest.line import STATUSES, number, printable, seconds

# Formats that name the site stand before those that their lines would fit as well.
FORMATS: dict[str, Layout] = {
    "vhost_combined": vhost_combined.LAYOUT,
    "nginx_json": nginx_json.LAYOUT,
    "combined": combined.LAYOUT,
}

HEAD_LINES = 1000


def layout_of(format_: str) -> Layout:
    """The layout of a format by its name or by the server's own LogFormat directive."""
    if format_ in FORMATS:
        return FORMATS[format_]
    if "%" in format_:
        return from_apache(format_)
    raise Unknown(
        f"the log format {format_}",
        f"known are {', '.join(FORMATS)}",
        kept="nothing was read",
        advice="name one of these, or give the server's LogFormat directive",
    )


def detect(head: bytes) -> str:
    """The name of the format that the first lines of a log are in.

    The first of the register that fits at least half as many lines as the one that fits most, for every line that names
    its site fits a format that does not. Raises NoData when there are no lines, BadInput when not one in ten fits.
    """
    lines = _lines(head)
    if not lines:
        raise NoData("the format of a log", "it is empty", kept="nothing was read", advice="wait for the first request")
    fits = {name: _fitting(layout, lines) for name, layout in FORMATS.items()}
    most = max(fits.values())
    if most * 10 < len(lines):
        raise _nothing_fits(lines)
    return next(name for name, count in fits.items() if count * 2 >= most)


def _lines(head: bytes) -> list[bytes]:
    whole, newline, cut = head.rpartition(b"\n")
    lines = (whole if newline else cut).split(b"\n", HEAD_LINES)[:HEAD_LINES]
    stripped = (line.lstrip(b"\0").rstrip(b"\r") for line in lines)
    return [line for line in stripped if line]


def _fitting(layout: Layout, lines: list[bytes]) -> int:
    extract = extractor(layout)
    return sum(_says_something(texts, line) for line in lines if (texts := extract(line)) is not None)


def _says_something(texts: Texts, line: bytes) -> bool:
    vhost, time, _, status, sent = texts
    if vhost and line.startswith(vhost + b" - "):
        # What stands before the empty identity is a client, and behind it a user whose name holds a space.
        return False
    return seconds(time) is not None and number(sent) is not None and status in STATUSES


def _nothing_fits(lines: list[bytes]) -> BadInput:
    shown = " | ".join(printable(line[:100]) for line in lines[:3])
    return BadInput(
        "the format of a log",
        f"none of {', '.join(FORMATS)} fits its first lines: {shown}",
        kept="nothing was read",
        advice="give the server's LogFormat directive in the settings, or log in one of these formats",
    )
