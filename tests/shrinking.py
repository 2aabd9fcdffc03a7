"""Properties that take long to try: what makes a failure smaller is tried a few times, and not for
five minutes.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar, cast

Test = TypeVar("Test", bound=Callable[..., None])


@dataclass(slots=True)
class _Failures:
    left: int
    known: set[bytes] = field(default_factory=set)


def shrunk_within(tries: int) -> Callable[[Test], Test]:
    """For a test under `given` whose parameter `solver` is a name: from its first failure for one
    of them on, it is tried on so many more examples for that.

    Examples that failed fail again, so that Hypothesis can tell of the smallest; others are passed
    over then. Until something fails nothing is passed over. What is drawn can be pickled.
    """

    def brief(test: Test) -> Test:
        failures = defaultdict[str, _Failures](lambda: _Failures(tries))

        @wraps(test)
        def tried(
            **arguments: Any,
        ) -> None:  # Any: what the test takes besides the solver is its own affair.
            of_solver, example = failures[arguments["solver"]], pickle.dumps(arguments)
            of_solver.left -= bool(of_solver.known)
            if of_solver.left < 0 and example not in of_solver.known:
                return
            try:
                test(**arguments)
            except Exception:
                of_solver.known.add(example)
                raise

        return cast("Test", tried)

    return brief
