"""What the report says of each kind of night, and that whoever opens it can read it: with eyes,
ears or keys.

The night of tests/data/report/night.json is the sample; the others are made from it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import TypeAdapter

import flex
from flex_api.report import page as report
from flex_api.report.page import ReportData
from flex_api.schemas.plan_parts import BalanceOutput, LoadRow, VerdictRow
from flex_api.schemas.sites_and_wishes import SiteRow, SitesOutput
from flex_api.schemas.verbs_output import BreachRow, ZoneRow
from tests.effort import calls

NOW = datetime(2026, 3, 4, 2, 17, tzinfo=UTC)
VOID = {"meta", "br", "link", "img", "input", "hr"}
NIGHT: TypeAdapter[ReportData] = TypeAdapter(ReportData)
DATA = Path(__file__).resolve().parents[1] / "data/report"
GOLDEN = DATA / "outline.txt"


@cache
def night() -> ReportData:
    """An ordinary night: four nodes, a hundred sites, two of which move."""
    return NIGHT.validate_json((DATA / "night.json").read_bytes())


def with_plan(data: ReportData, **changes: object) -> ReportData:
    return replace(data, plan=data.plan.model_copy(update=changes))


def balance(
    access: Sequence[float], working_set: Sequence[float], fair: Sequence[float] | None = None
) -> BalanceOutput:
    away = max((abs(units - 100) / 100, f"n{number}") for number, units in enumerate([*access], 1))
    return BalanceOutput(
        worst_ratio=away[0],
        worst_node=away[1],
        worst_resource="access rate",
        nodes=[
            LoadRow(node=f"n{number}", access_units=a, working_set_units=w, fair_units=f, sites=25)
            for number, (a, w, f) in enumerate(
                zip(access, working_set, fair or [100.0] * len(access), strict=True), 1
            )
        ],
    )


def site(name: str, access: int, working_set: int) -> SiteRow:
    sites = night().sites
    assert sites is not None
    return sites.items[0].model_copy(
        update={"site": name, "access_bytes": access, "working_set_bytes": working_set}
    )


class Page(HTMLParser):
    """What a browser would find: every element with its attributes, its text and what it stands
    in.
    """

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], tuple[int, ...]]] = []
        self.texts: dict[int, str] = {}
        self._open: list[int] = []
        self.feed(markup)
        self.close()
        assert self._open == [], f"never closed: {[self.elements[at][0] for at in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), tuple(self._open)))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), tuple(self._open)))

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open[-1]][0] == tag, (
            f"</{tag}> closes <{self.elements[self._open[-1]][0]}>"
        )
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for at in self._open:
            self.texts[at] = self.texts.get(at, "") + data

    def all(self, *tags: str) -> list[int]:
        return [at for at, (tag, _, _) in enumerate(self.elements) if tag in tags]

    def attributes(self, at: int) -> dict[str, str | None]:
        return self.elements[at][1]

    def within(self, at: int, tag: str) -> list[int]:
        return [inner for inner in self.all(tag) if at in self.elements[inner][2]]

    def text(self, at: int) -> str:
        return " ".join(self.texts.get(at, "").split())

    @property
    def pictures(self) -> list[int]:
        """The outermost drawings."""
        return [
            at
            for at in self.all("svg")
            if "svg" not in {self.elements[outer][0] for outer in self.elements[at][2]}
        ]


def large(sites: int = 100_000, nodes: int = 256) -> ReportData:
    """A cluster that no picture can show node by node, on a night when everything moves."""
    loads = [100 + (number * 37 % 41 - 20) / 4 for number in range(nodes)]
    items = [
        site(f"site-{number:06d}.example.org", 10**3 + number**2, 10 + number)
        for number in range(sites)
    ]
    changes = [
        f"+ site-{number:06d}.example.org. 300 A 192.0.2.{number % 250}" for number in range(sites)
    ]
    data = with_plan(
        night(),
        sites=sites,
        before=balance(loads[::-1], loads),
        after=balance(loads, loads[::-1]),
        moves=night().plan.moves[:1] * sites,
        zones=[ZoneRow(zone="example.org.", changes=changes, foreign=changes)],
        notes=["a note"] * 1000,
        verdicts=[
            VerdictRow(
                server=f"ns{number}.example.org",
                agrees=False,
                checked=1,
                serial=7,
                wrong=changes[:1000],
                error="",
            )
            for number in range(100)
        ],
    )
    return replace(
        data,
        sites=SitesOutput(period_start=NOW, period_end=NOW, items=items),
        story=("a line",) * 10_000,
    )


def nights() -> dict[str, ReportData]:
    """Every kind of night that the page has words for."""
    ordinary = night()
    quiet = with_plan(ordinary, moves=[], forecasts=[], zones=[], notes=[], verdicts=[])
    return {
        "ordinary": ordinary,
        "quiet": replace(quiet, earlier=(), sites=None, lines={}, stages=(), story=()),
        "first": replace(
            with_plan(
                ordinary,
                before=None,
                moves=[ordinary.plan.moves[0].model_copy(update={"source": None})],
            ),
            earlier=(),
        ),
        "no traffic": replace(
            ordinary, sites=SitesOutput(period_start=None, period_end=None, items=[site("a", 0, 0)])
        ),
        "no nodes": with_plan(
            ordinary, before=None, after=balance([100], [100]).model_copy(update={"nodes": []})
        ),
        "large": large(sites=3_000, nodes=50),
    }


NIGHTS = nights()


@pytest.fixture(params=NIGHTS)
def page(request: pytest.FixtureRequest) -> Page:
    return Page(report.html(NIGHTS[request.param]))


def test_the_page_has_one_first_heading_and_leaves_no_level_out(page: Page) -> None:
    levels = [int(page.elements[at][0][1]) for at in page.all("h1", "h2", "h3", "h4")]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_picture_has_a_title_and_a_description_that_it_names(page: Page) -> None:
    for picture in page.pictures:
        named = (page.attributes(picture)["aria-labelledby"] or "").split()
        assert page.attributes(picture)["role"] == "img"
        inside = {
            page.attributes(at).get("id"): at
            for tag in ("title", "desc")
            for at in page.within(picture, tag)
        }
        assert all(page.text(inside[name]) for name in named)
        assert len(named) == 2


def test_every_figure_has_the_table_it_is_drawn_from_and_a_caption(page: Page) -> None:
    for figure in page.all("figure"):
        assert page.within(figure, "table")
        assert page.within(figure, "figcaption")
    drawn_in_figures = {
        picture for figure in page.all("figure") for picture in page.within(figure, "svg")
    }
    assert set(page.pictures) <= drawn_in_figures


def test_no_id_is_there_twice_and_every_link_leads_somewhere(page: Page) -> None:
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {page.attributes(at)["href"] for at in page.all("a")} <= {f"#{name}" for name in ids}


def test_the_page_needs_no_script_and_nothing_from_elsewhere(page: Page) -> None:
    assert not page.all(
        "script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"
    )
    for _, attributes, _ in page.elements:
        assert not [
            name
            for name in attributes
            if name.startswith("on") or name in ("src", "srcset", "xlink:href")
        ]
    styles = "".join(page.texts.get(at, "") for at in page.all("style"))
    assert "url(" not in styles
    assert "@import" not in styles


def test_the_policy_in_the_page_forbids_all_else(page: Page) -> None:
    policies = [
        page.attributes(at)["content"]
        for at in page.all("meta")
        if page.attributes(at).get("http-equiv") == "Content-Security-Policy"
    ]
    (style,) = (page.texts[at] for at in page.all("style"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policies == [f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:"]
    assert not [attributes for _, attributes, _ in page.elements if "style" in attributes]


def test_whoever_listens_knows_the_language_and_can_reach_what_scrolls(page: Page) -> None:
    assert page.attributes(page.all("html")[0])["lang"] == "en"
    scrolling = [
        attributes
        for _, attributes, _ in page.elements
        if attributes.get("class") in ("wide", "diff")
    ]
    assert all(
        attributes["tabindex"] == "0" and attributes["aria-label"] for attributes in scrolling
    )
    assert all(page.within(at, "summary") for at in page.all("details"))
    assert all(page.attributes(at)["scope"] for at in page.all("th"))


def outline(page: Page) -> str:
    """Headings, pictures and tables as a reader hears them."""
    said = []
    for at, (tag, attributes, _) in enumerate(page.elements):
        if tag in ("title", "desc", "h1", "h2", "h3", "p", "figcaption", "summary", "li"):
            said.append(f"{tag}: {page.text(at)}")
        elif tag == "tr":
            cells = sorted(page.within(at, "th") + page.within(at, "td"))
            said.append(f"{tag}: {' | '.join(page.text(cell) for cell in cells)}")
        elif tag == "section":
            said.append(f"\n{tag} {attributes['id']}")
    return "\n".join(said).replace(f"FLEX {flex.__version__}", "FLEX VERSION") + "\n"


def test_an_ordinary_night_reads_as_reviewed() -> None:
    found = outline(Page(report.html(night())))
    if os.environ.get("FLEX_UPDATE"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


AGREES = VerdictRow(server="192.0.2.53", agrees=True, checked=100, serial=7, wrong=[], error="")
ZONES = ("a.example.", "b.example.", "c.example.")
IN_ZONES = [AGREES.model_copy(update={"zone": zone}) for zone in ZONES]
OTHERS = [one.model_copy(update={"server": "ns2.example.org"}) for one in IN_ZONES]
SILENT = VerdictRow(
    server="ns2.example.org",
    agrees=False,
    checked=0,
    serial=None,
    wrong=[],
    error="no answer within 5 s",
)


def said(data: ReportData) -> str:
    page = Page(report.html(data))
    return page.text(page.all("body")[0])


@pytest.mark.parametrize(
    ("worst", "begin"),
    [
        (0.021, "Balanced: worst node n3 is 2.1 % off"),
        (0.041, "Worst node n3 is 4.1 % off its fair share (aim 3.0 %)"),
    ],
)
def test_balanced_is_only_said_within_the_aim(worst: float, begin: str) -> None:
    data = night()
    after = data.plan.after.model_copy(update={"worst_ratio": worst, "worst_node": "n3"})
    page = Page(report.html(with_plan(data, after=after)))
    verdict = next(
        at
        for at, (_, attributes, _) in enumerate(page.elements)
        if attributes.get("class") == "verdict"
    )
    assert page.text(verdict).startswith(begin)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"state": "proposed", "verdicts": []}, "Proposed: nothing in DNS has changed"),
        ({}, "Applied and verified on 2 servers"),
        ({"verdicts": [AGREES, SILENT]}, "Applied; 1 of 2 servers agree"),
        ({"verdicts": [*IN_ZONES, *OTHERS]}, "Applied and verified on 2 servers in 3 zones"),
        (
            {"verdicts": [*IN_ZONES, *OTHERS[1:], SILENT.model_copy(update={"zone": ZONES[0]})]},
            "Applied; 1 of 2 servers agree in 3 zones",
        ),
        ({"verdicts": []}, "Applied"),
        ({"state": "applying"}, "Being applied: some of it is in DNS"),
        ({"state": "discarded"}, "Discarded: it will not be applied"),
        (
            {"state": "failed", "message": "the name server said no"},
            "Failed: the name server said no",
        ),
    ],
)
def test_the_page_says_what_became_of_the_plan(changes: dict[str, object], state: str) -> None:
    assert state in said(with_plan(night(), **changes))


def test_a_limit_names_the_rule_both_numbers_and_the_command() -> None:
    breaches = [
        BreachRow(rule="safety.max_moved_sites_ratio", limit=0.3, actual=0.41, override="a yes"),
        BreachRow(rule="safety.max_moved_working_set", limit=4e9, actual=5.1e9, override="a yes"),
    ]
    text = said(with_plan(night(), state="proposed", breaches=breaches))
    assert "safety.max_moved_sites_ratio allows 30 %, this plan needs 41 %" in text
    assert "safety.max_moved_working_set allows 4.0 GB, this plan needs 5.1 GB" in text
    forced = "--force safety.max_moved_sites_ratio --force safety.max_moved_working_set"
    assert f"flex apply 20260304T021700-9f3a1c77be02 {forced}" in text


def test_a_server_that_disagrees_is_named_with_its_answer() -> None:
    text = said(with_plan(night(), verdicts=[AGREES, SILENT]))
    assert "Disagrees: ns2.example.org: no answer within 5 s" in text


def test_a_quiet_night_needs_nobody() -> None:
    assert "All is well: no limit is broken, and no server disagrees." in said(NIGHTS["quiet"])


def test_a_node_outside_the_band_says_so_in_words() -> None:
    page = Page(report.html(night()))
    picture = page.text(page.pictures[0])
    assert "-4.1 % under" in picture
    assert "3 of 4 nodes within 3.0 % of the fair share; farthest is n3 at -4.1 %." in picture


def test_a_node_of_twice_the_capacity_is_balanced_with_twice_the_load() -> None:
    shares = [400 / 3, 200 / 3, 0]
    picture = said(with_plan(night(), before=None, after=balance(shares, shares, fair=shares)))
    assert "3 of 3 nodes within 3.0 % of the fair share" in picture
    assert "closed" in picture


def test_more_nodes_than_a_picture_holds_become_the_worst_ten_and_a_distribution() -> None:
    page = Page(report.html(NIGHTS["large"]))
    assert "the 10 farthest of 50 nodes" in page.text(page.all("main")[0])
    assert "31 of 50 nodes within 3.0 % of the fair share" in page.text(page.pictures[2])


def test_what_is_left_out_is_counted() -> None:
    text = said(NIGHTS["large"])
    for rest in (
        "2,800 more moves",
        "2,800 more lines",
        "2,950 more sites",
        "1,088 more notices",
        "50 more answers",
    ):
        assert f"and {rest}" in text


@pytest.mark.slow
def test_a_report_of_a_hundred_thousand_sites_is_small_and_quick() -> None:
    data, pages = large(), list[str]()
    effort = calls(lambda: pages.append(report.html(data)))
    assert len(pages[0].encode()) < 300_000
    # It takes a quarter of that: this bound only notices another order of magnitude.
    assert effort < 100 * 100_000
