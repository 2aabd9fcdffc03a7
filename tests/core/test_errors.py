"""Every error says what was asked, what came back, what stayed as it was, and what to do next."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

from flex import errors

ROOT = Path(__file__).parents[2]
ROOMS = ("flex", "api", "solver", "dns", "logs_ingest")
NAMES = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, Exception)
}


def raised() -> Iterator[tuple[str, ast.Call]]:
    """Each place in the code that makes one of our errors, with where it is."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and _name(node.func) in NAMES:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def _name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def test_every_error_says_what_was_asked_what_came_back_what_stayed_and_what_to_do() -> None:
    lacking = []
    for where, call in raised():
        given = {keyword.arg for keyword in call.keywords if keyword.arg}
        blank = [
            keyword.arg
            for keyword in call.keywords
            if isinstance(keyword.value, ast.Constant) and not keyword.value.value
        ]
        spread = any(keyword.arg is None for keyword in call.keywords)
        if not spread and (
            len(call.args) != 2 or given - {"stops", "seconds", "kept"} != {"advice"} or blank
        ):
            lacking.append(where)
    assert lacking == []


def test_an_error_is_a_sentence_of_what_was_asked_and_what_came_back() -> None:
    error = errors.Refused("updating a.example.", "REFUSED", advice="look at the policy")
    assert str(error) == "updating a.example.: REFUSED"
    assert (error.kept, error.advice, error.exit_code) == (
        "nothing was changed",
        "look at the policy",
        30,
    )


def test_an_error_of_another_process_is_the_same() -> None:
    error = errors.NotWritten("the page", "no space", kept="nothing else changed", advice="free")
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other)) == (errors.NotWritten, "the page: no space")
    assert (other.kept, other.advice, other.stops) == ("nothing else changed", "free", ())
