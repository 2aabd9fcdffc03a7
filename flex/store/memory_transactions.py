"""How everything in a store in memory changes together, or not at all.

Takes the dictionaries that a store keeps. Returns views of it, each with an author of its own, and
blocks in which a fault puts every dictionary back as it was. Does not know what the dictionaries
hold.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from flex.model.audit_chain import Author


class AllOrNothing:
    """A store whose attributes are dictionaries. They are changed in place, so that every view sees
    it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # The run that this thread writes for, if it writes for one.
        self._mine = threading.local()
        self._author = Author()

    def in_the_name_of(self, author: Author) -> Self:
        view = copy.copy(self)
        view._author = author
        return view

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._lock:
            self._refuse_lost()
            before = [(kept, kept.copy()) for kept in self._dictionaries()]
            try:
                yield
            except BaseException:
                for kept, saved in before:
                    kept.clear()
                    kept.update(saved)
                raise

    def begin_with_all_of(self, other: Self) -> None:
        """Hold what the other one holds now. Both have the same values, which nobody changes in
        place.
        """
        both = zip(self._dictionaries(), other._dictionaries(), strict=True)
        with self._lock:
            for own, held in both:
                own.clear()
                own.update(held)

    @property
    def _run(self) -> str:
        run_id: str = getattr(self._mine, "run", "")
        return run_id

    def _refuse_lost(self) -> None:
        """Raises LostLease where the run that this thread writes for has lost the lease."""

    def _dictionaries(self) -> list[dict[Any, Any]]:
        """Any: each holds something else."""
        return [value for value in vars(self).values() if isinstance(value, dict)]
