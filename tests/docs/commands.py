"""The `flex` commands that pages show, and what is wrong with each.

Takes Markdown. Returns every command in its code blocks and in its inline code, with what
the real command line says against it. Does not run a command.

A command in a code block has to be whole: a reader copies it. Inline code may name a verb
without its arguments.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from typer._click.exceptions import BadOptionUsage, BadParameter, MissingParameter, UsageError

from flex_api.cli import application
from flex_api.cli.common import Context

if TYPE_CHECKING:
    from typer._click.core import Command

# The program, by its name or by where it is installed.
IS_FLEX = re.compile(r"flex|.*/bin/flex")
# What a word behind `flex` looks like where a command begins: an option or a verb.
# `--` ends the options of another program.
BEGINS = re.compile(r"-(?!-$).+|[a-z]+")
# Programs that take an account or a group: `flex` is one there.
OF_ACCOUNTS = frozenset({"adduser", "chgrp", "chown", "usermod"})
# Stands for what a reader puts in: NODE, SITE, a TIME.
PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_]*|…|\.\.\.")
# Behind one of these another command begins.
NEXT_COMMAND = re.compile(r"[;&|()]+")


@dataclass(frozen=True, slots=True)
class Shown:
    """A command as a page shows it, without the `flex` at its beginning.

    `is_whole` where a reader copies it.
    """

    words: tuple[str, ...]
    line: int
    is_whole: bool

    def __str__(self) -> str:
        return f"line {self.line}: flex {' '.join(self.words)}"


def shown(page: str) -> list[Shown]:
    return list(_shown(page))


def _shown(page: str) -> Iterator[Shown]:
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        line = token.map[0] + 1 if token.map else 0
        # What is marked as text is the form of a command: flex plan show [OPTIONS] PLAN.
        if token.type in ("fence", "code_block") and token.info != "text":
            for words in in_script(token.content):
                yield Shown(words, line, is_whole=True)
        for child in token.children or ():
            if child.type == "code_inline":
                for words in in_script(child.content):
                    yield Shown(words, line, is_whole=False)


def in_script(script: str) -> Iterator[tuple[str, ...]]:
    """The words behind each `flex` that begins a command, comments left out."""
    for line in script.replace("\\\n", " ").splitlines():
        for words in _simple_commands(line):
            if words and words[0] not in OF_ACCOUNTS:
                yield from _commands_among(words)


def _commands_among(words: list[str]) -> Iterator[tuple[str, ...]]:
    for place, (word, following) in enumerate(pairwise([*words, ""])):
        if IS_FLEX.fullmatch(word) and BEGINS.fullmatch(following):
            yield tuple(words[place + 1 :])
            return
        if word.startswith("flex "):
            # In quotation marks, as JSON shows one.
            yield from in_script(word)


def _simple_commands(line: str) -> Iterator[list[str]]:
    """A line of a shell, cut where one command ends and another begins."""
    # Settings and sentences are no shell: an apostrophe ends nothing there.
    lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if NEXT_COMMAND.fullmatch(word):
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:
        words = line.split()
    yield words


def fault(command: Shown) -> str:
    """What the command line says against it, or nothing. The words are only read."""
    # Help is printed as soon as it is read, whatever else a command lacks.
    words = [word for word in command.words if word != "--help"]
    asks_for_help = len(words) < len(command.words)
    try:
        _read(_command_line(), words)
    except MissingParameter as error:
        return error.format_message() if command.is_whole and not asks_for_help else ""
    except BadOptionUsage as error:
        return error.format_message() if command.is_whole else ""
    except BadParameter as error:
        stands_for_another = any(PLACEHOLDER.fullmatch(word) for word in words)
        return "" if stands_for_another and not command.is_whole else error.format_message()
    except UsageError as error:
        return error.format_message()
    return ""


@cache
def _command_line() -> Command:
    return application()


def _read(command: Command, words: list[str]) -> None:
    """Reads the words as the command line does, verb by verb. Raises UsageError."""
    name: str | None = "flex"
    context = None
    while True:
        context = command.make_context(name, words, parent=context, obj=Context())
        if not hasattr(command, "resolve_command"):
            return
        words = [*context._protected_args, *context.args]
        if not words or PLACEHOLDER.fullmatch(words[0]):
            return
        name, command, words = command.resolve_command(context, words)
