"""What every test may ask for. Helpers of one area stand in the conftest.py beside its tests."""

from __future__ import annotations

import faulthandler
import gc
import os

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.ports import any_port
from tests.postgresql import cluster
from tests.skipped import reasons
from tests.thorough import examples

__all__ = ["cluster"]

# Looking for unreachable objects took a fifth of the processor's time of all tests: six thousand of
# them and what they import are looked through again and again. What is there before the first test
# stays, so it is looked through no more.
ALLOCATIONS_BETWEEN_LOOKS = 50_000
# After the last test; what waits longer waits for ever.
SECONDS_TO_END = 120
STDERR = 2
gc.set_threshold(ALLOCATIONS_BETWEEN_LOOKS, 20, 100)


def pytest_configure() -> None:
    """Timings on a shared machine say nothing about a law. Where nobody watches, the same examples
    run every time. Who only asks whether one fails needs no smaller one, which takes minutes.
    """
    by_steps = settings(examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("here", by_steps)
    settings.register_profile("ci", by_steps, derandomize=True, database=None, print_blob=True)
    settings.register_profile(
        "until-one-fails", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate]
    )
    usual = "ci" if "CI" in os.environ else "here"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))


def pytest_xdist_auto_num_workers() -> int:
    """Slow tests wait for servers for a third of their time."""
    return len(os.sched_getaffinity(0)) * 3 // 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`slow("a")` and `torture("a")` mark those parameters of a test, and no others."""
    for item in items:
        for mark in [*item.iter_markers("slow"), *item.iter_markers("torture")]:
            callspec = getattr(item, "callspec", None)
            if mark.args and (callspec is None or callspec.id not in mark.args):
                item.own_markers.remove(mark)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    """What extensions hold is given back in order when Python ends. A thread that does not end is
    shown and ends it. A process of xdist waits for the others, as long as these take, and is then
    ended by xdist.
    """
    gc.unfreeze()
    if hasattr(config, "workerinput"):
        return
    faulthandler.dump_traceback_later(SECONDS_TO_END, exit=True, file=STDERR)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Many tests are skipped for one reason, each at a line of its own."""
    for why, number in reasons(terminalreporter.getreports("skipped")):
        terminalreporter.write_line(f"SKIPPED [{number}] {why}")


@pytest.fixture
def free_port() -> int:
    return any_port()
