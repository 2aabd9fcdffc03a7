"""The logs of a FLEX server: it reads what is new in all of its sources, and the verb waits for
that.
"""

from __future__ import annotations

from flex.errors import FlexError
from flex_api.cli.common import Context
from flex_api.cli.on_a_server.send_and_follow_jobs import given_as
from flex_api.client import Client
from flex_api.client_http import error_of
from flex_api.schemas.nodes_and_jobs import JobOutput
from flex_api.schemas.rest_bodies import IngestGiven


def read_logs(
    context: Context, client: Client, source: str, reason: str
) -> tuple[JobOutput, FlexError | None]:
    """All sources, where none is named. Beside the job, which files could not be read."""
    job = client.read_logs(given_as(IngestGiven, source=source, reason=reason))
    ended = client.follow(job, context.say)
    output = JobOutput.like(ended)
    return output, error_of(ended.problem) if ended.problem else None


def line(output: JobOutput) -> str:
    return f"{output.state}: {output.stage}"
