"""A record that somebody edits by hand between two nights, on a real name server: told in every
form, left alone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dns.rcode
import dns.update
import pytest

from flex.zones.marker import marker_name
from flex_api import wiring
from flex_api.night import gather_facts
from flex_api.settings import file as settings
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


@pytest.mark.torture("A-203.0.113.99")
@pytest.mark.slow
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
    assert f"Somebody else changed 1 name in DNS, left alone: {site}." in night.out + night.err
    shown = installation.flex("-o", "json", "plan", "show", night_plan(installation)).json
    assert [(row["name"], row["said"]) for row in shown["edited"]] == [(name, sorted(had))]
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
    assert installation.flex("apply", back.json["id"], "--as-of", installation.as_of(2)).code == 0
    assert theirs not in [
        rdata.to_text() for rrset in installation.ask(name, kind).answer for rdata in rrset
    ]
    assert installation.flex("verify").code == 0


@pytest.mark.slow
def test_a_ttl_lowered_by_hand_or_a_name_removed_is_named_and_left_alone(
    installation: Installation,
) -> None:
    installation.first_night()
    low, gone, alias, *_ = [
        row["site"] for row in installation.flex("-o", "json", "sites", "list").json["items"]
    ]
    send(installation, ("delete", f"{low}.", "A"))
    for value in "192.0.2.1", "192.0.2.2":
        send(installation, ("add", f"{low}.", 7, "A", value))
    marker = marker_name(f"{gone}.", installation.zone)
    send(installation, ("delete", f"{gone}."), ("delete", marker))
    send(installation, ("delete", marker_name(f"{alias}.", installation.zone)))
    installation.traffic(2)
    night = installation.run(2)
    assert night.code == 0, night.err
    assert "Somebody else changed 2 names" in night.out + night.err
    assert installation.ask(f"{low}.", "A").answer[0].ttl == 7
    assert not installation.ask(f"{gone}.", "A").answer
    (why,) = [
        line
        for line in installation.flex("-o", "json", "explain", alias).json["reasons"]
        if "not FLEX's to change" in line
    ]
    assert "holds addresses without our marker" in why
    assert marker_name(f"{alias}.", installation.zone) in why
    refused = installation.flex("plan", "--as-of", installation.as_of(2), "--take-back", alias)
    assert refused.code == 3
    assert "it holds addresses without our marker" in " ".join(refused.err.split())
    shown = installation.flex("plan", "show", night_plan(installation)).out
    shown = " ".join(shown.split())
    assert f"{low} (has" in shown
    assert f"{gone} (has no address" in shown


def send(installation: Installation, *changes: tuple[Any, ...]) -> None:
    """Any: what dnspython's own verbs take."""
    update = dns.update.UpdateMessage(installation.zone)
    for verb, *given in changes:
        getattr(update, verb)(*given)
    with Session(installation.server.server) as session:
        assert session.ask(update, "a foreign edit").rcode() == dns.rcode.NOERROR


def test_while_a_plan_is_on_its_way_no_ttl_is_somebodys_edit(installation: Installation) -> None:
    installation.first_night()
    world = wiring.world(settings.load(installation.settings), lambda: datetime.now(UTC), say=print)
    assert gather_facts.facts(world, replayed=False).said.ttl > 0
    (plan, *_) = world.store.plans(1)
    world.store.update(replace(plan, state="applying"))
    assert gather_facts.facts(world, replayed=False).said.ttl == 0


def night_plan(installation: Installation) -> str:
    plan: str = installation.flex("-o", "json", "plan", "list").json["items"][0]["id"]
    return plan
