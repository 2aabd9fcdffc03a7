"""What people decided, as a file of it and the verbs with -o json have it: wishes for sites, nodes
out of service, a stop to changes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from flex.model.wish import ASKS, DEFAULTS
from flex_api.schemas.output_base import Output, Part
from flex_api.schemas.request_and_list_base import CLEAN, Given, Moment, Text
from flex_api.schemas.sites_and_wishes import ON_TOP

Word = Annotated[str, Field(min_length=1, max_length=1000, pattern=CLEAN)]


def _field(name: str) -> Any:
    """Whether it makes sense is judged where the wish is made. Any: as pydantic's own."""
    return Field(DEFAULTS[name], description=ASKS[name].help)


class WishDecided(Given):
    site: Word
    campaign: Annotated[Text, Field(description=ON_TOP)] = ""
    nodes: tuple[Word, ...] = _field("nodes")
    not_on: tuple[Word, ...] = _field("not_on")
    together: tuple[Word, ...] = _field("together")
    apart: tuple[Word, ...] = _field("apart")
    min_replicas: int = _field("min_replicas")
    max_replicas: int = _field("max_replicas")
    weight: Annotated[float, Field(allow_inf_nan=False)] = _field("weight")
    sla: Text = _field("sla")
    excluded: bool = _field("excluded")
    since: Moment | None = None
    until: Moment | None = None
    reason: Text = ""


class NodeDecided(Given):
    node: Word
    state: Literal["draining", "down"]
    deadline: Moment | None = None
    reason: Text = ""


class FreezeDecided(Given):
    until: Moment | None = None
    reason: Text = ""


class Decisions(Given):
    """All of it. What is not in it is not decided."""

    wish: tuple[WishDecided, ...] = ()
    node: tuple[NodeDecided, ...] = ()
    freeze: FreezeDecided | None = None


class DecisionsOutput(Output):
    wish: list[WishDecided]
    node: list[NodeDecided]
    freeze: FreezeDecided | None


class DifferenceRow(Part):
    kind: Literal["wish", "node", "freeze"]
    of: str = Field(description="the site, with its campaign, or the node")
    now: str = Field(description="what is decided now; empty where nothing is")
    wanted: str = Field(description="what the file has; empty where it has nothing")
    left: str = Field(description="why it is left as it is; empty where it is not")


class DifferencesOutput(Output):
    items: list[DifferenceRow]
    carried_out: int = Field(description="how many of them were carried out")
