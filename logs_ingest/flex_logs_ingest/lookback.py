"""How far back sizes are looked for. By itself, as the settings are checked against it before anything of logs is loaded."""

from __future__ import annotations

# How many days before a period are asked for the size of what the period saw only as 304 or in parts.
SIZES_FROM = 30
