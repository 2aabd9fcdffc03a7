"""`flex route follow`, which a node runs for itself, and what it has in common with `flex route
apply`.
"""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flex.errors import BadInput
from flex.routing import (
    apply_to_haproxy,
    haproxy_program,
    haproxy_socket,
    host_to_node_maps,
    install_files,
    node_file_download,
    order_follower,
    refuse_older_maps,
)
from flex.routing.ports_and_paths import DIRECTORY, MASTER
from flex_api import tell_systemd
from flex_api.cli.client_from_options import token_in
from flex_api.cli.common import context

if TYPE_CHECKING:
    from flex_api.schemas.routing import RouteFollowOutput


def route_follow(
    ctx: typer.Context,
    url: Annotated[
        str, typer.Option("--from", metavar="URL", help="the node's address at the API")
    ],
    token_file: Annotated[Path, typer.Option(help="the file with the node's token")],
    to: Annotated[Path, typer.Option(metavar="DIR", help="where HAProxy reads its files")] = Path(
        DIRECTORY
    ),
    master: Annotated[str, typer.Option(help="socket of HAProxy's master process")] = MASTER,
    once: Annotated[bool, typer.Option("--once", help="take what there is, and end")] = False,
    other_node: Annotated[
        bool,
        typer.Option("--other-node", help="take files even if those in force are another node's"),
    ] = False,
    other_cluster: Annotated[
        bool,
        typer.Option(
            "--other-cluster", help="take orders even if the doors here go by another cluster's"
        ),
    ] = False,
) -> None:
    """On a node: have its HAProxy go by each order for doors the moment it is given, until ended.
    Needs no settings.

    While the server is away, HAProxy goes on by the last order. An older server is asked for all
    files from time to time.
    """
    from rich.console import Console

    from flex_api.schemas.routing import RouteFollowOutput

    # HAProxy calls its maps by whole paths.
    call_context, to = context(ctx), to.absolute()
    asks = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    systemd = tell_systemd.systemd()

    def say(line: str) -> None:
        asks.print(line)
        systemd.status(line)

    node = order_follower.FollowingNode(
        url,
        token_in(token_file),
        to,
        haproxy_program.program(),
        lambda pulled: sockets_of(pulled, master),
        lambda pulled: refuse_foreign(pulled, to, other_node=other_node),
        partial(refuse_older_maps.refuse_older, other_cluster=other_cluster),
        say,
        systemd.beat,
    )
    follower = order_follower.Follower(node)
    if once:
        follower.once()
    else:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: follower.end())
        asks.print(f"Following {url}")
        # Before the server has answered: while it is away, the doors go on by the last order.
        systemd.ready(f"Following {url}")
        follower.run()
        systemd.stopping()
    head = host_to_node_maps.heading(install_files.content(to / host_to_node_maps.MOVED) or "")
    output = RouteFollowOutput(
        directory=str(to), order=head.order if head else 0, cluster=head.cluster if head else ""
    )
    call_context.show(output, lambda console: console.print(_line(output)))


def _line(output: RouteFollowOutput) -> str:
    if not output.order:
        return f"{output.directory} has no order for doors."
    return f"{output.directory} has order {output.order} for doors."


def refuse_foreign(taken: node_file_download.Pulled, to: Path, *, other_node: bool) -> None:
    refuse_elsewhere(taken.directory, to)
    if not other_node:
        refuse_other(taken, node_file_download.files_in_force(to), to)


def refuse_elsewhere(directory: str, to: Path) -> None:
    if Path(directory) != to.absolute():
        raise BadInput(
            f"files for HAProxy in {to}",
            f"by these, HAProxy reads its maps in {directory}",
            kept="nothing was written",
            advice=f"say --to {directory}, or set routing.directory where FLEX decides",
        )


def refuse_other(
    taken: node_file_download.Pulled, here: node_file_download.Pulled | None, to: Path
) -> None:
    if here and here.node != taken.node:
        raise BadInput(
            f"files of {taken.node} for HAProxy in {to}",
            f"those in force are of {here.node}",
            kept="nothing was written",
            advice=f"take those of {here.node}; where this node is {taken.node} from "
            "now on, say --other-node",
        )


def sockets_of(taken: node_file_download.Pulled, master: str) -> apply_to_haproxy.Sockets:
    return apply_to_haproxy.Sockets(
        haproxy_socket.Socket(taken.socket, named="its configuration"),
        haproxy_socket.Socket(master, named="--master (haproxy -W -S SOCKET)"),
        tell_of_reload=tell_of_reload,
    )


def tell_of_reload() -> None:
    """On standard error, as what is asked for comes on standard output."""
    from rich.console import Console

    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(
        "HAProxy is about to reload: commands cannot change all that is new."
    )
