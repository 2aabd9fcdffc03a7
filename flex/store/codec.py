"""Cycles as JSON text and back, exactly: what comes out equals what went in.

Only whole values pass here; which of their fields are also columns is the tables' own business.
"""

from __future__ import annotations

from pydantic import ConfigDict, TypeAdapter, ValidationError

from flex.domain import Cycle
from flex.errors import StoreError

# Pydantic writes numbers that are not finite as null unless told otherwise, and a dataclass of the core cannot tell it.
# A tuple around the value can.
_CYCLE: TypeAdapter[tuple[Cycle]] = TypeAdapter(tuple[Cycle], config=ConfigDict(ser_json_inf_nan="constants"))


def cycle_to_text(cycle: Cycle) -> str:
    return _CYCLE.dump_json((cycle,)).decode("utf-8")


def cycle_from_text(text: str) -> Cycle:
    """Raises StoreError for text that another version wrote and this one cannot read."""
    try:
        return _CYCLE.validate_json(text)[0]
    except ValidationError as error:
        first = error.errors()[0]
        raise StoreError(
            "reading a cycle from the database",
            f"{'.'.join(map(str, first['loc'][1:])) or 'the text'}: {first['msg']}",
            kept="nothing was changed",
            advice="install the version of FLEX that wrote it, or restore a backup",
        ) from error
