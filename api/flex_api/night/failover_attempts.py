"""The record of attempts to take a dead node out of DNS, which pages, metrics and mails read.

Takes a world, a node, and how an attempt went. Returns the last attempt of a node. Does not take a
node out of DNS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from flex.errors import FlexError, Unverified
from flex.model import retry_schedule
from flex.model.retry_schedule import Attempt
from flex.planning.stranded_site_holds import WAY_ON
from flex.site_names_in_words import FEW, first_few
from flex_api.in_words import amounts
from flex_api.wiring import World


@contextmanager
def note_failure(world: World, node: str) -> Iterator[None]:
    """What goes wrong in here is written down as one more attempt, and goes on."""
    try:
        yield
    except Unverified:
        # Its plan is in force: no failed attempt.
        raise
    except FlexError as error:
        # A database that is away is said by the error itself.
        with suppress(FlexError):
            _store_failure(world, node, str(error))
        raise


def note_left(world: World, node: str, left: Mapping[str, str], staying: Mapping[str, str]) -> None:
    """After one that went well: all are out, or some are not ours to change, or stay with their
    content, and are looked at again, ever later.
    """
    if node not in set(world.store.placement()[1]["node"]):
        forget(world, node)
        return
    sentence = left_in_words(node, left, staying)
    _store_failure(
        world, node, sentence or "not FLEX's to change, and on it still: some of its sites"
    )


def left_in_words(node: str, left: Mapping[str, str], staying: Mapping[str, str]) -> str:
    """What still leads to a dead node, or stays there. Nothing where nothing does."""
    parts = []
    if left:
        every = f" (`flex nodes down {node}` lists all)" if len(left) > FEW else ""
        parts.append(f"not FLEX's to change, and on {node} still: {_reasons_text(left)}{every}")
    if staying:
        parts.append(stay_sentence(node, staying))
    return "; ".join(parts)


def stay_sentence(node: str, staying: Mapping[str, str]) -> str:
    """Which sites of a dead node nobody answers for, why, and what to do."""
    sites = amounts.count(len(staying), "site")
    stay = "stays" if len(staying) == 1 else "stay"
    return (
        f"{sites} {stay} on {node}, as no other node has the content: {_reasons_text(staying)}; "
        f"{WAY_ON.format(node=node)}"
    )


def _reasons_text(reasons: Mapping[str, str]) -> str:
    return first_few([f"{name} ({why})" for name, why in reasons.items()], between="; ")


def last(world: World, node: str) -> Attempt | None:
    return next((attempt for attempt in world.store.attempts() if attempt.node == node), None)


def forget(world: World, node: str) -> None:
    if last(world, node):
        world.store.drop_attempt(node)


def _store_failure(world: World, node: str, error: str) -> None:
    world.store.put_attempt(
        retry_schedule.attempt_after_failure(last(world, node), node, world.time_of_day(), error)
    )
