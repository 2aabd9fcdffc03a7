r"""A server's own description of its log, compiled into a Layout.

In goes the value of an Apache LogFormat or an nginx log_format directive, quoted as it stands there or bare:
`%h %l %u %t \"%r\" %>s %b`, `$host [$time_local] "$request" $status $bytes_sent`. The first field of each kind is used.
Raises BadInput when a needed field is missing or cannot be told apart. Files are read in server_conf.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from flex_logs_ingest.layout import Field, Layout, Op, unusable

_FIELD = re.compile(r"%[!0-9,<>]*(?:\{([^}]*)\})?(\^[A-Za-z]{2}|[A-Za-z%])")
# The port behind a host is the site rule's business and the query behind a path is cut: each pair is read as one field.
_PAIRS = re.compile(r"(?<=%[vV]|\}i):%(?:\{[a-z]+\})?p|(?<=%U)%q")
_LETTERS: Mapping[str, Field] = {
    "v": "vhost",
    "V": "vhost",
    "r": "request",
    "m": "method",
    "U": "uri",
    "s": "status",
    "b": "bytes",
    "B": "bytes",
    "O": "bytes",
}
_DAYS_AND_CLOCKS = [f"{day}{clock}" for day in ("%FT", "%F ", "%Y-%m-%dT", "%Y-%m-%d ") for clock in ("%T", "%H:%M:%S")]
_TIMES = (
    *("sec", "%s", "%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y:%T %z"),
    *(f"{time}{zone}" for time in _DAYS_AND_CLOCKS for zone in ("%z", "")),
)

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_VARIABLE_PAIRS = re.compile(r"(?<=\$host|_host):\$server_port|(?<=\$uri)\$is_args\$args")
_VARIABLES: Mapping[str, Field] = {
    "host": "vhost",
    "http_host": "vhost",
    "server_name": "vhost",
    "ssl_server_name": "vhost",
    "time_local": "time",
    "time_iso8601": "time",
    "msec": "time",
    "request": "request",
    "request_method": "method",
    "request_uri": "uri",
    "uri": "uri",
    "document_uri": "uri",
    "status": "status",
    "bytes_sent": "bytes",
    "body_bytes_sent": "bytes",
}


def from_directive(directive: str) -> Layout:
    """The layout of either; one that names variables is nginx's."""
    return from_nginx(directive) if _VARIABLE.search(directive) else from_apache(directive)


def from_apache(directive: str) -> Layout:
    text = _PAIRS.sub("", directive.replace('\\"', '"').replace("\\t", "\t"))
    return _compiled(*_tokens(text, directive), directive)


def from_nginx(directive: str) -> Layout:
    """Strings in single quotes that follow each other, as nginx's own examples have them, are one."""
    text = directive.strip().removesuffix(";").strip()
    if text.startswith("'") and text.endswith("'"):
        text = re.sub(r"'\s*'", "", text[1:-1])
    fields: list[Field | None] = []
    literals, at = [""], 0
    text = _VARIABLE_PAIRS.sub("", text)
    for match in _VARIABLE.finditer(text):
        literals[-1] += text[at : match.start()]
        at = match.end()
        name = _VARIABLES.get(match[1] or match[2])
        fields.append(None if name in fields else name)
        literals.append("")
    literals[-1] += text[at:]
    return _compiled(fields, literals, directive)


def _compiled(fields: list[Field | None], literals: list[str], directive: str) -> Layout:
    needed = max((i for i, name in enumerate(fields) if name), default=-1)
    ops = tuple(_op(fields, literals, i, needed, directive) for i in range(needed + 1))
    return Layout("fields", literals[0].encode(), ops).check(directive)


def _tokens(text: str, directive: str) -> tuple[list[Field | None], list[str]]:
    """The fields, and the literals around them: one more than there are fields."""
    fields: list[Field | None] = []
    literals, at = [""], 0
    for match in _FIELD.finditer(text):
        literals[-1] += text[at : match.start()]
        at = match.end()
        if match[2] == "%":
            literals[-1] += "%"
            continue
        name = _field(match[1], match[2], directive)
        brackets = match[2] == "t" and match[1] is None
        literals[-1] += "[" * brackets
        fields.append(None if name in fields else name)
        literals.append("]" * brackets)
    literals[-1] += text[at:]
    return fields, literals


def _field(argument: str | None, letter: str, directive: str) -> Field | None:
    if letter == "t":
        return _time(argument, directive)
    if letter == "i" and (argument or "").lower() == "host":
        return "vhost"
    return None if argument is not None else _LETTERS.get(letter)


def _time(argument: str | None, directive: str) -> Field | None:
    wanted = (argument or "").removeprefix("begin:").removeprefix("end:")
    if wanted in ("msec_frac", "usec_frac"):
        return None
    if argument is not None and wanted not in _TIMES:
        raise unusable(directive, f"the time %{{{argument}}}t is not one of {', '.join(_TIMES)}")
    return "time"


def _op(fields: Sequence[Field | None], literals: Sequence[str], i: int, needed: int, directive: str) -> Op:
    before, after = literals[i], literals[i + 1]
    quoted = before.endswith('"') and after.startswith('"')
    if i == needed:
        # Lines may end here or go on with fields that the directive does not name; no line holds a newline.
        return Op(fields[i], after[:1].encode() or (b"\n" if fields[i] in ("request", "uri") else b" "), quoted)
    if not after:
        raise unusable(directive, "two fields follow each other with nothing between them")
    return Op(fields[i], after.encode(), quoted)
