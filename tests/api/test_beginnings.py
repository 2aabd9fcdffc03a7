"""Where tests begin is the same for each of them, whatever the one before did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import dns.rcode
import dns.update
import pytest

from flex_dns.wire.session import Session
from tests.api.conftest import new_at

if TYPE_CHECKING:
    from flex_dns.private.private_named import PrivateNamed
    from flex_dns.wire.key import Key
    from tests.api.beginnings import Home
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

STRANGER = "198.51.100.77"


def seen(installation: Installation) -> list[object]:
    """What a test can see of it: its files, its database by way of FLEX, and its zone."""
    files = {
        path.relative_to(installation.folder): path.read_bytes()
        for path in installation.folder.rglob("*")
        if path.is_file()
    }
    asked = (("sites", "list"), ("history",), ("plan", "list"), ("audit",))
    said = [installation.flex("-o", "json", *verb).json for verb in asked]
    sites = [row["site"] for row in said[0]["items"]]
    return [files, said, {site: installation.addresses(site) for site in sites}]


def spoil(installation: Installation, site: str) -> None:
    assert installation.flex("sites", "exclude", site).code == 0
    (installation.folder / "left behind").write_text("x")
    for log in (installation.folder / "logs").rglob("*access*"):
        log.unlink()
    update = dns.update.UpdateMessage(installation.zone)
    update.replace(f"{site}.", 60, "A", STRANGER)
    update.add(f"new.{installation.zone}", 60, "AAAA", "2001:db8::77")
    with Session(installation.server.server) as session:
        assert session.ask(update, "a foreign edit").rcode() == dns.rcode.NOERROR


def test_who_comes_second_finds_what_the_first_one_found(
    installation: Installation, home: Home, named: PrivateNamed, key: Key
) -> None:
    installation.first_night()
    found = seen(installation)
    site = installation.flex("-o", "json", "sites", "list").json["items"][0]["site"]
    spoil(installation, site)
    assert installation.addresses(site) == [STRANGER]
    again = new_at(home, named, key, installation.capture)
    assert (again.addresses(site), again.addresses(f"new.{again.zone}")) == ([], [])
    again.first_day()
    again.first_night()
    assert seen(again) == found


@pytest.mark.slow
def test_who_changed_a_setting_is_taken_there_itself(installation: Installation) -> None:
    installation.first_night()
    assert installation.serial() > 1
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        re.sub(r"tolerance = .*", "tolerance = 0.16", text), encoding="utf-8"
    )
    nights = len(installation.flex("-o", "json", "history").json["items"])
    installation.first_night()
    assert len(installation.flex("-o", "json", "history").json["items"]) == nights + 1
    assert "tolerance = 0.16" in installation.settings.read_text(encoding="utf-8")
