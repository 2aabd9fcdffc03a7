"""The verb `flex simulate`: traces through models of clusters, and the papers' experiments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flex.caches import CACHES
from flex.errors import BadInput, NotWritten
from flex.sim.papers import EXPERIMENTS, experiment_lab
from flex.sim.policies import POLICIES
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulated_clusters import MIB, MODELS
from flex.why_file_unreadable import why_unreadable
from flex_api.cli.common import context
from flex_api.cli.local_only import all_only_here
from flex_api.in_words import amounts
from flex_api.in_words.terminal_tables import grid
from flex_api.simulation import (
    comparing,
    locality_of_logs,
    papers_page,
    simulated_curves,
    traces_and_solver,
)

if TYPE_CHECKING:
    from rich.console import Console

    from flex.sim.papers.experiment_lab import Simulated
    from flex.sim.simulate import Result
    from flex.sim.simulated_clusters import SimulatedCluster
    from flex.sim.traces import Trace
    from flex_api.schemas.simulate_output import (
        SimulateFitOutput,
        SimulateOutput,
        SimulatePaperOutput,
    )

simulate_app = typer.Typer(
    help="Simulate routing policies on a model of a cluster. It shows requests a "
    "second, misses, idle time, delays.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(simulate_app, name="simulate")


@simulate_app.callback()
def trace(
    ctx: typer.Context,
    twin: Annotated[str, typer.Option(help=f"a made-up trace: {', '.join(PUBLISHED)}")] = "",
    logs: Annotated[list[Path] | None, typer.Option(help="an access log; may be repeated")] = None,
    log_format: Annotated[str, typer.Option("--format", help="of the logs")] = "auto",
    by_directory: Annotated[
        bool, typer.Option(help="first directories are the sites; else virtual hosts")
    ] = True,
    model: Annotated[str, typer.Option(help=f"what nodes cost: {', '.join(MODELS)}")] = "flex",
    cache: Annotated[
        str, typer.Option(help=f"what nodes keep: {', '.join(CACHES)}; else the model's")
    ] = "",
    policy: Annotated[
        list[str] | None, typer.Option(help=f"may be repeated: {', '.join(POLICIES)}")
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="every policy side by side")] = False,
    nodes: Annotated[
        list[int] | None, typer.Option(min=1, max=4096, help="may be repeated; else 4")
    ] = None,
    ram: Annotated[
        list[int] | None,
        typer.Option(min=0, max=2**20, help="MiB of a node's cache, repeatable; else 64"),
    ] = None,
    disks: Annotated[int, typer.Option(min=1, max=64, help="of a node")] = 1,
    pictures: Annotated[Path | None, typer.Option(help="a folder for curves as SVG")] = None,
    per_node: Annotated[bool, typer.Option("--per-node", help="also what each node does")] = False,
) -> None:
    if ctx.invoked_subcommand:
        return
    from flex_api.schemas.simulate_output import SimulateOutput

    call_context, workload = context(ctx), _trace(twin, logs or [], log_format, by_directory)
    policies = policy or (comparing.every_policy(workload) if compare else comparing.USUAL)
    clusters = [
        comparing.cluster_of(model, n, mib, cache=cache, disks=disks)
        for n, mib in product(nodes or [4], ram or [64])
    ]
    with _steps(len(clusters) * len(policies)) as step:
        points = comparing.compare_policies(workload, clusters, policies, step)
    drawn = _draw(pictures, points, by_nodes=len(nodes or []) > 1) if pictures else []
    rows = [comparing.row(cluster, result) for cluster, result in points]
    output = SimulateOutput(
        trace=workload.name, model=model, cache=points[0][0].cache, items=rows, pictures=drawn,
        notes=comparing.notes(workload, points),
    )  # fmt: skip
    call_context.show(output, lambda console: _show(console, output, per_node=per_node))


@simulate_app.command()
def paper(
    ctx: typer.Context,
    experiment: Annotated[list[str] | None, typer.Argument(help=", ".join(EXPERIMENTS))] = None,
    all_: Annotated[bool, typer.Option("--all", help="every experiment of every paper")] = False,
    to: Annotated[Path | None, typer.Option(help="a folder for the page and its pictures")] = None,
    most: Annotated[
        int | None,
        typer.Option(min=1, help="use only this many accesses of each trace, for a quick try"),
    ] = None,
    logs: Annotated[
        list[Path] | None, typer.Option(help="an access log instead of twins; may be repeated")
    ] = None,
    log_format: Annotated[str, typer.Option("--format", help="of the logs")] = "auto",
    by_directory: Annotated[
        bool, typer.Option(help="first directories are the sites; else virtual hosts")
    ] = True,
) -> None:
    """Run the papers' experiments again, on twins of their traces or on your logs: published beside
    measured, with a verdict.
    """
    call_context = context(ctx)
    real = (
        traces_and_solver.trace_of_logs(logs, format_=log_format, by_directory=by_directory)
        if logs
        else None
    )
    names = papers_page.every(real) if all_ else list(experiment or [])
    if not names:
        raise BadInput(
            "an experiment to run",
            "none was named",
            kept="nothing was simulated",
            advice=f"name some of {', '.join(EXPERIMENTS)}, or --all",
        )
    with _steps(None) as step:
        output = papers_page.run(names, step, to, most, real)
    call_context.show(output, lambda console: _show_claims(console, output))


@simulate_app.command()
def fit(
    ctx: typer.Context,
    logs: Annotated[
        list[Path] | None, typer.Option(help="an access log in place of the twins; may be repeated")
    ] = None,
    log_format: Annotated[str, typer.Option("--format", help="of the logs")] = "auto",
    by_directory: Annotated[
        bool, typer.Option(help="first directories are the sites; else virtual hosts")
    ] = True,
) -> None:
    """How near each twin's aggregates are to those published of its trace; with logs, which
    locality the model of twins finds in each, and how near its misses are.
    """
    from flex_api.schemas.simulate_output import SimulateFitOutput

    output = (
        SimulateFitOutput(
            items=[],
            localities=[
                locality_of_logs.row(
                    traces_and_solver.trace_of_logs(
                        [log], format_=log_format, by_directory=by_directory
                    )
                )
                for log in logs
            ],
        )
        if logs
        else SimulateFitOutput(items=papers_page.fits(), localities=[])
    )
    context(ctx).show(
        output,
        lambda console: _show_localities(console, output) if logs else _show_fit(console, output),
    )


def _trace(twin: str, logs: list[Path], log_format: str, by_directory: bool) -> Trace:
    if bool(twin) == bool(logs):
        raise BadInput(
            "a trace to simulate",
            "both a twin and logs were named" if twin else "none was named",
            kept="nothing was simulated",
            advice="name one twin with --twin, or access logs with --logs",
        )
    return (
        traces_and_solver.trace_of_twin(twin)
        if twin
        else traces_and_solver.trace_of_logs(logs, format_=log_format, by_directory=by_directory)
    )


@contextmanager
def _steps(total: int | None) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as progress:
        task = progress.add_task("simulating", total=total)

        def step(words_: str) -> None:
            progress.update(task, advance=1, description=words_)

        yield step


def _draw(
    folder: Path, points: list[tuple[SimulatedCluster, Result]], *, by_nodes: bool
) -> list[str]:
    """Over the nodes, for each size of memory if there are several; else over the memory."""
    several = len({cluster.ram[0] for cluster, _ in points}) > 1
    drawn = simulated_curves.pictures_of(
        [_point(*pair, by_nodes=by_nodes, several=several) for pair in points]
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, markup in drawn.items():
            (folder / name).write_text(markup, encoding="utf-8")
    except OSError as error:
        raise NotWritten(
            f"pictures in {folder}", why_unreadable(error), advice="name another folder"
        ) from error
    return [str(folder / name) for name in drawn]


def _point(
    cluster: SimulatedCluster, result: Result, *, by_nodes: bool, several: bool
) -> Simulated:
    mib = cluster.ram[0] / MIB
    held = f"{mib:g} MiB a node, " if several else ""
    picture = f"{result.trace}, {held}nodes" if by_nodes else f"{result.trace}, MiB a node"
    return experiment_lab.Simulated(
        picture, result.policy, cluster.nodes if by_nodes else mib, result, cluster.serial
    )


def _show(console: Console, output: SimulateOutput, *, per_node: bool) -> None:
    table = grid(
        "policy",
        "nodes>",
        "memory>",
        "requests/s>",
        "of a node>",
        "misses>",
        "idle>",
        "mean>",
        "p50>",
        "p95>",
        "p99>",
    )
    for row in output.items:
        delays = (row.delay_mean, row.delay_p50, row.delay_p95, row.delay_p99)
        took = (f"{1000 * delay:,.1f} ms" for delay in delays)
        table.add_row(
            row.policy,
            str(row.nodes),
            amounts.memory(row.ram_bytes),
            amounts.rate(row.requests_per_second),
            amounts.rate(row.requests_per_second_of_a_node),
            f"{row.miss_ratio:.2%}",
            _share(row.idle),
            *took,
        )
    console.print(table)
    if per_node:
        _show_nodes(console, output)
    console.print(
        f"\n{output.trace}: {amounts.count(output.items[0].requests, 'access', 'accesses')}."
    )
    for note in output.notes:
        console.print(f"{note}.")


def _share(of: float | None) -> str:
    return "—" if of is None else f"{of:.1%}"


def _show_nodes(console: Console, output: SimulateOutput) -> None:
    table = grid(
        "policy",
        "nodes>",
        "memory>",
        "node>",
        "requests>",
        "misses>",
        "from disk>",
        "computing>",
        "reading>",
        "idle>",
    )
    for row in output.items:
        for number, node in enumerate(row.per_node, start=1):
            table.add_row(
                row.policy,
                str(row.nodes),
                amounts.memory(row.ram_bytes),
                str(number),
                f"{node.requests:,}",
                f"{node.misses:,}",
                amounts.size(node.disk_bytes),
                f"{node.busy:.1%}",
                f"{node.reading:.1%}",
                _share(node.idle),
            )
    console.print()
    console.print(table)


def _show_claims(console: Console, output: SimulatePaperOutput) -> None:
    table = grid("paper", "claim", "published", "without", "measured", "verdict")
    for row in output.items:
        table.add_row(row.paper, row.claim, row.published, row.without, row.measured, row.verdict)
    console.print(table)
    for page in output.pages[:1]:
        console.print(f"\nPage: {page}")


def _show_fit(console: Console, output: SimulateFitOutput) -> None:
    table = grid("twin", "figure", "published>", "twin>", "off>")
    for row in output.items:
        label = f"{row.figure.replace('_', ' ')}{' (assumed)' if row.assumed else ''}"
        table.add_row(
            row.twin, label, f"{row.published:,.6g}", f"{row.made:,.6g}", f"{row.error:.1%}"
        )
    console.print(table)


def _show_localities(console: Console, output: SimulateFitOutput) -> None:
    table = grid(
        "log", "accesses>", "repeats>", "gap>", "spread>", "life>", "points off, median>", "95 %>"
    )
    for row in output.localities:
        table.add_row(
            row.trace,
            f"{row.accesses:,}",
            f"{row.repeats:.0%}",
            f"{row.gap:.1e}",
            f"{row.spread:.2f}",
            f"{row.life:.0%}",
            f"{row.points_off_median:.1f}",
            f"{row.points_off_p95:.1f}",
        )
    console.print(table)


# At the end of the file, where every verb of the group is there.
all_only_here(simulate_app, "it computes here; programs ask a server by POST /api/v1/simulations")
