"""The member with the fewest requests under way: no regard for what is in its memory. Right where
everything fits.
"""

from __future__ import annotations

from flex.routing.pool import Pool


def least_connections(_pool: Pool, _clock: str) -> list[str]:
    return ["balance leastconn"]
