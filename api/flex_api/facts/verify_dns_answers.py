"""What the name servers say of the partition in force: the command line and the REST API both ask
this.

Takes the world. Returns verdicts, server by server, and what could not be asked. Changes nothing
but the result of the last check in the store.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from flex.errors import DnsError, NoData
from flex.model.name_server_verdict import NameServerVerdict
from flex.planning import verify_dns as checking
from flex.planning import which_servers_agree
from flex.zones import last_dns_check, records_of_partition
from flex.zones.names_not_following import NameLeftBehind
from flex_api.facts import other_names
from flex_api.wiring import World
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.several_primaries import SeveralPublishers


@dataclass(frozen=True, slots=True)
class Verified:
    """`not_checked` counts the sites on each node that FLEX knows no more: nobody knows their
    addresses. `others` are the other names of sites that do not move with them, as far as the
    primaries say where these lead.
    """

    partition: str
    verdicts: tuple[NameServerVerdict, ...]
    not_checked: Mapping[str, int]
    others: tuple[NameLeftBehind, ...] = ()


def verify(world: World, patience: float = 0.0) -> Verified:
    """Ask every name server for every name and its marker. Raises NoData where there is nothing to
    ask for.

    A secondary that is behind is told, and has so many seconds to follow before it is asked again.
    """
    base, partition = world.store.placement()
    if not base:
        raise NoData(
            "verifying the partition in force",
            "no plan was applied yet",
            advice="`flex plan`, then `flex apply`",
        )
    plan, nodes, settings = world.store.plan(base), world.nodes, world.settings
    # Where doors lead to all sites, there may be nothing else to verify than these.
    is_led = settings.routing.leads_to_all

    def ask() -> tuple[NameServerVerdict, ...]:
        if not settings.dns.every_zone:
            # The plan may be of a time when there were zones.
            return ()
        return checking.check(
            plan, partition, nodes, settings.dns.ttl, world.publisher, owner=settings.owner
        )

    verdicts = ask()
    if patience and (late := which_servers_agree.servers_behind(verdicts)):
        _catch_up(world, sorted({zone for _, zone in late}), patience)
        verdicts = ask()
    not_checked = records_of_partition.count_sites_on_other_nodes(partition, nodes)
    if not (not_checked or is_led) and not any(
        verdict.checked or verdict.error for verdict in verdicts
    ):
        raise NoData(
            f"verifying the partition of {base}",
            "no record set of it is ours, so nothing was checked"
            if settings.dns.every_zone
            else "no zone is in the settings, so nothing was checked",
            advice=f"check dns.zones and dns.owner; `flex plan show {base}` names what is not ours"
            if settings.dns.every_zone
            else "name the zones of your sites in dns.zones",
        )
    if verdicts or not is_led:
        world.store.put_check(last_dns_check.check(world.time_of_day(), base, verdicts))
    return Verified(base, verdicts, not_checked, _others(world, partition))


def _others(world: World, partition: pd.DataFrame) -> tuple[NameLeftBehind, ...]:
    """None where a primary does not answer: its verdict says so already."""
    try:
        return other_names.read_other_names(
            world, set(partition["site"]), world.pins
        ).strays_left_behind
    except DnsError:
        return ()


def _catch_up(world: World, zones: Sequence[str], patience: float) -> None:
    """All zones have the time together."""
    publisher = world.publisher
    deadline = time.monotonic() + patience
    assert isinstance(publisher, Rfc2136Publisher | SeveralPublishers), (
        "what is behind is on a real name server"
    )
    for zone in zones:
        world.say(f"A secondary of {zone} is behind the primary, and is told so.")
        publisher.catch_up(zone, max(0.0, deadline - time.monotonic()))
