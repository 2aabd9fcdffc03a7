"""Commands of the settings: what goes wrong is told in one line, whatever they print."""

from __future__ import annotations

import pytest

from flex_api.night.run_command import fill, trouble


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", ""),
        ("echo so; exit 0", ""),
        ("exit 3", "it ended with 3"),
        ("echo no room >&2; echo at all >&2; exit 1", "no room at all"),
        (r"printf '\377\376 no name' >&2; exit 1", "\ufffd\ufffd no name"),
        (r"printf '\377'; exit 0", ""),
    ],
)
def test_what_a_command_says_is_told_when_it_fails(script: str, said: str) -> None:
    assert trouble(["sh", "-c", script], 10.0) == said


def test_a_command_that_is_not_there_or_does_not_end_is_told() -> None:
    assert "No such file" in trouble(["/nowhere/warm"], 10.0)
    assert "timed out" in trouble(["sleep", "60"], 0.1)


def test_marks_stand_for_what_they_name_in_every_word() -> None:
    marks = {"{node}": "n1", "{address}": "192.0.2.1"}
    assert fill(["carry", "{node}:{address}", "{other}"], marks) == [
        "carry",
        "n1:192.0.2.1",
        "{other}",
    ]
