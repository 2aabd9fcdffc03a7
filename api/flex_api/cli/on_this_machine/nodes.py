"""The nodes of this machine's installation: what they carry, and what people order of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import typer

from flex.model.drains_and_freezes import NodeOrder, OrderState
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.planning import which_servers_agree
from flex_api.cli.common import Context, author, now
from flex_api.cli.node_options import NodeSaid
from flex_api.cli.open_installation import open_world
from flex_api.facts import core_to_output_models, dead_nodes_in_dns
from flex_api.in_words import amounts, dry_run_text, results_in_terminal
from flex_api.night import change_nodes, failover, leases, pending_failovers
from flex_api.night.failover import Taken
from flex_api.schemas.nodes_and_jobs import NodesOutput, StayingRow
from flex_api.wiring import World

# What follows from a change, and the node as it would be.
Noted = tuple[list[str], Node]


@dataclass(frozen=True, slots=True)
class NodesHere:
    context: Context

    def every(self) -> NodesOutput:
        with open_world(self.context) as here:
            return _nodes(here)

    def add(self, node: str, node_options: NodeSaid, reason: str, *, dry_run: bool) -> NodesOutput:
        wanted = node_options.new(node)
        return self._change(
            lambda here: (change_nodes.add(here, wanted, dry_run=dry_run), wanted),
            reason,
            dry_run=dry_run,
        )

    def change(
        self, node: str, node_options: NodeSaid, reason: str, *, dry_run: bool
    ) -> NodesOutput:
        def change(here: World) -> Noted:
            old = change_nodes.find(here, node)
            wanted = node_options.instead_of(node, old.addresses, old.ram, old.capacity)
            notes = change_nodes.put(here, wanted, dry_run=dry_run)
            return notes, replace(wanted, state=old.state)

        return self._change(change, reason, dry_run=dry_run)

    def drain(
        self, node: str, deadline: datetime | None, reason: str, *, dry_run: bool
    ) -> NodesOutput:
        return self._order(node, "draining", reason, deadline, dry_run=dry_run)

    def undrain(self, node: str, reason: str, *, dry_run: bool) -> NodesOutput:
        return self._order(node, "active", reason, dry_run=dry_run)

    def take_up(self, node: str, reason: str, *, dry_run: bool) -> NodesOutput:
        return self._order(node, "active", reason, dry_run=dry_run)

    def remove(self, node: str, reason: str, *, dry_run: bool) -> NodesOutput:
        def remove(here: World) -> Noted:
            old = change_nodes.find(here, node)
            order = _order(here, node, "removed", reason)
            notes = change_nodes.remove(here, order, dry_run=dry_run)
            return notes, change_nodes.node_in_state(old, "removed")

        return self._change(remove, reason, dry_run=dry_run)

    def try_take_down(self, node: str, *, without_content: bool) -> NodesOutput:
        """No run is recorded: nothing was done, and nobody has to wait for it."""
        # It takes a while to load what makes plans, and a dead node does not wait.
        from flex_api.wishes import previewing

        with open_world(self.context) as here:
            dead = change_nodes.find(here, node)
            change_nodes.refuse_last(here, dead.name)
            stopped = change_nodes.stopped_by(here, node, "down")
            look = partial(previewing.preview_failure, here, dead, without_content=without_content)
            preview, why = previewing.look_if_possible(look)
            stay = {} if without_content else failover.staying(here, node)
            output = _nodes(here, [*stopped, *why], staying=stay)
            return output.model_copy(update={"preview": preview})

    def take_down(self, node: str, reason: str, *, without_content: bool) -> None:
        known: list[tuple[Taken, NodesOutput]] = []
        try:
            with (
                open_world(self.context, reason=reason) as here,
                leases.lease(here, f"node {node} down {reason}".strip(), breaks_in=True) as held,
            ):
                change_nodes.refuse_last(here, change_nodes.find(here, node).name)
                notes = change_nodes.stopped_by(here, node, "down")
                order = _order(here, node, "down", reason)
                order = replace(order, without_content=without_content)

                def tell(taken: Taken) -> None:
                    left, stay, done = taken.left, taken.staying, taken.plan
                    output = _nodes(here, notes, left, stay, in_force=done)
                    known.append((taken, output))

                tell(failover.take_down_as(held, here, order, tell))
        finally:
            # Where it did not end well, before the error says why. Nobody waits for who reads it.
            for taken, output in known:
                self._show_taken(taken, output)
        if not all(taken.is_whole for taken, _ in known):
            raise typer.Exit(failover.LEFT_CODE)

    def _show_taken(self, taken: Taken, output: NodesOutput) -> None:
        context, done = self.context, taken.plan
        context.show(output, lambda console: dry_run_text.nodes(console, output))
        if done:
            # What it changed in DNS, line by line, is not said here, and would take a while of tens
            # of thousands.
            moved = results_in_terminal.moves_text(
                core_to_output_models.plan_output(replace(done, zone_plans=()))
            )
            context.say(f"Plan {done.id}: {moved}{_agreement(done)}.")
        if done and done.old_answers_until:
            context.say(
                results_in_terminal.countdown(done.old_answers_until, now(), is_failover=True)
            )

    def _order(
        self,
        node: str,
        state: OrderState,
        reason: str,
        deadline: datetime | None = None,
        *,
        dry_run: bool,
    ) -> NodesOutput:
        def order(here: World) -> Noted:
            changed = change_nodes.node_in_state(change_nodes.find(here, node), state)
            wanted = _order(here, node, state, reason, deadline)
            return change_nodes.order(here, wanted, dry_run=dry_run), changed

        return self._change(order, reason, dry_run=dry_run, turns=True)

    def _change(
        self, change: Callable[[World], Noted], reason: str, *, dry_run: bool, turns: bool = False
    ) -> NodesOutput:
        """A dry run says what the next plan would do with the node as it would be. Otherwise, where
        the change `turns` sites to the node or away from it, how many go with the next plan.
        """
        with open_world(self.context, reason=reason) as here:
            was = {node.name: node.state for node in here.nodes}
            notes, changed = change(here)
            if turns and not dry_run and was[changed.name] != changed.state:
                notes = [*notes, *_next_plan_lines(here, changed.name)]
            output = _nodes(here, notes)
            return _try(here, output, changed) if dry_run else output


def _next_plan_lines(here: World, node: str) -> list[str]:
    """It takes a while to load what makes plans."""
    from flex_api.wishes import effect_of_draining

    return effect_of_draining.sentences(here, node)


def _try(here: World, output: NodesOutput, changed: Node) -> NodesOutput:
    """With what the next plan would do. It takes a while to load what makes plans."""
    from flex_api.wishes import previewing

    look = partial(previewing.preview_node, here, changed)
    preview, why = previewing.look_if_possible(look)
    return output.model_copy(update={"preview": preview, "notes": [*output.notes, *why]})


def _order(
    here: World, node: str, state: OrderState, reason: str, deadline: datetime | None = None
) -> NodeOrder:
    return NodeOrder(node, state, here.time_of_day(), deadline, reason, author())


def _nodes(
    here: World,
    notes: Sequence[str] = (),
    left: Mapping[str, str] | None = None,
    staying: Mapping[str, str] | None = None,
    in_force: Plan | None = None,
) -> NodesOutput:
    """The plan `in_force` is read where nobody has it: one of many sites takes its time."""
    base, sites = here.store.in_force(), here.store.sites_of_nodes()
    plan = in_force or (here.store.plan(base) if base else None)
    output = core_to_output_models.nodes_output(
        here.nodes,
        sites,
        plan,
        notes,
        here.store.node_orders(),
        here.settings.nodes(),
        left,
        dead_nodes_in_dns.dead(
            here.nodes,
            sites,
            here.store.attempts(),
            here.store,
            partial(pending_failovers.why_held_back, here),
        ),
    )
    rows = [StayingRow(site=site, reason=why) for site, why in (staying or {}).items()]
    return output.model_copy(update={"staying": rows})


def _agreement(plan: Plan) -> str:
    """Nothing where no name server was asked, as with doors alone."""
    servers = which_servers_agree.servers(plan.verdicts)
    if not servers.asked:
        return ""
    number = amounts.count(servers.agreeing, "name server")
    return f"; {number} {'agrees' if servers.agreeing == 1 else 'agree'}"
