"""What `make fresh` makes of what pytest said."""

from __future__ import annotations

import pytest

from deploy.fresh import Counts, Ran, Result, counts_of, table

SAID = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="3" tests="7" time="9.5">
<testcase classname="tests.a" name="one" time="0.1"/>
<testcase classname="tests.a" name="two" time="0.1">
<failure message="assert 1 == 2">...</failure></testcase>
<testcase classname="tests.a" name="three">
<skipped type="pytest.skip" message="no browser">a.py:3</skipped></testcase>
<testcase classname="tests.b" name="four">
<skipped type="pytest.skip" message="no browser">b.py:9</skipped></testcase>
<testcase classname="tests.b" name="five">
<skipped type="pytest.skip" message="no logs">b.py:1</skipped></testcase>
<testcase classname="tests.b" name="six"><failure/><error message="no end">...</error></testcase>
<testcase classname="tests.b" name="seven" time="0.1"/>
</testsuite></testsuites>
"""


def test_each_test_is_counted_once_and_each_reason_to_skip_named_once() -> None:
    reasons = (("no browser", 2), ("no logs", 1))
    assert counts_of(SAID) == Counts(passed=2, failed=1, errors=1, skipped=3, reasons=reasons)


@pytest.mark.parametrize(
    ("demo", "test", "tests", "good"),
    [
        (0, 0, Counts(passed=9, skipped=2), True),
        (1, 0, Counts(passed=9), False),
        (0, 2, Counts(passed=9), False),
        (0, 1, Counts(passed=9, failed=1), False),
        (0, 0, Counts(passed=9, errors=1), False),
        (0, 0, Counts(), False),
    ],
)
def test_it_is_good_only_where_both_commands_worked_and_some_tests_ran(
    demo: int, test: int, tests: Counts, good: bool
) -> None:
    assert Result("with-cargo", Ran(demo, 1.0, 1.0), Ran(test, 1.0, 1.0), tests).good is good


def test_the_table_has_a_line_for_each_command_and_for_each_reason() -> None:
    tests = Counts(
        passed=5640,
        failed=2,
        errors=15,
        skipped=270,
        reasons=(("no native loops", 266), ("no logs", 4)),
    )
    said = table(
        [Result("without-cargo", Ran(0, 80.0, 70.0), Ran(1, 1690.0, 2940.0), tests)]
    ).splitlines()
    assert said[1].split() == ["without-cargo", "make", "demo", "passed", "1:20", "1:10"]
    assert said[2].split() == [
        "without-cargo",
        "make",
        "test",
        "5640",
        "2",
        "15",
        "270",
        "28:10",
        "49:00",
    ]
    assert said[3:] == [
        "skipped without-cargo: 266 times: no native loops",
        "skipped without-cargo: 4 times: no logs",
    ]
