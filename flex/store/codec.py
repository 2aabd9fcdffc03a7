"""Cycles and checks as JSON text and back, exactly: what comes out equals what went in.

Only whole values pass here; which of their fields are also columns is the tables' own business.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from flex.checks import Check
from flex.domain import Cycle
from flex.errors import StoreError

Value = TypeVar("Value")

# Pydantic writes numbers that are not finite as null unless told otherwise, and a dataclass of the core cannot tell it.
# A tuple around the value can.
_CYCLE: TypeAdapter[tuple[Cycle]] = TypeAdapter(tuple[Cycle], config=ConfigDict(ser_json_inf_nan="constants"))
_CHECK: TypeAdapter[tuple[Check]] = TypeAdapter(tuple[Check], config=ConfigDict(ser_json_inf_nan="constants"))


def cycle_to_text(cycle: Cycle) -> str:
    return _CYCLE.dump_json((cycle,)).decode("utf-8")


def cycle_from_text(text: str) -> Cycle:
    return _read(_CYCLE, "a cycle", text)


def check_to_text(check: Check) -> str:
    return _CHECK.dump_json((check,)).decode("utf-8")


def check_from_text(text: str) -> Check:
    return _read(_CHECK, "a check of the name servers", text)


def _read(kind: TypeAdapter[tuple[Value]], what: str, text: str) -> Value:
    """Raises StoreError for text that another version wrote and this one cannot read."""
    try:
        return kind.validate_json(text)[0]
    except ValidationError as error:
        first = error.errors()[0]
        raise StoreError(
            f"reading {what} from the database",
            f"{'.'.join(map(str, first['loc'][1:])) or 'the text'}: {first['msg']}",
            kept="nothing was changed",
            advice="install the version of FLEX that wrote it, or restore a backup",
        ) from error
