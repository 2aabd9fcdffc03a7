"""The logs of a FLEX server: it reads what is new in all of its sources."""

from __future__ import annotations

from flex_api.cli.common import Context
from flex_api.cli.on_a_server.send_and_follow_jobs import given_as
from flex_api.client import Client
from flex_api.schemas.nodes_holders_jobs_freezes import JobOutput
from flex_api.schemas.rest_bodies_and_answers import IngestGiven


def read_logs(found: Context, client: Client, source: str, reason: str) -> JobOutput:
    """All sources, where none is named."""
    job = client.read_logs(given_as(IngestGiven, source=source, reason=reason))
    ended = client.follow(job, found.say)
    return JobOutput(
        id=ended.id,
        kind=ended.kind,
        state=ended.state,
        stage=ended.stage,
        result=ended.result,
    )


def line(output: JobOutput) -> str:
    return f"{output.state}: {output.stage}"
