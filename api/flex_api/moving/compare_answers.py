"""Whether what a site's new node answers is what visitors should get, compared with its old node.

Takes the two answers to the same question and what is demanded. Returns why the new node is not
ready, and remarks. Does not ask anybody.

What is broken on the old node already is not held against the new one: to move away from a broken
node must be possible. Then the new node's answer must stand by itself, or be no worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urljoin, urlsplit

from flex_api.moving.ask_web_server import Answer, NoAnswer, Question

# What web servers say of themselves where a site is not set up, and programs where they fail. None
# of it counts where the old node says it too. From the pages of nginx, Apache, PHP, WordPress.
TELLTALES = {
    b"Welcome to nginx!": "the page of a web server that is not set up",
    b"Apache2 Debian Default Page": "the page of a web server that is not set up",
    b"<h1>It works!</h1>": "the page of a web server that is not set up",
    b"<title>Index of /": "a list of files",
    b"<?php": "a program in place of what it prints",
    b"<b>Fatal error</b>": "an error of PHP",
    b"PHP Fatal error": "an error of PHP",
    b"<b>Parse error</b>": "an error of PHP",
    b"Error establishing a database connection": "that there is no database",
    b"Can't connect to local MySQL server": "that there is no database",
    b"Can't connect to local server through socket": "that there is no database",
    b"SQLSTATE[HY000] [2002]": "that there is no database",
}
# Answers that are shorter than this differ by a date or a number: no factor says anything of them.
_SHORT = 64
# From this status on a web server says that it failed itself (RFC 9110, section 15.6).
_FAILED = 500
# From this status on an answer is none that a visitor wants (RFC 9110, section 15.5).
_REFUSED = 400
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Demands:
    """What is demanded of one site's answers. `status` may be empty; so may `marker`."""

    status: tuple[int, ...] = ()
    marker: str = ""
    length_factor: float = 1.5


@dataclass(frozen=True, slots=True)
class Verdict:
    """`why` is empty where the new node is ready; `remarks` are said in either case."""

    why: str = ""
    remarks: tuple[str, ...] = ()


def texts(demands: Demands) -> tuple[bytes, ...]:
    """What is looked for in every answer."""
    own = (demands.marker.encode(),) if demands.marker else ()
    return (*own, *TELLTALES)


def judge(
    question: Question,
    scheme: str,
    new: Answer | NoAnswer,
    old: Answer | NoAnswer | None,
    demands: Demands,
    default: Answer | NoAnswer | None = None,
) -> Verdict:
    """`old` is None where there is no old node. `default` is what the new node answers for a name
    that it cannot have.
    """
    if isinstance(new, NoAnswer):
        return Verdict(new.why)
    if not isinstance(old, Answer):
        remarks = (
            (f"the old node cannot be compared with: {old.why}",)
            if isinstance(old, NoAnswer)
            else ()
        )
        why = _alone(question, scheme, new, demands) or _as_any(new, None, default)
        return Verdict(why, remarks)
    if old.status >= _FAILED:
        return _judge_beside_broken(question, scheme, new, old, demands)
    differences = _differences(question, scheme, new, old, demands)
    return Verdict(next(differences, "") or _as_any(new, old, default))


def _alone(question: Question, scheme: str, new: Answer, demands: Demands) -> str:
    """What can be said without anything to compare with."""
    if demands.status and new.status not in demands.status:
        return f"it answers {new.status}, and move.ready.status is {_statuses(demands)}"
    if not demands.status and new.status >= _REFUSED:
        return f"it answers {new.status}"
    if new.location and _target(question, scheme, new) == _target(question, scheme):
        return f"it answers {new.status}, and sends its visitors in a circle"
    return _content_fault(question, new, None, demands)


def _judge_beside_broken(
    question: Question, scheme: str, new: Answer, old: Answer, demands: Demands
) -> Verdict:
    """Moving makes it no worse where both have failed, and better where the new node has not."""
    remark = f"the old node answers {old.status} already"
    if new.status >= _FAILED:
        return Verdict(remarks=(f"{remark}, and the new one {new.status}",))
    return Verdict(_alone(question, scheme, new, demands), (remark,))


def _differences(
    question: Question, scheme: str, new: Answer, old: Answer, demands: Demands
) -> Iterator[str]:
    if demands.status and new.status not in demands.status:
        yield f"it answers {new.status}, and move.ready.status is {_statuses(demands)}"
    if new.status != old.status and not demands.status:
        yield f"it answers {new.status}, and the old node {old.status}"
    there, here = (_target(question, scheme, answer) for answer in (new, old))
    if there != here:
        yield f"it sends visitors to {there or 'nowhere'}, and the old node to {here or 'nowhere'}"
    if new.kind != old.kind and new.length and old.length:
        yield f"it answers with {new.kind or 'no type'}, and the old node with {old.kind or 'none'}"
    if told := _content_fault(question, new, old, demands):
        yield told
    yield from _length_differences(new, old, demands.length_factor)


def _content_fault(question: Question, new: Answer, old: Answer | None, demands: Demands) -> str:
    if not new.whole:
        return (
            f"its answer has more than {question.largest:,} bytes, and no more are read: ask "
            "for a path with a shorter one"
        )
    if demands.marker and demands.marker.encode() not in new.found:
        return f"its answer has no {demands.marker!r} in it"
    before = old.found if old else frozenset()
    for text, what in TELLTALES.items():
        if text in new.found and text not in before:
            return f"its answer is {what}: it has {text.decode()!r} in it"
    return ""


def _length_differences(new: Answer, old: Answer, factor: float) -> Iterator[str]:
    if not old.whole:
        yield "the old node's answer is too long to compare with: ask for another path"
        return
    less, more = sorted((new.length, old.length))
    empty = not less and more
    if empty or (more > _SHORT and more > factor * less):
        yield (
            f"its answer has {new.length:,} bytes, and the old node's {old.length:,}: that is "
            f"a factor over {factor:g}"
        )


def _as_any(new: Answer, old: Answer | None, default: Answer | NoAnswer | None) -> str:
    """A web server that answers just so for a name that it cannot have does not know the site."""
    if not isinstance(default, Answer) or not new.length:
        return ""
    same = (default.status, default.digest) == (new.status, new.digest)
    if not same or (old and old.digest == new.digest):
        return ""
    return "it answers as for any name that it does not know"


def _target(question: Question, scheme: str, answer: Answer | None = None) -> str:
    """Where an answer sends the visitor, without the query, which may be new each time; of no
    answer where the visitor is. Empty where it sends nobody anywhere.
    """
    base = question.url(scheme)
    if answer is None:
        return _plain(base)
    if not (answer.location and 300 <= answer.status < _REFUSED):
        return ""
    return _plain(base, answer.location)


def _plain(base: str, more: str = "") -> str:
    try:
        parts = urlsplit(urljoin(base, more))
        port = parts.port
    except ValueError:
        return "what is no address"
    host = (parts.hostname or "").lower().rstrip(".")
    at = "" if port in (None, _PORTS.get(parts.scheme)) else f":{port}"
    shown = f"{parts.scheme}://{host}{at}{parts.path or '/'}"
    return "".join(char if char.isprintable() else "?" for char in shown[:200])


def judge_age(
    new: Answer | NoAnswer, old: Answer | NoAnswer | None, most: timedelta, now: datetime
) -> Verdict:
    """Whether the content of the new node is as new as it must be."""
    if isinstance(new, NoAnswer):
        return Verdict(new.why)
    if new.status >= _REFUSED:
        return Verdict(f"it answers {new.status}, and does not say how old its content is")
    content_time = new.stamp or new.modified
    if content_time is None:
        return Verdict("it does not say how old its content is")
    before = (
        (old.stamp or old.modified) if isinstance(old, Answer) and old.status < _REFUSED else None
    )
    remark = "" if old is None or before else "the old node does not say how old its content is"
    compared = before or now
    late = compared - content_time
    if late <= most:
        return Verdict(remarks=(remark,) if remark else ())
    than = "the old node's" if before else "now"
    return Verdict(
        f"its content of {content_time:%Y-%m-%d %H:%M:%S} is {_span(late)} older than {than}, and "
        f"move.ready.max_age is {_span(most)}",
        (remark,) if remark else (),
    )


def _span(time: timedelta) -> str:
    seconds = round(time.total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _statuses(demands: Demands) -> str:
    return ", ".join(map(str, demands.status))
