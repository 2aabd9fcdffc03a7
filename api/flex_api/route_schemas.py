"""What the verbs of routing print with -o json."""

from __future__ import annotations

from flex_api.output import Output, Part


class MemberRow(Part):
    node: str
    address: str
    server: str


class RoutedRow(Part):
    """`admitted` requests are let in at a time; 0 where there is no limit."""

    site: str
    hosts: list[str]
    policy: str
    low: int
    high: int
    hold_seconds: int
    admitted: int
    members: list[MemberRow]


class RouteOutput(Output):
    on: bool
    items: list[RoutedRow]


class RouteConfigOutput(Output):
    """`files` by name. `directory` is empty where they were only shown, and `checked_by` where nothing checked them."""

    node: str
    directory: str
    changed: bool
    checked_by: str
    files: dict[str, str]
