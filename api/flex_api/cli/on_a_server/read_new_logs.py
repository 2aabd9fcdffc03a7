"""The logs of a FLEX server: it reads what is new in all of its sources."""

from __future__ import annotations

from collections.abc import Mapping

from flex_api.cli.common import Context
from flex_api.cli.on_a_server.follow_jobs_and_refuse_options import given_as, refuse
from flex_api.client import Client
from flex_api.schemas.nodes_holders_jobs_freezes import JobOutput
from flex_api.schemas.rest_bodies_and_answers import IngestGiven


def read_logs(
    found: Context, client: Client, reason: str, files: Mapping[str, object]
) -> JobOutput:
    """Raises Misused for `files`: what is said of files of this machine, by its option."""
    refuse(files, "a server reads what is new in every source of its own settings")
    job = client.read_logs(given_as(IngestGiven, reason=reason))
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
