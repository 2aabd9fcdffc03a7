"""Whether a primary would do what FLEX will ask of it, found out before the first night.

A PreflightResult is one thing that was tried, as a line for a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CheckState = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class PreflightResult:
    """`detail` says what was found, `advice` what to do where it is not "ok"."""

    name: str
    state: CheckState
    detail: str
    advice: str = ""
