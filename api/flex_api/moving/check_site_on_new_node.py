"""Asks the new node of a site for all of its names, and the old node for the same, and compares.

Takes one move, what is demanded of the site, and where the nodes' web servers are. Returns whether
the new node is ready, with every question and its answer. Raises OutOfTime where there is no time
left to find out. Does not decide what becomes of the move.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from flex.routing.member_pools import is_host
from flex_api.moving.ask_web_server import Answer, At, NoAnswer, Question, ask, look_at_certificate
from flex_api.moving.compare_answers import Demands, Verdict, judge, judge_age, texts
from flex_api.moving.node_question_rate import OutOfTime, Turns
from flex_api.moving.trust_in_certificates import Trust
from flex_api.moving.web_server_addresses import Ways

Given = TypeVar("Given")

# A name that no node can have (RFC 2606).
_NOBODY = "flex-ready.invalid"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A site that is to come to a node. `source` is a node that serves it now, None where none
    does; `others` are its other names.
    """

    site: str
    target: str
    source: str | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteRules:
    """What is asked for a site, and what is demanded of the answers."""

    schemes: tuple[str, ...]
    path: str
    demands: Demands
    trust: Trust
    patience: float
    largest: int
    age_path: str = ""
    max_age: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, and what came back in words."""

    node: str
    address: str
    port: int
    asked: str
    answer: str


@dataclass(frozen=True, slots=True)
class Checked:
    """`why` is empty where the new node is ready. Without `is_asked` nobody could say."""

    wanted: Wanted
    why: str = ""
    remarks: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    is_asked: bool = True


@dataclass(slots=True)
class Nodes:
    """The web servers of all nodes, and who may ask them when. What they answer for a name that
    they cannot have is asked for once.
    """

    at: dict[str, str]
    ways: Ways
    turns: Turns
    now: Callable[[], datetime]
    _known: dict[tuple[str, str, str], Answer | NoAnswer] = field(init=False, default_factory=dict)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def ask(self, at: At, question: Question, patience: float) -> Answer | NoAnswer:
        clock = self.turns.clock
        return self._ask_in_turn(
            at, patience, lambda until: ask(at, question, until, clock, patience)
        )

    def certificate(self, at: At, host: str, patience: float) -> float | NoAnswer:
        clock = self.turns.clock
        return self._ask_in_turn(
            at, patience, lambda until: look_at_certificate(at, host, until, clock, patience)
        )

    def default(self, at: At, path: str, rules: SiteRules) -> Answer | NoAnswer:
        """Two who ask at the same time ask twice: no harm is done."""
        key = (at.node, at.scheme, path)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            seen = at if at.trust is None else replace(at, trust=_blind(at.trust))
            question = Question(_NOBODY, path, largest=rules.largest)
            known = self.ask(seen, question, rules.patience)
            with self._lock:
                self._known[key] = known
        return known

    def _ask_in_turn(
        self, at: At, patience: float, question: Callable[[float], Given | NoAnswer]
    ) -> Given | NoAnswer:
        with self.turns.take_turn(at.node):
            given = self.turns.clock() + patience
            reply = question(min(given, self.turns.until))
        if isinstance(reply, NoAnswer) and given > self.turns.until:
            # It may have had less time than an answer may take: nothing follows from it.
            self.turns.seconds_left()
        return reply


def check(wanted: Wanted, rules: SiteRules, nodes: Nodes) -> Checked:
    """Ends with the first thing that is wrong."""
    site_check = _Check(wanted, rules, nodes)
    try:
        why = site_check.why()
    except OutOfTime:
        return Checked(
            wanted,
            "it was not asked whether the node is ready: the time for that was over "
            "(move.ready.budget, and routing.hold_time where requests wait)",
            tuple(site_check.remarks),
            tuple(site_check.asked),
            is_asked=False,
        )
    return Checked(wanted, why, tuple(site_check.remarks), tuple(site_check.asked))


def check_by_both_families(
    wanted: Wanted, rules: SiteRules, nodes: Nodes, by_other: Nodes
) -> Checked:
    """Also by the other family of addresses, where the node that serves the site now answers for it
    by that one: the site itself, as its names share a virtual host.
    """
    checked = check(wanted, rules, nodes)
    source = wanted.source
    if checked.why or source not in by_other.at or wanted.target not in by_other.at:
        return checked
    alone, rules = replace(wanted, others=()), replace(rules, age_path="")
    now = check(replace(alone, target=source, source=None), rules, by_other)
    asked = (*checked.asked, *now.asked)
    if now.why:
        return replace(checked, asked=asked)
    then = check(alone, rules, by_other)
    remarks = (*checked.remarks, *then.remarks)
    return replace(then, wanted=wanted, remarks=remarks, asked=(*asked, *then.asked))


@dataclass(slots=True)
class _Check:
    wanted: Wanted
    rules: SiteRules
    nodes: Nodes
    remarks: list[str] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    # What the site was asked for by last: content is behind HTTPS where there is any.
    speaks: str = "http"

    def why(self) -> str:
        wanted = self.wanted
        if not is_host(wanted.site):
            return f"{wanted.site} is no host name, so no web server can be asked for it"
        if wanted.target not in self.nodes.at:
            return f"{wanted.target} has no address, or is down"
        return next(filter(None, self._each()), "")

    def _each(self) -> Iterator[str]:
        """What is wrong, question by question; empty where nothing is."""
        for name in (self.wanted.site, *self.wanted.others):
            yield from self._check_name(name)
            if name == self.wanted.site and self.rules.age_path:
                yield self._age(name)

    def _check_name(self, name: str) -> Iterator[str]:
        is_plain_there = False
        for scheme in self.rules.schemes:
            if scheme == "https" and self.nodes.ways.tls_at_doors:
                yield self._certificate(name)
                continue
            new, old = self._both(scheme, name, self.rules.path)
            if scheme == "https" and self._has_none(new, old, is_plain_there):
                where = self.wanted.target if old is None else self.wanted.source
                self.remarks.append(f"{name} has no HTTPS on {where}")
                continue
            is_plain_there = isinstance(old, Answer)
            self.speaks = scheme
            yield self._verdict(scheme, name, new, old)

    def _has_none(
        self, new: Answer | NoAnswer, old: Answer | NoAnswer | None, is_plain_there: bool
    ) -> bool:
        """Whether the site was never there by HTTPS; where nobody can say so, whether that is as
        likely.
        """
        if old is None:
            may_lack = self.nodes.ways.tls_may_lack and "http" in self.rules.schemes
            return may_lack and isinstance(new, NoAnswer) and new.is_closed
        return isinstance(old, NoAnswer) and old.is_closed and is_plain_there

    def _both(
        self, scheme: str, name: str, path: str
    ) -> tuple[Answer | NoAnswer, Answer | NoAnswer | None]:
        question = Question(name, path, texts(self.rules.demands), self.rules.largest)
        new = self._ask(self.wanted.target, scheme, question)
        source = self.wanted.source
        if source is None or source not in self.nodes.at:
            return new, None
        old = self._ask(source, scheme, question)
        if _same_certificate_trouble(new, old):
            assert isinstance(new, NoAnswer), "as was just found"
            self.remarks.append(f"on {source}, too: {new.why}")
            new = self._ask(self.wanted.target, scheme, question, blind=True)
            old = self._ask(source, scheme, question, blind=True)
        return new, old

    def _ask(
        self, node: str, scheme: str, question: Question, blind: bool = False
    ) -> Answer | NoAnswer:
        at = self._way_to_node(node, scheme, blind)
        answer = self.nodes.ask(at, question, self.rules.patience)
        self._note(at, f"GET {question.url(scheme)}", _describe_answer(answer))
        return answer

    def _way_to_node(self, node: str, scheme: str, blind: bool = False) -> At:
        address = self.nodes.at[node]
        if scheme == "http":
            return self.nodes.ways.plain(node, address)
        trust = _blind(self.rules.trust) if blind else self.rules.trust
        return self.nodes.ways.tls(node, address, trust)

    def _note(self, at: At, request: str, answer: str) -> None:
        self.asked.append(Asked(at.node, at.address, at.port, request, answer))

    def _verdict(
        self, scheme: str, name: str, new: Answer | NoAnswer, old: Answer | NoAnswer | None
    ) -> str:
        question = Question(name, self.rules.path, largest=self.rules.largest)
        is_main = name == self.wanted.site
        if not is_main and isinstance(new, NoAnswer) and isinstance(old, NoAnswer):
            self.remarks.append(f"{name} is served by neither node: {new.why}")
            return ""
        # What is asked of a site's own page is nothing that its other names must have.
        demands = (
            self.rules.demands
            if is_main
            else Demands(length_factor=self.rules.demands.length_factor)
        )
        at = self._way_to_node(self.wanted.target, scheme)
        default = (
            self.nodes.default(at, self.rules.path, self.rules) if isinstance(new, Answer) else None
        )
        verdict = judge(question, scheme, new, old, demands, default)
        return self._sentence(at, f"GET {question.url(scheme)}", verdict)

    def _certificate(self, name: str) -> str:
        """A door shows it, whichever node answers behind it."""
        new = self._certificate_shown_by(self.wanted.target, name)
        source = self.wanted.source
        if not isinstance(new, NoAnswer):
            return ""
        old = self._certificate_shown_by(source, name) if source in self.nodes.at else None
        if isinstance(old, NoAnswer) and old.why == new.why:
            self.remarks.append(f"on {source}, too: {new.why}")
            return ""
        at = self._way_to_node(self.wanted.target, "https")
        return self._sentence(at, f"the certificate for {name}", Verdict(new.why))

    def _certificate_shown_by(self, node: str | None, name: str) -> float | NoAnswer:
        assert node is not None, "who has no name has no address"
        at = self._way_to_node(node, "https")
        validity = self.nodes.certificate(at, name, self.rules.patience)
        answer = (
            validity.why if isinstance(validity, NoAnswer) else f"valid for {validity:.0f} days"
        )
        self._note(at, f"the certificate for {name}", answer)
        return validity

    def _age(self, name: str) -> str:
        scheme = self.speaks
        new, old = self._both(scheme, name, self.rules.age_path)
        verdict = judge_age(new, old, self.rules.max_age, self.nodes.now())
        at = self._way_to_node(self.wanted.target, scheme)
        url = Question(name, self.rules.age_path).url(scheme)
        return self._sentence(at, f"GET {url}", verdict)

    def _sentence(self, at: At, request: str, verdict: Verdict) -> str:
        """What was asked of which node, and what came back."""
        self.remarks.extend(verdict.remarks)
        return f"{request} at {at}: {verdict.why}" if verdict.why else ""


def _blind(trust: Trust) -> Trust:
    return replace(trust, blind=True)


def _same_certificate_trouble(new: Answer | NoAnswer, old: Answer | NoAnswer) -> bool:
    return (
        isinstance(new, NoAnswer)
        and isinstance(old, NoAnswer)
        and new.of_certificate
        and (new.why == old.why)
    )


def _describe_answer(answer: Answer | NoAnswer) -> str:
    if isinstance(answer, NoAnswer):
        return answer.why
    more = "" if answer.whole else "more than "
    parts = [f"{answer.status}", answer.kind, f"{more}{answer.length:,} bytes"]
    if answer.location:
        shown = "".join(char if char.isprintable() else "?" for char in answer.location[:200])
        parts.append(f"to {shown}")
    if answer.days_left:
        parts.append(f"certificate for {answer.days_left:.0f} days")
    return ", ".join(filter(None, parts))
