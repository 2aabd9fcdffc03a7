"""What every published output has in common."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

# Raised when a field of a published output is changed or removed, not when one is added.
SCHEMA_VERSION = 1


class Part(BaseModel):
    # There are many outputs, and hardly any verb shows more than one: each is made ready when it is
    # first used.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def like(cls, value: object, **others: object) -> Self:
        """What the value has of the same names, and the others as they are given."""
        names = [name for name in cls.model_fields if name not in others and hasattr(value, name)]
        same = {name: getattr(value, name) for name in names}
        return cls.model_validate(same | others, from_attributes=True)


class Output(Part):
    schema_version: Literal[1] = 1


class StopRow(Part):
    """A rule that stopped something, and what gets past it."""

    rule: str
    limit: str
    actual: str
    said: str
    override: str = Field(description="the command, or what somebody has to do, to get past it")
    sites: list[str] = Field(
        [], description="what would move without it; where several rules are named, without all"
    )
    until: datetime | None = Field(
        None, description="when time alone lifts it, for the first of the sites"
    )


class ErrorOutput(Output):
    error: str
    exit_code: int
    asked: str
    answer: str
    unchanged: str
    next_step: str
    stops: list[StopRow] = Field(
        [], description="the rules it went by, where somebody may go over them"
    )
