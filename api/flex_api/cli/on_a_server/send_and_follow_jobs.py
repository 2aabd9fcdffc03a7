"""What the verbs share that ask a FLEX server: what is sent to it, and how a job is followed."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from flex.errors import BadInput
from flex_api.cli.common import Context
from flex_api.client import Client
from flex_api.schemas.rest_bodies import JobShown
from flex_api.schemas.verbs_output import PlanOutput

Given = TypeVar("Given", bound=BaseModel)


def given_as(model: type[Given], **values: object) -> Given:
    """What is sent to a server. Raises BadInput where the API would not take it."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(
            f"{'.'.join(map(str, first['loc']))} = {first['input']!r}"[:200],
            first["msg"],
            kept="nothing was sent",
            advice="correct it; /api/docs of the server says what it takes",
        ) from error


def result_of(context: Context, client: Client, job: JobShown) -> tuple[str, str]:
    """What came of a job, by its kind and name; nothing where it was ended before its end, which is
    said. Raises what the job failed with.
    """
    ended = client.follow(job, context.say)
    kind, _, name = ended.result.removeprefix("/api/v1/").partition("/")
    if ended.state != "done":
        context.show_nothing(f"The job {ended.id} was {ended.state}: {ended.stage}")
        return "", ""
    return kind, name


def plan_of(context: Context, client: Client, job: JobShown) -> PlanOutput | None:
    """The plan that came of a job."""
    kind, name = result_of(context, client, job)
    return client.plan(name)[0] if kind == "plans" else None
