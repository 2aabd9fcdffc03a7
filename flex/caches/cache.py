"""What every cache policy promises; sizes are bytes, and a target's size never changes."""

from __future__ import annotations

from typing import Protocol


class Cache(Protocol):
    """A node's memory of `limit` bytes. It never holds more than that, and nothing that is larger
    than all of it.
    """

    def __init__(self, limit: int) -> None: ...

    def ask(self, target: int, size: int) -> bool:
        """Whether the target was in memory; it is afterwards, unless it is larger than the
        memory.
        """
        ...

    def __contains__(self, target: int) -> bool: ...

    def oldest(self) -> int | None:
        """The target that is looked at first when room is needed; None when there is nothing in
        memory.
        """
        ...

    def contents(self) -> dict[int, int]:
        """The targets in memory and their sizes."""
        ...
