"""What every published output has in common."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Output(Part):
    schema_version: Literal[1] = 1


class ErrorOutput(Output):
    error: str
    exit_code: int
    asked: str
    answer: str
    unchanged: str
    next_step: str
