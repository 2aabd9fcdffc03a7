"""Text that others wrote, made safe for a page: names of sites, reasons, messages, answers of name
servers.

Takes any string. Returns a piece of HTML that is short, printable and isolated from the text around
it. Its title has what was cut off, as far as a person would read it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from flex_api.in_words import amounts

# Characters of a name that are shown; more are cut in the middle. A guess: less than a line.
NAME = 60
# Characters of a sentence that are shown. A guess: two or three lines.
SENTENCE = 240
# Characters in the title that shows what was cut off. A guess.
TITLE = 300
# Characters of a text that somebody came to read, and of any text that reaches a page. A guess.
ANYTHING = 2_000
COMMAND = re.compile("`([^`]+)`")
# Pages that show what these commands do.
PAGES = {
    "flex data": "/data",
    "flex history": "/history",
    "flex moves": "/moves",
    "flex nodes list": "/nodes",
    "flex plan list": "/plans",
    "flex route show": "/routing",
    "flex sites list": "/sites",
}
# A moment nearer than this is shown as a span ("3 hours ago"), others as a date. A guess.
LATELY = timedelta(days=21)


def name(text: str) -> Markup:
    """A name, never longer than a line, whatever direction its script runs in."""
    return _isolate(text, NAME)


def sentence(text: str) -> Markup:
    return _isolate(text, SENTENCE)


def whole(text: str) -> Markup:
    """What somebody came to read, such as why something failed."""
    return _isolate(text, ANYTHING)


def advice(text: str) -> Markup:
    """The same of what FLEX itself says: what stands between backticks looks like what is typed,
    and leads to the page that shows the same, where there is one.
    """
    begin, bracket, told = str(whole(text)).rpartition('">')
    return Markup(begin + bracket + COMMAND.sub(_command, told))  # noqa: S704  # escaped


def _command(match: re.Match[str]) -> str:
    shown = f"<code>{match[1]}</code>"
    page = PAGES.get(match[1])
    return f'<a href="{page}">{shown}</a>' if page else shown


def short(text: str) -> str:
    """A name where no markup can stand: in a title, an attribute or a command."""
    return plain(text, NAME)


def anything(value: object) -> object:
    """The last guard before the page: no text goes through as it came unless it was made fit
    above.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return plain(value, ANYTHING)


def plain(text: str, most: int) -> str:
    """At most so many characters, each of them visible; cut in the middle, for names differ at both
    ends.
    """
    if len(text) <= most:
        return _visible(text)
    tail = (most - 1) // 2
    return _visible(f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}")


def beginning(text: str, most: int) -> str:
    """At most so many characters, each of them visible; cut at the end."""
    return _visible(text if len(text) <= most else f"{text[: most - 1]}…")


def _isolate(text: str, most: int) -> Markup:
    short = plain(text, most)
    if short == text:
        return Markup("<bdi>{}</bdi>").format(text)
    return Markup('<bdi title="{}">{}</bdi>').format(plain(text, TITLE), short)


def _visible(text: str) -> str:
    """Controls, halves of surrogate pairs and marks that turn the direction of text become a sign
    one can see.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def ago(then: datetime, now: datetime) -> Markup:
    """How long ago, with the exact moment for whoever points at it, and for programs; dates where
    it is long ago.
    """
    exact = f"{then.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    told = amounts.ago(then, now) if abs(now - then) < LATELY else amounts.when(then)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(then.isoformat(), exact, told)
