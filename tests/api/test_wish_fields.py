"""A field of a wish is described once, in flex/model/wish.py. Whatever shows, takes or keeps a wish
has all of its fields.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from datetime import UTC, datetime

import pytest

from flex.model.wish import ASKS, DEFAULTS, FIELDS, Pin, option
from flex.store import MemoryStore
from flex.store.schema import pins
from flex.wishes.suspended_wishes import asks
from flex.wishes.wishes_in_force_now import merge_campaign
from flex_api.in_words.wish_text import phrases
from flex_api.pages.site import INPUTS
from flex_api.schemas.sites_and_wishes import (
    OF_A_SITE,
    PinGiven,
    PinOutput,
    PinShown,
    SiteRow,
    values,
)

# A value of each kind that is not what a wish has where nobody gives one.
OTHERS: dict[type, object] = {tuple: ("x",), int: 7, float: 2.5, str: "gold", bool: True}
WHOLE = Pin(
    "a.example",
    until=datetime(2026, 12, 1, tzinfo=UTC),
    since=datetime(2026, 11, 1, tzinfo=UTC),
    reason="launch",
    author="anna",
    campaign="launch",
    **{name: OTHERS[type(default)] for name, default in DEFAULTS.items()},  # type: ignore[arg-type]  # by name
)


def test_every_field_that_a_wish_asks_with_is_described_and_has_a_default() -> None:
    frame = {"site", "since", "until", "reason", "author", "campaign"}
    assert {*ASKS} == {*FIELDS} - frame
    assert {one.name for one in fields(Pin) if one.default is MISSING} == {"site"}


def test_the_store_has_a_column_for_each_field() -> None:
    assert {column.name for column in pins.columns} == {"id", *FIELDS}


def test_the_api_takes_and_answers_each_field() -> None:
    assert {*PinGiven.model_fields} == {*FIELDS} - {"site", "author", "campaign"}
    assert {*PinShown.model_fields} == {*FIELDS, "holds"}
    shown = PinShown(**values(WHOLE), holds=True)
    given = {name: getattr(shown, name) for name in PinGiven.model_fields}
    back = PinGiven.model_validate(given, strict=False)
    assert Pin(site=WHOLE.site, author="anna", campaign="launch", **dict(back)) == WHOLE
    assert Pin("a.example", **dict(PinGiven())) == Pin("a.example")


def test_the_verbs_print_each_field() -> None:
    besides = {"schema_version", "pinned", "dry_run", "preview", "notes"}
    assert {*PinOutput.model_fields} - besides == {*FIELDS}
    of_a_site = {OF_A_SITE.get(name, name) for name in FIELDS} - {"campaign"}
    assert of_a_site <= {*SiteRow.model_fields}


@pytest.mark.parametrize("name", ASKS)
def test_each_field_is_said_in_a_sentence_and_asked_for_in_the_form(name: str) -> None:
    pin = Pin("a.example", **{name: getattr(WHOLE, name)})
    assert [*phrases(pin)] == [name]
    assert str(phrases(pin)[name])
    assert ASKS[name].label
    assert name in {one.name for one in INPUTS}


@pytest.mark.parametrize("name", ASKS)
def test_a_campaign_leaves_what_it_says_nothing_of(name: str) -> None:
    standing = Pin("a.example", **{name: getattr(WHOLE, name)})
    assert asks(standing)
    merged = merge_campaign(standing, Pin("a.example", campaign="launch"))
    assert getattr(merged, name) == getattr(standing, name)


def test_the_record_says_each_field() -> None:
    store = MemoryStore()
    store.put_pin(WHOLE)
    said = store.found_entries(1)[0].after
    assert [name for name in FIELDS if f'"{name}"' not in said] == []


def test_options_are_called_as_their_fields_are() -> None:
    assert option("not_on") == "--not-on"
    assert option("sla") == "--class"
    assert option("excluded") == ""
