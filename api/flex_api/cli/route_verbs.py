"""The verbs for the routing of sites: show, config and deliver, and apply and follow, which a node
runs for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from flex.errors import Away, BadInput, NotWritten
from flex.model.stray_requests import MOST_READ
from flex.routing import (
    apply_to_haproxy,
    haproxy,
    haproxy_program,
    haproxy_socket,
    install_files,
    node_file_download,
    owners_map,
    refuse_older_maps,
)
from flex.routing.ports_and_paths import DIRECTORY, MASTER
from flex.site_names_in_words import first_few
from flex_api.cli import local_or_server, route_follow
from flex_api.cli.client_from_options import token_in
from flex_api.cli.common import context
from flex_api.cli.local_only import only_here, option_here
from flex_api.cli.open_installation import open_world
from flex_api.in_words import amounts
from flex_api.in_words.terminal_tables import grid
from flex_api.night import deliver_haproxy_files, leases, store_order_for_doors
from flex_api.schemas import routing

if TYPE_CHECKING:
    from rich.console import Console

    from flex_api.night.deliver_haproxy_files import Delivered
    from flex_api.schemas.routing import (
        OrderTold,
        PortRow,
        RouteApplyOutput,
        RouteConfigOutput,
        RouteDeliverOutput,
        RouteOutput,
    )

route_app = typer.Typer(
    help="Route requests to the replica that has them in memory.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


# Of sites whose visitors come to other nodes so many are shown. A guess; `-o json` has a hundred.
VISITORS = 10
# Why a server does not do what is about a node's HAProxy, and what helps.
OUR_HAPROXY = "it is about the HAProxy of this machine"
ADVICE = "on a node: flex route apply --from URL/api/v1/routing/nodes/NODE --token-file FILE"


def add_to(app: typer.Typer) -> None:
    app.add_typer(route_app, name="route")


@route_app.command("show")
def route_show(
    ctx: typer.Context,
    live: Annotated[
        bool,
        typer.Option(
            help="ask the nodes' HAProxies what they do now: routing.sockets, or this machine's own"
        ),
    ] = False,
    plan: Annotated[
        str, typer.Option(metavar="PLAN", help="show it as it will be under this plan")
    ] = "",
) -> None:
    """The sites on several nodes, their members, by what requests are spread; the version of each
    node's files.
    """
    call_context = context(ctx)
    output = local_or_server.routing(call_context).show(plan, live=live)
    call_context.show(output, lambda console: _print(console, output))


@route_app.command("config")
def route_config(
    ctx: typer.Context,
    node: Annotated[str, typer.Argument(metavar="NODE", help="the name of a node")],
    to: Annotated[
        Path | None,
        option_here(
            OUR_HAPROXY, metavar="DIR", help="write them there, once HAProxy has checked them"
        ),
    ] = None,
    tell: Annotated[
        bool,
        option_here(
            OUR_HAPROXY,
            help="have this machine's HAProxy follow, by commands or a reload; take "
            "back what it refuses",
        ),
    ] = False,
    plan: Annotated[
        str, typer.Option(metavar="PLAN", help="show it as it will be under this plan")
    ] = "",
    back: Annotated[
        bool, option_here(OUR_HAPROXY, help="the version before the one in DIR again")
    ] = False,
) -> None:
    """What a node's HAProxy is to do: its configuration, and the map of host names beside it.

    A HAProxy on this machine checks the new one; what it refuses is not written. Without --tell,
    reading it anew is for the node to do: systemctl reload haproxy.
    """
    call_context, to = context(ctx), to and to.absolute()
    _refuse_without_folder(to, tell=tell, back=back)
    checker = haproxy_program.find_program() if to else None
    by = local_or_server.routing(call_context)
    found_files = (
        routing.NodeFiles(node=node, files=install_files.one_before(to))
        if to and back
        else by.files_of(node, plan)
    )
    files = found_files.files
    told: apply_to_haproxy.Told | Literal[""] = ""
    if to and tell:
        told = apply_to_haproxy.enforce(
            files,
            to,
            checker,
            apply_to_haproxy.Sockets(
                haproxy_socket.Socket(call_context.settings.routing.socket),
                haproxy_socket.Socket(call_context.settings.routing.master),
                tell_of_reload=route_follow.tell_of_reload,
            ),
        )
    changed = (
        told != "nothing" if told else bool(to) and install_files.put(files, to or Path(), checker)
    )
    output = routing.RouteConfigOutput(
        node=node,
        directory=str(to or ""),
        changed=changed,
        checked_by=".".join(map(str, checker.version)) if checker else "",
        files=files,
        told=told,
        ports=found_files.ports,
    )
    call_context.show(output, lambda console: _print_files(console, output))


@route_app.command("apply")
@only_here(OUR_HAPROXY, error=BadInput, advice=ADVICE)
def route_apply(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="DIR|FILE|URL",
            help="a folder that was carried here, or what the API answers for the node",
        ),
    ],
    to: Annotated[Path, typer.Option(metavar="DIR", help="where HAProxy reads them")] = Path(
        DIRECTORY
    ),
    token_file: Annotated[
        Path | None, typer.Option(help="for a URL: the file with the node's token")
    ] = None,
    master: Annotated[str, typer.Option(help="socket of HAProxy's master process")] = MASTER,
    tell: Annotated[
        bool, typer.Option(help="have HAProxy follow; without it, it is only checked and written")
    ] = True,
    other_node: Annotated[
        bool,
        typer.Option("--other-node", help="take them even if those in force are another node's"),
    ] = False,
    other_cluster: Annotated[
        bool,
        typer.Option(
            "--other-cluster", help="take them even if the doors here go by another cluster's"
        ),
    ] = False,
) -> None:
    """On a node: take its files from where they came to, check them, and have its HAProxy follow.
    Needs no settings.

    What HAProxy refuses is taken back. A server is asked by what is here: while nothing changes, it
    answers nothing.
    """
    # HAProxy calls its maps by whole paths.
    call_context, checker, to = context(ctx), haproxy_program.program(), to.absolute()
    taken = node_file_download.pull(source, to, token_in(token_file) if token_file else "")
    route_follow.refuse_elsewhere(taken.directory, to)
    if not other_node:
        route_follow.refuse_other(taken, node_file_download.files_in_force(to), to)
    guard = partial(refuse_older_maps.refuse_older, other_cluster=other_cluster)
    told: apply_to_haproxy.Told | Literal[""] = ""
    if tell:
        sockets = route_follow.sockets_of(taken, master)
        with suppress(Away):
            # What is in force is what HAProxy goes by, whatever map was put here.
            owners_map.save_order_in_force(sockets.stats, to)
        told = apply_to_haproxy.enforce(taken.files, to, checker, sockets, guard)
    changed = (
        told != "nothing" if told else install_files.put(taken.files, to, checker, guard=guard)
    )
    node_file_download.note_in_force(taken, to)
    output = routing.RouteApplyOutput(
        node=taken.node,
        directory=str(to),
        version=haproxy.version(taken.files),
        changed=changed,
        checked_by=".".join(map(str, checker.version)),
        told=told,
    )
    call_context.show(output, lambda console: _print_written(console, output))


route_app.command("follow")(
    only_here(OUR_HAPROXY, error=BadInput, advice=ADVICE)(route_follow.route_follow)
)


@route_app.command("deliver")
@only_here(
    "it writes to folders of this machine and runs its command",
    error=BadInput,
    advice="run it on the controller, without --server",
)
def route_deliver(
    ctx: typer.Context,
    plan: Annotated[
        str, typer.Option(metavar="PLAN", help="as this plan will have it, before DNS says so")
    ] = "",
) -> None:
    """Write every node's files to its folder of routing.deliver, and run routing.deliver_command
    for what changed. With doors for all sites nodes that follow hear of it as well, also where
    routing.deliver is empty.
    """
    call_context = context(ctx)
    with open_world(call_context) as here, leases.lease(here, "route deliver"):
        settings, store = here.settings, here.store
        done: Sequence[Delivered] = ()
        if settings.routing.leads_to_all and not settings.routing.deliver:
            # Nodes that follow fetch their files themselves.
            store_order_for_doors.order(settings, store, plan)
        else:
            _refuse_undelivered(settings.routing.deliver)
            done = deliver_haproxy_files.deliver(settings, store, plan)
        ordered = store.door_order() if settings.routing.leads_to_all else None
    rows = [
        routing.DeliveredRow(
            node=each.node, directory=each.folder, changed=each.changed, error=each.error
        )
        for each in done
    ]
    output = routing.RouteDeliverOutput(items=rows, order=ordered.number if ordered else 0)
    call_context.show(output, lambda console: _print_delivered(console, output))
    if any(each.error for each in done):
        raise typer.Exit(NotWritten.exit_code)


def _refuse_without_folder(to: Path | None, *, tell: bool, back: bool) -> None:
    if (tell or back) and not to:
        raise BadInput(
            f"--{'tell' if tell else 'back'} without --to",
            "HAProxy reads files",
            advice="say where its files are",
        )


def _refuse_undelivered(folder: str) -> None:
    if not folder:
        raise BadInput(
            "delivering configurations of HAProxy",
            "routing.deliver is empty",
            kept="nothing was written",
            advice='set it to a folder for each node, such as "/srv/config/{node}/haproxy"',
        )


def _print(console: Console, output: RouteOutput) -> None:
    if not output.on:
        console.print("Requests are not routed: [routing] on = false. These sites would be:")
    table = grid("site", "policy", "low>", "high>", "at a time>", "members")
    for row in output.items:
        limits = str(row.low), str(row.high), str(row.admitted or "any")
        table.add_row(
            row.site, row.policy, *limits, ", ".join(member.node for member in row.members)
        )
    console.print(table if output.items else "No site is on several nodes.")
    for left in output.left_out:
        console.print(f"{left.site} is not routed: {left.reason}")
    for line in output.misnamed:
        console.print(f"{line}.")
    if output.on:
        _print_versions(console, output)
        if output.ports:
            console.print(_ports(output.ports))
    _print_visitors(console, output)
    if output.live:
        _print_live(console, output)


def _print_visitors(console: Console, output: RouteOutput) -> None:
    """Those who come to nodes without their site."""
    if output.strays:
        table = grid("site", "they come to", "requests>", "since", "last")
        for row in output.strays[:VISITORS]:
            table.add_row(
                row.site,
                row.node,
                f"{row.requests:,}",
                amounts.when(row.since),
                amounts.when(row.last),
            )
        console.print(table)
    if (more := output.strays_count - VISITORS) > 0:
        console.print(f"and {more:,} more come to nodes without their site")
    if output.order and (missing := output.strays_not_known):
        named = first_few(missing)
        console.print(
            f"Not known of {named}: who comes there for sites of other nodes. Nobody read "
            f"a door there within the last day, or it counted more names than the {MOST_READ:,} "
            "that are kept."
        )


def _print_versions(console: Console, output: RouteOutput) -> None:
    table = grid("node", "version", "delivered", "in force", "")
    for row in output.nodes:
        table.add_row(row.node, row.wanted, row.delivered, row.in_force, row.error)
    console.print(table)
    if reloading := [row.node for row in output.nodes if row.reload]:
        console.print(
            f"By this plan HAProxy reloads on {first_few(reloading)}; on all others commands do."
        )
    if output.order:
        _print_orders(console, output, output.order)


def _print_orders(console: Console, output: RouteOutput, order: OrderTold) -> None:
    console.print(
        f"All doors are to go by order {order.number}, of {amounts.when(order.time)}: the "
        f"plan {order.plan}."
    )
    if order.sites_waiting:
        waiting = amounts.count(order.sites_waiting, "site")
        console.print(f"Waiting for their wave, and led as before: {waiting}.")
    if order.held_since:
        held = amounts.count(order.sites_held, "site")
        since = amounts.when(order.held_since)
        console.print(f"Held at every door since {since}, so that requests wait: {held}.")
    table = grid("node", "order>", "since", "")
    for row in output.nodes:
        since = amounts.when(row.order_since) if row.order_since else ""
        table.add_row(row.node, str(row.order or "none"), since, row.unheard)
    console.print(table)


def _print_live(console: Console, output: RouteOutput) -> None:
    numbers = "under way>", "served>", "targets>", "shared>", "overloaded>", "waiting>"
    table = grid("distributor", "site", "member", "state", *numbers)
    targets = grid("distributor", "path", "members", "overloaded>")
    for row in output.live:
        for member in row.members:
            counts = (
                member.under_way,
                member.served,
                member.targets,
                row.shared,
                row.overloaded,
                row.waiting,
            )
            table.add_row(
                row.distributor,
                row.site,
                member.node,
                member.status,
                *(f"{count:,}" for count in counts),
            )
        for each in row.busiest:
            name = f"{row.site}{each.target}"
            targets.add_row(row.distributor, name, ", ".join(each.nodes), f"{each.overloaded:,}")
    console.print(table)
    console.print(targets)


def _print_delivered(console: Console, output: RouteDeliverOutput) -> None:
    table = grid("node", "folder", "")
    for row in output.items:
        table.add_row(
            row.node, row.directory, row.error or ("written" if row.changed else "as it was")
        )
    if output.items:
        console.print(table)
    if output.order:
        console.print(f"Doors are to go by order {output.order}.")
    elif not output.items:
        console.print("Nothing was ordered: no partition is in force.")


def _print_files(console: Console, output: RouteConfigOutput) -> None:
    if output.ports:
        console.print(f"# {_ports(output.ports)}", soft_wrap=True, highlight=False)
    if not output.directory:
        for name, text in output.files.items():
            console.print(f"# {name}")
            console.print(text, soft_wrap=True, highlight=False)
        return
    _print_written(console, output)


def _ports(ports: Sequence[PortRow]) -> str:
    named = ", ".join(f"{row.port} ({row.setting})" for row in ports)
    return f"Open to the other nodes, and to nobody else: {named}."


def _print_written(console: Console, output: RouteConfigOutput | RouteApplyOutput) -> None:
    if not output.changed:
        console.print(f"{output.directory} has it already.")
        return
    checked = (
        f"checked by HAProxy {output.checked_by}"
        if output.checked_by
        else "not checked: there is no HAProxy here"
    )
    console.print(
        f"The configuration of {output.node} is written to {output.directory}, {checked}."
    )
    if output.told:
        how = "by commands" if output.told == "commands" else "to read it anew"
        console.print(f"Its HAProxy was told {how}, and follows it.")
