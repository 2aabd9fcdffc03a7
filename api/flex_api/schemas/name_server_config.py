"""What `flex config named` and `flex config knot` print."""

from __future__ import annotations

from flex_api.schemas.output_base import Output, Part


class ServerPart(Part):
    """What the configuration of one primary needs. `asked` are its zones that it named the name
    servers of; of the others the usual names are denied.
    """

    server: str
    zones: list[str]
    asked: list[str]
    text: str


class ConfigServersOutput(Output):
    items: list[ServerPart]
