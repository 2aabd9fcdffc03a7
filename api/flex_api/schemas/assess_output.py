"""What `flex assess` answers."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from flex_api.schemas.output_base import Output, Part
from flex_api.schemas.plan_parts import BenefitRow, ForecastRow


class AssessedFile(Part):
    path: str
    outcome: str
    why: str


class AssessedLogs(Part):
    files: int = Field(description="that were named or found")
    read: int = Field(description="of which lines were counted")
    formats: list[str]
    sites_by: list[str] = Field(description="how sites were told apart")
    lines: dict[str, int] = Field(description="log lines by class")
    not_read: list[AssessedFile] = Field(description="the first of them")
    not_read_in_all: int
    left_for_time: int = Field(description="older files that there was no time for")
    first_day: datetime
    last_day: datetime


class AssessedSite(Part):
    site: str
    access_bytes: int
    working_set_bytes: int
    requests: int


class AssessedMemory(Part):
    """Where every node serves every site in turn."""

    held_bytes: int = Field(description="in the memory of all nodes together")
    distinct_bytes: int = Field(description="of different files among these")
    wasted_bytes: int = Field(description="second and further copies of the same files")
    wasted_ratio: float = Field(description="of what is held")


class AssessedMoves(Part):
    nights: int = Field(description="how many were played through")
    median: int | None
    most: int | None


class AssessedNames(Part):
    """What DNS can move of the sites; null where no zone was named."""

    sites: int
    movable: int
    movable_requests_ratio: float = Field(description="of all requests")
    why_not: dict[str, int] = Field(description="how many sites DNS cannot move, by why")


class AssessOutput(Output):
    logs: AssessedLogs
    period_start: datetime = Field(description="of what is predicted")
    period_end: datetime
    nodes: int
    ram_bytes: int = Field(description="of each node")
    sites: int
    requests: int
    access_bytes: int
    working_set_bytes: int
    largest: list[AssessedSite]
    memory: AssessedMemory
    ways: list[ForecastRow] = Field(
        description="round robin, after (what FLEX would do), and best: all nodes as "
        "one machine that has their memory and their speed together"
    )
    benefit: BenefitRow | None = Field(None, description="null where nothing is predicted")
    worst_ratio: float = Field(description="how far FLEX's worst node is off its share")
    moves: AssessedMoves
    nodes_enough: int = Field(
        description="with FLEX these serve as many requests a second as round robin on all of them"
    )
    names: AssessedNames | None = None
    in_the_way: list[str]
    next_steps: list[str]
    report: str = Field(description="the HTML file")
    seconds: float
