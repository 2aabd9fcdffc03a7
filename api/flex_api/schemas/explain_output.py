"""What `flex explain` prints with -o json, and the API answers."""

from __future__ import annotations

from pydantic import Field

from flex_api.schemas.output_base import Output, Part
from flex_api.schemas.plan_parts import EditRow, LeaningRow
from flex_api.schemas.strays import StrayRow


class OtherRow(Part):
    source: str
    target: str
    node: str = Field(description="the one of the two that would be farther from its fair share")
    dimension: str
    off_ratio: float
    outside: bool = Field(description="whether that is outside the tolerance")
    cold_bytes: int


class ExplainOutput(Output):
    site: str
    plan: str = Field(description="the plan that waits, or the one in force")
    nodes: list[str]
    replicas: int
    asks_units: dict[str, float] = Field(
        description="what each replica asks; 100 is a mean node's fair share"
    )
    reasons: list[str]
    others: list[OtherRow] = Field(
        description="where else it could be, the nearest to balance first"
    )
    edited: EditRow | None = Field(
        None,
        description="what somebody else changed at the site's name in DNS; FLEX leaves it alone",
    )
    leaning: list[LeaningRow] = Field(
        [], description="what depends on the site's name, as the plan found it in DNS"
    )
    visitors: list[StrayRow] = Field([], description="who comes to nodes that do not have the site")
    visitors_not_known: list[str] = Field(
        [],
        description="nodes whose doors nobody read within the last day, that counted more names "
        "than are kept, or do not count all that they pass on",
    )
