r"""Where the fields of a log line stand: a log format as data.

In goes an Apache LogFormat directive or a choice of JSON keys, out comes a Layout that both scan engines interpret.
What the text of a field means (times, targets, sites) is not decided here: see line.py.

A field ends where the literal text after it begins, so a user name may hold a space: what follows it is ` [`.
In quotes, a quotation mark after a backslash does not count. What stands behind the last needed field is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from flex.errors import BadInput

Field = Literal["vhost", "time", "request", "status", "bytes", "method", "uri"]
FIELDS: tuple[Field, ...] = get_args(Field)


@dataclass(frozen=True, slots=True)
class Op:
    """One field and the literal behind it; a field of no interest is None. In quotes, the literal begins with one."""

    field: Field | None
    literal: bytes
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Either `start` and then one op after the other, or the JSON keys of each field, the preferred one first.

    The literal of the last op may be missing at the end of a line, unless it closes a quotation.
    """

    kind: Literal["fields", "json"]
    start: bytes = b""
    ops: tuple[Op, ...] = ()
    keys: tuple[tuple[Field, tuple[bytes, ...]], ...] = ()

    @property
    def fields(self) -> frozenset[Field]:
        found = {op.field for op in self.ops if op.field} if self.kind == "fields" else {name for name, _ in self.keys}
        return frozenset(found)

    def check(self, source: str) -> Layout:
        """The same layout, or BadInput when a line of it would not say what must be known."""
        missing = [name for name in ("time", "status", "bytes") if name not in self.fields]
        if not self.fields & {"request", "uri"}:
            missing.append("request")
        if missing:
            raise _unusable(source, f"it does not give {', '.join(missing)}")
        return self


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
_TIMES = ("sec", "%s", "%FT%T%z", "%Y-%m-%dT%H:%M:%S%z", "%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y:%T %z")


def from_apache(directive: str) -> Layout:
    r"""The layout of lines written with this LogFormat, as it stands in httpd.conf: `%h %l %u %t \"%r\" %>s %b`.

    The first field of each kind is used. Raises BadInput when a needed field is missing or cannot be told apart.
    """
    text = _PAIRS.sub("", directive.replace('\\"', '"').replace("\\t", "\t"))
    fields, literals = _tokens(text, directive)
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
        if argument is not None and argument.removeprefix("begin:").removeprefix("end:") not in _TIMES:
            raise _unusable(directive, f"the time %{{{argument}}}t is not one of {', '.join(_TIMES)}")
        return "time"
    if letter == "i" and (argument or "").lower() == "host":
        return "vhost"
    return None if argument is not None else _LETTERS.get(letter)


def _op(fields: Sequence[Field | None], literals: Sequence[str], i: int, needed: int, directive: str) -> Op:
    before, after = literals[i], literals[i + 1]
    quoted = before.endswith('"') and after.startswith('"')
    if i == needed:
        # Lines may end here or go on with fields that the directive does not name; no line holds a newline.
        return Op(fields[i], after[:1].encode() or (b"\n" if fields[i] in ("request", "uri") else b" "), quoted)
    if not after:
        raise _unusable(directive, "two fields follow each other with nothing between them")
    return Op(fields[i], after.encode(), quoted)


def from_keys(keys: Mapping[Field, Sequence[str]]) -> Layout:
    """The layout of lines that are JSON objects; of several keys that a line has for a field, the first one counts."""
    spelled = tuple((name, tuple(key.encode() for key in keys[name])) for name in FIELDS if keys.get(name))
    return Layout("json", keys=spelled).check(f"the JSON keys {dict(keys)}")


def _unusable(source: str, why: str) -> BadInput:
    return BadInput(
        f"a log format from {source}",
        why,
        kept="nothing was read",
        advice="log at least the time (%t), the request (%r), the status (%>s) and the bytes sent (%O or %b)",
    )
