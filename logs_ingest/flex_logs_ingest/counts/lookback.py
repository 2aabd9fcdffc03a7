"""How far back sizes are looked for; by itself, as settings are checked against it before logs are."""

from __future__ import annotations

# How many days before a period are asked for the size of what the period saw only as 304 or in
# parts.
SIZES_FROM = 30
