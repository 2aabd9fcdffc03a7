"""A log format, read from the configuration of Apache or nginx.

Takes `/path/of/the/file:name`. Returns the layout of the LogFormat or log_format directive of that
name. Does not look at files that the file includes: name the one that holds the directive.
"""

from __future__ import annotations

import re
from pathlib import Path

from flex.errors import BadInput, Unknown
from flex_logs_ingest.formats.format_directive import from_apache, from_nginx
from flex_logs_ingest.lines.layout import Layout

_QUOTED = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_APACHE = re.compile(
    rf"^[ \t]*LogFormat[ \t]+({_QUOTED}|\S+)[ \t]+([^\s\"]+)[ \t]*$", re.MULTILINE | re.IGNORECASE
)
_NGINX = re.compile(
    rf"^[ \t]*log_format\s+(\S+)((?:\s+escape=\w+)?(?:\s+(?:{_QUOTED}|[^\s;\"']+))+)\s*;",
    re.MULTILINE,
)
_PART = re.compile(rf"{_QUOTED}|[^\s;\"']+")


def from_file(place: str) -> Layout:
    """Raises BadInput when the file cannot be read or the format used, Unknown when it holds none
    of that name.
    """
    path, _, name = place.rpartition(":")
    if not path:
        path, name = place, ""
    layouts = _directives(_text(path))
    if name in layouts:
        kind, directive = layouts[name]
        return from_nginx(directive) if kind == "nginx" else from_apache(directive)
    raise Unknown(
        f"the log format {name or '(no name)'} of {path}",
        f"it holds {', '.join(sorted(layouts)) or 'no LogFormat and no log_format directive'}",
        kept="nothing was read",
        advice="name the file that holds the directive, a colon, and the format's "
        "name: /etc/nginx/nginx.conf:main",
    )


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError as error:
        raise BadInput(
            f"the log format in {path}",
            error.strerror or str(error),
            kept="nothing was read",
            advice="check the path and the rights on it",
        ) from error


def _directives(text: str) -> dict[str, tuple[str, str]]:
    """By name: whose it is, and the directive's value. The last of a name is in force, as in the
    servers.
    """
    directives = {name: ("nginx", _join(parts)) for name, parts in _NGINX.findall(text)}
    lines = text.replace("\\\n", " ")
    return directives | {name: ("apache", _bare(value)) for value, name in _APACHE.findall(lines)}


def _join(parts: str) -> str:
    pieces = _PART.findall(parts)
    if pieces and pieces[0].startswith("escape="):
        del pieces[0]
    return "".join(map(_unescape, pieces))


def _unescape(piece: str) -> str:
    r"""An nginx string: `\"`, `\'` and `\\` lose their backslash, `\t` is a tab."""
    if piece[:1] not in ("'", '"'):
        return piece
    return re.sub(r"\\([\"'\\t])", lambda match: "\t" if match[1] == "t" else match[1], piece[1:-1])


def _bare(value: str) -> str:
    """Escapes inside are the directive's business."""
    return value[1:-1] if value[:1] in ("'", '"') else value
