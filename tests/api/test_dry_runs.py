"""What was only tried is in no history, no audit log and no list of plans: whatever the verb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flex.model.site_moves import FOREVER, SiteMove
from flex.store import open_store
from flex_api import cli, wiring
from flex_api.settings import file as config

if TYPE_CHECKING:
    from tests.api.conftest import Installation

NOW = datetime(2026, 3, 3, tzinfo=UTC)
# What each verb is tried with: SITE, PLAN and NOW stand for what the installation has.
CALLS = {
    "apply": ("apply", "PLAN"),
    "rollback": ("rollback", "--as-of", "NOW"),
    "plan discard": ("plan", "discard", "WAITING"),
    "freeze": ("freeze",),
    "thaw": ("thaw",),
    "nodes add": ("nodes", "add", "n9", "--addresses", "192.0.2.10", "--ram", "8 MiB"),
    "nodes set": ("nodes", "set", "n3", "--capacity", "1.5"),
    "nodes drain": ("nodes", "drain", "n2"),
    "nodes undrain": ("nodes", "undrain", "n5"),
    "nodes up": ("nodes", "up", "n5"),
    "nodes down": ("nodes", "down", "n2"),
    "nodes remove": ("nodes", "remove", "n4"),
    "sites pin": ("sites", "pin", "SITE", "--nodes", "n2"),
    "sites unpin": ("sites", "unpin", "SITE"),
    "sites exclude": ("sites", "exclude", "SITE"),
    "move": ("move", "SITE", "--to", "n3,n4", "--as-of", "NOW"),
    "moves again": ("moves", "again", "SITE"),
}


def verbs(command: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Any: the command objects of the library below Typer have no public types."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from verbs(inner, (*before, name))
    yield " ".join(before), command


# It has no installation yet; tests/api/test_onboard.py tries it.
ELSEWHERE = ("onboard",)


def test_every_verb_with_a_dry_run_is_tried_here() -> None:
    every = verbs(cli.application())
    assert {
        name for name, verb in every if any("--dry-run" in one.opts for one in verb.params)
    } == {*CALLS, *ELSEWHERE}


def test_no_dry_run_leaves_anything_in_history_audit_log_or_list_of_plans(
    installation: Installation,
) -> None:
    """Each is asked of an installation in which it would do something."""
    site, plan, waiting = installation.once(prepare)
    before, kept = books(installation), what_is_kept(installation)
    for verb, words in CALLS.items():
        known = {"SITE": site, "PLAN": plan, "WAITING": waiting, "NOW": installation.as_of()}
        said = installation.flex(*(known.get(word, word) for word in words), "--dry-run")
        assert said.code == 0, (verb, said.err)
        assert what_is_kept(installation) == kept, verb
        assert "already" not in said.out, verb
        if verb in ("rollback", "move"):
            assert "a dry run: this plan was shown and not kept" in said.out
    assert books(installation) == before


def prepare(installation: Installation) -> tuple[str, str, str]:
    installation.first_night()
    site = installation.flex("-o", "json", "sites", "list").json["items"][-1]["site"]
    assert installation.flex("sites", "pin", site, "--min-replicas", "2").code == 0
    installation.flex("plan", "--as-of", installation.as_of())
    applied = installation.flex("-o", "json", "apply", "--as-of", installation.as_of()).json["id"]
    for name, address in (("n4", "192.0.2.9"), ("n5", "192.0.2.8")):
        more = ("--addresses", address, "--ram", "8 MiB")
        assert installation.flex("nodes", "add", name, *more).code == 0
    assert installation.flex("nodes", "drain", "n5").code == 0
    assert installation.flex("freeze").code == 0
    waiting = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json["id"]
    rests = SiteMove("m", site, "n1", "n2", applied, NOW, "stayed", NOW, "no room", FOREVER)
    settings = config.load(installation.settings)
    with closing(wiring.world(settings, lambda: NOW)) as here:
        here.store.put_site_moves([rests])
    return site, applied, waiting


def what_is_kept(installation: Installation) -> object:
    """What the books are made from."""
    with open_store(config.load(installation.settings).database.url) as store:
        return store.entries(limit=1_000), store.headlines(), store.in_force()


def books(installation: Installation) -> list[object]:
    asked = (("history",), ("plan", "list"), ("audit",))
    return [installation.flex("-o", "json", *verb, "--limit", "1000").json for verb in asked]
