"""The process of the health watch is started again where it ends; one that cannot live ends who
serves beside it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from multiprocessing.context import ForkProcess
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flex.errors import Away
from flex_api.night.health_watch import Beside
from flex_api.night.keep_watch_running import OVERDUE, Post, anyway, keep

if TYPE_CHECKING:
    from tests.api.conftest import Installation

NOW = datetime(2026, 3, 3, 2, 17, tzinfo=UTC)
FORK = multiprocessing.get_context("fork")
# A process that does not come up in this time never does.
PATIENCE = 120.0


@pytest.fixture(autouse=True)
def all_ended() -> Iterator[None]:
    """Whatever failed: Python waits at its end for every process that was started so."""
    yield
    for process in multiprocessing.active_children():
        process.terminate()
        process.join(PATIENCE)
        process.kill()


def kept(work: Callable[[Post], None], post: Post, pauses: int) -> ForkProcess:
    process = FORK.Process(target=keep, args=(work, post, lambda _: None, (0.0,) * pauses))
    process.start()
    return process


def until(what: str, is_so: Callable[[], Any]) -> Any:
    """Any: whatever it says that is true."""
    end = time.monotonic() + PATIENCE
    while not (found := is_so()):
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.02)
    return found


def test_one_that_ends_is_started_again() -> None:
    post, ends = Post(), RawValue("i", 3)

    def work(post: Post) -> None:
        if ends.value:
            ends.value -= 1
            raise OSError("the pipe is closed")
        post.note_round(NOW)
        signal.pause()

    process = kept(work, post, 5)
    until("a round", lambda: post.rounds)
    said = post.state()
    assert (said.is_alive, said.starts, said.last_round, said.error) == (True, 4, NOW, "")
    process.terminate()
    process.join(PATIENCE)
    assert process.exitcode is not None, "it does not end"
    assert process.exitcode == 0


def test_one_that_never_comes_to_look_is_given_up_and_its_keeper_ends_with_1() -> None:
    def work(_: Post) -> None:
        raise OSError("no such file")

    post = Post()
    process = kept(work, post, 3)
    process.join(PATIENCE)
    assert process.exitcode == 1
    said = post.state()
    assert (said.is_alive, said.starts, said.error) == (False, 4, "OSError: no such file")
    assert said.trouble(NOW) == "its process ended: OSError: no such file"
    with pytest.raises(Away, match="no such file") as gone:
        Beside(post, process).refuse_gone()
    assert gone.value.exit_code != 0


def test_one_that_looked_in_between_is_never_given_up() -> None:
    post, ends = Post(), RawValue("i", 12)

    def work(post: Post) -> None:
        post.note_round(NOW)
        if ends.value:
            ends.value -= 1
            os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()

    process = kept(work, post, 2)
    until("the 13th round", lambda: post.rounds == 13)
    assert process.is_alive()
    process.terminate()
    process.join(PATIENCE)
    assert process.exitcode is not None, "it does not end"


def test_who_listens_no_more_ends_nobodys_work() -> None:
    def closed(_: str) -> None:
        raise BrokenPipeError

    anyway(closed)("n1 does not answer any more.")


def test_what_is_wrong_with_it_is_said_in_a_sentence() -> None:
    post = Post()
    post.note_start()
    assert post.state().trouble(NOW) == ""
    post.note_round(NOW, "it could not probe the nodes: the database is away")
    assert post.state().trouble(NOW) == "it could not probe the nodes: the database is away"
    post.note_round(NOW)
    assert post.state().trouble(NOW + OVERDUE) == ""
    assert "it has not looked since" in post.state().trouble(NOW + OVERDUE + timedelta(seconds=1))
    post.note_round(NOW, "é" * 5000)
    assert set(post.state().error) == {"é"}


def children(number: int) -> list[int]:
    return [
        int(each) for each in Path(f"/proc/{number}/task/{number}/children").read_text().split()
    ]


def ready(port: int) -> dict[str, str]:
    """The parts that say how they are; nothing while nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE) as answer:
            return dict(json.load(answer)["parts"])
    except urllib.error.HTTPError as error:
        return dict(json.load(error)["parts"])
    except OSError:
        return {}


@pytest.mark.real
@pytest.mark.slow("2")
@pytest.mark.parametrize("workers", [1, 2])
def test_flex_serve_starts_its_watch_again_and_ends_where_that_cannot_be(
    installation: Installation, free_port: int, workers: int
) -> None:
    installation.extra = (
        f"[watch]\nprobes = ['tcp:{free_port}']\ninterval = "
        f"'1s'\ntimeout = '1s'\n[api]\nworkers = {workers}\n"
    )
    installation.mode = "review"
    installation.write_settings()
    served = installation.process("serve", "--listen", f"127.0.0.1:{free_port}")
    try:
        until("a watch that is well", lambda: ready(free_port).get("watch") == "ok")
        (keeper,) = [each for each in children(served.pid) if children(each)]
        (first,) = children(keeper)
        os.kill(first, signal.SIGKILL)
        until("another process of the watch", lambda: children(keeper) not in ([], [first]))
        until("a watch that is well", lambda: ready(free_port).get("watch") == "ok")
        # What cannot be started again at all is what is left of a keeper that is gone.
        os.kill(keeper, signal.SIGKILL)
        assert served.wait(PATIENCE) == Away.exit_code
    finally:
        served.kill()
        out, err = served.communicate(timeout=PATIENCE)
    assert "the process of the health watch does not run" in err, out
