"""Numbers and times for people, with no more digits than mean something."""

from __future__ import annotations

from datetime import datetime, timedelta

STEPS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def size(count: float) -> str:
    """412 MB, 4.1 GB, 380 B."""
    for step, unit in STEPS:
        # Rounded first, so that 999,960 bytes are 1.0 MB and not 1000 kB.
        if abs(count) >= step * 0.9995:
            return f"{_short(count / step)} {unit}"
    return f"{count:.0f} B"


def memory(count: int) -> str:
    """48 MiB, 1.5 GiB: as it is set and sold."""
    for step, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB")):
        if count >= step:
            return f"{count / step:.4g} {unit}"
    return f"{count:,} B"


def _short(value: float) -> str:
    return f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}"


def share(ratio: float) -> str:
    """18 %, 4.1 %: one digit after the point only below ten."""
    percent = ratio * 100
    return f"{_short(percent)} %"


def signed_share(ratio: float) -> str:
    return f"{'+' if ratio >= 0 else '-'}{share(abs(ratio))}"


def count(number: int, singular: str, many: str = "") -> str:
    """1 site, 7 sites, 12,000 sites."""
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


def rate(a_second: float | None) -> str:
    """1,234, 12.3, 0.00149; a dash where there is none."""
    if a_second is None:
        return "—"
    return f"{a_second:,.0f}" if a_second >= 99.95 else f"{a_second:.3g}"


def span(length: timedelta) -> str:
    """4 m 12 s, 2 h 5 m, 3 d 4 h, 263 d."""
    seconds = round(length.total_seconds())
    if seconds < 60:
        return f"{length.total_seconds():.1f} s" if seconds < 10 else f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} m {seconds % 60} s"
    if seconds < 86400:
        return f"{seconds // 3600} h {seconds % 3600 // 60} m"
    if seconds < 10 * 86400:
        return f"{seconds // 86400} d {seconds % 86400 // 3600} h"
    return f"{seconds // 86400:,} d"


def seconds(number: float) -> str:
    """As a span: 41 s, 2 h 5 m."""
    return span(timedelta(seconds=number))


def ago(then: datetime, now: datetime) -> str:
    if then > now:
        return f"in {span(then - now)}"
    return f"{span(now - then)} ago"


def when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def until_text(moment: datetime) -> str:
    """until Tuesday 10 March, 02:17 UTC."""
    return f"until {moment:%A} {moment.day} {moment:%B, %H:%M} UTC"
