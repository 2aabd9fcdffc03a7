"""What `flex onboard` answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from flex_api.schemas.output_base import Output, Part


class OnboardedNode(Part):
    name: str
    addresses: list[str]
    sites: int = Field(description="whose names lead to it, of those that were asked for")


class OnboardedSite(Part):
    site: str
    other_names: list[str]
    document_root: str = Field(description="empty where no file says it")
    logs: list[str] = Field(description="as the machine has them")
    way: Literal["dns", "doors", "nothing"] = Field(description="what can move it")
    why: str = Field(description="what hinders DNS, and doors where nothing can move it")
    zone: str = Field(description="of the primary; empty where it lies in none")
    stay_behind: list[str] = Field(description="other names that do not go along")


class UnreadFile(Part):
    path: str
    why: str


class OnboardOutput(Output):
    found_by: list[str] = Field(description="panels, or the web server's own files")
    written: list[str] = Field(description="empty in a dry run")
    questions: int = Field(description="that a person was asked")
    by_dns: int = Field(description="sites that DNS can move")
    by_doors: int = Field(description="sites that only doors can move")
    by_nothing: int = Field(description="sites that nothing can move")
    nodes: list[OnboardedNode]
    primary: str = Field(description="empty where none was named")
    zones: list[str]
    log_files: int = Field(description="that are there now")
    sites: list[OnboardedSite]
    not_read: list[UnreadFile] = Field(description="the first of them")
    not_read_in_all: int
    remarks: list[str]
    next: list[str] = Field(description="commands that lead to a plan on paper")
