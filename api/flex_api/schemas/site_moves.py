"""What `flex moves` prints with -o json and the API answers of sites on their way, and how the
core's values become that.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field

from flex.model.site_moves import RunState, SiteMove, Stage, StageRun, State
from flex_api.schemas.output_base import Output, Part
from flex_api.schemas.request_and_page_base import CLEAN, Given, Text


class StageRow(Part):
    """A command of a stage, as it was run last."""

    stage: Stage
    hook: str = Field(description="what the settings call the command")
    state: RunState
    tries: int
    begun: datetime
    ended: datetime | None
    said: str = Field(description="the last thing it said, where it failed")


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
    rests_until: datetime | None = Field(
        description="until when the site is not moved again"
    )
    stages: list[StageRow]


class MovesOutput(Output):
    items: list[SiteMoveRow]


class AgainGiven(Given):
    """A site that rests is to move again."""

    site: Annotated[str, Field(min_length=1, max_length=1000, pattern=CLEAN)]
    reason: Text = ""


class RestOutput(Output):
    """Sites that may move again."""

    sites: list[str]
    dry_run: bool = False


def move_row(move: SiteMove, runs: Sequence[StageRun]) -> SiteMoveRow:
    return SiteMoveRow(
        id=move.id,
        site=move.site,
        source=move.source,
        target=move.target,
        plan=move.plan,
        state=move.state,
        begun=move.begun,
        ended=move.ended,
        reason=move.reason,
        rests_until=move.rests_until,
        stages=[stage_row(run) for run in runs if run.move == move.id],
    )


def stage_row(run: StageRun) -> StageRow:
    return StageRow(
        stage=run.stage,
        hook=run.hook,
        state=run.state,
        tries=run.tries,
        begun=run.begun,
        ended=run.ended,
        said=run.said,
    )


def move_rows(moves: Sequence[SiteMove], runs: Sequence[StageRun]) -> list[SiteMoveRow]:
    of_move: dict[str, list[StageRun]] = {}
    for run in runs:
        of_move.setdefault(run.move, []).append(run)
    return [move_row(move, of_move.get(move.id, [])) for move in moves]
