"""Which names can have a marker. What a marker is called and says is the core's business:
flex/zones/marker.py.
"""

from __future__ import annotations


def lies_in(zone: str, name: str) -> bool:
    """Whether the name can have a marker in the zone; of what does not, the server says what is
    wrong with it.
    """
    return name == zone or name.endswith(f".{zone}")
