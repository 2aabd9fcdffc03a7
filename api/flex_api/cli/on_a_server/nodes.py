"""The nodes of a FLEX server: what they carry, and what people order of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flex.errors import FlexError
from flex_api.cli.common import Context
from flex_api.cli.node_options import NodeSaid
from flex_api.cli.on_a_server.send_and_follow_jobs import given_as, result_of
from flex_api.client import Client
from flex_api.in_words import dry_run_text, results_in_terminal
from flex_api.schemas.nodes_and_jobs import NodesOutput
from flex_api.schemas.rest_bodies import (
    DownGiven,
    DrainGiven,
    NodeChange,
    NodeChanged,
    NodeGiven,
)


@dataclass(frozen=True, slots=True)
class NodesThere:
    context: Context
    client: Client

    def every(self) -> NodesOutput:
        return NodesOutput(items=list(self.client.nodes()), dead=self.client.dead_nodes())

    def add(self, node: str, node_options: NodeSaid, reason: str, *, dry_run: bool) -> NodesOutput:
        wanted = node_options.new(node)
        given = given_as(
            NodeGiven,
            node=wanted.name,
            addresses=wanted.addresses,
            ram_bytes=wanted.ram,
            capacity_ratio=wanted.capacity,
            reason=reason,
        )
        return self._all_after(self.client.add_node(given, dry_run=dry_run))

    def change(
        self, node: str, node_options: NodeSaid, reason: str, *, dry_run: bool
    ) -> NodesOutput:
        row, tag = self.client.node(node)
        wanted = node_options.instead_of(node, row.addresses, row.ram_bytes, row.capacity_ratio)
        given = given_as(
            NodeChange,
            addresses=wanted.addresses,
            ram_bytes=wanted.ram,
            capacity_ratio=wanted.capacity,
            reason=reason,
        )
        changed = self.client.change_node(node, given, tag, dry_run=dry_run)
        return self._all_after(changed)

    def drain(
        self, node: str, deadline: datetime | None, reason: str, *, dry_run: bool
    ) -> NodesOutput:
        given = given_as(DrainGiven, deadline=deadline, reason=reason)
        tag = self._tag(node)
        return self._all_after(self.client.drain(node, given, tag, dry_run=dry_run))

    def undrain(self, node: str, reason: str, *, dry_run: bool) -> NodesOutput:
        tag = self._tag(node)
        return self._all_after(self.client.undrain(node, tag, reason, dry_run=dry_run))

    def take_up(self, node: str, reason: str, *, dry_run: bool) -> NodesOutput:
        tag = self._tag(node)
        return self._all_after(self.client.take_up(node, tag, reason, dry_run=dry_run))

    def remove(self, node: str, reason: str, *, dry_run: bool) -> NodesOutput:
        tag = self._tag(node)
        if dry_run:
            return self._all_after(self.client.try_remove_node(node, tag))
        self.client.remove_node(node, tag, reason)
        return self.every()

    def try_take_down(self, node: str, *, without_content: bool) -> NodesOutput:
        given = DownGiven(without_content=without_content)
        return self._all_after(self.client.try_take_down(node, given))

    def take_down(self, node: str, reason: str, *, without_content: bool) -> None:
        context = self.context
        given = given_as(DownGiven, reason=reason, without_content=without_content)
        job = self.client.take_down(node, given)
        kind, name = result_of(context, self.client, job)
        if kind == "plans":
            plan = self.client.plan(name)[0]
            context.show(plan, lambda console: results_in_terminal.plan(console, plan))
        elif kind == "nodes":
            output = self.every()
            context.show(output, lambda console: dry_run_text.nodes(console, output))

    def _tag(self, node: str) -> str:
        return self.client.node(node)[1]

    def _all_after(self, changed: NodeChanged) -> NodesOutput:
        """All of them, and what follows from a change of one."""
        notes = [*changed.notes, *self._next_plan_lines(changed)]
        update = {"notes": notes, "preview": changed.preview}
        return self.every().model_copy(update=update)

    def _next_plan_lines(self, changed: NodeChanged) -> list[str]:
        """It was changed, whatever becomes of this question."""
        if changed.turn is not None:
            return changed.turn
        try:
            return self.client.turn(changed.node.node).turn
        except FlexError as error:
            return [f"how many sites that is with the next plan is not known: {error}"]
