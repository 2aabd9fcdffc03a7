"""What doors for all sites do, on the demo's cluster: a site moves, then a node dies.

Takes the World of the demo's nights, whose name server runs. Starts a HAProxy and a web server for
each node, and ends them. Every node is asked at the moment before DNS is changed, and so is DNS.
What is shown is what was heard, also where that is not as it should be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from flex.errors import Unverified
from flex.frame_schemas import texts
from flex.model.dns_update_journal import Journal
from flex.model.drains_and_freezes import NodeOrder
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.model.zone_plan import ZonePlan
from flex.ports import Publisher, PublisherAround
from flex.routing.haproxy_program import HaproxyProgram
from flex.zones.records_of_partition import name_of
from flex_api.in_words import amounts
from flex_api.night import doors_behind_order, failover, nightly, plan_orders_by_hand
from flex_api.night.leases import lease
from flex_api.run_nodes_on_loopback import PATIENCE, Ports, PrivateNodes
from flex_api.schemas.verbs_output import AskedRow, DemoDoors, DoorsShown
from flex_api.wiring import World
from flex_api.wishes import make_and_drop_wishes
from flex_dns.checks import verify
from flex_dns.wire.name_server_and_key import Address

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DemoAnswers:
    """Who answered for each site at which node, and which addresses DNS said."""

    order: int
    milliseconds: float
    answers: Mapping[str, dict[str, str]]
    dns: Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class DoorsStage:
    """`world` is one of now: people wish, and nodes die, behind the nights."""

    world: World
    nodes: PrivateNodes
    dns: Address
    say: Say


def show(world: World, program: HaproxyProgram, ports: Ports, say: Say) -> DemoDoors:
    """Raises FlexError where something cannot be started, or does not go by its order."""
    world = replace(world, clock=world.time_of_day)
    say("\nDoors for all sites")
    with PrivateNodes(world, program, ports) as nodes:
        first, *_, last = nodes.addresses.values()
        say(
            f"  started   {len(nodes.alive)} HAProxies with a web server each, on {first} to "
            f"{last} port {ports.visitors}"
        )
        dns = world.settings.dns.server, world.settings.dns.port
        stage = DoorsStage(world, nodes, dns, say)
        moved = _move(stage)
        killed = moved.asked[0].targets[0]
        inherited = _kill(stage, killed)
    return DemoDoors(moved=moved, killed=killed, inherited=inherited)


def _move(stage: DoorsStage) -> DoorsShown:
    """Somebody wishes a site to another node."""
    world = stage.world
    site, source, target = _small_site(world)
    make_and_drop_wishes.pin(world, Pin(site, (target,), author="the demo"))
    with lease(world, "plan"):
        proposal = nightly.propose(world)
    stage.say(f"  plan      {site} moves {source} -> {target}, as somebody wished")
    looking, heard = _looking(stage, [site])
    with lease(looking, "apply") as held:
        held.concerns(proposal.plan)
        done = plan_orders_by_hand.apply(looking, proposal.plan.id)
    shown = _doors_shown(stage, done, {site: source}, heard[0])
    _tell(stage, shown)
    return shown


def _kill(stage: DoorsStage, node: str) -> DoorsShown:
    """A node dies, and somebody says so: `flex nodes down`."""
    world, say = stage.world, stage.say
    _, placement = world.store.placement()
    sites = texts(placement["site"][placement["node"] == node])
    stage.nodes.kill(node)
    say(f"\n{node} dies with its HAProxy and its web server; `flex nodes down {node}`")
    looking, heard = _looking(stage, sites)
    order = NodeOrder(node, "down", world.time_of_day(), author="the demo")
    with lease(looking, f"node {node} down") as held:
        taken = failover.take_down_as(held, looking, order)
    assert taken.plan, "a site has just moved there"
    shown = _doors_shown(stage, taken.plan, dict.fromkeys(sites, node), heard[0])
    say(f"  plan      {amounts.count(len(sites), 'site')} of {node} go to their heirs")
    _tell(stage, shown)
    return shown


def _small_site(world: World) -> tuple[str, str, str]:
    """The site on one node that is asked for least, its node, and another one: to move it upsets no
    balance.
    """
    latest_profiles = world.store.profiles()
    assert latest_profiles, "the nights before made them"
    _, placement = world.store.placement()
    alone = placement[~placement["site"].duplicated(keep=False)]
    by_requests = latest_profiles[1].sort_values("requests")
    known = alone.set_index("site")["node"].to_dict()
    site = next(site for site in texts(by_requests["site"]) if site in known)
    target = next(node.name for node in world.nodes if node.name != known[site])
    return site, known[site], target


def _looking(stage: DoorsStage, sites: Sequence[str]) -> tuple[World, list[DemoAnswers]]:
    """A world that asks at every node before it changes DNS, and what it will have heard."""
    heard: list[DemoAnswers] = []
    world = stage.world

    def connect() -> Publisher:
        return LooksFirst(world.publisher, lambda: heard.append(_hear(stage, sites)))

    return replace(world, connect=connect), heard


def _hear(stage: DoorsStage, sites: Sequence[str]) -> DemoAnswers:
    store, nodes = stage.world.store, stage.nodes
    order = store.door_order()
    number = order.number if order else 0
    behind = doors_behind_order.who_has_not_heard(stage.world, number, PATIENCE)
    if behind or order is None:
        raise Unverified(
            "having all doors go by the plan",
            "; ".join(f"{node}: {why}" for node, why in behind.items()) or "no order",
            kept="DNS was not changed",
            advice="try again while the machine has less to do",
        )
    heard = [report.since for report in store.door_reports() if report.node in nodes.alive]
    took = max(heard) - order.time
    answers = {site: {node: nodes.answer(node, site) for node in nodes.alive} for site in sites}
    return DemoAnswers(number, took.total_seconds() * 1000, answers, _dns(stage, sites))


def _dns(stage: DoorsStage, sites: Sequence[str]) -> dict[str, list[str]]:
    """The addresses that the name server says, as a resolver would hear them."""
    timeout = stage.world.settings.dns.timeout.total_seconds()
    answers = verify.ask(stage.dns, [(name_of(site), "A") for site in sites], timeout)
    record_sets = {
        site: verify.set_of(name_of(site), "A", answers[name_of(site), "A"]) for site in sites
    }
    return {
        site: sorted(record_set[1]) if record_set else []
        for site, record_set in record_sets.items()
    }


def _doors_shown(
    stage: DoorsStage, plan: Plan, source_of: Mapping[str, str], first: DemoAnswers
) -> DoorsShown:
    after = _dns(stage, list(source_of))
    placement = stage.world.store.placement_of(plan.id)
    return DoorsShown(
        plan=plan.id,
        order=first.order,
        milliseconds=first.milliseconds,
        asked=[
            AskedRow(
                site=site,
                source=source,
                targets=texts(placement["node"][placement["site"] == site]),
                answers=first.answers[site],
                dns_before=first.dns[site],
                dns_after=after[site],
            )
            for site, source in source_of.items()
        ],
    )


def _tell(stage: DoorsStage, shown: DoorsShown) -> None:
    say, asked_rows = stage.say, shown.asked
    say(
        f"  doors     all go by order {shown.order}, {shown.milliseconds:.0f} ms after it was given"
    )
    if len(asked_rows) == 1:
        _tell_of_site(stage, asked_rows[0])
        return
    right = sum(node in row.targets for row in asked_rows for node in row.answers.values())
    count = sum(len(row.answers) for row in asked_rows)
    nodes = ", ".join(asked_rows[0].answers)
    say(f"  asked     at {nodes}: the heirs answer {right} of {count} requests")
    old = sum(row.source in _names(stage, row.dns_before) for row in asked_rows)
    new = sum(set(_names(stage, row.dns_after)) == set(row.targets) for row in asked_rows)
    every = amounts.count(len(asked_rows), "site")
    say(f"  DNS       still says the dead node for {old} of {every}")
    say(f"  then DNS  says the heirs for {new} of {every}")


def _tell_of_site(stage: DoorsStage, row: AskedRow) -> None:
    for node, answer in row.answers.items():
        stage.say(f"  asked     at {node} for {row.site}: {answer} answers")
    still = "still says" if row.dns_before != row.dns_after else "says"
    stage.say(f"  DNS       {still} {_addresses(stage, row.dns_before)}")
    stage.say(f"  then DNS  says {_addresses(stage, row.dns_after)}")


def _addresses(stage: DoorsStage, addresses: Sequence[str]) -> str:
    names = _names(stage, addresses)
    return ", ".join(f"{address} ({name})" for address, name in zip(addresses, names, strict=True))


def _names(stage: DoorsStage, addresses: Sequence[str]) -> list[str]:
    known = {address: node for node, address in stage.nodes.addresses.items()}
    return [known.get(address, "no node") for address in addresses]


@dataclass(frozen=True, slots=True)
class LooksFirst(PublisherAround):
    """A Publisher that has somebody `look` before it changes a name server."""

    look: Callable[[], None]

    def apply(self, *zone_plans: ZonePlan, journal: Journal | None = None) -> None:
        self.look()
        self.publisher.apply(*zone_plans, journal=journal)
