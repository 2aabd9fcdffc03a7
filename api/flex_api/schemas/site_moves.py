"""What `flex moves` prints with -o json and the API answers of sites on their way, and how the
core's values become that.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field

from flex.model.site_moves import (
    OWN_STAGES,
    RunState,
    SiteMove,
    Stage,
    StageRun,
    State,
    seconds_waited,
)
from flex_api.schemas.output_base import Output, Part
from flex_api.schemas.request_and_list_base import CLEAN, Given, Names, Text


class StageRow(Part):
    """A command of a stage, as it was run last."""

    stage: Stage
    hook: str = Field(description="what the settings call the command")
    state: RunState
    tries: int
    begun: datetime
    ended: datetime | None
    said: str = Field(
        description="the last thing it said; what a command printed is for operators alone"
    )


class SiteMoveRow(Part):
    """One site on its way from one node to another."""

    id: str
    site: str
    source: str
    target: str
    plan: str
    state: State
    begun: datetime
    ended: datetime | None
    reason: str = Field(description="why it stayed or is taken back")
    rests_until: datetime | None = Field(description="until when the site is not moved again")
    stages: list[StageRow]
    waited_seconds: float | None = Field(
        None, description="for how long requests of the site waited at the doors"
    )


class MovesOutput(Output):
    items: list[SiteMoveRow]
    next: str | None = Field(None, description="the cursor of the next page; none on the last")


class ReadyAsked(Part):
    """One question, and what came back."""

    node: str
    address: str
    port: int
    asked: str
    answer: str


class ReadyRow(Part):
    """Whether a node is ready for a site."""

    site: str
    node: str
    source: str = Field(description="the node that it was compared with; empty: none")
    ready: bool
    why: str = Field(description="why it is not ready; empty where it is")
    complete: bool = Field(
        description="whether all was asked: not where move.ready.budget was over"
    )
    remarks: list[str]
    asked: list[ReadyAsked]


class ReadyOutput(Output):
    items: list[ReadyRow]


class ReadyGiven(Given):
    """Whether nodes are ready for sites is to be asked."""

    sites: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=1000, pattern=CLEAN)], ...],
        Field(min_length=1, max_length=100),
    ]
    to: Annotated[
        Names, Field(description="the nodes; if empty, every active one that does not serve it")
    ] = ()


class AgainGiven(Given):
    """A site that rests is to move again."""

    site: Annotated[str, Field(min_length=1, max_length=1000, pattern=CLEAN)]
    reason: Text = ""


class SiteMoveGiven(Given):
    """One site is to go to other nodes."""

    site: Annotated[str, Field(min_length=1, max_length=1000, pattern=CLEAN)]
    to: Annotated[Names, Field(min_length=1, description="the nodes that it is to be on after it")]
    reason: Text = ""


class RestOutput(Output):
    """Sites that may move again."""

    sites: list[str]
    dry_run: bool = False


def move_row(move: SiteMove, runs: Sequence[StageRun], *, with_output: bool) -> SiteMoveRow:
    return SiteMoveRow.like(
        move,
        stages=[stage_row(run, with_output) for run in runs if run.move == move.id],
        waited_seconds=seconds_waited(runs),
    )


def stage_row(run: StageRun, with_output: bool) -> StageRow:
    return StageRow.like(run, said=run.said if with_output or run.stage in OWN_STAGES else "")


def move_rows(
    moves: Sequence[SiteMove], runs: Sequence[StageRun], *, with_output: bool
) -> list[SiteMoveRow]:
    """With what their commands printed, for whoever may see that."""
    of_move: dict[str, list[StageRun]] = {}
    for run in runs:
        of_move.setdefault(run.move, []).append(run)
    return [move_row(move, of_move.get(move.id, []), with_output=with_output) for move in moves]
