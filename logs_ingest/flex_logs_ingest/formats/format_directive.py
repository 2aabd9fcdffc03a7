r"""A server's own description of its log, compiled into a Layout.

Takes the value of an Apache LogFormat or an nginx log_format directive, quoted as it stands there
or bare: `%h %l %u %t \"%r\" %>s %b`, `$host [$time_local] "$request" $status $bytes_sent`. Returns
a Layout, which uses the first field of each kind. Raises BadInput when a needed field is missing or
cannot be told apart. Does not read configuration files (server_configuration.py does), and does not
know what fields can hold (server_variables.py does).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from flex.errors import BadInput
from flex_logs_ingest.formats.server_variables import Token, token_of_letter, token_of_variable
from flex_logs_ingest.lines.layout import TIMERS, Layout, Op, unusable
from flex_logs_ingest.lines.time_formats import says, stamp_of, strftime_format

_FIELD = re.compile(r"%[!0-9,<>]*(?:\{([^}]*)\})?(\^[A-Za-z]{2}|[A-Za-z%])")
# The port behind a host is the site rule's business and the query behind a path is cut: each pair
# is read as one field.
_PAIRS = re.compile(r"(?<=%[vV]|\}i):%(?:\{[a-z]+\})?p|(?<=%U)%q")
# A time in pieces, `%{%d/%b/%Y:%T}t.%{msec_frac}t`, with what stands between them.
_TIMES = re.compile(r"%\{([^}]*)\}t([^%\"\[\]]*)(?=%\{([^}]*)\}t)")

# Units of times, the finest first.
_FINEST = ("ns", "us", "ms", "squid", "haproxy", "w3c", "s")

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_VARIABLE_PAIRS = re.compile(r"(?<=\$host|_host|_name):\$server_port|(?<=\$uri)\$is_args\$args")


@dataclass(frozen=True, slots=True)
class _Place:
    """A token and the literals around it."""

    token: Token
    before: str
    after: str

    @property
    def quoted(self) -> bool:
        return self.before.endswith('"') and self.after.startswith('"')

    @property
    def loose(self) -> bool:
        """Whether the text can hold what is to end it. Servers escape quotation marks and tabs."""
        return (
            self.token.may_hold_anything
            and not self.quoted
            and bool(self.after)
            and not set('"[\t') & {*self.after}
        )

    def tells(self, before: _Place) -> bool:
        """Whether a text cut wrongly, because one before it was, would not pass for this one."""
        if self.token.fits == "word":
            return self.after != before.after
        return self.token.fits != ""


def from_directive(directive: str) -> Layout:
    """The layout of either; one that names variables is nginx's."""
    return from_nginx(directive) if _VARIABLE.search(directive) else from_apache(directive)


def from_apache(directive: str) -> Layout:
    text = directive.replace('\\"', '"').replace("\\t", "\t").removesuffix("\\n")
    return _compile(list(_apache_s(_join_times(_PAIRS.sub("", text)), directive)), directive)


def from_nginx(directive: str) -> Layout:
    """Strings in single quotes that follow each other, as nginx's own examples have them, are
    one.
    """
    text = directive.strip().removesuffix(";").strip()
    if text.startswith("'") and text.endswith("'"):
        text = re.sub(r"'\s*'", "", text[1:-1])
    return _compile(list(_nginx_s(_VARIABLE_PAIRS.sub("", text))), directive)


def _apache_s(text: str, directive: str) -> Iterator[Token | str]:
    """Tokens and literals, in any order."""
    at = 0
    for match in _FIELD.finditer(text):
        yield text[at : match.start()]
        at = match.end()
        if match[2] == "%":
            yield "%"
        elif match[2] == "t" and match[1] is None:
            yield from ("[", token_of_variable("time_local"), "]")
        elif match[2] == "t":
            yield _time(match[1], directive)
        else:
            yield token_of_letter(match[2], match[1])
    yield text[at:]


def _nginx_s(text: str) -> Iterator[Token | str]:
    at = 0
    for match in _VARIABLE.finditer(text):
        yield text[at : match.start()]
        at = match.end()
        yield token_of_variable(match[1] or match[2])
    yield text[at:]


def _join_times(text: str) -> str:
    """Pieces of a time that stand side by side become one, unless they say the same twice."""
    at = 0
    while match := _TIMES.search(text, at):
        first, between, second = strftime_format(match[1]), match[2], strftime_format(match[3])
        at = match.end()
        if not says(first) & says(second):
            end = at + len(f"%{{{match[3]}}}t")
            text = f"{text[: match.start()]}%{{{first}{between}{second}}}t{text[end:]}"
            at = match.start()
    return text


def _time(argument: str, directive: str) -> Token:
    format_ = strftime_format(argument)
    if format_ in ("%<msec_frac>", "%<usec_frac>"):
        return Token(None, "number")
    stamp = stamp_of(format_)
    if stamp is None:
        why = (
            "does not say the day and the time of day, or says them in a way that "
            "differs from place to place"
        )
        raise unusable(directive, f"the time %{{{argument}}}t {why}: use %Y-%m-%dT%H:%M:%S%z")
    return Token("time", "time", stamp.sample, stamp.moved)


def _compile(parts: Sequence[Token | str], directive: str) -> Layout:
    start, places = _places(parts)
    # Lines are told apart, and counted, whether they say how long an answer took or not.
    bare = [_drop_timer(place) for place in places]
    needed = max((i for i, place in enumerate(bare) if place.token.field), default=-1)
    ops = _ops(bare, range(needed + 1), directive)
    fields = [place.token.field for place in places]
    timed = tuple(replace(op, field=field) for op, field in zip(ops, fields, strict=False))
    lead, after = _timer_tail(places, timed, directive)
    moved = next((place.token.moved for place in places if place.token.field == "time"), ())
    units = {place.token.field: place.token.unit for place in places if place.token.field in TIMERS}
    there = {op.field for op in (*timed, *after)}
    return Layout(
        "fields",
        start.encode(),
        timed,
        moved=moved,
        lead=lead,
        after=after,
        units=tuple((field, unit) for field, unit in units.items() if field in there),
    ).check(directive)


def _drop_timer(place: _Place) -> _Place:
    if place.token.field not in TIMERS:
        return place
    return replace(place, token=replace(place.token, field=None))


def _ops(places: Sequence[_Place], wanted: range, directive: str) -> tuple[Op, ...]:
    """Those of the wanted places, and of what stands behind them as far as it tells where they
    end.
    """
    ahead = {i: _ahead(places, i) for i in wanted}
    end = max((i + (number or 0) for i, number in ahead.items()), default=-1)
    return tuple(
        _op(places, i, end, ahead.get(i, 0), directive) for i in range(wanted.start, end + 1)
    )


def _timer_tail(
    places: Sequence[_Place], ops: Sequence[Op], directive: str
) -> tuple[bytes, tuple[Op, ...]]:
    """How a line goes on behind these ops to its timers; nothing where it does not, or where it
    cannot be told.
    """
    begin = len(ops)
    last = max((i for i, place in enumerate(places) if place.token.field in TIMERS), default=-1)
    if not ops or last < begin:
        return b"", ()
    literal, ending = places[begin - 1].after.encode(), ops[-1].literal
    if not ending or not literal.startswith(ending):
        return b"", ()
    try:
        return literal.removeprefix(ending), _ops(places, range(begin, last + 1), directive)
    except BadInput:
        return b"", ()


def _places(parts: Sequence[Token | str]) -> tuple[str, list[_Place]]:
    """What stands before the first token, and the tokens; only the first of a kind is a field, of
    timers the finest.
    """
    timers = [part for part in parts if isinstance(part, Token) and part.field == "taken"]
    finest = min(timers, key=lambda token: _FINEST.index(token.unit), default=None)
    literals, tokens, known = [""], list[Token](), set[str | None]()
    for part in parts:
        if isinstance(part, str):
            literals[-1] += part
        else:
            coarse = part.field == "taken" and part != finest
            is_known = coarse or part.field in known
            tokens.append(replace(part, field=None) if is_known else part)
            known.update([] if coarse else [part.field])
            literals.append("")
    around = zip(tokens, pairwise(literals), strict=True)
    return literals[0], [_Place(token, before, after) for token, (before, after) in around]


def _ahead(places: Sequence[_Place], i: int) -> int | None:
    """How many of the texts behind a loose one tell where it ends; 0 where it does not matter, None
    where none does.
    """
    first, told = places[i], 0
    if not first.loose:
        return 0
    wanted = first.token.field is not None
    for number, place in enumerate(places[i + 1 :], start=1):
        wanted = wanted or place.token.field is not None
        tells = place.tells(first)
        # A text with another end takes in whatever of others was left over.
        if not tells and (told or place.after != first.after):
            break
        told = number if tells else told
    return told if told or not wanted else None


def _op(places: Sequence[_Place], i: int, until: int, ahead: int | None, directive: str) -> Op:
    place = places[i]
    field, fits, quoted = place.token.field, place.token.fits, place.quoted
    literal = place.after
    if i == until:
        # Lines may end here or go on with fields that the directive does not name; no line holds a
        # newline.
        literal = (
            literal
            if place.loose
            else literal[:1] or ("\n" if place.token.may_hold_anything else " ")
        )
    elif not literal and places[i + 1].token.field != "uri":
        raise unusable(directive, "two fields follow each other with nothing between them")
    if place.loose and place.token.kind == "sentence" and " " in literal and ahead is None:
        raise unusable(
            directive,
            f"nothing tells where the text before {literal!r} ends: put it in quotation marks",
        )
    width = len(place.token.example) * (literal[:1] in place.token.example)
    listed = place.loose and place.token.kind == "list" and literal.startswith(" ")
    return Op(field, literal.encode(), quoted, width, listed, ahead or 0, fits)
