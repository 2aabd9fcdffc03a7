"""What was found out about a name server: a line for a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CheckState = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: CheckState
    detail: str
    advice: str = ""
