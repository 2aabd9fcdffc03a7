"""The verbs about things: sites and nodes, and what people wish for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import typer

from flex import cycle as cycles
from flex import wishes
from flex.domain import LAST_DAY, Cycle, NodeState, Period, Pin
from flex.errors import BadInput
from flex.pins import unknown_node, unknown_site
from flex_api import failover, hosted, nightly, present, text, words
from flex_api.cli.common import Context, bounded, context, now
from flex_api.cli.night import opened
from flex_api.leases import lease
from flex_api.schemas import NodesOutput, PinOutput, SitesOutput, UnknownName, UnknownOutput
from flex_api.wiring import World
from flex_logs_ingest.unknown import unknown

DryRun = Annotated[bool, typer.Option("--dry-run", help="check the wish, change nothing")]
Reason = Annotated[str, typer.Option(help="for the record, and for whoever wonders later")]
SiteName = Annotated[str, typer.Argument(metavar="SITE")]
NodeName = Annotated[str, typer.Argument(metavar="NODE")]

sites_app = typer.Typer(
    help="Sites: what they ask for, where they are, and pins.", no_args_is_help=True, rich_markup_mode=None
)
nodes_app = typer.Typer(help="Nodes: their load and state.", no_args_is_help=True, rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    app.add_typer(sites_app, name="sites")
    app.add_typer(nodes_app, name="nodes")


@sites_app.command("list")
def sites_list(ctx: typer.Context) -> None:
    """Every site, busiest first."""
    found = context(ctx)
    with opened(found) as here:
        output = _sites(here)
    found.show(output, lambda console: text.sites(console, output))


@sites_app.command("show")
def sites_show(ctx: typer.Context, site: SiteName) -> None:
    """One site: what it asks of its nodes, and where it is."""
    found = context(ctx)
    with opened(found) as here:
        every = _sites(here)
    rows = [row for row in every.items if row.site == hosted.site_name(site)]
    if not rows:
        raise unknown_site(site, [row.site for row in every.items])
    output = every.model_copy(update={"items": rows})
    found.show(output, lambda console: text.sites(console, output))


@sites_app.command("unknown")
def sites_unknown(
    ctx: typer.Context, most: Annotated[int, typer.Option(min=1, max=1000, help="so many names")] = 20
) -> None:
    """What visitors asked of names that are no sites of ours, in the time that profiles are made of and since."""
    found = context(ctx)
    with opened(found) as here:
        since = Period.days_before(here.clock(), here.settings.profile.window.days).start
        days = (int(since.timestamp()) // 86400, LAST_DAY)
        told = unknown(here.settings.ingest.directory, here.store.segments(*days), *days, most)
    items = [UnknownName(name=name, requests_at_least=requests) for name, requests in told.names]
    output = UnknownOutput(since=since, requests=told.requests, bytes=told.bytes, items=items)
    found.show(output, lambda console: text.unknown(console, output))


def _sites(here: World) -> SitesOutput:
    kept = here.store.profiles()
    _, placement = here.store.placement()
    if kept is None:
        return SitesOutput(period_start=None, period_end=None, items=[])
    period, profiles, _ = kept
    return present.sites_output(profiles, placement, here.store.pins(), (period.start, period.end))


@sites_app.command("pin")
def sites_pin(
    ctx: typer.Context,
    site: SiteName,
    nodes: Annotated[str, typer.Option(help="must be on all of these: n1,n2")] = "",
    min_replicas: Annotated[int, typer.Option(min=1, help="on at least so many nodes")] = 1,
    max_replicas: Annotated[int, typer.Option(min=0, help="on at most so many; 0 is as many as it takes")] = 0,
    not_on: Annotated[str, typer.Option(help="must be on none of these: n1,n2")] = "",
    together: Annotated[str, typer.Option(help="on the same nodes as these sites: a.example,b.example")] = "",
    apart: Annotated[str, typer.Option(help="no two of it and these sites share a node")] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="ends by itself, such as 2026-12-01T06:00Z")] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Say where a site is to be, where not, on how many nodes and with which others, from the next plan on."""
    found = context(ctx)
    pin = Pin(
        hosted.site_name(site),
        _listed(nodes),
        min_replicas,
        _until(until),
        reason,
        not_on=_listed(not_on),
        max_replicas=max_replicas,
        together=tuple(map(hosted.site_name, _listed(together))),
        apart=tuple(map(hosted.site_name, _listed(apart))),
    )
    with opened(found) as here:
        _refuse_impossible(here, pin)
        if not dry_run:
            here.store.put_pin(pin)
    _show_pin(found, pin, pinned=True, dry_run=dry_run)


@sites_app.command("unpin")
def sites_unpin(ctx: typer.Context, site: SiteName, dry_run: DryRun = False) -> None:
    """Take a pin back."""
    found = context(ctx)
    site = hosted.site_name(site)
    with opened(found) as here:
        pins = {pin.site: pin for pin in here.store.pins()}
        if site not in pins:
            raise BadInput(
                f"unpinning {site!r}",
                f"there is no pin on it; pinned are {', '.join(sorted(pins)) or 'no sites'}",
                kept="nothing was changed",
                advice="`flex sites list` shows every pin",
            )
        if not dry_run:
            here.store.drop_pin(site)
    _show_pin(found, pins[site], pinned=False, dry_run=dry_run)


def _listed(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _refuse_impossible(here: World, pin: Pin) -> None:
    """Building the next problem with this pin in it says what is wrong with it."""
    if not wishes.asks(pin):
        raise BadInput(
            f"a pin on {pin.site}",
            "it names no nodes, no number of replicas and no other sites",
            kept="nothing was changed",
            advice="give --nodes, --not-on, --min-replicas, --max-replicas, --together or --apart",
        )
    cycles.refuse_impossible(nightly.facts(here), here.rules, pin)


def _until(given: str) -> datetime | None:
    if not given:
        return None
    try:
        moment = datetime.fromisoformat(given)
    except ValueError as error:
        raise _bad_until(given, str(error)) from error
    moment = bounded("--until", moment)
    if moment <= now():
        raise _bad_until(given, "that is in the past")
    return moment


def _bad_until(given: str, answer: str) -> BadInput:
    return BadInput(f"--until {given}", answer, kept="nothing was changed", advice="write it as 2026-12-01T06:00Z")


def _show_pin(found: Context, pin: Pin, *, pinned: bool, dry_run: bool) -> None:
    output = PinOutput(
        site=pin.site,
        pinned=pinned,
        nodes=list(pin.nodes),
        min_replicas=pin.min_replicas,
        not_on=list(pin.not_on),
        max_replicas=pin.max_replicas,
        together=list(pin.together),
        apart=list(pin.apart),
        until=pin.until,
        reason=pin.reason,
        dry_run=dry_run,
    )
    found.show(output, lambda console: console.print(_pin_line(output), markup=False))


def _pin_line(output: PinOutput) -> str:
    would = "would be " if output.dry_run else "is "
    if not output.pinned:
        return f"{output.site} {would}free again from the next plan on."
    to = f" to {', '.join(output.nodes)}" if output.nodes else ""
    more = [
        f"on at least {output.min_replicas} nodes" if output.min_replicas > 1 else "",
        f"on at most {output.max_replicas}" if output.max_replicas else "",
        f"not on {', '.join(output.not_on)}" if output.not_on else "",
        f"together with {', '.join(output.together)}" if output.together else "",
        f"apart from {', '.join(output.apart)}" if output.apart else "",
    ]
    least = "".join(f", {each}" for each in more if each)
    until = f" until {output.until:%Y-%m-%d %H:%M} UTC" if output.until else ""
    return f"{output.site} {would}pinned{to}{least}{until} from the next plan on."


@nodes_app.command("list")
def nodes_list(ctx: typer.Context) -> None:
    """Every node, its state and its load under the partition in force."""
    found = context(ctx)
    with opened(found) as here:
        output = _nodes(here)
    found.show(output, lambda console: text.nodes(console, output))


def _nodes(here: World, notes: Sequence[str] = ()) -> NodesOutput:
    base, placement = here.store.placement()
    return present.nodes_output(here.nodes, placement, here.store.cycle(base) if base else None, notes)


@nodes_app.command("drain")
def nodes_drain(ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False) -> None:
    """Move everything off a node with the next plan; it goes on serving until then. Pins to it are suspended."""
    _set_state(ctx, node, "draining", reason, dry_run)


@nodes_app.command("undrain")
def nodes_undrain(ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False) -> None:
    """Give a node sites again, from the next plan on."""
    _set_state(ctx, node, "active", reason, dry_run)


@nodes_app.command("down")
def nodes_down(ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False) -> None:
    """Take a dead node out of DNS now. Replicated sites lose its addresses, then the others get a new node."""
    found = context(ctx)
    with opened(found) as here, lease(here, f"node {node} down {reason}".strip()) as held:
        _refuse_unknown(here, node)
        _refuse_last(here, node, "down")
        done = None if dry_run else failover.take_down(here, node)
        if done:
            held.concerns(done)
        output = _nodes(here, _pins_stopped(here, node, "down"))
    found.show(output, lambda console: text.nodes(console, output))
    if done:
        found.say(f"Plan {done.id}: {text.moved(present.plan_output(done))}; {_agreed(done)}.")
    if done and done.old_answers_until:
        found.say(text.countdown(done.old_answers_until, now()))


def _agreed(cycle: Cycle) -> str:
    return f"{words.count(len({verdict.server for verdict in cycle.verdicts}), 'name server')} agree"


@nodes_app.command("up")
def nodes_up(ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False) -> None:
    """Give a node that was down sites again, from the next plan on."""
    _set_state(ctx, node, "active", reason, dry_run)


def _set_state(ctx: typer.Context, node: str, state: NodeState, reason: str, dry_run: bool) -> None:
    found = context(ctx)
    with opened(found) as here:
        _refuse_unknown(here, node)
        _refuse_last(here, node, state)
        notes = _pins_stopped(here, node, state)
        if not dry_run:
            here.store.set_node_state(node, state)
        output = _nodes(here, notes)
    found.show(output, lambda console: text.nodes(console, output))
    if reason:
        found.say(f"reason: {reason}")


def _refuse_unknown(here: World, node: str) -> None:
    known = [one.name for one in here.nodes]
    if node not in known:
        raise unknown_node(node, known)


def _pins_stopped(here: World, node: str, state: NodeState) -> list[str]:
    """What becomes of the pins that name the node, or that need as many nodes as there were."""
    pins = [pin for pin in here.store.pins() if pin.holds(here.clock())]
    after = [replace(one, state=state) if one.name == node else one for one in here.nodes]
    before, then = (wishes.possible(pins, {pin.site for pin in pins}, nodes).suspended for nodes in (here.nodes, after))
    return [f"a pin is suspended from the next plan on: {pin}" for pin in then if pin not in before]


def _refuse_last(here: World, node: str, state: NodeState) -> None:
    others = [one.name for one in here.nodes if one.state == "active" and one.name != node]
    if state != "active" and not others:
        raise BadInput(
            f"taking {node} out of service",
            "no other node is active, so its sites would have nowhere to go",
            kept="nothing was changed",
            advice="add a node, or undrain another one first",
        )
