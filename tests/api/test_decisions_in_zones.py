"""What people decided is in the zones, too: an empty database that adopts the names does not undo
it.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import dns.query
import dns.update
import pytest

from flex.errors import DnsError, OnTheWay
from flex.model.limits_and_approvals import FREEZE
from flex.model.wish import Pin
from flex.store import MemoryStore
from flex.zones.decisions_in_markers import (
    FROZEN,
    STILL_MARKED,
    MarkedDecision,
    decision_text,
    freeze_name,
)
from flex.zones.marker import marker_name
from flex_api import wiring
from flex_api.facts.left_alone_times import last_entries
from flex_api.night import human_decision_records, leases
from flex_api.settings import file as config
from flex_dns.private.private_named import PrivateNamed
from flex_dns.update import fence
from flex_dns.wire.key import Key, make_key
from tests.api.conftest import new
from tests.api.test_applying import half_applied

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.conftest import Installation

# The slow ones are about what comes before and after the promise that the first one keeps.
pytestmark = pytest.mark.real

REASON = 'moves to "elsewhere" in März'


def texts(installation: Installation, name: str) -> list[str]:
    return sorted(
        b"".join(value.strings).decode()
        for rrset in installation.ask(name, "TXT").answer
        for value in rrset
    )


def marker(installation: Installation, site: str) -> str:
    return marker_name(f"{site}.", installation.zone)


def site_of(installation: Installation) -> str:
    """One that has a marker of its own."""
    assert installation.hosting is not None
    return str(installation.hosting.sites[0])


def update(installation: Installation, *lines: tuple[str, ...]) -> None:
    message = dns.update.UpdateMessage(installation.zone, keyring=installation.server.key.signer())
    for name, ttl, kind, *values in lines:
        message.replace(name, int(ttl), kind, *values)
    answer = dns.query.tcp(message, "127.0.0.1", port=installation.server.port, timeout=60)
    assert answer.rcode() == 0


def lose_database(installation: Installation, kept: Path | None = None) -> None:
    """Another one is there instead, empty or old, and its controller takes the place of the one
    that is gone.
    """
    (holder,) = installation.flex("-o", "json", "dns", "holders").json["items"]
    for path in installation.folder.glob("flex.db*"):
        path.unlink()
    if kept:
        shutil.copy(kept, installation.folder / "flex.db")
    else:
        assert installation.flex("db", "upgrade").code == 0
        text = installation.settings.read_text(encoding="utf-8")
        installation.settings.write_text(
            text.replace("[dns]\n", "[dns]\nadopt = true\n"), encoding="utf-8"
        )
        taken = installation.flex("dns", "takeover", "--from", holder["controller"])
        assert taken.code == 0, taken.err


def doctor(installation: Installation) -> str:
    """What it finds of decisions; empty where there are none."""
    checks = installation.flex("-o", "json", "doctor").json["checks"]
    return "".join(row["detail"] for row in checks if row["name"] == "decisions in DNS")


def wish_a_move(installation: Installation, site: str = "") -> str:
    """So that there is something to apply: the node where the site is not."""
    assert installation.hosting is not None
    site = site or str(installation.hosting.sites[1])
    on = {f"192.0.2.{number}": f"n{number}" for number in (1, 2, 3)}
    here = {on[address] for address in installation.addresses(site)}
    there = min({*on.values()} - here)
    pinned = installation.flex("sites", "pin", site, "--nodes", there)
    assert pinned.code == 0, pinned.err
    return there


def excluded(installation: Installation) -> dict[str, Any]:
    shown = installation.flex("-o", "json", "wishes", "export").json
    return {one["site"]: one for one in shown["wish"] if one["excluded"]}


def plan(installation: Installation) -> Any:
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of())
    assert made.code == 0, made.err
    return made.json


def test_an_excluded_site_and_a_freeze_outlive_the_database(installation: Installation) -> None:
    installation.first_night()
    site = site_of(installation)
    assert installation.flex("sites", "exclude", site, "--reason", REASON).code == 0
    assert installation.flex("freeze", "--reason", REASON).code == 0
    assert "do not say the same: that changes are frozen" in doctor(installation)
    # A freeze does not keep its own record out, nor that of a site.
    installation.night()
    owner, said = texts(installation, marker(installation, site))[::-1]
    assert owner.startswith("flex owner=")
    assert said.startswith("flex excluded since=2")
    assert said.endswith("reason=moves to %22elsewhere%22 in M%C3%A4rz")
    (stop,) = texts(installation, freeze_name(installation.zone))
    assert stop.startswith("flex frozen since=2")
    assert "the zones say what people decided: 2" in doctor(installation)
    assert installation.flex("verify").code == 0
    # Somebody moved it by hand since; FLEX would move it back.
    update(installation, (f"{site}.", "300", "A", "192.0.2.1", "192.0.2.2"))

    lose_database(installation)
    assert excluded(installation) == {}
    assert "the zones alone say so" in doctor(installation)
    assert installation.flex("ingest").code == 0
    made = plan(installation)
    (note,) = [note for note in made["notes"] if "is excluded" in note]
    assert marker(installation, site) in note
    assert f"flex sites unpin {site}" in note
    assert REASON in note
    changed = {change["name"] for zone in made["zones"] for change in zone["changes"]}
    assert not {f"{site}.", marker(installation, site)} & changed
    assert excluded(installation)[site]["reason"] == REASON
    wish_a_move(installation)
    made = plan(installation)
    refused = installation.flex("apply", made["id"], "--as-of", installation.as_of())
    assert refused.code == 23
    assert "flex thaw" in refused.err
    assert installation.night().code == 23
    assert texts(installation, marker(installation, site)) == [said, owner]
    assert installation.addresses(site) == ["192.0.2.1", "192.0.2.2"]

    # The ways out take the records out, too.
    assert installation.flex("thaw").code == 0
    assert "no longer frozen" in doctor(installation)
    assert installation.flex("sites", "unpin", site).code == 0
    assert installation.night().code == 0
    assert texts(installation, freeze_name(installation.zone)) == []
    assert texts(installation, marker(installation, site)) == [owner]
    assert excluded(installation) == {}
    assert doctor(installation) == ""
    assert installation.flex("audit", "verify").code == 0

    # Of a later freeze an old copy of the database, too, which was told of this one, knows nothing.
    later = decision_text(FROZEN, MarkedDecision(datetime.now(UTC)))
    name = freeze_name(installation.zone)
    update(installation, (name, "300", "TXT", f'"{later}"'))
    assert "the zones alone say so" in doctor(installation)


@pytest.mark.slow
def test_a_decision_counts_though_its_record_is_still_there(installation: Installation) -> None:
    """People took the site in again: a plan leaves it alone until the record is out, which a run
    does before it plans.
    """
    installation.first_night()
    site = site_of(installation)
    installation.flex("sites", "exclude", site)
    installation.night()
    before = texts(installation, marker(installation, site))
    assert len(before) == 2
    installation.flex("sites", "unpin", site)
    there = wish_a_move(installation, site)
    made = plan(installation)
    (note,) = [note for note in made["notes"] if "is not excluded any more" in note]
    assert site in note
    assert texts(installation, marker(installation, site)) == before
    assert installation.night().code == 0
    assert texts(installation, marker(installation, site)) == before[1:]
    assert installation.addresses(site) == [f"192.0.2.{there.removeprefix('n')}"]


@pytest.mark.slow
def test_nobody_is_told_to_take_back_what_somebody_changed_at_a_site_that_is_excluded(
    installation: Installation,
) -> None:
    installation.first_night()
    site = site_of(installation)
    wish_a_move(installation, site)
    (owner,) = texts(installation, marker(installation, site))
    old = '"flex excluded since=2020-01-01"'
    update(
        installation,
        (marker(installation, site), "300", "TXT", f'"{owner}"', old),
        (f"{site}.", "300", "A", "203.0.113.9"),
    )
    made = plan(installation)
    assert [edit["name"] for edit in made["edited"]] == [f"{site}."]
    told = "".join(installation.flex("-o", "json", "explain", site).json["reasons"])
    assert "`flex plan --take-back` does not take it back" in told
    assert f"--take-back {site}" not in told + "".join(made["notes"])
    as_of = installation.as_of()
    refused = installation.flex("plan", "--take-back", site, "--as-of", as_of)
    assert (refused.code, "still says so" in refused.err) == (3, True), refused.err


@pytest.mark.slow
def test_a_backup_from_before_a_decision_learns_of_it_and_one_from_before_its_end_repeats_it(
    installation: Installation, tmp_path: Path
) -> None:
    installation.first_night()
    site = site_of(installation)
    # The backup was told of an earlier exclusion and of its end.
    installation.flex("sites", "exclude", site)
    installation.flex("sites", "unpin", site)
    assert installation.flex("db", "backup", str(tmp_path / "old")).code == 0
    installation.flex("sites", "exclude", site, "--reason", "again")
    installation.flex("freeze", "--reason", "a fair")
    installation.night()
    lose_database(installation, tmp_path / "old")
    wish_a_move(installation)
    plan(installation)
    assert excluded(installation)[site]["reason"] == "again"
    assert installation.night().code == 23
    assert installation.flex("db", "backup", str(tmp_path / "older")).code == 0
    installation.flex("thaw")
    installation.flex("sites", "unpin", site)
    assert installation.night().code == 0
    assert texts(installation, freeze_name(installation.zone)) == []
    # Nothing in the zone says that it ended: the decision is made again, which changes least.
    lose_database(installation, tmp_path / "older")
    installation.night()
    assert len(texts(installation, marker(installation, site))) == 2
    assert len(texts(installation, freeze_name(installation.zone))) == 1


@pytest.mark.slow
def test_a_record_that_nobody_wrote_down_is_believed_or_taken_out_by_the_next_night(
    installation: Installation,
) -> None:
    """By hand, or by a database that is gone."""
    installation.first_night()
    site = site_of(installation)
    (owner,) = texts(installation, marker(installation, site))
    old = "flex excluded since=2020-01-01"
    there = wish_a_move(installation, site)
    update(installation, (marker(installation, site), "300", "TXT", f'"{owner}"', f'"{old}"'))
    # The plan finds it, and leaves the site alone; the next night takes it out.
    assert installation.night().code == 0
    assert len(texts(installation, marker(installation, site))) == 2
    assert installation.night().code == 0
    assert texts(installation, marker(installation, site)) == [owner]
    assert installation.addresses(site) == [f"192.0.2.{there.removeprefix('n')}"]
    # Without a time it counts only for who never heard of the site.
    assert installation.hosting is not None
    other = str(installation.hosting.sites[2])
    (owner,) = texts(installation, marker(installation, other))
    update(
        installation, (marker(installation, other), "300", "TXT", f'"{owner}"', '"flex excluded"')
    )
    assert installation.night().code == 0
    assert list(excluded(installation)) == [other]


@pytest.mark.slow
def test_where_a_record_cannot_be_written_the_decision_counts_and_flex_says_so(
    tmp_path: Path, key: Key, open_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = make_key("reader")
    with PrivateNamed(open_folder / "data", ["refusing.example."], key, readers=[reader]) as server:
        made = new(tmp_path, server, key, "refusing.example.", capsys)
        made.traffic()
        # Nobody holds the zone yet.
        assert made.flex("ingest").code == 0
        assert made.flex("plan", "--as-of", made.as_of()).code == 0
        site = site_of(made)
        assert made.flex("sites", "exclude", site).code == 0
        assert "nobody holds the zone yet" in doctor(made)
        made.mode = "shadow"
        made.write_settings()
        assert made.night().code == 0
        made.mode = "auto"
        made.write_settings()
        first = made.night()
        assert first.code == 0, first.err
        assert texts(made, marker(made, site)) == []

        (made.folder / "flex.key").write_text(reader.clause(), encoding="utf-8")
        refused = made.run()
        assert refused.code == 0, refused.err
        assert f"Not in DNS: that {site} is excluded" in refused.err + refused.out
        assert "REFUSED" in refused.err + refused.out
        assert f"do not say the same: that {site} is excluded" in doctor(made)
        assert list(excluded(made)) == [site]

        (made.folder / "flex.key").write_text(key.clause(), encoding="utf-8")
        assert made.night().code == 0
        # A site without a marker has the decision alone.
        (said,) = texts(made, marker(made, site))
        assert said.startswith("flex excluded since=")
        assert "the zones say what people decided: 1 decision" in doctor(made)


@pytest.mark.slow
def test_a_time_to_come_and_wild_text_are_no_decision_for_ever(installation: Installation) -> None:
    """Whoever can write into the zone can have a site left alone, and FLEX stopped; people end
    both.
    """
    installation.first_night()
    site = site_of(installation)
    (owner,) = texts(installation, marker(installation, site))
    wild = "since=9999-01-01 by=%1b[2J reason=\\255%00%0a"
    update(
        installation,
        (marker(installation, site), "300", "TXT", f'"{owner}"', f'"flex excluded {wild}"'),
        (freeze_name(installation.zone), "60", "TXT", f'"flex frozen {wild}"'),
    )
    wish_a_move(installation)
    stopped = installation.night()
    assert stopped.code == 23, stopped.err
    assert "\x1b" not in stopped.err + stopped.out
    assert list(excluded(installation)) == [site]
    # What is from times to come is written again with a true time.
    installation.night()
    for name in (marker(installation, site), freeze_name(installation.zone)):
        assert "since=2" in texts(installation, name)[0]
    assert installation.flex("thaw").code == 0
    assert installation.flex("sites", "unpin", site).code == 0
    assert installation.night().code == 0
    assert texts(installation, freeze_name(installation.zone)) == []
    assert texts(installation, marker(installation, site)) == [owner]
    assert excluded(installation) == {}


@pytest.mark.slow
def test_who_thaws_a_freeze_that_only_the_zone_knows_is_heard(installation: Installation) -> None:
    installation.first_night()
    # Thawed before, too: what was said then is older than the freeze.
    assert installation.flex("thaw").code == 0
    since = datetime.now(UTC).isoformat()
    update(
        installation,
        (freeze_name(installation.zone), "60", "TXT", f'"flex frozen since={since} by=anna"'),
    )
    # It is told of no freeze so far.
    assert installation.flex("thaw").code == 0
    wish_a_move(installation)
    assert installation.night().code == 0
    assert texts(installation, freeze_name(installation.zone)) == []


@pytest.mark.slow
def test_an_exclusion_waits_for_the_plan_that_is_changing_the_site(
    installation: Installation,
) -> None:
    """Else nobody could finish the plan, or take it back."""
    begun = half_applied(installation)
    (zone_plan,) = begun.zone_plans
    changed = [one.name for one in zone_plan.changes if one.type == "A"]
    for name in (changed[0], changed[-1]):
        assert installation.flex("sites", "exclude", name.rstrip(".")).code == 0
    assert f"plan {begun.id}, which changes it, is half applied" in doctor(installation)
    done = installation.night()
    assert done.code == 0, done.err
    shown = installation.flex("-o", "json", "plan", "show", begun.id).json
    assert shown["state"] == "applied"
    assert installation.night().code == 0
    for name in (changed[0], changed[-1]):
        assert len(texts(installation, marker_name(name, installation.zone))) == 2


@pytest.mark.slow
def test_a_failover_leaves_no_site_that_people_took_in_again(installation: Installation) -> None:
    installation.first_night()
    site = site_of(installation)
    installation.flex("sites", "exclude", site)
    installation.night()
    installation.flex("sites", "unpin", site)
    assert len(texts(installation, marker(installation, site))) == 2
    address = installation.addresses(site)[0]
    done = installation.flex("nodes", "down", f"n{address.rpartition('.')[2]}")
    assert done.code == 0, done.err
    assert address not in installation.addresses(site)
    assert len(texts(installation, marker(installation, site))) == 1


def fence_record(installation: Installation, holder: str) -> tuple[str, ...]:
    name = fence.fence_name(installation.zone)
    return name, "60", "TXT", f'"{fence.fence_text(holder)}"'


@pytest.mark.slow
def test_what_is_in_a_zone_of_another_controller_is_his(installation: Installation) -> None:
    """Its marks are respected, and neither kept nor changed, until the zone is ours."""
    installation.first_night()
    site = site_of(installation)
    (owner,) = texts(installation, marker(installation, site))
    said = '"flex excluded since=2026-01-01 by=anna"'
    update(
        installation,
        fence_record(installation, "other one 1"),
        (marker(installation, site), "300", "TXT", f'"{owner}"', said),
        (freeze_name(installation.zone), "60", "TXT", '"flex frozen since=2026-01-01"'),
    )
    other = str(installation.hosting.sites[2]) if installation.hosting else ""
    assert installation.flex("sites", "exclude", other).code == 0
    refused = installation.run()
    assert refused.code == 30
    told = refused.out + refused.err
    assert f"Not in DNS: that {other} is excluded" in told
    assert "another controller holds the zone: other one 1" in told
    # The freeze there is the other one's own.
    assert "frozen" not in told + doctor(installation)
    assert "flex dns takeover --from 'other one 1'" in doctor(installation)
    assert list(excluded(installation)) == [other]
    assert len(texts(installation, marker(installation, site))) == 2
    assert len(texts(installation, marker(installation, other))) == 1
    # Who took its site in again is told the same, as long as the marker says otherwise.
    assert installation.flex("sites", "exclude", site).code == 0
    assert installation.flex("sites", "unpin", site).code == 0
    (note,) = [one for one in plan(installation)["notes"] if STILL_MARKED in one]
    assert site in note
    assert not take_out(installation, site)
    assert len(texts(installation, marker(installation, site))) == 2

    taken = installation.flex("dns", "takeover", "--from", "other one 1")
    assert taken.code == 0, taken.err
    wish_a_move(installation)
    # The first plan finds the mark again, and the next run takes it out.
    assert installation.night().code == 23
    assert len(texts(installation, marker(installation, other))) == 2
    assert installation.night().code == 23
    assert texts(installation, marker(installation, site)) == [owner]


def take_out(installation: Installation, site: str) -> bool:
    """What a failover asks for."""
    world = wiring.world(config.load(installation.settings), lambda: datetime.now(UTC))
    with closing(world), leases.lease(world, "failover"):
        return human_decision_records.take_out(world, [site])


@pytest.mark.slow
def test_where_a_record_cannot_be_taken_out_the_site_stays_and_flex_says_so(
    tmp_path: Path, key: Key, open_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = make_key("reader")
    with PrivateNamed(open_folder / "data", ["keeping.example."], key, readers=[reader]) as server:
        made = new(tmp_path, server, key, "keeping.example.", capsys)
        made.traffic()
        assert made.night().code == 0
        site = site_of(made)
        assert made.flex("sites", "exclude", site).code == 0
        assert made.night().code == 0
        before = texts(made, marker(made, site))
        assert len(before) == 2
        assert made.flex("sites", "unpin", site).code == 0

        (made.folder / "flex.key").write_text(reader.clause(), encoding="utf-8")
        refused = made.run()
        assert refused.code == 0, refused.err
        told = refused.out + refused.err
        assert f"Not in DNS: that {site} is no longer excluded" in told
        assert "REFUSED" in told
        assert [one for one in plan(made)["notes"] if STILL_MARKED in one]
        assert not take_out(made, site)
        assert texts(made, marker(made, site)) == before

        (made.folder / "flex.key").write_text(key.clause(), encoding="utf-8")
        assert take_out(made, site)
        assert texts(made, marker(made, site)) == before[1:]


@pytest.mark.slow
def test_no_plan_is_accepted_in_a_freeze_that_the_zone_alone_knows(
    installation: Installation,
) -> None:
    installation.first_night()
    update(
        installation,
        (freeze_name(installation.zone), "60", "TXT", '"flex frozen since=2026-01-01"'),
    )
    wish_a_move(installation)
    made = plan(installation)["id"]
    refused = installation.flex("apply", made, "--by-hand")
    assert refused.code == 23, refused.err
    assert "flex thaw" in refused.err
    installation.flex("thaw")
    # It is not in DNS, which is what accepting a plan asks for.
    not_there = installation.flex("apply", made, "--by-hand")
    assert not_there.code == 30
    assert "flex export nsupdate" in not_there.err
    assert texts(installation, freeze_name(installation.zone)) == []


@pytest.mark.slow
def test_a_night_asks_two_questions_a_zone_and_one_for_each_excluded_site(
    tmp_path: Path, key: Key, open_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each zone that somebody adds, and each site that is excluded, costs no more."""
    zones = [f"z{number}.example." for number in range(40)]
    with PrivateNamed(
        open_folder / "data", zones, key, options="notify no;\nquerylog yes;"
    ) as server:
        made = new(tmp_path, server, key, zones[0], capsys)
        (made.folder / "sources").write_text("", encoding="utf-8")
        made.write_settings()
        text = made.settings.read_text(encoding="utf-8")
        listed = ", ".join(f'"{zone}"' for zone in zones)
        made.settings.write_text(
            text.replace(f'zones = ["{zones[0]}"]', f"zones = [{listed}]"), encoding="utf-8"
        )
        world = wiring.world(config.load(made.settings), lambda: datetime.now(UTC))
        with closing(world), leases.lease(world, "run"):

            def questions() -> int:
                before = server.log().count(" IN TXT ")
                assert human_decision_records.settle(world) == {}
                return server.log().count(" IN TXT ") - before

            assert questions() == 2 * len(zones)
            for zone in zones[:10]:
                for name in ("a", "b"):
                    world.store.put_pin(Pin(f"{name}.{zone[:-1]}", excluded=True))
            assert questions() == 2 * len(zones) + 20


@pytest.mark.slow
def test_a_night_with_a_primary_away_changes_nothing_and_another_plan_goes_on(
    installation: Installation, free_port: int
) -> None:
    installation.first_night()
    site = site_of(installation)
    there = wish_a_move(installation, site)
    installation.flex("freeze")
    frozen = installation.night()
    assert frozen.code == 23
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        f'{text}\n[[dns.primary]]\nserver = "127.0.0.1"\nport = {free_port}\n'
        'key_file = "flex.key"\nzones = ["away.example."]\n',
        encoding="utf-8",
    )
    # A freeze that ends meanwhile ends where somebody answers.
    installation.flex("thaw")
    before = installation.addresses(site)
    away = installation.night()
    assert away.code == 30
    assert "the connection was refused" in away.err
    assert installation.addresses(site) == before
    assert texts(installation, freeze_name(installation.zone)) == []
    assert not take_out(installation, "www.away.example")
    made = frozen.json["plan"]["id"]
    done = installation.flex("apply", made, "--as-of", installation.as_of())
    assert done.code == 0, done.err
    assert installation.addresses(site) == [f"192.0.2.{there.removeprefix('n')}"]


@pytest.mark.slow
def test_a_primary_that_is_away_keeps_only_a_new_database_from_its_work(
    installation: Installation, free_port: int
) -> None:
    """A zone that nobody can read may be frozen."""
    installation.first_night()
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        f'{text}\n[[dns.primary]]\nserver = "127.0.0.1"\nport = {free_port}\n'
        'key_file = "flex.key"\nzones = ["away.example."]\n',
        encoding="utf-8",
    )
    world = wiring.world(config.load(installation.settings), lambda: datetime.now(UTC))
    with closing(world):
        unread = human_decision_records.settle(world)
        assert list(unread) == ["away.example."]
        assert human_decision_records.settle(world, [FREEZE]) == {}
        (made, *_) = world.store.headlines()
        plan = world.store.plan(made.id)
        human_decision_records.refuse_unread([plan], unread)
        error = unread["away.example."]
        with pytest.raises(DnsError):
            human_decision_records.refuse_unread([plan], {installation.zone: error})
        with pytest.raises(OnTheWay) as left:
            human_decision_records.refuse_unread(
                [replace(plan, state="applying")], {installation.zone: error}
            )
        assert "flex apply --resume" in left.value.advice
        new_one = replace(world, store=MemoryStore())
        with pytest.raises(DnsError):
            human_decision_records.settle(new_one)
        assert human_decision_records.settle(new_one, [FREEZE]) == {}


@pytest.mark.slow
def test_in_shadow_mode_the_database_keeps_nothing_of_a_marker(installation: Installation) -> None:
    """It may be another FLEX that holds the zone."""
    installation.first_night()
    site = site_of(installation)
    (owner,) = texts(installation, marker(installation, site))
    update(
        installation, (marker(installation, site), "300", "TXT", f'"{owner}"', '"flex excluded"')
    )
    installation.mode = "shadow"
    installation.write_settings()
    assert [note for note in plan(installation)["notes"] if "is excluded" in note]
    assert excluded(installation) == {}


def test_another_end_of_a_campaign_is_a_later_word() -> None:
    store, now = MemoryStore(), datetime.now(UTC)
    fair = Pin("a.example", until=now, campaign="fair", excluded=True)
    store.put_pin(fair)
    (first,) = last_entries(store).values()
    store.put_pin(replace(fair, until=now + timedelta(days=1)))
    (last,) = last_entries(store).values()
    assert (first.number, last.number) == (1, 2)
