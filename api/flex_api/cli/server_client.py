"""What the verbs of a FLEX server share: the client of this call, and how its answer is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer

from flex.errors import FlexError
from flex_api.cli.common import Context, context
from flex_api.client import Client
from flex_api.schemas.night import NodesOutput
from flex_api.schemas.rest import JobShown, NodeChanged
from flex_api.schemas.sites import PinOutput, PinShown
from flex_api.schemas.verbs import PlanOutput
from flex_api.told import desk_text, preview_text, text


@dataclass(frozen=True, slots=True)
class Asked:
    context: Context
    client: Client


def asked_of(ctx: typer.Context) -> Asked:
    found = context(ctx)
    assert isinstance(found.remote, Client), "the callback makes it"
    return Asked(found, found.remote)


def show_result(asked: Asked, job: JobShown) -> None:
    """The plan that came of a job, or the nodes where none did. Raises what the job failed with."""
    ended = asked.client.follow(job, asked.context.say)
    kind, _, name = ended.result.removeprefix("/api/v1/").partition("/")
    if ended.state != "done":
        asked.context.show_nothing(
            f"The job {ended.id} was {ended.state}: {ended.stage}"
        )
    elif kind == "plans":
        show_plan(asked, asked.client.plan(name)[0])
    elif kind == "nodes":
        show_nodes(asked)


def show_plan(asked: Asked, output: PlanOutput, *, diff: bool = False) -> None:
    asked.context.show(output, lambda console: text.plan(console, output, diff=diff))


def show_nodes(asked: Asked, changed: NodeChanged | None = None) -> None:
    """All of them, and what follows from a change of one."""
    output = NodesOutput(
        items=list(asked.client.nodes()), dead=asked.client.dead_nodes()
    )
    if changed:
        notes = [*changed.notes, *_next_plan_lines(asked, changed)]
        output = output.model_copy(update={"notes": notes, "preview": changed.preview})
    asked.context.show(output, lambda console: preview_text.nodes(console, output))


def _next_plan_lines(asked: Asked, changed: NodeChanged) -> list[str]:
    """It was changed, whatever becomes of this question."""
    if changed.turn is not None:
        return changed.turn
    try:
        return asked.client.turn(changed.node.node).turn
    except FlexError as error:
        return [f"how many sites that is with the next plan is not known: {error}"]


def show_pin(asked: Asked, pin: PinShown, *, pinned: bool, dry_run: bool) -> None:
    values: dict[str, Any] = pin.model_dump(exclude={"holds"})
    output = PinOutput(pinned=pinned, dry_run=dry_run, **values)
    asked.context.show(output, lambda console: desk_text.pin(console, output))
