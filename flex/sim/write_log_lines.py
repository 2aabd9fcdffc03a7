"""Accesses as the text of log lines.

Takes the accesses of a night. Returns rows (what any log format could say of each access) and lines
in each format. Does not decide which file a line belongs to: made_up_logs.py
does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import numpy as np
import pandas as pd

from flex.placing.problem import Ints
from flex.sim.made_up_cluster import Accesses, Hosting
from flex.sim.made_up_names import ADDRESS_BLOCKS, AGENTS, METHODS, NOT_THERE, PROTOCOLS, REFERERS

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# The share of the requests that ask for a site by another of its names. A guess.
ALIAS_SHARE = 0.2
# The share of the requests that one line of no request comes after. A guess.
NO_REQUEST_SHARE = 0.002
# The share of the lines that are followed by what is no line. A guess.
GARBAGE_SHARE = 0.001
# What reaches a port without being a request: the start of a TLS handshake, and a connection that
# said nothing.
NO_REQUEST = pd.DataFrame(
    {
        "request": [r"\x16\x03\x01\x02", "-"],
        "status": [400, 408],
        "bytes": [226, 0],
        "referer": "-",
        "agent": "-",
    }
)
GARBAGE = ("\x00" * 64, "AH00094: Command line: '/usr/sbin/apache2'", "")
# Some servers are never told to write UTC.
LOCAL_TIME: Final = timezone(timedelta(hours=2))

Format = Callable[[pd.DataFrame], list[str]]


def rows(hosting: Hosting, accesses: Accesses, rng: np.random.Generator) -> pd.DataFrame:
    """One row per access in time order, and a few more for what was no request; `access` is the
    access's position.
    """
    count = len(accesses.time)
    table = pd.DataFrame(
        {
            "access": np.arange(count),
            "time": accesses.time,
            "host": _hosts(hosting, accesses.site, rng),
            "client": _take(_addresses(int(accesses.client.max(initial=0)) + 1), accesses.client),
            "request": pd.Series(_requests(hosting, accesses, rng), dtype="str"),
            "status": accesses.status,
            "bytes": accesses.bytes,
            "referer": _take(REFERERS, rng.integers(0, len(REFERERS), count)),
            "agent": _take(AGENTS, accesses.agent),
        }
    )
    return _add_empty_requests(table, rng)


def add_garbage(lines: list[str], rng: np.random.Generator) -> list[str]:
    """The lines, and between some of them what is no line: one that ends within its request, zeros,
    a stray message.
    """
    spoilt = list(lines)
    for position in np.flatnonzero(rng.random(len(lines)) < GARBAGE_SHARE).tolist():
        kinds = (lines[position].partition(" HTTP/")[0], *GARBAGE)
        spoilt[position] += "\n" + kinds[position % len(kinds)]
    return spoilt


def _combined_lines(table: pd.DataFrame) -> list[str]:
    """Apache's combined format, in the server's local time."""
    return _common(table, _clock(table, _apache_time, LOCAL_TIME))


def _vhost_combined(table: pd.DataFrame) -> list[str]:
    """Debian's vhost_combined: the host and the port before the combined line."""
    port = np.where(table["access"] % 5 == 0, "80", "443").tolist()
    lines = _common(table, _clock(table, _apache_time, UTC))
    return [
        f"{h}:{p} {line}" for h, p, line in zip(table["host"].tolist(), port, lines, strict=True)
    ]


def _common(table: pd.DataFrame, clock: list[str]) -> list[str]:
    # Apache writes a body of no bytes as a dash.
    sent = [size or "-" for size in table["bytes"].tolist()]
    columns = (table[name].tolist() for name in ("client", "request", "status", "referer", "agent"))
    return [
        f'{client} - - [{time}] "{request}" {status} {size} "{referer}" "{agent}"'
        for time, size, client, request, status, referer, agent in zip(
            clock, sent, *columns, strict=True
        )
    ]


def _nginx_json(table: pd.DataFrame) -> list[str]:
    """One object a line, as nginx writes it with `escape=json`: other escapes than Apache's, and ""
    for no request.
    """
    clock = _clock(table, datetime.isoformat, UTC)
    request = table["request"].str.replace(r"\x", r"\u00").replace("-", "")
    columns = (table[name].tolist() for name in ("status", "bytes", "referer", "agent"))
    values = zip(
        clock,
        table["client"].tolist(),
        table["host"].tolist(),
        request.tolist(),
        *columns,
        strict=True,
    )
    return [
        f'{{"time_iso8601":"{time}","remote_addr":"{client}","host":"{host}","request":"{request}",'
        f'"status":{status},"body_bytes_sent":{size},'
        f'"http_referer":"{referer}","http_user_agent":"{agent}"}}'
        for time, client, host, request, status, size, referer, agent in values
    ]


FORMATS: Mapping[str, Format] = {
    "combined": _combined_lines,
    "vhost_combined": _vhost_combined,
    "nginx_json": _nginx_json,
}


def _hosts(hosting: Hosting, site: Ints, rng: np.random.Generator) -> pd.Series:
    names = [*hosting.sites, *(f"www.{name}" for name in hosting.sites)]
    return _take(names, site + len(hosting.sites) * (rng.random(len(site)) < ALIAS_SHARE))


def _requests(hosting: Hosting, accesses: Accesses, rng: np.random.Generator) -> list[str]:
    path = _take([*hosting.paths, *NOT_THERE], _asked_at(hosting, accesses)).tolist()
    method = _take(METHODS, accesses.method).tolist()
    protocol = _take(PROTOCOLS, rng.integers(0, len(PROTOCOLS), len(path))).tolist()
    columns = zip(method, path, accesses.query.tolist(), protocol, strict=True)
    return [f"{m} {p}?v={q} {v}" if q else f"{m} {p} {v}" for m, p, q, v in columns]


def _asked_at(hosting: Hosting, accesses: Accesses) -> Ints:
    missing = len(hosting.paths) + accesses.target % len(NOT_THERE)
    path_numbers: Ints = np.where(accesses.status == 404, missing, accesses.target)
    return path_numbers


def _addresses(count: int) -> list[str]:
    """Every third client has an IPv6 address; the IPv4 ones share the few that documentation may
    use.
    """
    return [
        f"2001:db8:{c & 0xFFFF:x}::{c % 251 + 1:x}"
        if c % 3 == 2
        else f"{ADDRESS_BLOCKS[c // 3 % 3]}.{c % 254 + 1}"
        for c in range(count)
    ]


def _take(words: list[str] | tuple[str, ...], position: Ints) -> pd.Series:
    return pd.Series(list(words), dtype="str").take(position).reset_index(drop=True)


def _add_empty_requests(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    doubled = np.flatnonzero(rng.random(len(table)) < NO_REQUEST_SHARE)
    order = np.sort(np.concatenate([np.arange(len(table)), doubled]), kind="stable")
    longer = table.take(order).reset_index(drop=True)
    second = np.flatnonzero(order[1:] == order[:-1]) + 1
    kind = NO_REQUEST.take(np.arange(len(second)) % len(NO_REQUEST))
    for name in NO_REQUEST.columns:
        longer.loc[second, name] = kind[name].to_numpy()
    return longer


def _clock(table: pd.DataFrame, text: Callable[[datetime], str], zone: timezone) -> list[str]:
    moments, which = np.unique(table["time"].to_numpy(), return_inverse=True)
    texts = [text(datetime.fromtimestamp(moment, zone)) for moment in moments.tolist()]
    return [texts[i] for i in which.tolist()]


def _apache_time(moment: datetime) -> str:
    """As %t has it, whatever the language of the machine."""
    return f"{moment:%d}/{MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S %z}"
