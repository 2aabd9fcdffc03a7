"""The zones that names lie in are found by asking, whether the names exist or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from flex_dns.private.private_named import PrivateNamed
from flex_dns.wire.key import Key
from flex_dns.wire.session import Session
from flex_dns.zone.zones_of_names import zones_of

pytestmark = pytest.mark.real

OUTER, INNER = "hosting.example.", "shop.hosting.example."
LINES = (
    "www A 192.0.2.1\nalias CNAME www.example.org.\nwild A 192.0.2.2\n*.wild A "
    "192.0.2.3\naway NS ns.example.org.\n"
)


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        (f"www.{OUTER}", OUTER),
        (f"new.deep.{OUTER}", OUTER),
        (OUTER, OUTER),
        (INNER, INNER),
        (f"www.{INNER}", INNER),
        (f"alias.{OUTER}", OUTER),
        (f"any.wild.{OUTER}", OUTER),
        (f"xn--bcher-kva.{OUTER}", OUTER),
        (f"WWW.{OUTER}", OUTER),
        (f"site.away.{OUTER}", None),
        ("www.elsewhere.example.", None),
    ],
)
def test_each_name_is_in_the_closest_zone_that_is_served(
    folder: Path, key: Key, name: str, zone: str | None
) -> None:
    with (
        PrivateNamed(folder, [OUTER, INNER], key, records={OUTER: LINES}) as named,
        Session(named.server) as session,
    ):
        assert zones_of(session, named.server, [name]) == ({name: zone} if zone else {})


@pytest.mark.slow
def test_a_thousand_names_are_looked_up_together(folder: Path, key: Key) -> None:
    names = [f"s{number}.{zone}" for zone in (OUTER, INNER) for number in range(500)]
    with PrivateNamed(folder, [OUTER, INNER], key) as named, Session(named.server) as session:
        found = zones_of(session, named.server, names)
    assert set(found) == set(names)
    assert {zone for name, zone in found.items() if name.endswith(f".{INNER}")} == {INNER}
