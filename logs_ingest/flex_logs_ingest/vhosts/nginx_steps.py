"""What a file of nginx says about virtual hosts.

Takes a text. Returns steps, in order. Never fails: what is no configuration has no steps, or few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flex_logs_ingest.vhosts.steps import Step

# A name in ${...} is short. The limit keeps the search for its end from taking long.
_VARIABLE = r"\$\{[^}\s]{0,100}\}"
_TOKEN = re.compile(
    r"[\s\ufeff]+|\#[^\n]*"
    r'|"[^"\\]*(?:\\.[^"\\]*)*"'
    r"|'[^'\\]*(?:\\.[^'\\]*)*'"
    r"|[;{}]"
    rf"|(?:{_VARIABLE}|\\.|[^\s;{{}}\\])+",
    re.DOTALL,
)
# Blocks with a program in Lua, in which braces are balanced but for its texts and comments.
_PROGRAM = "_by_lua_block"
_BRACE = re.compile(
    r"--[^\n]*"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"|[{}]"
)


def nginx_steps(text: str) -> Iterator[Step]:
    words: list[str] = []
    line, at, counted = 1, 0, 0
    # A backslash at the very end is no token.
    while token := _TOKEN.match(text, at):
        written, at = token[0], token.end()
        if written[0].isspace() or written[0] in "#\ufeff":
            continue
        line += text.count("\n", counted, token.start())
        counted = token.start()
        if written not in (";", "{", "}"):
            words.append(_strip_quotes(written))
            continue
        if written == "{" and words and words[-1].endswith(_PROGRAM):
            at = _end_of_program(text, at)
        else:
            yield from _step(written, words, line)
        words = []


def _step(end: str, words: list[str], line: int) -> Iterator[Step]:
    if end == "}":
        yield Step("closes", (), line)
    elif end == "{":
        # `server 192.0.2.1 {` is none of nginx's blocks.
        yield Step("opens", (" ".join(words),), line)
    elif words and words[0] == "server_name":
        yield Step("names", tuple(words[1:]), line)
    elif words and words[0] == "root":
        yield Step("root", tuple(words[1:2]), line)
    elif words and words[0] == "access_log":
        yield Step("log", tuple(words[1:3]), line)
    elif words and words[0] == "include":
        yield Step("includes", tuple(words[1:]), line)


def _strip_quotes(word: str) -> str:
    if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'":
        return word[1:-1]
    return word


def _end_of_program(text: str, at: int) -> int:
    depth = 1
    for brace in _BRACE.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth:
            return brace.end()
    return len(text)
