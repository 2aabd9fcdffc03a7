"""The web application: pages for people, JSON for programs.

Takes the settings and a store. Returns an application for any ASGI server. Does not change anything
itself: routes call the functions that the command line calls too, in the name of the caller.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute

import flex
from flex.errors import FlexError
from flex.ports import Publisher
from flex.store import Store
from flex_api import wiring
from flex_api.night.keep_watch_running import Watched
from flex_api.pages import PAGES
from flex_api.pages.refusal_page import plain_page, refuse
from flex_api.routes import (
    audit,
    badge,
    dns_answers,
    docs,
    exports,
    freeze,
    half_applied_plans,
    health,
    installation,
    jobs,
    log_readings_and_runs,
    make_and_apply_plans,
    metrics,
    nodes,
    partition_history,
    plans,
    problems,
    questions_about_logs,
    reports,
    routing,
    sessions,
    simulations,
    site_moves,
    sites,
    static,
    tokens,
    what_if_routes,
    wishes_and_campaigns,
)
from flex_api.settings.file import Settings
from flex_api.web import openapi_document
from flex_api.web.background_answers import Later
from flex_api.web.cached_views import Views
from flex_api.web.caller_identity import Gate, present
from flex_api.web.door_watch import DoorWatch
from flex_api.web.head_requests import Heads
from flex_api.web.keep_views_fresh import refreshing
from flex_api.web.known_hosts import hosts
from flex_api.web.latency_histogram import Timing
from flex_api.web.limit_slow_reads import Turns
from flex_api.web.limits import Rate
from flex_api.web.middleware import Asking, seal
from flex_api.web.request_context import House
from flex_api.web.response_cache import ResponseCache
from flex_api.wiring import Clock
from flex_api.work_in_background import Workers

ROUTES = (
    wishes_and_campaigns,
    sites,
    nodes,
    partition_history,
    plans,
    exports,
    make_and_apply_plans,
    half_applied_plans,
    jobs,
    site_moves,
    freeze,
    log_readings_and_runs,
    questions_about_logs,
    dns_answers,
    audit,
    tokens,
    reports,
    what_if_routes,
    routing,
    installation,
    simulations,
    metrics,
    badge,
    health,
    docs,
    problems,
    sessions,
    static,
    *PAGES,
)
ABOUT = (
    "What FLEX planned, why, what became of it, and everything a person may ask "
    "of it. docs/reference/api.md has examples."
)


def create_app(
    settings: Settings,
    store: Store,
    connect: Callable[[], Publisher] | None = None,
    clock: Clock = present,
    ticks: Callable[[], float] = time.monotonic,
    watched: Callable[[], Watched] | None = None,
) -> FastAPI:
    """`clock` says as of when plans are made; who comes in, and for how long, goes by the real
    time. How often somebody asks, and for what takes long, goes by `ticks`, in seconds. `watched`
    says how the health watch is, where there is one.
    """
    views = Views(store)
    app = FastAPI(
        title="FLEX",
        version=flex.__version__,
        description=ABOUT,
        openapi_url=None,
        # The framework's own pages load scripts from elsewhere, which the content security policy
        # forbids.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=refreshing(views),
        routes=_routes(),
    )
    gate, timing = Gate(settings.auth, store), Timing()
    app.state.house = House(
        settings,
        store,
        connect or (lambda: wiring.publisher(settings, store)),
        clock,
        gate,
        views,
        Later(store),
        Workers(
            lambda error, job, request: problems.describe(error, f"/api/v1/jobs/{job.id}", request)
        ),
        timing,
        Turns(ticks),
        DoorWatch(store, settings.routing.leads_to_all),
        watched,
    )
    # Routes do not know of pages; the application knows both.
    app.state.refused, app.state.unframed = refuse, plain_page
    _answer_problems(app)
    # The framework asks for it this way.
    app.openapi = lambda: openapi_document.describe(app)  # type: ignore[method-assign]
    # The last one added is the first one asked.
    app.add_middleware(ResponseCache, store=store)
    app.add_middleware(
        Asking,
        gate=gate,
        hosts=hosts(settings),
        rate=Rate(settings.api.requests_per_second / settings.api.workers, ticks),
        max_body=settings.api.max_body,
        problem=problems.respond_to_error,
        timing=timing,
    )
    app.add_middleware(Heads)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """The same for every application of this process: a route is made ready when it is first
    asked for, and to make all of them ready takes a tenth of a second.
    """
    every = APIRouter()
    for resource in ROUTES:
        every.include_router(resource.router)
    return every.routes


def _answer_problems(app: FastAPI) -> None:
    @app.exception_handler(FlexError)
    async def answer_error(request: Request, error: FlexError) -> Response:
        return problems.respond_to_error(request, error)

    @app.exception_handler(RequestValidationError)
    async def answer_bad_request(request: Request, error: RequestValidationError) -> Response:
        return problems.respond_to_bad_request(request, error)

    @app.exception_handler(HTTPException)
    async def answer_status(request: Request, error: HTTPException) -> Response:
        return problems.respond_to_status(request, error)

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> Response:
        """Answered outside of every middleware, so the envelope is put on here."""
        answer = problems.respond_to_fault(request, error)
        seal(answer.headers, request.state.request_id, request.url.path)
        return answer
