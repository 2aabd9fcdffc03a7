"""Back from a marker to the name it marks. Making markers is the core's business: flex/marker.py."""

from __future__ import annotations

from flex.marker import LABEL


def lies_in(zone: str, name: str) -> bool:
    """Whether the name can have a marker in the zone; of what does not, the server says what is wrong with it."""
    return name == zone or name.endswith(f".{zone}")


def site_name(zone: str, marker: str) -> str:
    """The name that a marker belongs to; any other name is its own."""
    if marker == f"{LABEL}.{zone}":
        return zone
    suffix = f".{LABEL}.{zone}"
    return f"{marker.removesuffix(suffix)}.{zone}" if marker.endswith(suffix) else marker
