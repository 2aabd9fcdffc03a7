"""A private primary with a private secondary, set up as `flex init` says and as clusters have them.

Takes zones and a key. Returns two running servers: the second follows the first by NOTIFY and
transfers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from flex_dns.private.private_named import LOOPBACK, PrivateNamed, free_port
from flex_dns.server_configuration.named_conf_lines import (
    PRIMARY_OPTIONS,
    SECONDARY_OPTIONS,
    tcp_only_clause,
)
from flex_dns.wire.key import Key


@contextmanager
def pair(
    directory: Path,
    zones: Sequence[str],
    key: Key,
    *,
    records: Mapping[str, str] | None = None,
    primary: str = "",
    threads: int = 1,
    own_names: Collection[str] = (),
) -> Iterator[tuple[PrivateNamed, PrivateNamed]]:
    """`primary` replaces the options that `flex init` writes."""
    with free_port() as first, free_port() as second:
        notify = f"notify explicit;\nalso-notify {{ {LOOPBACK} port {second} key {key.name}; }};\n"
        options = primary or notify + PRIMARY_OPTIONS
        follows = (
            f"type secondary;\nprimaries {{ {LOOPBACK} port {first} key {key.name}; }};\n"
            f"allow-notify {{ key {key.name}; }};\nnotify no;\n"
        )
        with (
            PrivateNamed(
                directory / "primary",
                zones,
                key,
                records=records,
                port=first,
                threads=threads,
                options=options,
                own_names=own_names,
            ) as primary_named,
            PrivateNamed(
                directory / "secondary",
                zones,
                key,
                port=second,
                threads=threads,
                options=SECONDARY_OPTIONS,
                beside=tcp_only_clause(LOOPBACK),
                clause=follows,
            ) as other,
        ):
            yield primary_named, other
