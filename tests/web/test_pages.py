"""The pages over a store in memory, asked as a browser without scripts would: what they show, and
what forms do.
"""

from __future__ import annotations

import html
import io
import re
import time
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from fastapi.routing import APIRoute
from rich.console import Console

from flex.model.log_reading import Segment, Stream
from flex.model.nightly_run import NightlyRun
from flex.model.predicted_node_loads import Forecast, NodeForecast
from flex.model.roles_and_tokens import ROLES, Role
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.store.lease_holder import holder
from flex_api.in_words import results_in_terminal
from flex_api.pages import PAGES as EVERY_PAGE
from flex_api.pages.frame import PAGES
from flex_api.pages.simulate import USUAL
from flex_api.schemas.verbs_output import PlansOutput
from tests.rest.conftest import NOW, PERIOD
from tests.web.scriptless import BROWSER, SITE, Browser

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.rest.conftest import Door

    Doors = Callable[..., Door]

ADDRESSES = [path for path, _, _ in PAGES] + [
    SITE, "/node?name=n1", "/plans/all", "/sites?name=s00&sort=site&limit=3",
    "/history?failed=true", "/data?node=n1",
    "/audit?action=pin", "/search?q=n1", "/search?q=s00",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_page_answers_and_names_itself(admin: Browser, address: str) -> None:
    page = admin.get(address)
    assert len(re.findall("<h1", page)) == 1
    assert '<main id="main"' in page
    assert re.search(r"<title>[^<]+ · shared-eu1 · FLEX</title>", page)


@pytest.mark.parametrize("tab", ["moves", "dns", "kept"])
def test_every_part_of_a_plan_answers(admin: Browser, door: Door, tab: str) -> None:
    for head in door.store.headlines():
        assert f"tab={tab}" in admin.get(f"/plans/{head.id}?tab={tab}")


def test_whoever_is_unknown_is_led_to_the_sign_in_page_and_back(door: Door) -> None:
    stranger = door.open(headers=BROWSER)
    led = stranger.get("/sites?name=s00", follow_redirects=False)
    assert led.headers["location"] == "/login?next=%2Fsites%3Fname%3Ds00"
    form = {"token": door.secrets["viewer"], "next": "/sites?name=s00"}
    assert (
        stranger.post("/login", data=form, follow_redirects=False).headers["location"]
        == "/sites?name=s00"
    )


@pytest.mark.parametrize(
    "elsewhere", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:1"]
)
def test_signing_in_leads_nowhere_else(door: Door, elsewhere: str) -> None:
    form = {"token": door.secrets["viewer"], "next": elsewhere}
    assert (
        door.open(headers=BROWSER)
        .post("/login", data=form, follow_redirects=False)
        .headers["location"]
        == "/"
    )


def test_a_form_without_the_proof_of_its_page_changes_nothing(door: Door, admin: Browser) -> None:
    for proof in ({}, {"csrf": "0" * 64}, {"csrf": "é"}):
        answer = admin.client.post("/settings/freeze", data={"etag": "*", **proof})
        assert answer.status_code == 403
    assert door.store.freeze() is None


def test_what_somebody_may_not_do_is_not_offered_and_not_done(door: Door) -> None:
    viewer = Browser(door, "viewer")
    waiting = door.store.headlines()[0].id
    for address in (f"/plans/{waiting}", SITE, "/node?name=n1", "/settings", "/data"):
        forms = re.findall(r'<form [^>]*method="post" action="([^"]*)"', viewer.get(address))
        assert set(forms) <= {"/theme", "/logout"}
    assert "takes operator" in viewer.send(f"/plans/{waiting}/discard", status=403)
    assert door.store.headlines()[0].state == "proposed"


# Other forms take an operator; who looks on chooses colours, and leaves.
TAKES_MORE: dict[str, Role] = {
    "/theme": "viewer",
    "/plans/{plan}/approval": "approver",
    "/plans/{plan}/apply": "approver",
    "/settings/tokens": "admin",
    "/settings/tokens/{token}/revoke": "admin",
}


def forms() -> list[str]:
    routes = [route for page in EVERY_PAGE for route in page.router.routes]
    return [
        one.path for one in routes if isinstance(one, APIRoute) and "POST" in (one.methods or ())
    ]


@pytest.mark.parametrize("form", forms())
def test_a_form_takes_the_role_that_is_asked_of_programs_for_the_same(
    door: Door, form: str
) -> None:
    needed = TAKES_MORE.get(form, "operator")
    plan = door.store.headlines()[0].id
    address = form.format(plan=plan, job="j1", token="unknown")
    for role in ROLES[: ROLES.index(needed)]:
        browser = Browser(door, role)
        noted = door.store.last_number()
        assert f"takes {needed}" in browser.send(address, status=403)
        assert door.store.last_number() == noted


def test_what_was_replayed_for_no_request_is_not_predicted(door: Door, admin: Browser) -> None:
    waiting = door.store.plans(1)[0]
    idle = Forecast("after", 1.0, (NodeForecast("n1", 0, 0, 0, 0),))
    door.store.propose(
        replace(
            waiting, id=f"{waiting.id[:-1]}f", forecasts=(idle, replace(idle, policy="round robin"))
        ),
        door.store.placement_of(waiting.id),
    )
    page = admin.get("/")
    assert "<strong>not predicted</strong> how many requests from disk" in page
    assert "0.0 %</strong> of requests" not in page
    said = admin.client.get(f"/api/v1/plans/{waiting.id[:-1]}f").json()
    assert (said["forecasts"], said["predicted_miss_ratio"]) == ([], None)


def test_a_plan_is_rejected_by_a_form_with_its_reason(door: Door, admin: Browser) -> None:
    waiting = door.store.headlines()[0].id
    page = admin.send(
        f"/plans/{waiting}/approval", decision="reject", reason="not before the weekend"
    )
    assert "Rejected. It will not be applied." in page
    assert "not before the weekend" in page
    assert door.store.plan(waiting).state == "discarded"


def test_an_outdated_plan_is_offered_to_nobody_but_to_be_discarded(
    door: Door, admin: Browser
) -> None:
    waiting = door.store.plans(1)[0]
    other = replace(waiting, id=f"{waiting.id[:-1]}f", digest="f" * 64)
    door.store.propose(other, door.store.placement_of(waiting.id))
    door.store.settle(
        replace(other, state="applied", settled=waiting.created),
        door.store.placement_of(waiting.id),
    )
    page = admin.get(f"/plans/{waiting.id}")
    assert "This plan is outdated" in page
    forms = set(re.findall(r'<form [^>]*method="post" action="(/plans[^"]*)"', page))
    assert forms == {f"/plans/{waiting.id}/discard", "/plans"}
    assert "go over" not in page
    said = admin.client.get(f"/api/v1/plans/{waiting.id}").json()
    assert [stop["rule"] for stop in said["in_the_way"]] == ["plan.base"]
    assert "proposed, outdated" in admin.get("/plans/all")
    listed = admin.client.get("/api/v1/plans").json()["items"]
    assert {row["id"]: row["outdated"] for row in listed}.items() >= {
        waiting.id: True,
        other.id: False,
    }.items()


def test_an_expired_plan_is_said_to_be_so_and_a_new_one_is_offered(doors: Doors) -> None:
    fresh = Browser(doors(), "admin").get("/")
    assert "A plan waits" in fresh
    assert "The plan that waits" in fresh
    # The plan was made some minutes ago.
    door = doors(safety={"plan_expiry": "1m"})
    admin, waiting = Browser(door, "admin"), door.store.plans(1)[0]
    first = admin.get("/")
    assert "A plan waits" not in first
    assert "The plan that waits" not in first
    assert "The newest plan has expired" in first
    assert "safety.plan_expiry is 1 m 0 s" in first
    assert f'href="/plans/{waiting.id}#new"' in first
    page = admin.get(f"/plans/{waiting.id}")
    assert "This plan has expired" in page
    assert "safety.plan_expiry" in page
    assert 'id="new"' in page
    for path in ("apply", "approval"):
        assert f'action="/plans/{waiting.id}/{path}"' not in page
    assert f'action="/plans/{waiting.id}/discard"' in page
    said = admin.client.get(f"/api/v1/plans/{waiting.id}").json()
    assert [stop["rule"] for stop in said["in_the_way"]] == ["safety.plan_expiry"]
    assert "proposed, expired" in admin.get("/plans/all")
    listed = admin.client.get("/api/v1/plans").json()["items"]
    assert [row["id"] for row in listed if row["expired"]] == [waiting.id]
    shown = io.StringIO()
    results_in_terminal.plans(Console(file=shown, width=200), PlansOutput(items=listed))
    assert "proposed, expired" in shown.getvalue()
    assert "plan has expired" in door.open("viewer").get("/badge.svg").text


def test_what_needs_somebody_comes_right_behind_the_headline(admin: Browser) -> None:
    page = admin.get("/")
    order = [
        page.index(mark)
        for mark in ('class="verdict"', 'id="you"', 'class="tiles"', 'id="balance"')
    ]
    assert order == sorted(order)


def test_dns_counts_the_names_that_are_ours_after_a_first_apply(admin: Browser, door: Door) -> None:
    base = door.store.plan(door.store.in_force())
    marks = tuple(
        Change(None, Rrset(f"s{at}._flex.example.org.", "TXT", 60, ("flex",))) for at in range(7)
    )
    first = ZonePlan("example.org.", marks, owned=0, serial=4)
    door.store.update(replace(base, zone_plans=(first,)))
    page = admin.get("/dns")
    zones = re.sub(r"<wbr>|\s+", "", page[page.index('id="zones"') :])
    cells = re.search(r'org\.</bdi></th><tdclass="number">(\d+)</td>', zones)
    assert cells, zones[:900]
    assert cells.group(1) == "7"


def test_the_page_of_a_plan_and_its_answer_say_the_same_stops(door: Door, admin: Browser) -> None:
    waiting = door.store.headlines()[0].id
    said = admin.client.get(f"/api/v1/plans/{waiting}").json()
    page = admin.get(f"/plans/{waiting}")
    assert (
        re.findall(r'name="force" value="([^"]+)"', page)
        == [stop["rule"] for stop in said["in_the_way"]]
        != []
    )


def test_another_plan_than_the_one_that_was_looked_at_is_not_applied(
    door: Door, admin: Browser
) -> None:
    waiting = door.store.headlines()[0]
    admin.send(
        f"/plans/{waiting.id}/apply", status=412, digest="0" * 64, force="safety.max_moved_sites"
    )
    assert door.store.plan(waiting.id).state == "proposed"


def test_a_freeze_is_said_on_every_page_until_it_is_thawed(door: Door, admin: Browser) -> None:
    page = admin.get("/settings")
    etag = re.search(r'name="etag" value="([^"]*)"', page)
    assert etag
    admin.send("/settings/freeze", etag=etag[1].replace("&#34;", '"'), reason="a fair")
    assert "frozen by token:admin" in admin.get("/sites").replace("<bdi>", "")
    assert "a fair" in admin.get("/nodes")
    assert "Wrong now" in admin.get("/audit")


def test_a_token_is_shown_once_and_nowhere_afterwards(door: Door, admin: Browser) -> None:
    secret = re.search(
        "flex_[0-9a-f]{64}", admin.send("/settings/tokens", name="grafana", role="viewer")
    )
    assert secret
    assert secret[0] not in admin.get("/settings")
    assert secret[0] not in admin.get("/audit")


def test_the_table_of_sites_is_a_file_too_and_no_name_in_it_is_a_formula(
    door: Door, admin: Browser
) -> None:
    lines = admin.get("/sites.csv?name=s00").splitlines()
    assert len(lines) == 11
    assert lines[0].startswith("site,nodes,access_bytes")


@pytest.mark.parametrize(
    "path", ["/", "/dns", "/routing", "/settings", "/livez", "/readyz", "/metrics", "/jobs/j1"]
)
def test_a_parameter_that_nobody_knows_is_refused(admin: Browser, path: str) -> None:
    assert admin.client.get(path).status_code == 200
    answer = admin.client.get(f"{path}?nodes=n1")
    assert answer.status_code == 422
    assert "the unknown parameter" in answer.text


def test_filters_stay_in_the_address_and_in_the_form(admin: Browser) -> None:
    page = admin.get("/sites?name=s01&pinned=false&limit=2")
    assert 'name="name" value="s01"' in page
    assert '<option value="false" selected>not pinned</option>' in page
    assert re.search(r'href="/sites\?name=s01&amp;pinned=false&amp;limit=2&amp;cursor=', page)


def test_colours_are_remembered(admin: Browser) -> None:
    admin.client.headers["Cookie"] += "; flex_theme=dark"
    assert '<html lang="en" data-theme="dark">' in admin.get("/")


class Names(HTMLParser):
    """Every control with no name that a screen reader could say."""

    VOID = ("input", "select", "textarea", "progress")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.labels: set[str] = set()
        self.controls: list[tuple[str, dict[str, str | None]]] = []
        self.inside = 0
        self.headings: list[int] = []
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [str(given["id"])] if "id" in given else []
        if tag == "label":
            self.inside += 1
            self.labels.add(str(given.get("for", "")))
        if (
            tag in self.VOID
            and given.get("type") != "hidden"
            and not self.inside
            and "aria-label" not in given
        ):
            self.controls.append((tag, given))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag == "label"


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_control_has_a_label_every_id_is_one_and_no_heading_level_is_left_out(
    admin: Browser, address: str
) -> None:
    found = Names(admin.get(address))
    assert [given for _, given in found.controls if given.get("id") not in found.labels] == []
    assert len(found.ids) == len(set(found.ids))
    steps = zip(found.headings, found.headings[1:], strict=False)
    assert found.headings[0] == 1
    assert all(after - before <= 1 for before, after in steps)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_page_runs_or_loads_what_is_not_ours(admin: Browser, address: str) -> None:
    answer = admin.client.get(address)
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    loaded = re.findall(r'(?:src|<link[^>]*href)="([^"]*)"', answer.text)
    assert loaded
    assert all(one.startswith("/static/") for one in loaded)
    assert not re.search(r"<script>|\son\w+=|javascript:", answer.text)
    for one in loaded:
        kept = admin.client.get(one)
        assert (kept.status_code, "immutable" in kept.headers["cache-control"]) == (200, True)


def test_what_is_vendored_is_what_it_was() -> None:
    import hashlib
    from importlib.resources import files

    folder = files("flex_api").joinpath("static")
    for line in folder.joinpath("SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() == digest
        assert folder.joinpath(f"{name.partition('.')[0]}.LICENSE").is_file()


def test_several_policies_are_asked_for_with_a_box_each(admin: Browser) -> None:
    address = "/simulate?policies=flex&policies=optimal&nodes=3"
    answer = admin.client.get(address)
    # Until it is known that counts are gone which the answer needs, the form stands above it.
    ticked = re.findall(r'name="policies" value="(\w+)" checked', answer.text)
    assert answer.status_code != 200 or sorted(ticked) == ["flex", "optimal"]
    end = time.monotonic() + 60
    while answer.status_code == 200:
        assert time.monotonic() < end, "waited a minute to hear that counts are gone"
        answer = admin.client.get(address)
    assert "they are gone or damaged" in answer.text
    ticked = re.findall(r'name="policies" value="(\w+)" checked', admin.get("/simulate"))
    assert sorted(ticked) == sorted(USUAL)


@pytest.mark.parametrize(
    "address",
    ["/what-if?ask=now&site=", "/what-if?ask=now&without_nodes=", "/site?name=", "/node?name=",
     "/search?q=", f"{SITE}&part=preview&nodes=", "/sites?name=", "/history?one=",
     "/data?source=", "/plans/", "/audit?actor="],
)  # fmt: skip
def test_no_character_in_an_address_is_a_fault_of_flex(admin: Browser, address: str) -> None:
    for mark in ("%00", "a+b", "a,b", "a/b", "%E2%80%AE"):
        assert admin.client.get(address + mark).status_code != 500, mark


@pytest.mark.parametrize("asked", ["without_nodes=n2", "more_nodes=1", "frontier=true"])
def test_an_address_that_asks_something_gets_an_answer(admin: Browser, asked: str) -> None:
    # Here it is one that counts which are not there would be needed for.
    missing = "partials/g0.sample.parquet: they are gone or damaged"
    assert missing not in admin.get("/what-if")
    for address in (f"/what-if?ask=now&{asked}", f"/what-if?{asked}"):
        assert missing in admin.client.get(address).text


def test_a_name_that_no_site_can_have_is_refused_in_the_words_of_the_form(admin: Browser) -> None:
    answer = admin.client.get("/what-if?ask=now&site=a+b")
    assert answer.status_code == 422
    assert "the field site" in answer.text


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/what-if?growth_percent=abc", "wanted a whole number"),
        ("/what-if?more_nodes=-5", "wanted 0 or more"),
        ("/plans?plan=xx", "there is no such field on this page"),
    ],
)
def test_a_field_is_refused_in_words_of_our_own(admin: Browser, address: str, said: str) -> None:
    answer = admin.client.get(address)
    assert answer.status_code in (400, 422)
    assert said in answer.text
    assert "Input should" not in answer.text
    assert "Extra inputs" not in answer.text


def test_the_age_of_old_logs_and_every_silent_node_are_said_on_every_page(doors: Doors) -> None:
    sources = [
        {"glob": f"/nowhere/{node}.log", "node": node, "format": "combined"}
        for node in ("n1", "n2", "n3")
    ]
    page = Browser(doors(ingest={"source": sources}), "viewer").get("/sites")
    assert re.search(r"logs to 1970-01-01 00:00 UTC, [0-9,]+ d ago", page)
    assert re.search(r"The newest line of (<bdi>)?n1 is [0-9,]+ d old; ", page)
    assert "No line of n2, n3 was ever read." in page
    assert "no logs yet" not in page


def test_nobody_is_led_where_he_may_not_go(door: Door) -> None:
    viewer = Browser(door, "viewer")
    page = viewer.get("/")
    for path, _, _ in PAGES:
        answer = viewer.client.get(path)
        assert (f'<a href="{path}" title=' in page) == (answer.status_code == 200), path


@pytest.mark.parametrize(
    "address", ["/node?name=nowhere", "/nowhere", "/sites?sort=nothing", "/plans/nothing"]
)
def test_a_refusal_has_the_frame_of_every_page(admin: Browser, address: str) -> None:
    answer = admin.client.get(address)
    assert answer.status_code in (404, 422)
    assert 'aria-label="Pages"' in answer.text
    assert len(re.findall("<h1", answer.text)) == 1
    assert '<section id="problem"' in answer.text


def test_a_script_of_a_page_is_told_in_words_what_was_refused(admin: Browser) -> None:
    answer = admin.client.get("/simulate?nodes=0", headers={"Accept": "*/*", "HX-Request": "true"})
    assert answer.status_code == 422
    assert '<section id="problem"' in answer.text


def test_the_part_of_the_latest_plan_that_was_asked_for_is_shown(admin: Browser) -> None:
    answer = admin.client.get("/plans?tab=dns", follow_redirects=False)
    assert answer.headers["location"].endswith("?tab=dns")


def test_a_plan_in_force_says_what_it_did_not_what_it_would_do(admin: Browser, door: Door) -> None:
    applied = next(head.id for head in door.store.headlines() if head.state == "applied")
    page = admin.get(f"/plans/{applied}?tab=dns")
    assert "What it changed in DNS" in page
    assert "would say" not in page


def test_a_first_placement_is_no_move(admin: Browser) -> None:
    assert "first partition" in admin.get("/")


def test_settings_say_which_of_them_the_file_says(doors: Doors) -> None:
    page = Browser(doors(cluster={"name": "shared-eu1", "mode": "review"}), "viewer").get(
        "/settings"
    )
    said = dict(
        re.findall(
            r"<code>(?:<bdi>)?([^<]*)(?:</bdi>)?</code></th>"
            r"<td>.*?</td><td>(default|the file)</td>",
            page,
        )
    )
    from_file = {
        "schema",
        "cluster.mode",
        "node[0].ram",
        "node[2].addresses",
        "dns.zones",
        "api.requests_per_second",
    }
    assert {name for name in from_file if said[name] != "the file"} == set()
    assert (
        said["node[0].capacity"]
        == said["ingest.directory"]
        == said["solver.tolerance"]
        == "default"
    )
    assert "1 GiB" in page
    assert "1 d 12 h" in page
    assert not re.findall(r"<td>(?:<bdi>)?(?:None|True|False|\[|P\d|PT\d)", page)


def test_a_silent_source_is_not_called_good_and_its_last_line_is_said(doors: Doors) -> None:
    sources = [{"glob": "/nowhere/n1.log", "node": "n1", "format": "combined"}]
    page = Browser(doors(ingest={"source": sources}), "viewer").get("/data")
    assert '<time datetime="1970-01-01T00:00:09+00:00"' in page
    assert ": missing" not in page


def test_a_stale_form_is_refused_in_words_of_a_page(admin: Browser) -> None:
    assert "If-Match" not in admin.send("/settings/freeze", status=428)


def test_the_verdict_over_nodes_names_the_worst(admin: Browser) -> None:
    assert "is 2.0 % off its fair share, within the aim" in admin.get("/nodes")


def test_every_policy_is_told_in_words(admin: Browser) -> None:
    page = admin.get("/simulate")
    assert f"Our own logs of {PERIOD} through" in page
    assert page.count('name="policies"') == len(
        re.findall(r'name="policies"[^>]*>[^<]*</label><p class="quiet">\w', page)
    )


def test_why_sites_stay_is_said_once_for_all_of_them(admin: Browser, door: Door) -> None:
    page = admin.get(f"/plans/{door.store.headlines()[0].id}?tab=kept")
    reasons = re.findall(r"<h3><bdi[^>]*>([^<]*)</bdi></h3>", page)
    assert reasons
    assert len(reasons) == len(set(reasons))
    assert any(reason.startswith("pinned to") for reason in reasons)


def test_nodes_show_when_they_were_busy_in_the_last_weeks_that_there_are_logs_of(
    doors: Doors,
) -> None:
    door = doors(
        ingest={"source": [{"glob": "/nowhere/n1.log", "node": "n1", "format": "combined"}]}
    )
    day = 15_000
    last, hours = day * 86_400 + 7_200, ((day * 24 + 2, 9),)
    read = Segment(
        "old",
        "n1",
        "n1",
        "n1.log",
        "combined",
        10,
        20,
        day,
        day,
        last,
        last,
        (),
        hours=hours,
        read_at=last,
    )
    door.store.record(read, Stream("n1", "old", 1, 20, "t", "n1.log"), None)
    for page in ("/nodes", "/node?name=n1"):
        assert '<table class="heat">' in Browser(door, "viewer").get(page)
        assert "to 2011-01-26" in Browser(door, "viewer").get(page)


@pytest.mark.parametrize(
    ("message", "code", "alarms"),
    [
        ("apply: applying a plan in spite of 'x'", 3, False),
        ("plan: --force x", 3, False),
        ("nightly: the settings", 3, True),
        ("health watch: node n1 down: nowhere to go", 3, True),
        ("apply: no answer in time", 30, True),
    ],
)
def test_what_somebody_mistyped_is_no_alarm_on_every_page(
    doors: Doors, message: str, code: int, *, alarms: bool
) -> None:
    """An older run that failed is told all the same."""
    door = doors()
    for hours, said, ends in ((1, "nightly: DNS", 30), (2, message, code)):
        started = NOW + timedelta(hours=hours)
        run = NightlyRun(f"z{hours}", holder(), started, message=said)
        door.store.begin(run, timedelta(hours=1), started)
        door.store.end(replace(run, ended=started, exit_code=ends))
    page = Browser(door, "viewer").get("/sites")
    shown = html.unescape(page)
    assert f"exit code {code if alarms else 30}." in shown
    assert (message in shown) == alarms


def test_the_last_run_is_the_one_that_began_last_whatever_time_it_was_as_of(doors: Doors) -> None:
    door = doors()
    for number, years, ends in ((1, 0, 20), (2, 8, 0)):
        now = NOW + timedelta(hours=number)
        started = now - timedelta(days=365 * years)
        said = "plan: old logs"
        run = NightlyRun(f"z{number}", holder(), started, message=said, made=now)
        door.store.begin(run, timedelta(hours=1), now)
        door.store.end(replace(run, ended=started, exit_code=ends))
    browser = Browser(door, "viewer")
    assert "The last run failed" not in browser.get("/sites")
    assert f"as of {started:%Y-%m-%d %H:%M} UTC" in browser.get("/history")
