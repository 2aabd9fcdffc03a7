"""Where the items of a partition may be, as wishes and other items let them.

Takes Items, and the node of each. Returns the items that keep others away, whether one more may
come to a node, and the nodes where a site is in force. Does not look at loads.
"""

from __future__ import annotations

from flex.placing.problem import Ints
from flex_solver.search.local_search_loop import Items


def company(items: Items, site: int) -> list[int]:
    """The items of a site and of its rivals: none of them shares a node with another one of the
    site's own.
    """
    rivals = items.rivals[items.first_rival[site] : items.first_rival[site + 1]].tolist()
    return [i for s in (site, *rivals) for i in range(items.first_item[s], items.first_item[s + 1])]


def may_be_on(items: Items, node: Ints, site: int, n: int) -> bool:
    """Whether another item of the site may come to the node, as things are."""
    barred = items.barred[items.first_barred[site] : items.first_barred[site + 1]]
    return n not in barred and n not in node[company(items, site)]


def homes_of(items: Items, site: int) -> list[int]:
    """The nodes where rows of the site are in force."""
    places = slice(items.first_home[site], items.first_home[site + 1])
    homes: list[int] = items.home[places][items.at_home[places] == 0].tolist()
    return homes
