"""A client to be killed: applies a plan of a store to a name server.

    client.py URL PORT KEY_FILE PLAN

It says "go" when it begins, and what went wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

from flex.errors import FlexError
from flex.store import open_store
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import read_key
from flex_dns.wire.name_server_and_key import Server


def main(url: str, port: str, key_file: str, plan_id: str) -> None:
    target = Rfc2136Publisher(
        Server("127.0.0.1", int(port), read_key(Path(key_file)), timeout=2.0), "flex", patience=20
    )
    with open_store(url) as store:
        zone_plans, journal = store.plan(plan_id).zone_plans, store.journal(plan_id)
        sys.stdout.write("go\n")
        sys.stdout.flush()
        try:
            target.apply(*zone_plans, journal=journal)
        except FlexError as error:
            sys.stdout.write(f"{error}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
