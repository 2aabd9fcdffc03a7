"""The words of FLEX that nobody can guess, each with one sentence or two. Pages, docs and help use
these sentences.
"""

from __future__ import annotations

# In the order in which a reader meets them.
TERMS: dict[str, str] = {
    "site": "A host name that FLEX places. A site counts once, whatever other names lead to it.",
    "partition": "Which node serves which site. The partition in force is the one "
    "that was applied last.",
    "access rate": "The bytes that a site was sent in the period, all answers together.",
    "working set": (
        "The bytes of all files of a site that were asked for at least once in the "
        "period: what a node has to "
        "keep in memory to serve the site without its disk."
    ),
    "service time": (
        "How long the answers of a site took, by what its logs say: the server behind, or else "
        "the whole answer. Balanced if solver.dimensions names it."
    ),
    "cpu": (
        "The time that processors worked for a site, by the counters of its cgroups on nodes that "
        "count their own logs. Balanced if solver.dimensions names it."
    ),
    "fair share": (
        "What a node carries when the load is spread evenly: in proportion to "
        "capacity, and 100 for a mean node. "
        "Access rate and working set have a fair share each."
    ),
    "off its fair share": (
        "How far a node's load is from its fair share, in per cent of that share. 4 "
        "% off is 4 % over it or 4 % "
        "under it. The worst node is the one that is farthest off in any resource."
    ),
    "aim, or band": "solver.tolerance: how far from its fair share a plan may leave a node.",
    "trigger": "safety.trigger_imbalance: while the worst node is off by less, "
    "nothing is balanced anew.",
    "move": (
        "A site that comes to a node it was not on. Limits of a night count a site "
        "once, and also count one that "
        "only gives a node up."
    ),
    "replica": "A site on several nodes has a replica on each of them.",
    "given up": (
        "A site leaves a node and takes no other one for it: it has a replica less. "
        "Nothing has to be read anew."
    ),
    "taken back": "A wish that is withdrawn; of a plan, that its changes in DNS are undone.",
    "cold": (
        "A site is cold on a node that it has just come to: its files are on the "
        "disk there and not yet in "
        "memory. Cold bytes are what has to be read from disk until they are."
    ),
    "misses": "Requests whose file is not in a node's memory, so that it is read from disk.",
    "at rest": (
        "A site that moved lately, or often, is not moved again for the sake of "
        "balance until a moment that FLEX "
        "names: safety.site_cooldown and safety.max_moves_per_site."
    ),
    "stopped": (
        "A rule of movement without which more would move. FLEX names one only after "
        "deciding again without it."
    ),
    "put off": "A move that the limits of a night leave to a later night.",
    "best effort": (
        "A plan that brings no node as near as the aim asks, because that cannot be "
        "had, or was not found. It "
        "says which rule it falls short of, and what would do."
    ),
    "from scratch": "A partition made as if none were in force: the best balance, "
    "for the most moves.",
    "wish": "What somebody asks of a site or a node, and every plan goes by: a pin, an "
    "exclude, a drained node.",
    "pin": (
        "What somebody wishes for a site: nodes to be on or not, a number of "
        "replicas, sites to be with or apart from."
    ),
    "campaign": (
        "A pin with a name and a time, on top of the site's other pin. When it ends, "
        "that one holds again."
    ),
    "suspended": "A pin, or a part of it, that cannot be kept for now. It holds "
    "again as soon as it can.",
    "adopt": (
        "Take over names whose addresses are all nodes' of ours and which FLEX has "
        "not written itself (dns.adopt)."
    ),
    "marker": (
        "A TXT record beside a name that says that FLEX keeps its addresses. Names "
        "without one are not ours, and "
        "are left alone."
    ),
    "door": "The HAProxy of a node, where there is one: it leads a visitor to the node "
    "of the site, whichever node the visitor came to.",
    "drift": "What DNS says otherwise than the partition in force, as somebody else changed it.",
    "settled": (
        "A plan is settled when it is in force. Resolvers may know the addresses "
        "before it for one more TTL."
    ),
}


def markdown() -> str:
    """docs/reference/glossary.md."""
    lines = [f"- **{term}**: {meaning}" for term, meaning in TERMS.items()]
    head = (
        "# Words",
        "",
        "What FLEX means by the words it uses, in the order in which one meets them.",
        "",
    )
    return "\n".join([*head, *lines, ""])
