"""Plans and checks as JSON text and back: what is read equals what was written.

Takes a value. Returns its text, or the value of a text. Does not decide which fields are also
columns: the tables do.

The plan that was written or read last is kept in memory. When it is read again, the same value is
returned, and the text is not parsed again. A change of a plan is noted by reading the plan before
and after. With ten thousand sites, parsing each time would take as long as reading their zone from
DNS.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from flex.errors import StoreError
from flex.model.plan import Plan
from flex.zones.last_dns_check import Check

Value = TypeVar("Value")

# What a field is called in texts that were written before it got its name.
STORED_NAMES = {"plan": "cycle", "zone_plans": "plans"}

# Pydantic writes numbers that are not finite as null unless told otherwise, and a dataclass of the
# core cannot tell it. A tuple around the value can. Each is made ready when it is first used.
_PLAN: TypeAdapter[tuple[Plan]] = TypeAdapter(
    tuple[Plan],
    config=ConfigDict(
        defer_build=True,
        ser_json_inf_nan="constants",
        alias_generator=lambda name: STORED_NAMES.get(name, name),
    ),
)
_CHECK: TypeAdapter[tuple[Check]] = TypeAdapter(
    tuple[Check], config=ConfigDict(defer_build=True, ser_json_inf_nan="constants")
)


# Larger texts are not kept for whoever may read them again: the plan made of them takes many times
# as much memory.
HANDY = 16 * 2**20


class _Last:
    """The text of a plan that was written or read last. Values are never changed, so it can be
    given to anybody.
    """

    def __init__(self) -> None:
        self._known: tuple[str, Plan] | None = None

    def keep(self, text: str, plan: Plan) -> None:
        self._known = (text, plan) if len(text) <= HANDY else None

    def plan(self, text: str) -> Plan | None:
        known = self._known
        return known[1] if known and known[0] == text else None


_LAST = _Last()


def plan_to_text(plan: Plan) -> str:
    text = _PLAN.dump_json((plan,), by_alias=True).decode("utf-8")
    _LAST.keep(text, plan)
    return text


def plan_from_text(text: str) -> Plan:
    if known := _LAST.plan(text):
        return known
    plan = _read(_PLAN, "a plan", text)
    _LAST.keep(text, plan)
    return plan


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
            advice="install the version of FLEX that wrote it, or restore a backup",
        ) from error
