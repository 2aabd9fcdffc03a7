"""Visitors who come to nodes that do not have the site, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from flex.model.stray_requests import MOST_READ
from flex.site_names_in_words import first_few
from flex_api.in_words import amounts
from flex_api.schemas.explain_output import ExplainOutput
from flex_api.schemas.strays import StrayRow


def visitor_lines(output: ExplainOutput, now: datetime) -> Iterator[str]:
    for row in output.visitors:
        yield sentence(row, now)
    if missing := output.visitors_not_known:
        yield (
            f"whether visitors still come to {first_few(missing)} is not known: nobody "
            "read a door there within the last day, or it counted more names than the "
            f"{MOST_READ:,} that are kept"
        )


def sentence(row: StrayRow, now: datetime) -> str:
    return (
        f"visitors still come to {row.node}, which does not have the site: "
        f"{amounts.count(row.requests, 'request')} since {row.since:%Y-%m-%d}, "
        f"last {amounts.ago(row.last, now)}"
    )
