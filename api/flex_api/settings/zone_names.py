"""Names of zones and sites as people write them in settings.

Takes a name with or without its last dot. Returns the one spelling by which FLEX knows it, a zone
with the dot, or raises ValueError.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from flex_logs_ingest.scan.site_rules import spelling_of_site

SiteName = Annotated[str, Field(min_length=1), AfterValidator(spelling_of_site)]

_ZONE = re.compile(r"([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+")
# RFC 1035: 255 bytes with the lengths of the labels, so that the text has one less.
_LONGEST = 254


def absolute_zone(name: str) -> str:
    absolute = name.lower().rstrip(".") + "."
    if not _ZONE.fullmatch(absolute) or len(absolute) > _LONGEST:
        raise ValueError(
            f"{name!r} is no name of a zone; beyond ASCII write it as DNS has it, "
            "beginning with xn--"
        )
    return absolute
