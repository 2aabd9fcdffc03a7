"""Sites stay where they are because the node they would move to is not ready for them, or as their
last move failed.

Takes facts that name these sites. Returns facts in which they cannot move: they are fixed on the
nodes that take sites, they wait on nodes that take none but serve still, and new ones are left out.
Does not find out whether a node is ready: whoever can ask nodes does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

import pandas as pd

from flex.frame_schemas import PLACEMENT, texts
from flex.partition import join_partitions, sites_in
from flex.planning.facts_and_rules import Facts
from flex.site_names_in_words import first_few, weight_of_sites


def hold(facts: Facts, but: str = "") -> Facts:
    """The same facts with their `unready` and `held` sites held. Sites that are to be together with
    one of them stay with it. Whoever is asked about a site names it, and it is not taken out.
    """
    unready, resting = dict(facts.unready), dict(facts.held)
    unready.pop(but, None)
    if not unready and not resting:
        return facts
    placed = facts.placement
    there = sites_in(placed)
    unready = _add_companions(unready, facts, there)
    resting = _add_companions(resting, facts, there)
    states = {node.name: node.state for node in facts.nodes}
    staying = unready.keys() | (resting.keys() & there)
    ours = placed["site"].isin(list(staying)) & ~placed["site"].isin(list(facts.fixed))
    state = placed["node"].map(states)
    stay = set(texts(placed["site"][ours & (state == "active")]))
    waits = ours & (state == "draining")
    # Where all its nodes are away it cannot stay, whatever it finds elsewhere.
    lost = set(texts(placed["site"][ours])) - stay - set(texts(placed["site"][waits]))
    new = unready.keys() - there
    out = (set(texts(placed["site"][waits])) - stay) | new
    return replace(
        facts.drop_traffic_of(out),
        placement=PLACEMENT.make(placed[~waits]),
        waiting=join_partitions(facts.waiting, placed[waits]),
        fixed=facts.fixed | stay,
        unready={site: why for site, why in unready.items() if site not in lost},
        held={site: why for site, why in resting.items() if site in there - lost},
        remarks=(*facts.remarks, *_remarks(unready, lost, facts.profiles)),
    )


def _add_companions(unready: Mapping[str, str], facts: Facts, placed: Set[str]) -> dict[str, str]:
    """With every site that somebody wishes to be where one of them is."""
    reasons = dict(unready)
    groups = [{pin.site, *pin.together} for pin in facts.pins if pin.together]
    grows = True
    while grows:
        grows = False
        for group in groups:
            held = sorted(group & reasons.keys() & placed)
            for site in sorted((group & placed) - reasons.keys()) if held else ():
                reasons[site], grows = f"it stays together with {held[0]}", True
    return reasons


def _remarks(unready: Mapping[str, str], lost: Set[str], profiles: pd.DataFrame) -> Iterator[str]:
    named = {site: why for site, why in unready.items() if why and site not in lost}
    if named:
        reasons = [f"{site} ({why})" for site, why in sorted(named.items())]
        yield (
            "held where they are, as their new node is not ready"
            f"{weight_of_sites(named, profiles)}: {first_few(reasons, between='; ')}"
        )
    if len(unready) > len(named) + len(lost):
        yield (
            "other sites moved in place of those that are not ready, again and again: "
            "only sites whose new node is ready were let go this time"
        )


def add_waiting_rows(partition: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """A partition with what waits on nodes that take no sites."""
    return partition if facts.waiting.empty else join_partitions(partition, facts.waiting)
