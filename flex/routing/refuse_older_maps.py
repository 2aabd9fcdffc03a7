"""Whether a node may take a map of owners in place of the one that it has: it never goes back to an
older one, nor to one of another cluster.

Takes the files that come and those that are there, by name. Raises an error that says both, or
returns nothing. Does not read or write any file.
"""

from __future__ import annotations

from collections.abc import Mapping

from flex.errors import BadInput
from flex.routing.host_to_node_maps import MOVED, digest, heading, is_whole


def refuse_older(
    coming: Mapping[str, str], here: Mapping[str, str], *, other_cluster: bool = False
) -> None:
    """Raises BadInput, for one of an `other_cluster` only where that is not meant.

    A map that was made before they had numbers gives way to any; so does one that is not whole.
    Files without maps of owners turn doors for all sites off.
    """
    there, comes = here.get(MOVED, ""), coming.get(MOVED)
    before = heading(there) if is_whole(there) else None
    if before is None or comes is None:
        return
    now = heading(comes)
    if now is None:
        raise _older(
            "a map of owners without a number",
            f"order {before.order} is in force",
            "bring the FLEX that made it up to date",
        )
    if now.cluster != before.cluster:
        if other_cluster:
            return
        raise _older(
            f"order {now.order} for doors, of the cluster {now.cluster}",
            f"what is in force is of the cluster {before.cluster}",
            "see that the address is that of this node's cluster; where the node "
            "changes to another one on purpose, say --other-cluster",
        )
    if now.order < before.order:
        raise _older(
            f"order {now.order} for doors",
            f"the newer order {before.order} is in force",
            "on the controller `flex route show` says what was ordered last; where its "
            "database was put back to an earlier state, say `flex route deliver` there",
        )
    if now.order == before.order and digest(comes) != digest(there):
        raise _older(
            f"order {now.order} for doors",
            "another one of the same number is in force",
            "where the controller's database was put back to an earlier state, say "
            "`flex route deliver` there",
        )


def _older(request: str, answer: str, advice: str) -> BadInput:
    return BadInput(request, answer, kept="what is in force stays so", advice=advice)
