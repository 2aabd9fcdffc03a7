"""Writes changes of a store into its audit log. CHANGES says which ones, a line for each.

Takes a store class of any kind. Returns it with methods that note what they change. An entry is
written in the same transaction as the change, so neither is ever there without the other. Does not
note what only keeps track of a run: its stages, its signs of life, and how far a log was read. That
a run began and how it ended is noted, also where it ended without a message and another run took
over its lease.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from flex import audit_log_vs_database
from flex.model.audit_chain import plain
from flex.model.nightly_run import NightlyRun

if TYPE_CHECKING:
    from flex.store import Store

# Any, below: what a noted method of a store is given, which is another thing for each of them.


@dataclass(frozen=True, slots=True)
class AuditedChange:
    """`look` says how the thing is, before and after. What can only be told afterwards has none,
    but `tell`.
    """

    action: str
    subject: Callable[..., str]
    look: Callable[..., object] | None = None
    tell: Callable[..., object] | None = None
    # What else became so by it, of what came out: action, subject and what is told of each.
    besides: Callable[[Any], Iterable[tuple[str, str, object]]] | None = None


def _run(run: NightlyRun) -> dict[str, object]:
    return {"exit_code": run.exit_code, "plan": run.plan, "message": run.message}


def _taken_over(runs: Sequence[NightlyRun]) -> list[tuple[str, str, object]]:
    return [("run.end", run.id, _run(run)) for run in runs]


def _plan(store: Store, plan: Any, *_: object) -> object:
    return store.headline(plan.id)


def _what_is_noted(store: Store, plan: Any) -> object:
    """What people can change of a plan: its changes of DNS are in its digest."""
    if store.headline(plan.id) is None:
        return None
    stored_plan = store.plan(plan.id)
    return {
        "state": stored_plan.state,
        "message": stored_plan.message,
        "approvals": [plain(approval) for approval in stored_plan.approvals],
    }


def _token(store: Store, token_id: str, *_: object) -> object:
    stored_token = next((token for token in store.tokens() if token.id == token_id), None)
    return stored_token and audit_log_vs_database.told_of_token(stored_token)


def _order(store: Store, node: str) -> object:
    return next((order for order in store.node_orders() if order.node == node), None)


def _node(store: Store, name: str) -> object:
    return next((node for node in store.own_nodes() if node.name == name), None)


CHANGES: dict[str, AuditedChange] = {
    "put_pin": AuditedChange(
        "pin.put", lambda pin: pin.site, look=lambda store, pin: store.pin(pin.site, pin.campaign)
    ),
    "drop_pin": AuditedChange(
        "pin.drop", lambda site, *_: site, look=lambda store, *given: store.pin(*given)
    ),
    "order_node": AuditedChange(
        "node.order", lambda order: order.node, look=lambda store, order: _order(store, order.node)
    ),
    "put_node": AuditedChange(
        "node.put", lambda node: node.name, look=lambda store, node: _node(store, node.name)
    ),
    "drop_node": AuditedChange("node.drop", lambda name: name, look=_node),
    "put_freeze": AuditedChange("freeze", lambda _: "", look=lambda store, _: store.freeze()),
    "put_profiles": AuditedChange(
        "profiles.put",
        lambda period, *_: str(period),
        tell=lambda period, profiles, _: {
            "start": period.start,
            "end": period.end,
            "sites": len(profiles),
        },
    ),
    "propose": AuditedChange("plan.propose", lambda plan, _: plan.id, look=_plan),
    "update": AuditedChange("plan.update", lambda plan: plan.id, look=_what_is_noted),
    "settle": AuditedChange("plan.settle", lambda plan, _: plan.id, look=_plan),
    "begin": AuditedChange(
        "run.begin",
        lambda run, *_: run.id,
        tell=lambda run, *_: {"purpose": run.message},
        besides=_taken_over,
    ),
    "end": AuditedChange("run.end", lambda run: run.id, tell=_run),
    "put_token": AuditedChange(
        "token.create", lambda token: token.id, look=lambda store, token: _token(store, token.id)
    ),
    "revoke_token": AuditedChange("token.revoke", lambda token_id, _: token_id, look=_token),
}

S = TypeVar("S")


def noting(kind: type[S]) -> type[S]:
    for name, change in CHANGES.items():
        setattr(kind, name, _note(getattr(kind, name), change))
    return kind


def _note(method: Callable[..., Any], change: AuditedChange) -> Callable[..., Any]:
    @functools.wraps(method)
    def method_with_entry(store: Store, *given: Any, **how: Any) -> Any:
        with store.together():
            before = change.look(store, *given) if change.look else None
            result = method(store, *given, **how)
            after = (
                change.look(store, *given) if change.look else change.tell and change.tell(*given)
            )
            if before != after:
                store.note(change.action, change.subject(*given), before, after)
            for action, subject, told in change.besides(result) if change.besides else ():
                store.note(action, subject, None, told)
        return result

    return method_with_entry
