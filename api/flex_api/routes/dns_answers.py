"""What the name servers say, compared with the partition in force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.zones import records_of_partition
from flex.zones.names_going_along import pairs_of, place_names_along
from flex_api.facts import core_to_output_models, verify_dns_answers
from flex_api.night import controller_of_zones
from flex_api.night.controller_of_zones import holders_output
from flex_api.night.leases import lease
from flex_api.night.verify_doors import verify_doors
from flex_api.schemas.nodes_and_jobs import HoldersOutput
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery
from flex_api.schemas.rest_bodies import (
    DriftShown,
    RecordRow,
    RecordsPage,
    TakeoverGiven,
)
from flex_api.web.etag_responses import page_response, reply
from flex_api.web.paging import page
from flex_api.web.request_context import Admin, Desk, Reader

router = APIRouter(prefix="/api/v1/dns", tags=["dns"])


@router.get("/drift", response_model=DriftShown)
def drift(desk: Reader) -> Response:
    """Ask every name server for every name of the partition in force; what differs is named, server
    by server. With doors for all sites it says who does not go by it, too.
    """
    world = desk.world()
    output = core_to_output_models.verify_output(
        verify_dns_answers.verify(world), verify_doors(world, 0.0)
    )
    shown = DriftShown.like(output, items=output.servers)
    return reply(desk.request, shown)


@router.get("/holders", response_model=HoldersOutput)
def holders(desk: Reader) -> Response:
    """Which controller may change each zone; the name servers are asked."""
    return reply(desk.request, holders_output(controller_of_zones.holds(desk.world())))


@router.post("/takeovers", response_model=HoldersOutput)
def take_over(desk: Admin, given: TakeoverGiven) -> Response:
    """Make the zones of another controller this server's: one that is gone for good. One that still
    runs is locked out by this, wherever it is.
    """
    world = desk.because(given.reason).world()
    with lease(world, f"take over from {given.controller}"):
        taken = controller_of_zones.take_over(world, given.controller, given.reason)
    return reply(desk.request, holders_output(taken))


class RecordsQuery(ListQuery):
    sort: Literal["name", "-name"] = "name"
    zone: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="only those of this zone")
    ] = ""
    name: Annotated[str, Query(max_length=255, pattern=CLEAN, description="part of the name")] = ""


@router.get("/records", response_model=RecordsPage)
def dns_records(desk: Reader, query: Annotated[RecordsQuery, Query()]) -> Response:
    """What the name servers say now of the names of the partition in force. They are asked for each
    page.
    """
    rows_page = page(
        [row for row in _records(desk, query.zone) if query.name in row.name],
        {"name": lambda row: row.name},
        lambda row: f"{row.name} {row.type}",
        query,
    )
    return page_response(
        desk.request, RecordsPage(items=list(rows_page.items), next=rows_page.next)
    )


def _records(desk: Desk, only: str) -> Iterator[RecordRow]:
    world = desk.world()
    base, placement = world.store.placement()
    along = pairs_of(world.store.plan(base).zone_plans) if base else ()
    wanted = records_of_partition.records(
        records_of_partition.rows_on_known_nodes(place_names_along(placement, along), world.nodes),
        world.nodes,
        world.settings.dns.ttl,
    )
    for zone, of_zone in records_of_partition.split_by_zone(
        wanted, world.settings.dns.every_zone
    ).items():
        names = sorted(set(of_zone["name"]))
        if names and only in ("", zone, zone.rstrip(".")):
            answers = records_of_partition.sets_by_name(world.publisher.read(zone, names).records)
            for (name, kind), (ttl, values) in answers.items():
                yield RecordRow(
                    zone=zone, name=name, type=kind, ttl_seconds=ttl, values=list(values)
                )
