"""A record that somebody edits by hand between two nights, on a real name server: told in every
form, left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dns.rcode
import dns.update
import pytest

from flex_dns.wire.session import Session

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

THEIRS = "203.0.113.99"


def edit(installation: Installation, name: str, kind: str, value: str) -> None:
    update = dns.update.UpdateMessage(installation.zone)
    update.replace(name, 60, kind, value)
    with Session(installation.server.server) as session:
        assert session.ask(update, "a foreign edit").rcode() == dns.rcode.NOERROR


@pytest.mark.parametrize(("kind", "theirs"), [("A", THEIRS), ("AAAA", "2001:db8:9::9")])
def test_one_record_edited_by_hand_is_named_and_left_alone_and_the_night_goes_on(
    installation: Installation, kind: str, theirs: str
) -> None:
    installation.first_night()
    first, *_ = installation.flex("-o", "json", "sites", "list").json["items"]
    site, name = first["site"], f"{first['site']}."
    had = installation.addresses(name)
    edit(installation, name, kind, theirs)
    installation.traffic(2)
    night = installation.run(2)
    assert night.code == 0
    assert (
        f"Somebody else changed 1 name in DNS, left alone: {site}."
        in night.out + night.err
    )
    shown = installation.flex(
        "-o", "json", "plan", "show", night_plan(installation)
    ).json
    assert [(row["name"], row["said"]) for row in shown["edited"]] == [
        (name, sorted(had))
    ]
    assert theirs in shown["edited"][0]["found"]
    told = installation.flex("plan", "show", night_plan(installation)).out
    assert f"`flex plan --take-back {site}`" in " ".join(told.split())
    assert installation.ask(name, kind).answer[0][0].to_text() == theirs
    explained = installation.flex("-o", "json", "explain", site).json
    assert explained["edited"] == shown["edited"][0]
    assert explained["others"] == [], "it goes nowhere while it is left alone"
    (why,) = explained["reasons"]
    assert why.startswith("changed in DNS by somebody else, found 2026-")
    assert theirs in why
    assert (
        f"`flex sites exclude {site}`, and FLEX has it back with `flex plan --take-back {site}`"
        in why
    )
    assert why in " ".join(installation.flex("explain", site).out.split())
    back = installation.flex(
        "-o", "json", "plan", "--as-of", installation.as_of(2), "--take-back", site
    )
    assert (
        installation.flex(
            "apply", back.json["id"], "--as-of", installation.as_of(2)
        ).code
        == 0
    )
    assert theirs not in [
        rdata.to_text()
        for rrset in installation.ask(name, kind).answer
        for rdata in rrset
    ]
    assert installation.flex("verify").code == 0


def night_plan(installation: Installation) -> str:
    plan: str = installation.flex("-o", "json", "plan", "list").json["items"][0]["id"]
    return plan
