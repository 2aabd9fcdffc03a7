"""One site is moved because somebody says so: under the law of every plan, and no further."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.served import served
from tests.api.test_edited import edit
from tests.api.test_moves import Disks, disks

if TYPE_CHECKING:
    from tests.api.conftest import Installation, Said

__all__ = ["disks"]

pytestmark = pytest.mark.real


def homes(installation: Installation) -> dict[str, str]:
    """The node of each site that is on one node."""
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    return {row["site"]: row["nodes"][0] for row in rows if len(row["nodes"]) == 1}


def address(node: str) -> list[str]:
    return [f"192.0.2.{node[1:]}"]


def other_than(node: str) -> str:
    return "n1" if node == "n2" else "n2"


def move(installation: Installation, site: str, to: str, *more: str, night: int = 1) -> Said:
    as_of = ("--as-of", installation.as_of(night))
    return installation.flex("move", site, "--to", to, *as_of, *more)


@pytest.fixture
def placed(installation: Installation) -> Installation:
    installation.first_night()
    return installation


@pytest.mark.slow
def test_a_site_moves_alone_and_a_rollback_brings_it_back(placed: Installation) -> None:
    before = homes(placed)
    site, home = next(iter(before.items()))
    new = other_than(home)

    said = move(placed, site.upper(), new)

    assert said.code == 0, said.err
    assert placed.addresses(site) == address(new)
    assert homes(placed) == before | {site: new}
    assert placed.flex("verify").code == 0
    newest = placed.flex("-o", "json", "plan", "list").json["items"][0]
    assert (newest["moves"], newest["state"]) == (1, "applied")

    back = placed.flex("rollback", "--as-of", placed.as_of())

    assert back.code == 0, back.err
    assert homes(placed) == before
    assert placed.addresses(site) == address(home)


@pytest.mark.slow
def test_no_night_moves_it_back_while_it_rests_and_the_plan_says_for_how_long(
    placed: Installation,
) -> None:
    """All of one node's sites go to another one: each night would want them back."""
    before = homes(placed)
    crowded = before[next(iter(before))]
    moved = [site for site, node in before.items() if node != crowded][:6]
    for site in moved:
        said = move(placed, site, crowded)
        assert said.code == 0, said.err
        assert f"no night moves {site} for 3 d 0 h (safety.site_cooldown)" in said.out, said.out
    assert "over safety.trigger_imbalance, 20 %" in said.out
    assert f"after that a night may move {moved[-1]} again" in said.out
    placed.traffic(2)

    night = placed.night(2)

    assert night.code in (0, 22), night.err
    by_balance = {one["site"] for one in night.json["plan"]["moves"]}
    assert by_balance.isdisjoint(moved)

    placed.traffic(9)
    later = placed.night(9)
    assert later.code in (0, 22), later.err
    again = {one["site"] for one in later.json["plan"]["moves"]}
    assert not again.isdisjoint(moved), "its rest is over"


def test_a_dry_run_shows_the_move_and_what_it_means_and_changes_nothing(
    placed: Installation,
) -> None:
    site, home = next(iter(homes(placed).items()))
    serial, plans = placed.serial(), placed.flex("plan", "list").out

    said = move(placed, site, other_than(home), "--dry-run")

    assert said.code == 0, said.err
    assert "a dry run: this plan was shown and not kept" in said.out
    assert f"{site}" in said.out
    assert "off its fair share, which is" in said.out
    assert (placed.serial(), placed.flex("plan", "list").out) == (serial, plans)


@pytest.mark.slow
def test_what_cannot_be_meant_is_one_clear_error(placed: Installation) -> None:
    """With what helps; and nothing changes."""
    site, home = next(iter(homes(placed).items()))
    new = other_than(home)
    serial = placed.serial()
    wrong = {
        ("nobody.example", new): (3, "neither in the partition nor in the logs"),
        (site, "n9"): (3, "known are n1, n2, n3"),
        (site, home): (3, "it is there already"),
        (site, ","): (3, "no node is named"),
        (site, f"{home},{new}"): (21, "it is to be on 1 node, and is on"),
        ("b\u00fc cher", new): (3, ""),
    }
    for (name, to), (code, words) in wrong.items():
        for more in ((), ("--dry-run",)):
            said = move(placed, name, to, *more)
            assert (said.code, words in said.err) == (code, True), (name, to, said.err)
            assert "Traceback" not in said.err
    assert move(placed, site, new, "--force", "no.rule").code == 3
    assert placed.serial() == serial


@pytest.mark.slow
def test_a_node_that_takes_no_sites_gets_none(placed: Installation) -> None:
    site, home = next(iter(homes(placed).items()))
    new = other_than(home)
    assert placed.flex("nodes", "drain", new).code == 0

    said = move(placed, site, new)

    assert (said.code, placed.addresses(site)) == (21, address(home))
    assert f"{new} is draining and takes no sites" in said.err
    assert f"`flex nodes undrain {new}`" in said.err

    assert placed.flex("nodes", "undrain", new).code == 0
    assert placed.flex("nodes", "down", new).code == 0
    site, home = next(iter(homes(placed).items()))
    dead = move(placed, site, new)
    assert (dead.code, placed.addresses(site)) == (21, address(home))
    assert f"{new} is down and takes no sites" in dead.err


@pytest.mark.slow
def test_a_site_on_several_nodes_takes_as_many_names(placed: Installation) -> None:
    site = next(iter(homes(placed)))
    assert placed.flex("sites", "pin", site, "--min-replicas", "2").code == 0
    assert placed.run().code == 0
    rows = placed.flex("-o", "json", "sites", "list").json["items"]
    (now,) = [row["nodes"] for row in rows if row["site"] == site]
    (free,) = {"n1", "n2", "n3"} - set(now)

    one = move(placed, site, free)
    assert one.code == 21
    assert "it is to be on 2 nodes, and is on" in one.err

    both = move(placed, site, f"{now[0]},{free}")
    assert both.code == 0, both.err
    assert placed.addresses(site) == sorted(address(now[0]) + address(free))


def test_another_name_of_a_site_is_not_moved_and_the_site_is_named(placed: Installation) -> None:
    site, home = next(iter(homes(placed).items()))
    text = placed.settings.read_text(encoding="utf-8")
    alias = f"other.{placed.zone.rstrip('.')}"
    placed.settings.write_text(
        text.replace("[ingest.aliases]\n", f'[ingest.aliases]\n"{alias}" = "{site}"\n'),
        encoding="utf-8",
    )

    said = move(placed, alias, other_than(home))

    assert said.code == 3
    assert f"{alias} is another name of {site}, and goes where that goes" in said.err
    assert f"say {site}" in said.err


@pytest.mark.slow
def test_a_wish_holds_until_somebody_goes_over_it_by_name(placed: Installation) -> None:
    site, home = next(iter(homes(placed).items()))
    new = other_than(home)
    assert placed.flex("sites", "pin", site, "--nodes", home).code == 0

    said = move(placed, site, new)

    assert (said.code, placed.addresses(site)) == (22, address(home))
    assert "it moves sites against wishes that hold" in said.err
    assert "--force plan.wishes" in said.err

    forced = move(placed, site, new, "--force", "plan.wishes")
    assert (forced.code, placed.addresses(site)) == (0, address(new)), forced.err
    assert f"the next night would move {site} back, as a wish" in forced.out
    assert placed.run().code == 0
    assert placed.addresses(site) == address(home)


def test_people_keep_flex_away_from_a_site(placed: Installation) -> None:
    site, home = next(iter(homes(placed).items()))
    assert placed.flex("sites", "exclude", site).code == 0
    said = move(placed, site, other_than(home))
    assert (said.code, placed.addresses(site)) == (22, address(home))
    assert "people keep FLEX away from it" in said.err
    assert f"`flex sites unpin {site}`" in said.err


@pytest.mark.slow
def test_a_name_that_is_not_ours_stays(placed: Installation) -> None:
    site, home = next(iter(homes(placed).items()))
    edit(placed, f"{site}.", "A", "192.0.2.99")
    said = move(placed, site, other_than(home))
    assert (said.code, placed.addresses(site)) == (22, ["192.0.2.99"])
    assert "its name in DNS is not FLEX's to change" in said.err


@pytest.mark.slow
def test_while_changes_are_frozen_nothing_moves_and_the_plan_waits(placed: Installation) -> None:
    site, home = next(iter(homes(placed).items()))
    new = other_than(home)
    assert placed.flex("freeze").code == 0
    said = move(placed, site, new)
    assert (said.code, placed.addresses(site)) == (23, address(home))
    assert placed.flex("thaw").code == 0
    late = placed.flex("apply", "--as-of", placed.as_of())
    assert (late.code, placed.addresses(site)) == (0, address(new)), late.err


@pytest.mark.slow
def test_under_four_eyes_somebody_else_says_yes(placed: Installation) -> None:
    site, home = next(iter(homes(placed).items()))
    placed.mode = "review"
    placed.write_settings()
    text = placed.settings.read_text(encoding="utf-8")
    placed.settings.write_text(
        text.replace("[safety]", "[safety]\nfour_eyes = true"), encoding="utf-8"
    )
    said = move(placed, site, other_than(home))
    assert (said.code, placed.addresses(site)) == (22, address(home))
    assert "by somebody else" in said.err


@pytest.mark.slow
def test_in_shadow_mode_the_plan_is_made_and_nothing_is_written(placed: Installation) -> None:
    site, home = next(iter(homes(placed).items()))
    placed.mode = "shadow"
    placed.write_settings()
    said = move(placed, site, other_than(home))
    assert (said.code, placed.addresses(site)) == (22, address(home))
    assert "the mode is shadow" in said.err


def test_without_a_partition_there_is_nothing_to_move(installation: Installation) -> None:
    installation.read_logs()
    assert installation.hosting is not None
    said = move(installation, installation.hosting.sites[0], "n1")
    assert said.code == 20, said.err


@pytest.mark.slow
def test_its_content_goes_with_it_or_it_stays(installation: Installation, disks: Disks) -> None:
    (good, good_home), (bad, bad_home) = list(disks.fill().items())[:2]
    disks.trouble(bad, 1)

    said = move(installation, good, other_than(good_home))
    assert said.code == 0, said.err
    assert disks.has(other_than(good_home), good)
    assert installation.addresses(good) == address(other_than(good_home))

    stays = move(installation, bad, other_than(bad_home))
    assert stays.code == 22, stays.out
    assert "copy (files): it ended with 1" in stays.out + stays.err
    assert installation.addresses(bad) == address(bad_home)
    disks.no_trouble(bad)

    # It rests by now; somebody has to say that it may.
    rests = move(installation, bad, other_than(bad_home))
    assert rests.code == 22, rests.out
    assert f"`flex moves again {bad}`" in rests.err
    assert installation.flex("moves", "again", bad).code == 0
    again = move(installation, bad, other_than(bad_home))
    assert again.code == 0, again.err
    assert disks.has(other_than(bad_home), bad)


@pytest.mark.slow
def test_a_server_moves_a_site_by_the_same_words(placed: Installation) -> None:
    site, home = next(iter(homes(placed).items()))
    new = other_than(home)
    with served(placed) as there:
        wrong = there("move", site, "--to", home)
        assert (wrong.code, "it is there already" in wrong.err) == (3, True), wrong.err
        said = there("move", site, "--to", new, "--reason", "it asked for it")
        assert said.code == 0, said.err
    assert placed.addresses(site) == address(new)
