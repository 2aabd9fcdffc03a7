"""Names come from logs and from DNS, so from anybody: none of them can harm whoever opens the
report.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from flex_api.in_words import text_safe_for_html
from flex_api.report import page as report
from flex_api.report.page import ReportData
from flex_api.schemas.plan_parts import BalanceOutput, LoadRow, MoveRow, VerdictRow
from flex_api.schemas.sites_and_wishes import SitesOutput
from flex_api.schemas.verbs_output import BreachRow, StageRow, ZoneRow

NOW = datetime(2026, 3, 4, 2, 17, tzinfo=UTC)
NIGHT: TypeAdapter[ReportData] = TypeAdapter(ReportData)
DATA = Path(__file__).resolve().parents[1] / "data/report"


def night() -> ReportData:
    """An ordinary night: four nodes, a hundred sites, two of which move."""
    return NIGHT.validate_json((DATA / "night.json").read_bytes())


class Elements(HTMLParser):
    """The tags of a page and the attributes that each may carry."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def elements(data: ReportData) -> Elements:
    found = Elements()
    found.feed(report.html(data))
    found.close()
    return found


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "\u202egnp.exe\u2066",
    "a\x00b\x1b[31mc\r\nd",
    "half \ud800 a pair",
    "x" * 65_536,
    "\u0645\u062b\u0627\u0644.example",
    "' --><!-- ]]>",
]


def overrun(name: str) -> ReportData:
    """The name wherever a name or a sentence of others can stand."""
    data = night()
    load = LoadRow(node=name, access_units=100, working_set_units=100, sites=1)
    after = BalanceOutput(worst_ratio=0.5, worst_node=name, worst_resource=name, nodes=[load])
    plan = data.plan.model_copy(
        update={
            "id": name,
            "base": name,
            "digest": name,
            "solver": name,
            "message": name,
            "moves": [MoveRow(site=name, source=name, target=name, cold_bytes=1, reason=name)],
            "before": after,
            "after": after,
            "forecasts": [data.plan.forecasts[0].model_copy(update={"policy": name})],
            "zones": [ZoneRow(zone=name, changes=[name], foreign=[name])],
            "breaches": [BreachRow(rule=name, limit=1, actual=2, override=name)],
            "notes": [name],
            "verdicts": [
                VerdictRow(
                    server=name, agrees=False, checked=1, serial=1, wrong=[name], error=error
                )
                for error in (name, "")
            ],
        }
    )
    assert data.sites is not None
    row = data.sites.items[0].model_copy(
        update={"site": name, "nodes": [name], "pinned_to": [name]}
    )
    return replace(
        data,
        cluster=name,
        plan=plan,
        sites=SitesOutput(period_start=None, period_end=None, items=[row]),
        lines={name: 1},
        stages=(StageRow(name=name, started=NOW, ended=None, outcome=name),),
        story=(name,),
    )


PLAIN = elements(overrun("plain.example.org"))


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:20]))
def test_a_hostile_name_adds_no_element_and_no_attribute(name: str) -> None:
    found = elements(overrun(name))
    assert found.tags == PLAIN.tags
    assert found.attributes <= PLAIN.attributes | {"title"}


@pytest.mark.slow
@given(name=st.text(min_size=1, max_size=80))
def test_no_name_at_all_adds_an_element(name: str) -> None:
    assert elements(overrun(name)).tags == PLAIN.tags


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:20]))
def test_whatever_it_holds_the_page_is_printable_utf_8(name: str) -> None:
    markup = report.html(overrun(name))
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", markup
    )
    assert markup.encode()


def test_a_name_of_64_kilobytes_takes_a_line_and_a_title() -> None:
    markup = report.html(overrun("x" * 65_536))
    assert len(markup) < 300_000
    assert (
        max(len(found) for found in re.findall(r'title="([^"]*)"', markup))
        == text_safe_for_html.TITLE
    )


@given(text=st.text(max_size=400), most=st.integers(min_value=2, max_value=300))
def test_a_shortened_name_keeps_its_ends(text: str, most: int) -> None:
    short = text_safe_for_html.plain(text, most)
    assert len(short) == min(len(text), most)
    assert short.isprintable()
    if text.isprintable() and len(text) > most:
        assert short[:1] == text[:1]
        assert most < 3 or short[-1:] == text[-1:]


@given(st.text(max_size=100), st.integers(1, 3))
def test_no_name_is_markup_however_long_it_is(text: str, most: int) -> None:
    for hostile in (
        f'"><script>{text}',
        f"{'x' * most * text_safe_for_html.NAME}{text}<img src=x onerror=y>",
        f"<\x07b>{text}",
    ):
        shown = text_safe_for_html.name(hostile)
        assert re.fullmatch(r'<bdi( title="[^"<>]*")?>[^<>]*</bdi>', str(shown))


def test_a_name_is_isolated_from_the_text_around_it() -> None:
    assert text_safe_for_html.name("\u05d0.example") == "<bdi>\u05d0.example</bdi>"
