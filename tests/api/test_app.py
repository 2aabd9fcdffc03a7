"""The web application, asked as a browser and as a program would, over a store in memory."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from flex.errors import FlexError, StoreError
from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.balance import Balance, NodeLoad
from flex.model.drains_and_freezes import NodeOrder
from flex.model.log_reading import Segment, Stream
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.nightly_run import NightlyRun, Stage
from flex.model.period import Period
from flex.model.plan import Move, Plan, PlanState, Proven
from flex.model.plan_summary import Headline
from flex.model.predicted_node_loads import Forecast, NodeForecast
from flex.model.wish import Pin
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.store import Store
from flex.store.memory import MemoryStore
from flex_api.app import create_app
from flex_api.problem_kinds import KINDS
from flex_api.schemas.rest_bodies import NodesPage, PlansPage, SitesPage
from flex_api.schemas.verbs_output import PlanOutput
from flex_api.settings import file as config

NOW = datetime(2026, 3, 4, 2, 17, tzinfo=UTC)
PERIOD = Period.days_before(NOW, 1)
SETTINGS = config.parse(
    {
        "schema": 1,
        "cluster": {"name": "shared-eu1"},
        "auth": {"anonymous": "viewer"},
        "node": [
            {"name": "n1", "addresses": ["192.0.2.11"], "ram": "1 GiB"},
            {"name": "n2", "addresses": ["192.0.2.12"], "ram": "1 GiB"},
        ],
    },
    Path("flex.toml"),
)


def plan(number: int = 1, site: str = "a.example.org") -> Plan:
    """The plan of one night; a later number is a later night."""
    forecast = Forecast(
        "after", 1.0, (NodeForecast("n1", 100, 4, 1000, 40), NodeForecast("n2", 100, 4, 1000, 40))
    )
    before, after = (Rrset(f"{site}.", "A", 300, (f"192.0.2.1{node}",)) for node in (1, 2))
    balance = Balance(
        (NodeLoad("n1", 98.0, 101.0, 1), NodeLoad("n2", 102.0, 99.0, 2)), 0.02, "n2", "access rate"
    )
    return Plan(
        id=f"2026030{number}T021700-aaaaaaaaaaaa",
        created=NOW + timedelta(days=number - 1),
        period=PERIOD,
        base="",
        digest="a" * 64,
        quality=Proven("exact", 1, proven=True, certified=1),
        moves=(Move(site, "n1", "n2", 4_500_000, "n1 over access rate by 31 %"),),
        scratch_moves=2,
        sites=3,
        before=balance,
        after=balance,
        forecasts=(forecast,),
        zone_plans=(ZonePlan("example.org.", (Change(before, after),), owned=3),),
        state="applied",
        settled=NOW,
        verdicts=(NameServerVerdict("192.0.2.53", 3),),
    )


def filled() -> MemoryStore:
    """A store after one night: two sites with traffic, and a silent one."""
    store = MemoryStore()
    store.put_profiles(
        PERIOD,
        PROFILES.from_columns(
            {
                "site": ["a.example.org", "b.example.org"],
                "access_bytes": [1_000, 2_000],
                "working_set": [500, 600],
                "requests": [10, 20],
                "targets": [4, 5],
                "one_timers": [1, 2],
                "busy_hour_bytes": [100, 200],
            }
        ),
        SPREADS.empty(),
    )
    placement = PLACEMENT.from_columns(
        {
            "site": ["a.example.org", "b.example.org", "silent.example.org"],
            "node": ["n2", "n1", "n2"],
        }
    )
    store.propose(plan(), placement)
    store.settle(plan(), placement)
    store.put_pin(Pin("b.example.org", ("n1",)))
    return store


class Silent(MemoryStore):
    """A database that does not answer."""

    def last_number(self, *actions: str) -> int:
        raise StoreError(
            f"reading the log {actions}",
            "no answer within 5 s",
            kept="nothing",
            advice="start the database",
        )

    def plans(self, limit: int = 50, *, state: PlanState | None = None) -> tuple[Plan, ...]:
        raise StoreError(
            f"reading {limit} {state or 'plans'}",
            "no answer within 5 s",
            kept="nothing",
            advice="start the database",
        )


class Faulty(MemoryStore):
    """A store with a fault of its own."""

    def headlines(self) -> tuple[Headline, ...]:
        raise RuntimeError("secret of the house")

    def plans(self, limit: int = 50, *, state: PlanState | None = None) -> tuple[Plan, ...]:
        raise RuntimeError(f"secret of the house, {limit} {state}")


def client(store: Store) -> TestClient:
    return TestClient(create_app(SETTINGS, store), raise_server_exceptions=False)


@pytest.fixture
def web() -> TestClient:
    return client(filled())


def test_the_first_page_says_how_the_partition_in_force_is_balanced() -> None:
    answer = client(filled()).get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "The partition in force" in answer.text
    assert "Balanced: worst node n2 is 2.0 % off its fair share (aim 3.0 %)." in answer.text
    assert "</strong> of 3 sites moved" in answer.text
    assert 'id="nights"' in answer.text


def test_the_latest_report_shows_the_run_and_the_log_lines_behind_the_plan() -> None:
    store = filled()
    run = NightlyRun("r1", "host", NOW)
    store.begin(run, timedelta(hours=1), NOW)
    store.stage("r1", Stage("plan", NOW, NOW + timedelta(seconds=75), plan().id))
    lines = (("counted", 990), ("malformed", 10))
    day = PERIOD.first_day
    segment = Segment("s1", "n1:log", "n1", "access.log", "combined", 0, 10, day, day, 0, 0, lines)
    store.record(segment, Stream("n1:log", "h", 1, 10, "t", "access.log"), None)
    page = client(store).get("/api/v1/reports/latest").text
    assert "1 m 15 s" in page
    assert '<td class="number">990</td><td class="number">99 %</td>' in page


def test_before_the_first_plan_the_page_says_what_to_run() -> None:
    answer = client(MemoryStore()).get("/")
    assert answer.status_code == 200
    for command in ("flex doctor", "flex ingest", "flex plan"):
        assert f"<code>{command}</code>" in answer.text


def test_plans_are_read_as_published(web: TestClient) -> None:
    plans = PlansPage.model_validate_json(web.get("/api/v1/plans").content)
    one = PlanOutput.model_validate_json(web.get(f"/api/v1/plans/{plans.items[0].id}").content)
    assert (one.id, one.moves[0].target, one.zones[0].changes[1]) == (
        plan().id,
        "n2",
        "+ a.example.org. 300 A 192.0.2.12",
    )


def test_a_plan_is_found_by_the_beginning_of_its_id(web: TestClient) -> None:
    assert web.get("/api/v1/plans/20260301").json()["id"] == plan().id


def test_sites_come_busiest_first_and_a_silent_one_last(web: TestClient) -> None:
    sites = SitesPage.model_validate_json(web.get("/api/v1/sites").content)
    assert [site.site for site in sites.items] == [
        "b.example.org",
        "a.example.org",
        "silent.example.org",
    ]
    assert [site.nodes for site in sites.items] == [["n1"], ["n2"], ["n2"]]
    assert sites.items[0].pinned_to == ["n1"]


def test_following_the_links_reads_every_site_once(web: TestClient) -> None:
    found, address, pages = [], "/api/v1/sites?limit=2", 0
    while address:
        pages += 1
        assert pages < 10, "the links lead in a circle"
        answer = web.get(address)
        found += [site["site"] for site in answer.json()["items"]]
        address = answer.links["next"]["url"] if "next" in answer.links else ""
    assert found == ["b.example.org", "a.example.org", "silent.example.org"]


def test_before_the_first_logs_there_are_no_sites() -> None:
    assert client(MemoryStore()).get("/api/v1/sites").json()["items"] == []


def test_nodes_say_what_they_carry_and_in_what_state_they_are() -> None:
    store = filled()
    store.order_node(NodeOrder("n2", "draining"))
    nodes = NodesPage.model_validate_json(client(store).get("/api/v1/nodes").content)
    assert [(node.node, node.state, node.sites, node.access_units) for node in nodes.items] == [
        ("n1", "active", 1, 98.0),
        ("n2", "draining", 2, 102.0),
    ]


def test_a_live_process_says_so_even_without_a_store() -> None:
    assert client(Silent()).get("/livez").json() == {"alive": True}


def test_readiness_is_the_stores(web: TestClient) -> None:
    assert (web.get("/readyz").status_code, web.get("/readyz").json()) == (
        200,
        {"ready": True, "parts": {"store": "ok"}},
    )
    answer = client(Silent()).get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "ready": False,
        "parts": {"store": "reading the log (): no answer within 5 s"},
    }


def problem(web: TestClient, address: str, method: str = "GET") -> Mapping[str, object]:
    """The problem that an answer holds, checked for what every problem has."""
    answer = web.request(method, address)
    assert answer.headers["content-type"] == "application/problem+json"
    told: Mapping[str, object] = answer.json()
    assert told["status"] == answer.status_code
    assert told["request_id"] == answer.headers["x-request-id"]
    assert all(told[part] for part in ("title", "detail", "unchanged", "next_step", "instance"))
    assert web.get(str(told["type"])).status_code == 200
    return told


def test_an_unknown_plan_is_a_problem_with_a_next_step(web: TestClient) -> None:
    told = problem(web, "/api/v1/plans/nowhere")
    assert (told["status"], told["code"], told["instance"]) == (
        404,
        "not-found",
        "/api/v1/plans/nowhere",
    )
    assert "nowhere" in str(told["detail"])


@pytest.mark.parametrize(
    "address", ["/api/v1/plans?limit=0", "/api/v1/plans?limit=many", "/api/v1/sites?offset=-1"]
)
def test_a_bad_parameter_is_named(web: TestClient, address: str) -> None:
    told = problem(web, address)
    assert (told["status"], told["code"]) == (422, "validation")
    assert address.partition("?")[2].partition("=")[0] in str(told["detail"])


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [
        ("GET", "/nothing/here", 404),
        ("PATCH", "/api/v1/plans", 405),
        ("DELETE", "/", 405),
        ("GET", "/problems/x", 404),
    ],
)
def test_what_is_not_there_is_a_problem_too(
    web: TestClient, method: str, address: str, status: int
) -> None:
    assert problem(web, address, method)["status"] == status


def test_a_store_that_does_not_answer_is_a_problem() -> None:
    told = problem(client(Silent()), "/api/v1/plans")
    assert (told["status"], told["next_step"]) == (503, "start the database")


def test_a_fault_of_ours_tells_nobody_its_details() -> None:
    told = problem(client(Faulty()), "/api/v1/plans")
    assert (told["status"], told["code"]) == (500, "internal")
    assert "secret" not in str(told)


def slugs(error: type[FlexError]) -> set[str]:
    return {error.slug}.union(*(slugs(each) for each in error.__subclasses__()))


def test_every_error_has_a_status_and_a_page() -> None:
    assert slugs(FlexError) <= set(KINDS)


def test_each_kind_of_problem_has_a_page_that_says_what_helps_and_one_page_has_them_all(
    web: TestClient,
) -> None:
    every = html.unescape(web.get("/problems").text)
    assert web.get("/problems/").text == web.get("/problems").text
    for slug, kind in KINDS.items():
        answer = web.get(f"/problems/{slug}")
        assert answer.status_code == 200
        assert all(
            said in html.unescape(answer.text) for said in (kind.title, kind.effect, kind.remedy)
        )
        assert f'href="/problems/{slug}"' in every
        assert kind.remedy in every


@pytest.mark.parametrize(
    "store", [filled(), MemoryStore(), Silent(), Faulty()], ids=lambda store: type(store).__name__
)
@pytest.mark.parametrize(
    "address", ["/", "/livez", "/readyz", "/api/v1/nodes", "/nothing", "/problems/busy"]
)
def test_every_answer_is_sealed(store: Store, address: str) -> None:
    headers = client(store).get(address).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert re.findall(r"script-src[^;]*", policy) in ([], ["script-src 'self'"])
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == (
        "nosniff",
        "same-origin",
    )


@pytest.mark.parametrize(
    ("given", "kept"), [(b"night-7.a", True), (b"a b", False), (b"x" * 65, False), (b"\xe9", False)]
)
def test_a_request_keeps_its_id_when_that_is_fit_for_a_log(
    web: TestClient, given: bytes, kept: bool
) -> None:
    answered = web.get("/livez", headers={b"X-Request-Id": given}).headers
    assert (answered["x-request-id"].encode() == given) is kept


def test_a_name_full_of_markup_stays_text() -> None:
    store = filled()
    store.propose(plan(2, site='<script>alert("x")</script>'), PLACEMENT.empty())
    for address in (
        f"/plans/{plan(2).id}",
        f"/plans/{plan(2).id}?tab=dns",
        "/api/v1/reports/latest",
    ):
        page = client(store).get(address).text
        assert "<script>" not in page
        assert "&lt;script&gt;" in page


def test_no_page_of_the_framework_loads_from_elsewhere(web: TestClient) -> None:
    assert {web.get(address).status_code for address in ("/docs", "/redoc")} == {404}
    assert web.get("/api/openapi.json").json()["info"]["title"] == "FLEX"


def test_applications_of_a_process_share_routes_that_are_made_ready_once_and_nothing_else() -> None:
    """To make all routes ready takes longer than most tests."""
    stores = MemoryStore(), MemoryStore()
    apps = [create_app(SETTINGS, store) for store in stores]
    assert len(apps[0].routes) == len(apps[1].routes) > 20
    assert all(one is other for one, other in zip(*(app.routes for app in apps), strict=True))
    assert apps[0].routes is not apps[1].routes
    stores[1].order_node(NodeOrder("n2", "draining"))
    states = [
        [row["state"] for row in TestClient(app).get("/api/v1/nodes").json()["items"]]
        for app in apps
    ]
    assert states == [["active", "active"], ["active", "draining"]]
