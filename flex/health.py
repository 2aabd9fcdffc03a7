"""Which nodes are dead, judged from rounds of probes: slowly, and never too many at once.

Takes how a round of probes went for each node, and what is known from earlier rounds. Returns the
nodes to take out of service. Does not probe, and does not take anything out of DNS.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """A node is sick after so many rounds in a row that `fail`, and well again after so many that
    `pass`.

    A round fails where fewer than `quorum` of the probes of the node answer. No more than this
    `share` of all nodes, or one, is ever out of service by the watch.
    """

    fails: int
    passes: int
    quorum: int
    share: float


@dataclass(frozen=True, slots=True)
class Pulse:
    """How many rounds in a row went the other way than what the node is taken for."""

    is_sick: bool = False
    against: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """`dead` nodes are to be taken down now. Where `why_not` says something, sick nodes are left
    where they are.
    """

    dead: tuple[str, ...] = ()
    why_not: str = ""


def pulses_after_probes(
    before: Mapping[str, Pulse], answers: Mapping[str, Sequence[bool]], terms: Terms
) -> dict[str, Pulse]:
    """The pulses after one more round; nodes that were not probed are forgotten."""
    return {
        node: _next(before.get(node, Pulse()), sum(replies) >= terms.quorum, terms)
        for node, replies in answers.items()
    }


def _next(pulse: Pulse, is_well: bool, terms: Terms) -> Pulse:
    if is_well != pulse.is_sick:
        return Pulse(pulse.is_sick)
    against = pulse.against + 1
    turned = against >= (terms.passes if pulse.is_sick else terms.fails)
    return Pulse(not pulse.is_sick) if turned else Pulse(pulse.is_sick, against)


def finding_of_round(
    pulses: Mapping[str, Pulse],
    serving: Collection[str],
    down: int,
    terms: Terms,
    *,
    active: Collection[str] | None = None,
) -> Finding:
    """What follows for the nodes that serve, while `down` others are out of service already.

    Many that seem to die at once are more likely a watch that sees nothing: then none is taken
    down. Among those that serve only `active` ones take sites, all of them where that is not said:
    one has to be left.
    """
    sick = tuple(sorted(node for node in serving if pulses.get(node, Pulse()).is_sick))
    allowed = max(1, int(terms.share * (len(serving) + down))) - down
    takes = set(serving if active is None else active)
    if not sick or (len(sick) <= allowed and takes - set(sick)):
        return Finding(sick)
    do = "does" if len(sick) == 1 else "do"
    if len(sick) <= allowed:
        return Finding(why_not=f"{', '.join(sick)} {do} not answer, and {_nobody_left(takes)}")
    more = f"only {allowed} more" if allowed > 0 else "no more"
    of_all = f"{more} of {len(serving) + down} nodes may be taken out of service"
    return Finding(why_not=f"{', '.join(sick)} {do} not answer, and {of_all}")


def _nobody_left(active: Collection[str]) -> str:
    others = "no node is active" if not active else "no other node is active"
    return (
        f"{others}, so their sites would have nowhere to go: take one back with "
        "`flex nodes undrain`"
    )
