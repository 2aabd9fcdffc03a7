"""What should exist according to the audit log, and where the database differs.

Takes entries in their order, and what exists. Returns sentences. An entry says what changed, so the
state of a thing is put together from all of its entries. What no entry mentions is not compared:
older versions wrote less.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import NamedTuple, cast

from flex.model.audit_chain import BEGIN, Entry, as_text, plain
from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.model.plan_summary import Headline, headline
from flex.model.roles_and_tokens import Token, digest_of
from flex.model.wish import Pin

# The parts of a thing, as JSON has them.
Parts = dict[str, object]

# The action that makes a thing, by each that changes it.
MADE_BY = {
    "freeze": "freeze",
    "node.drop": "node.put",
    "node.order": "node.order",
    "node.put": "node.put",
    "pin.drop": "pin.put",
    "pin.put": "pin.put",
    "plan.propose": "plan.propose",
    "plan.settle": "plan.propose",
    "plan.update": "plan.propose",
    "token.create": "token.create",
    "token.revoke": "token.create",
}
NAMES = {
    "freeze": "the freeze",
    "node.order": "the order for node {}",
    "node.put": "the node {}",
    "pin.put": "the pin of {}",
    "plan.propose": "the plan {}",
    "plan.settle": "the partition in force",
    "token.create": "the token {}",
}


class Thing(NamedTuple):
    """Known by the action that makes it, by what that is about and, of wishes for one site, by its
    campaign.
    """

    made_by: str
    subject: str = ""
    campaign: str = ""

    def __str__(self) -> str:
        name = NAMES[self.made_by].format(self.subject)
        return f"the campaign {self.campaign} of {self.subject}" if self.campaign else name


IN_FORCE = Thing("plan.settle")


@dataclass(slots=True)
class ToldByAuditLog:
    """What is said of a thing; `number` is that of the last entry that says something of it."""

    number: int
    there: bool = True
    parts: Parts = field(default_factory=dict)


@dataclass(slots=True)
class Record:
    """What the entries that were heard so far say."""

    told: dict[Thing, ToldByAuditLog] = field(default_factory=dict)
    of_site: dict[str, set[Thing]] = field(default_factory=dict)
    sessions: dict[object, list[Thing]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)

    def hear(self, entry: Entry) -> None:
        if entry.action == BEGIN:
            self._begin(entry.number, json.loads(entry.after))
        elif made_by := MADE_BY.get(entry.action):
            thing = Thing(made_by, entry.subject)
            before = json.loads(entry.before)
            after = json.loads(entry.after)
            wishes = self._wishes(thing, before, after) if made_by == "pin.put" else [thing]
            for wish in wishes:
                self._change(wish, entry, before, after)
            if len(wishes) > 1:
                self._forget(wishes)

    def _begin(self, number: int, older: Mapping[str, list[str]]) -> None:
        """What was there before the record began: of plans whether they were in force, of the rest
        only that it was.
        """
        for made_by in older.keys() & NAMES.keys() - {IN_FORCE.made_by}:
            for subject in older[made_by]:
                thing = Thing(made_by, subject)
                self.told.setdefault(thing, ToldByAuditLog(number))
                if made_by == "pin.put":
                    self.of_site.setdefault(subject, set()).add(thing)
        for plan in older.get(IN_FORCE.made_by, ()):
            self.settled.add(plan)
            self.told.setdefault(IN_FORCE, ToldByAuditLog(number))

    def _change(self, thing: Thing, entry: Entry, before: object, after: object) -> None:
        known = self.told.setdefault(thing, ToldByAuditLog(entry.number))
        known.number, known.there = entry.number, after is not None
        if before is None or after is None:
            known.parts = {}
        known.parts |= _parts(after)
        match entry.action:
            case "plan.propose" if before is None:
                # Nobody has said anything yet to a plan that was only just made.
                known.parts.setdefault("approvals", [])
            case "plan.settle":
                self.settled.add(entry.subject)
                self.told[IN_FORCE] = ToldByAuditLog(entry.number, parts={"plan": entry.subject})
            case "token.create":
                self.sessions.setdefault(known.parts.get("parent"), []).append(thing)
            case "token.revoke":
                self._end_sessions(entry, known.parts.get("revoked"))

    def _end_sessions(self, entry: Entry, when: object) -> None:
        """One entry tells of the token and of what was opened with it."""
        for session in self.sessions.get(entry.subject, ()):
            known = self.told[session]
            if known.parts.get("revoked") is None:
                known.number, known.parts["revoked"] = entry.number, when

    def _wishes(self, thing: Thing, before: object, after: object) -> list[Thing]:
        """Which wish for a site an entry is about. Older ones do not say it of one that was
        changed: then it is among those that were as it says.
        """
        of_site = self.of_site.setdefault(thing.subject, set())
        campaign = {**_parts(before), **_parts(after)}.get("campaign")
        if campaign is not None or before is None:
            wishes = [thing._replace(campaign=str(campaign or ""))]
        else:
            there = sorted(wish for wish in of_site if self.told[wish].there)
            wishes = [wish for wish in there if agree(_parts(before), self.told[wish].parts)] or [
                thing
            ]
        of_site.update(wishes)
        return wishes

    def _forget(self, wishes: Iterable[Thing]) -> None:
        """Which of them was changed nobody knows, so that nothing is known of any but that it was
        there.
        """
        for wish in wishes:
            self.told[wish].there, self.told[wish].parts = True, {}

    def differences(self, there: Iterable[tuple[Thing, Parts]], until: int) -> list[str]:
        """Where what is there is not as it is told, a sentence each. What entries behind `until`
        tell of was changed while people looked, and is left alone.
        """
        sentences: dict[str, None] = {}
        missing = {
            thing for thing, known in self.told.items() if known.there and known.number <= until
        }
        for thing, parts in there:
            missing.discard(thing)
            sentences |= dict.fromkeys(self._wrong(thing, parts, until))
        for thing in sorted(missing):
            sentences[
                f"{thing} is not there, though entry {self.told[thing].number} tells of it"
            ] = None
        return list(sentences)

    def _wrong(self, thing: Thing, parts: Parts, until: int) -> Iterator[str]:
        known = self.told.get(thing)
        if known is None:
            yield f"{thing} is there without an entry {thing.made_by}"
        elif known.number > until:
            return
        elif not known.there:
            yield f"{thing} is there, though entry {known.number} took it away"
        else:
            for name in sorted(known.parts.keys() & parts.keys()):
                if not agree(known.parts[name], parts[name]):
                    is_, recorded = as_text(parts[name]), as_text(known.parts[name])
                    yield (
                        f"{thing}: {name} is {is_}, its entries say {recorded} (the "
                        f"last is {known.number})"
                    )
            if parts.get("state") == "applied" and thing.subject not in self.settled:
                yield f"{thing} is applied without an entry plan.settle"


def agree(recorded: object, actual: object) -> bool:
    """Whether two values are the same in all that both have."""
    if isinstance(recorded, dict) and isinstance(actual, dict):
        return all(agree(recorded[name], actual[name]) for name in recorded.keys() & actual.keys())
    if isinstance(recorded, list) and isinstance(actual, list):
        return len(recorded) == len(actual) and all(map(agree, recorded, actual))
    return recorded == actual


def _parts(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def describe_pin(pin: Pin) -> tuple[Thing, Parts]:
    return Thing("pin.put", pin.site, pin.campaign), _parts_of(pin)


def describe_order(order: NodeOrder) -> tuple[Thing, Parts]:
    return Thing("node.order", order.node), _parts_of(order)


def describe_node(node: Node) -> tuple[Thing, Parts]:
    return Thing("node.put", node.name), _parts_of(node)


def describe_freeze(freeze: Freeze) -> tuple[Thing, Parts]:
    return Thing("freeze"), _parts_of(freeze)


def describe_token(token: Token) -> tuple[Thing, Parts]:
    return Thing("token.create", token.id), told_of_token(token)


def told_of_token(token: Token) -> Parts:
    """What the record has of a token: neither when it was used, nor what it is known by, but the
    hash of that.
    """
    parts = _parts_of(token)
    del parts["last_used"], parts["digest"]
    return parts | {"known_by": digest_of(token.digest)}


def describe_headline(plan: Headline) -> tuple[Thing, Parts]:
    return Thing("plan.propose", plan.id), _parts_of(plan)


def describe_plan(plan: Plan) -> tuple[Thing, Parts]:
    approvals = cast(Parts, plain({"approvals": [asdict(approval) for approval in plan.approvals]}))
    return Thing("plan.propose", plan.id), _parts_of(headline(plan)) | approvals


def describe_base(plan: str) -> tuple[Thing, Parts]:
    return IN_FORCE, {"plan": plan}


def _parts_of(value: Pin | NodeOrder | Node | Freeze | Token | Headline) -> Parts:
    return cast(Parts, plain({part.name: getattr(value, part.name) for part in fields(value)}))
