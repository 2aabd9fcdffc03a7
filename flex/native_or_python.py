"""Which engine runs the hot loops: the native extension where it is installed, Python otherwise.

This is the only place that decides it. The Python version of a loop stands where the loop is used:

    scan = native_or_python.pick("scan", reference_scan)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

# Raised together with the native crate's own INTERFACE whenever the signature or the meaning of a
# loop changes.
INTERFACE = 26

Loop = TypeVar("Loop", bound=Callable[..., object])


def _load() -> tuple[ModuleType | None, str]:
    try:
        module = importlib.import_module("flex_native")
    except ImportError as error:
        return (
            None,
            (
                "the native extension is not installed (with cargo on the "
                f"PATH, make native builds it; {error})"
            ),
        )
    interface = getattr(module, "INTERFACE", 0)
    if interface != INTERFACE:
        return (
            None,
            (
                f"the native extension speaks interface {interface}, this FLEX speaks "
                f"{INTERFACE}: make native builds it again"
            ),
        )
    return module, ""


NATIVE, WHY_NOT = _load()


def pick(loop: str, reference: Loop) -> Loop:
    """The native loop of that name, or the reference."""
    if NATIVE is None:
        return reference
    native: Loop = getattr(NATIVE, loop, reference)
    return native


def members(register: str) -> tuple[str, ...]:
    """Those of a register that the native loops know, in their order. The references know all."""
    return tuple(getattr(NATIVE, register, ()))


def name() -> str:
    return "python" if NATIVE is None else "native"
