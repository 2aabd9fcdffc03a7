"""Sites whose content is at dead nodes alone stay there: no other node has anything to answer with.

Takes facts that name these sites. Returns facts in which they wait where they are and count
nowhere. Does not find out where the content of a site is: who reads the settings does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flex.model.stranded_sites import LeftAtNode
from flex.partition import join_partitions, rows_of_other_sites, rows_of_sites, sites_in
from flex.planning.facts_and_rules import Facts
from flex.site_names_in_words import first_few

# What follows for whoever wants them to be served again.
WAY_ON = (
    "served again once that node is back; `flex nodes down {node} --without-content` gives other "
    "nodes what it has, without the content"
)


def leave(facts: Facts, but: str = "") -> Facts:
    """The same facts without these sites, which are `waiting`. Whoever is asked about a site names
    it, and it is not taken out.
    """
    away = facts.content.away.keys() - {but}
    if not away:
        return facts
    return replace(
        facts.drop_traffic_of(away),
        placement=rows_of_other_sites(facts.placement, away),
        waiting=join_partitions(facts.waiting, rows_of_sites(facts.placement, away)),
        remarks=(*facts.remarks, *_remarks(facts, away)),
    )


def _remarks(facts: Facts, away: set[str]) -> list[str]:
    there = away & sites_in(facts.placement)
    return sentences({site: facts.content.away[site] for site in there})


def sentences(away: Mapping[str, LeftAtNode]) -> list[str]:
    """One for each node."""
    return [
        f"stay at {node}, which is down, as their content is there alone: "
        f"{first_few(named, between='; ')}; {WAY_ON.format(node=node)}"
        for node in sorted({left.node for left in away.values()})
        if (
            named := [
                f"{site} ({left.why})" for site, left in sorted(away.items()) if left.node == node
            ]
        )
    ]
