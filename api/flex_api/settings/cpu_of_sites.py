"""Settings about the processor time of sites: which cgroups are theirs."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator, model_validator

from flex_api.settings.quantities import Section
from flex_logs_ingest.cpu.read_cgroups import has_name


class CpuSection(Section):
    pattern: str = Field(
        description="cgroups below /sys/fs/cgroup, with {site} or {pool} where the name stands: "
        "'system.slice/php-fpm@{site}.service'"
    )
    pools: Path | None = Field(
        None, description="a file with the sites of each {pool}: on each line a pool and its sites"
    )

    @field_validator("pattern")
    @classmethod
    def _has_a_name(cls, value: str) -> str:
        if not has_name(value):
            raise ValueError("wanted {site} or {pool}, once, where the name stands")
        return value

    @model_validator(mode="after")
    def _pools_are_named(self) -> CpuSection:
        if ("{pool}" in self.pattern) != (self.pools is not None):
            raise ValueError("{pool} and pools go together: which sites are in which pool")
        return self
