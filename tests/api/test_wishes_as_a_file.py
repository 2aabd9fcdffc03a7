"""What people decided outlives the database: as a file that is written, compared, carried out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flex.errors import BadInput
from flex_api.schemas.standing_decisions import Decisions, FreezeDecided, NodeDecided, WishDecided
from flex_api.wishes import decisions_file

if TYPE_CHECKING:
    from tests.api.conftest import Installation

NOW = datetime(2026, 3, 2, tzinfo=UTC)
LATER = NOW + timedelta(days=9)
FAR = datetime(2100, 1, 1, tzinfo=UTC)
labels = st.text("abk09", min_size=1, max_size=6)
names = st.lists(labels, min_size=1, max_size=3).map(".".join)
texts = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\x7f"), max_size=40
)
moments = st.none() | st.datetimes(
    LATER.replace(tzinfo=None), FAR.replace(tzinfo=None), timezones=st.just(UTC)
)
wishes = st.builds(
    WishDecided,
    site=names,
    campaign=st.sampled_from(["", "sale", "until-2026-12-01T0600Z"]),
    nodes=st.lists(names, max_size=2).map(tuple),
    not_on=st.lists(names, max_size=2).map(tuple),
    together=st.lists(names, max_size=2).map(tuple),
    apart=st.lists(names, max_size=2).map(tuple),
    min_replicas=st.integers(1, 9),
    max_replicas=st.integers(0, 9),
    weight=st.floats(0.1, 100),
    sla=texts,
    excluded=st.booleans(),
    since=moments,
    until=moments,
    reason=texts,
)
nodes = st.builds(
    NodeDecided,
    node=names,
    state=st.sampled_from(["draining", "down"]),
    deadline=moments,
    reason=texts,
)
freezes = st.none() | st.builds(FreezeDecided, until=moments, reason=texts)
decided = st.builds(
    Decisions,
    wish=st.lists(wishes, unique_by=lambda one: f"{one.site} {one.campaign}".strip()).map(tuple),
    node=st.lists(nodes, unique_by=lambda one: one.node).map(tuple),
    freeze=freezes,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=decided)
def test_what_is_written_is_read_again(said: Decisions, tmp_path: Path) -> None:
    file = tmp_path / "wishes.toml"
    file.write_text(decisions_file.text(said), encoding="utf-8")
    again = decisions_file.read(file)
    assert decisions_file.differences(said, again) == []
    assert decisions_file.text(again) == decisions_file.text(said)


@given(one=decided, other=decided)
def test_differences_lead_from_one_to_the_other(one: Decisions, other: Decisions) -> None:
    found = decisions_file.differences(one, other)
    left = {(each.kind, each.of): each.wanted for each in found}
    # A node is down whatever the reason.
    down = {each.node for each in one.node if each.state == "down"}
    kept = [
        each
        for each in (*other.wish, *other.node)
        if each in (*one.wish, *one.node)
        or (isinstance(each, NodeDecided) and each.state == "down" and each.node in down)
    ]
    assert not any(each.now == each.wanted for each in found)
    assert len(left) == len(found)
    wanted = [each for each in left.values() if each is not None]
    every = [*other.wish, *other.node, *filter(None, [other.freeze])]
    assert sorted(map(repr, wanted)) == sorted(
        repr(each) for each in every if each not in kept and each != one.freeze
    )


def test_what_has_ended_is_nothing() -> None:
    said = Decisions(
        wish=(WishDecided(site="a", until=NOW), WishDecided(site="b", until=LATER)),
        freeze=FreezeDecided(until=NOW),
    )
    left = decisions_file.drop_ended(said, NOW)
    assert ([one.site for one in left.wish], left.freeze) == (["b"], None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("schema = 1\n[[wish]]\nsite = 'a'\ncolour = 'red'\n", "wish.0.colour"),
        ("schema = 1\n[[wish]]\nsite = 'a'\nweight = nan\n", "wish.0.weight"),
        ("schema = 1\n[[wish]]\nsite = 'a'\nuntil = 2026-12-01\n", "its zone"),
        ("schema = 1\n[freeze]\nuntil = 2026-12-01T06:00:00\n", "its zone"),
        (f"schema = 1\n[[wish]]\nsite = 'a'\nweight = {'9' * 5000}\n", "not TOML"),
        ("schema = 1\n[[wish]]\nsite = '.'\n", "wish.0.site = '.': there is no such name"),
        ("schema = 2\n", "schema = 1"),
        ("", "schema = 1"),
        ("schema = 1\n[[wish]]\nsite = 'a'\n[[wish]]\nsite = 'A'\n", "the wish a is in it 2 times"),
        ("schema = 1\n[[node]]\nnode = 'n1'\nstate = 'asleep'\n", "node.0.state"),
        ("[[wish]\n", "this is not TOML"),
        ("\udcff", "UTF-8"),
        (None, "no such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_error(
    tmp_path: Path, text: str | None, why: str
) -> None:
    file = tmp_path / "wishes.toml"
    if text is not None:
        file.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(BadInput) as refused:
        decisions_file.read(file)
    assert why in refused.value.answer
    assert refused.value.kept == "nothing was changed"


@pytest.mark.slow
@pytest.mark.real
def test_an_empty_database_has_again_what_people_decided(installation: Installation) -> None:
    installation.first_night()
    every = installation.flex("-o", "json", "sites", "list").json["items"]
    one, other, third = (row["site"] for row in every[:3])
    flex = installation.flex
    for words in (
        ("sites", "pin", one, "--nodes", "n1", "--reason", 'the "big" one'),
        ("sites", "pin", one, "--nodes", "n2", "--until", "2100-01-01", "--reason", "sale"),
        ("sites", "exclude", other, "--reason", "theirs"),
        ("nodes", "drain", "n3", "--reason", "disk"),
        ("freeze", "--reason", "fair"),
    ):
        assert flex(*words).code == 0, words
    file = installation.folder / "wishes.toml"
    file.write_text(flex("wishes", "export").out, encoding="utf-8")
    assert flex("wishes", "diff", str(file), "--detailed-exitcode").code == 0
    for taken_back in (
        ("sites", "unpin", one, "--campaign", "until-2100-01-01T0000Z"),
        ("sites", "unpin", one),
        ("sites", "unpin", other),
        ("sites", "pin", third, "--nodes", "n1"),
        ("nodes", "undrain", "n3"),
        ("thaw",),
    ):
        assert flex(*taken_back).code == 0, taken_back
    shown = flex("wishes", "diff", str(file), "--detailed-exitcode")
    assert (shown.code, len(shown.out.splitlines())) == (10, 6), shown.out
    assert f"- wish {third}: on n1" in shown.out
    assert f'+ wish {one}: on n1: the "big" one' in shown.out
    done = flex("wishes", "apply", str(file))
    assert (done.code, "6 of 6 carried out." in done.out) == (0, True), done.err
    assert flex("-o", "json", "wishes", "diff", str(file)).json["items"] == []
    # Also -q: an empty file would take all back.
    assert flex("-q", "wishes", "export").out == file.read_text(encoding="utf-8")
    as_json = flex("-o", "json", "wishes", "export").json
    assert [row["site"] for row in as_json["wish"]].count(one) == 2

    # A database that is new, once it knows the sites.
    for name in ("flex.db", "flex.db-wal", "flex.db-shm"):
        (installation.folder / name).unlink(missing_ok=True)
    assert flex("db", "upgrade").code == 0
    assert flex("ingest").code == 0
    assert flex("plan", "--as-of", installation.as_of()).code == 0
    again = flex("wishes", "apply", str(file))
    assert again.code == 0, again.err
    assert flex("wishes", "export").out == file.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.real
def test_what_is_refused_is_named_and_the_rest_is_carried_out(installation: Installation) -> None:
    installation.first_night()
    site = installation.flex("-o", "json", "sites", "list").json["items"][0]["site"]
    assert installation.flex("sites", "pin", site, "--nodes", "n1").code == 0
    file = installation.folder / "wishes.toml"
    nobody = '[[wish]]\nsite = "aaa.nobody.example"\nnodes = ["n1"]\n'
    file.write_text(
        f'schema = 1\n{nobody}[[wish]]\nsite = "{site.upper()}"\nnodes = ["n9"]\n'
        "until = 2100-01-01T00:00:00Z\n"
        '[[node]]\nnode = "n2"\nstate = "down"\n[freeze]\nreason = "fair"\n',
        encoding="utf-8",
    )
    refused = installation.flex("wishes", "apply", str(file))
    assert (refused.code, "aaa.nobody.example" in refused.err) == (3, True), refused.err
    assert "1 of 4 differences were carried out, 2 refused" in refused.err
    assert "`flex nodes down n2` takes it out of DNS at once" in refused.out
    # The wish that a refused one would have replaced stands.
    left = installation.flex("-o", "json", "wishes", "export").json
    assert [(one["site"], one["nodes"]) for one in left["wish"]] == [(site, ["n1"])]
    assert left["freeze"]["reason"] == "fair"

    text = file.read_text(encoding="utf-8").replace(nobody, "").replace("n9", "n2")
    file.write_text(text, encoding="utf-8")
    done = installation.flex("wishes", "apply", str(file))
    assert (done.code, "1 of 2 carried out." in done.out) == (0, True), done.err
    again = installation.flex("-o", "json", "wishes", "diff", str(file)).json["items"]
    assert [row["kind"] for row in again] == ["node"]
