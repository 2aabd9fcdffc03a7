"""The log formats that are known by name, and which of them a log is in.

Takes the name of a format, a directive, or the first lines of a log. Returns a Layout. Does not
read a log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from flex.errors import BadInput, NoData, Unknown
from flex_logs_ingest.formats import (
    aws_alb,
    aws_elb,
    aws_s3,
    caddy_json,
    cloudfront,
    combined,
    common_log_format,
    haproxy,
    haproxy_host,
    icecast,
    netnea,
    nginx_json,
    squid,
    traefik_clf,
    traefik_json,
    vhost_combined,
    vhost_common,
    w3c,
    worldcup98,
)
from flex_logs_ingest.formats.format_directive import from_directive
from flex_logs_ingest.formats.server_configuration import from_file
from flex_logs_ingest.lines.field_meanings import printable
from flex_logs_ingest.lines.layout import Layout, columns, is_directive, names, unusable
from flex_logs_ingest.lines.which_lines_fit_layout import Fits, first_lines, most_of
from flex_logs_ingest.scan.worldcup_binary_logs import SIZE, is_records

# Formats stand before those that their lines would fit as well, so those that name the site before
# those that do not.
FORMATS: dict[str, Layout] = {
    "vhost_common": vhost_common.LAYOUT,
    "vhost_combined": vhost_combined.LAYOUT,
    "nginx_json": nginx_json.LAYOUT,
    "caddy_json": caddy_json.LAYOUT,
    "traefik_json": traefik_json.LAYOUT,
    "traefik_clf": traefik_clf.LAYOUT,
    "netnea": netnea.LAYOUT,
    "haproxy_host": haproxy_host.LAYOUT,
    "haproxy": haproxy.LAYOUT,
    "squid": squid.LAYOUT,
    "aws_alb": aws_alb.LAYOUT,
    "aws_elb": aws_elb.LAYOUT,
    "aws_s3": aws_s3.LAYOUT,
    "cloudfront": cloudfront.LAYOUT,
    "w3c": w3c.LAYOUT,
    "common": common_log_format.LAYOUT,
    "icecast": icecast.LAYOUT,
    "combined": combined.LAYOUT,
    "worldcup98": worldcup98.LAYOUT,
}

# Bytes of a log in which its format is searched. A guess.
LOOK = 2**16
# Lines of a log's beginning by which its format is told. A guess.
HEAD_LINES = 1000


def layout_of(format_: str, *, unsized: bool = False, begun: bool = False) -> Layout:
    """The layout of a format; it may be `unsized` where sizes are known from elsewhere.

    A log that has `begun` and names its columns may have lost one that is needed, until it names
    others: then its lines are malformed, whether one run reads them or two. The format is one of

    - a name, `combined`; one whose columns the log names may be followed by those in force before
      the log says so, `w3c date time cs-method ...`,
    - the server's own directive, `%h %l %u %t ...` or `$remote_addr - ...`,
    - the file that holds the directive and its name there, `/etc/nginx/nginx.conf:main`.
    """
    layout = _layout_of(format_)
    if "bytes" in layout.fields:
        return layout
    if unsized:
        return replace(layout, unsized=True)
    if begun and layout.kind == "w3c":
        return layout
    raise _columns_missing(layout.start, unsized) or unusable(format_, "it does not give bytes")


def _layout_of(format_: str) -> Layout:
    name, _, named = format_.partition(" ")
    if name in FORMATS and (not named or FORMATS[name].kind == "w3c"):
        return (
            replace(FORMATS[name], start=b"#Fields: " + named.encode("latin-1", "replace"))
            if named
            else FORMATS[name]
        )
    if format_.startswith("/"):
        return from_file(format_)
    if "%" in format_ or "$" in format_:
        return from_directive(format_)
    raise Unknown(
        f"the log format {format_}",
        f"known are {', '.join(FORMATS)}",
        kept="nothing was read",
        advice="name one of these, or give the server's LogFormat or log_format "
        "directive, or the file that holds it",
    )


def detect(head: bytes, *, unsized: bool = False) -> str:
    """The name of the format that the first lines of a log are in, and the columns where the log
    names them.

    The first of the register that fits at least half as many lines as the one that fits most, for
    every line that names its site fits a format that does not. Raises NoData when there are no
    lines, BadInput when not one in ten fits, or when no line gives its bytes and they are not known
    from elsewhere, which is `unsized`.
    """
    if is_records(head):
        return "worldcup98"
    lines = _lines(head)
    records = [line for line in lines if not line.startswith(b"#")]
    if not records:
        raise NoData(
            "the format of a log",
            "it is empty",
            kept="nothing was read",
            advice="wait for the first request",
        )
    fits = every_format(unsized).fit_by_layout(lines)
    most = most_of(tuple(fits.values()))
    if most * 10 < len(records):
        raise (
            _columns_missing(_directive(lines), unsized)
            or _too_early(records)
            or _nothing_fits(records)
        )
    return add_columns(next(name for name, fit in fits.items() if fit.is_half(most)), head)


def usual_formats(heads: Sequence[bytes], threads: int = 1) -> list[str]:
    """What `detect` says of each of these beginnings of logs; "" where it has to be asked itself.

    So it is for binary records, and where hardly any line fits.
    """
    return [
        add_columns(name, head) if name and not is_records(head) else ""
        for head, name in zip(
            heads, every_format(False).usual(heads, HEAD_LINES, threads), strict=True
        )
    ]


@cache
def every_format(unsized: bool) -> Fits:
    """All that are searched for: of each log, so that they are made ready once."""
    layouts: dict[str, Layout] = {}
    for name, layout in FORMATS.items():
        if layout.kind == "w3c" and unsized:
            layouts[name] = replace(layout, unsized=True)
        elif layout.kind != "records":
            layouts[name] = layout
    return Fits(layouts)


def add_columns(format_: str, head: bytes) -> str:
    """The same, with the columns that the first lines of the log name last, where the format leaves
    that to the log.
    """
    if format_ not in FORMATS or FORMATS[format_].kind != "w3c":
        return format_
    return " ".join([format_, *map(printable, names(_directive(_lines(head))))])


def going_on(format_: str, heading: bytes) -> str:
    """The format with the columns that a heading names; empty where logs of the format do not name
    them.
    """
    name = format_.partition(" ")[0]
    if name not in FORMATS or FORMATS[name].kind != "w3c":
        return ""
    return " ".join([name, *map(printable, names(heading))])


def record_size(format_: str, head: bytes) -> int:
    """How many bytes each record of a log has, 0 where a record is a line."""
    binary = (
        is_records(head)
        if format_ == "auto"
        else format_ in FORMATS and FORMATS[format_].kind == "records"
    )
    return SIZE if binary else 0


def _directive(lines: list[bytes]) -> bytes:
    return next((line for line in reversed(lines) if is_directive(line)), b"")


def _lines(head: bytes) -> list[bytes]:
    return first_lines(head, HEAD_LINES)


def _nothing_fits(lines: list[bytes]) -> BadInput:
    shown = " | ".join(printable(line[:100]) for line in lines[:3])
    return BadInput(
        "the format of a log",
        f"none of {', '.join(FORMATS)} fits its first lines: {shown}",
        kept="nothing was read",
        advice="give the server's LogFormat or log_format directive in the settings, "
        "or log in one of these formats",
    )


def _too_early(lines: list[bytes]) -> BadInput | None:
    if 2 * sum(haproxy.TOO_EARLY.search(line) is not None for line in lines) < len(lines):
        return None
    return BadInput(
        "the format of a log",
        "HAProxy wrote its lines before it had sent the answers: a byte count such "
        "as +1234 is what it sent until then",
        kept="nothing was read",
        advice="take `option logasap` out of haproxy.cfg",
    )


# What IIS calls the columns in its settings.
_SETTINGS = {
    "date": "Date (date)",
    "time": "Time (time)",
    "uri": "URI Stem (cs-uri-stem)",
    "status": "Protocol Status (sc-status)",
    "bytes": "Bytes Sent (sc-bytes)",
}


def _columns_missing(directive: bytes, unsized: bool) -> BadInput | None:
    """Why lines with the columns of this `#Fields:` line cannot be used; None when the columns are
    not the reason.
    """
    there = columns(directive, FORMATS["w3c"].keys) if directive else {}
    missing = [
        setting
        for field, setting in _SETTINGS.items()
        if field not in there and not (unsized and field == "bytes")
    ]
    if not directive or not missing:
        return None
    return BadInput(
        "the format of a log",
        f"its #Fields line does not name {', '.join(missing)}",
        kept="nothing was read",
        advice="in IIS Manager, Logging, Select Fields, turn on "
        f"{', '.join(missing)}; other servers have the like"
        + "; or give the document_root of the source, whose files have the sizes"
        * (missing == [_SETTINGS["bytes"]]),
    )
