"""Settings of what goes with a site that moves: the commands that are run for it, stage by stage.

Takes what the file says. Returns values. Does not run anything, and does not look whether a command
is there: check_files_in_settings.py does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

from pydantic import Field, field_validator, model_validator

from flex.model.site_moves import HOOK_STAGES, MARKS, UNDOABLE
from flex.placing.is_site_worse_off import Worse
from flex_api.settings.explain_bad_settings import require_known, twice_in
from flex_api.settings.quantities import Section, Share, Span, Whole
from flex_api.settings.ready_nodes import Failover, MovedSite, Ready
from flex_api.settings.zone_names import SiteName

# The shortest span that a setting takes which must not be 0.
SECOND = timedelta(seconds=1)
# What stands in braces in a command, and a mark that does not end.
_NAMES = "|".join(sorted(mark.strip("{}") for mark in MARKS))
_MARK = re.compile(rf"\{{[^{{}}]*\}}|\{{(?:{_NAMES})(?![\w}}])")


class Hook(Section):
    """One command of one stage."""

    stage: str = Field(description=f"when it is run: {', '.join(HOOK_STAGES)}")
    command: tuple[str, ...] = Field(
        min_length=1,
        description=f"the command and its arguments; {', '.join(sorted(MARKS))} are filled in, "
        "no shell",
    )
    undo: tuple[str, ...] = Field(
        (),
        description="the command that takes it back where the site stays; it is run also "
        "where the command itself ended half-way",
    )
    name: str = Field(
        "",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$|^$",
        description="what it is called where moves are shown; the stage when empty",
    )
    timeout: Span = Field(
        timedelta(hours=1),
        ge=SECOND,
        description="a command that takes longer is ended, with all that it started",
    )
    retries: Whole = Field(1, le=100, description="how often it is run again where it failed")
    sites: tuple[SiteName, ...] = Field(
        (), description="the sites that it is for; empty: all, but for `classes`"
    )
    classes: tuple[str, ...] = Field(
        (), description="the classes of [solver.classes] that it is for; empty: all"
    )

    @field_validator("stage")
    @classmethod
    def _known_stage(cls, value: str) -> str:
        return require_known(value, value, list(HOOK_STAGES))

    @field_validator("command", "undo")
    @classmethod
    def _known_marks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            for mark in _MARK.findall(word):
                if mark not in MARKS:
                    raise ValueError(
                        f"{mark} stands for nothing; there are {', '.join(sorted(MARKS))}"
                    )
        return value

    @model_validator(mode="after")
    def _can_be_undone(self) -> Hook:
        if self.undo and self.stage not in UNDOABLE:
            raise ValueError(
                f"undo does nothing for {self.stage}: by then the site is at its new node"
            )
        return self

    @property
    def shown_name(self) -> str:
        return self.name or self.stage


class WorseSettings(Section):
    """What counts as worse, of a site that moved."""

    factor: float = Field(
        2.0,
        gt=1.0,
        le=1000.0,
        description="this many times as many errors, or half of the answers this many times slower",
    )
    requests: Whole = Field(
        20, ge=1, description="fewer requests than that, on either node, say nothing"
    )
    errors: Share = Field(0.01, description="a smaller share of errors is never worse")
    slow_ms: Whole = Field(
        250, le=8192, description="answers that take no more milliseconds are never slow"
    )

    def terms(self) -> Worse:
        return Worse(self.factor, self.requests, self.errors, self.slow_ms)


class Move(Section):
    """What goes with a site that moves from one node to another."""

    at_once: Whole = Field(4, ge=1, le=1000, description="sites whose commands are run at a time")
    at_once_per_node: Whole = Field(
        2, ge=1, le=1000, description="of these, how many come from or go to one node"
    )
    rest: Span = Field(
        timedelta(days=7), description="how long a site stays where it is after its move failed"
    )
    clean_after: Span = Field(
        timedelta(days=3),
        description="how long after a move the commands of the stage clean wait at least",
    )
    failover: Failover = Field(
        "auto",
        description="where the sites of a dead node go: copy: to nodes that have them already "
        "and to no other; always: to any node; auto: copy for sites with one writer, with "
        'routing.content = "owner" and where hooks of copy or final copy are for the site, and '
        "always for all others",
    )
    hook: tuple[Hook, ...] = Field(
        (), description="the commands, in the order in which those of a stage are run"
    )

    watch: Span = Field(
        timedelta(0),
        le=timedelta(days=7),
        description="how long the answers of a site that moved are compared with those of "
        "the hour before at its old node; 0: not at all",
    )
    worse: WorseSettings = WorseSettings()
    ready: Ready = Ready()
    site: tuple[MovedSite, ...] = Field((), description="settings for single sites")

    def failover_of(self, sites: Iterable[str]) -> dict[str, Failover]:
        failovers = {section.name: section.failover for section in self.site if section.failover}
        return {site: failovers.get(site, self.failover) for site in sites}

    @model_validator(mode="after")
    def _each_site_once(self) -> Move:
        if twice := twice_in([section.name for section in self.site]):
            raise ValueError(f"the site {twice!r} is there twice")
        return self

    @model_validator(mode="after")
    def _told_apart(self) -> Move:
        names = [f"{hook.stage} {hook.shown_name}" for hook in self.hook]
        if twice := twice_in(names):
            stage, _, name = twice.rpartition(" ")
            raise ValueError(
                f"two hooks of {stage} are called {name!r}: give each a name of its own"
            )
        return self
