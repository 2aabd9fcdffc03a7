"""Which slot each member of a site has. A node keeps its slot once it has one.

Takes the slots that were given, and the members of now. Returns the slots of all of them. Does not
store them.

Because slots stay, all distributors mean the same by a set of members. What they remember stays
true when other members come, go or are down.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from flex.routing.member_pools import MOST_MEMBERS, unusable_configuration

# By node, of one site.
Slots = Mapping[str, int]


def assign_slots(before: Slots, members: Collection[str], cluster: Sequence[str]) -> dict[str, int]:
    """Slots of all members, and of former members that keep theirs. Raises BadInput where there are
    more members than slots.

    `cluster` has the names of all nodes, in order. In a small cluster a new member gets the slot of
    its place in that order, where that slot is free. When no slot is free, slots of former members
    are taken, first those of nodes that are not in the cluster any more.
    """
    if len(members) > MOST_MEMBERS:
        raise unusable_configuration(
            f"a site routed on {len(members)} nodes", f"at most {MOST_MEMBERS} can share one"
        )
    slots = {node: slot for node, slot in before.items() if 0 <= slot < MOST_MEMBERS}
    spare = sorted(slots.keys() - set(members), key=lambda node: (node in cluster, node))
    for node in sorted(set(members) - slots.keys()):
        free = set(range(MOST_MEMBERS)) - set(slots.values())
        if not free:
            free = {slots.pop(spare.pop(0))}
        own = cluster.index(node) if node in cluster else MOST_MEMBERS
        slots[node] = own if own in free else min(free)
    return slots
