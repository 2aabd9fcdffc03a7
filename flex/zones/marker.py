"""The mark that a name is ours: a TXT record beside the zone's names, never among them.

Takes names and zones. Returns the name and the text of the marker, and the way back from these.
Does not write the record.

All markers are under `_flex`. So a name server can let FLEX write its markers (`subdomain
_flex.<zone> TXT`) and no other TXT record.
"""

from __future__ import annotations

from flex.errors import BadInput

LABEL = "_flex"
PREFIX = "flex owner="


def marker_name(name: str, zone: str) -> str:
    """`www.shop._flex.hosting.example.` for `www.shop.hosting.example.`. Raises BadInput outside
    the zone.
    """
    if name == zone:
        return f"{LABEL}.{zone}"
    if not name.endswith(f".{zone}"):
        raise BadInput(f"the marker of {name}", f"it lies outside {zone}", advice="check the zones")
    return f"{name[: -len(zone)]}{LABEL}.{zone}"


def site_name(zone: str, marker: str) -> str:
    """The name that a marker belongs to; any other name is its own."""
    if marker == f"{LABEL}.{zone}":
        return zone
    suffix = f".{LABEL}.{zone}"
    return f"{marker.removesuffix(suffix)}.{zone}" if marker.endswith(suffix) else marker


def marker_text(owner: str) -> str:
    return f"{PREFIX}{owner}"


def marker_owner(text: str) -> str | None:
    """Whose marker this is; None when it is no marker at all."""
    return text.removeprefix(PREFIX) if text.startswith(PREFIX) else None
