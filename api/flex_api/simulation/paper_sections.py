"""What the page of the papers says of each of them: how its experiments were measured, and which
curves are shown of them.

A paper is one entry here. Does not have results.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from flex.sim.papers.cward_case import PAPER as CWARD
from flex.sim.papers.flex_case import PAPER as FLEX
from flex.sim.papers.front_end_case import PAPER as FRONT_ENDS
from flex.sim.papers.hacc_case import PAPER as HACC
from flex.sim.papers.lard_case import PAPER as LARD
from flex.sim.papers.published_points import MISSES, RATE, RATE_AT_WORK


@dataclass(frozen=True, slots=True)
class CurvesOfSection:
    """One picture. `points_of` are the pictures that experiments name with their points: the first
    that was simulated is drawn, as a log stands in for one month and for few days; or all of them
    `together`, a line each.
    """

    file: str
    title: str
    caption: str
    what: str
    points_of: tuple[str, ...]
    together: bool = False
    up_to: float = inf


@dataclass(frozen=True, slots=True)
class PaperSection:
    paper: str
    source: str
    about: str
    pictures: tuple[CurvesOfSection, ...] = ()
    # What the experiments leave out of the paper's, or do in another way, and why.
    differs: str = ""

    @property
    def heading(self) -> str:
        return self.paper[:1].upper() + self.paper[1:]


SECTIONS = (
    PaperSection(
        FLEX,
        "HPL-2000-28, sections 4 and 5",
        "Case 1 takes HP's logs of four months on four nodes. Case 2 takes those of four days on "
        "four and eight nodes, where each day has the partition of the day before. A node has 16 "
        "to 128 MB of memory. Throughput is the paper's: the mean over the nodes of what each "
        "serves a second while it is at work. Sixteen nodes serve synthetic traces, of which the "
        "paper says no more than that they have less locality.",
        (
            CurvesOfSection(
                "flex-case-1.svg",
                "One month, four nodes: requests a second of a node at work, over MB",
                "What a node at work serves a second, over its memory: July on the twins. The "
                "published gain is for the two larger memories.",
                RATE_AT_WORK,
                ("hp-july, 4 nodes", "hp-april, 4 nodes"),
            ),
            CurvesOfSection(
                "flex-case-2.svg",
                "One day, eight nodes: requests a second of a node at work, over MB",
                "The same of day 2 on eight nodes, with the partition of day 1.",
                RATE_AT_WORK,
                ("hp-day-2, 8 nodes", "hp-day-1, 8 nodes"),
            ),
        ),
        differs="Every answer is whole: how many were cut short, or said that nothing had changed, "
        "is not published, and the published bytes are taken for sizes times requests. Of the "
        "memory sizes the paper names 16, 64 and 128 MB; 32 is between them.",
    ),
    PaperSection(
        LARD,
        "ASPLOS 1998, section 4",
        "Six policies serve the traces of Rice and of IBM on 1 to 16 nodes of 32 MB, at the costs "
        "of the paper's own simulation. Further runs on Rice change the speed of the processors, "
        "the number of disks, the size and the kind of the cache and LARD's thresholds, and add "
        "hot targets. The Deep Blue trace is made up from the paper's words: few files, most of "
        "which fit into one node's memory.",
        (
            CurvesOfSection(
                "lard-rice.svg",
                "Rice: requests a second, over nodes",
                "What the cluster serves a second; the marks at 8 and 16 nodes are LARD/R's.",
                RATE,
                ("rice, nodes",),
            ),
            CurvesOfSection(
                "lard-rice-misses.svg",
                "Rice: miss ratio in per cent, over nodes",
                "The share of the requests that read a disk: each node of LARD and LARD/R adds its "
                "memory to that of the others, each of WRR holds the same files as the others.",
                MISSES,
                ("rice, nodes",),
            ),
            CurvesOfSection(
                "lard-ibm.svg",
                "IBM: requests a second, over nodes",
                "The same as the first on the trace of IBM; the marks are twice WRR, and the paper "
                "has LARD/R slightly above.",
                RATE,
                ("ibm, nodes",),
            ),
        ),
        differs="With WRR/GMS a copy stays with each node that fetched one, and each node drops "
        "what is worth least to it; which files leave the paper's GMS is not published. The "
        "directory costs nothing, as in the paper; fetching costs both nodes as much as "
        "sending. The front end remembers the node of every target, not of those asked for "
        "last alone. Connections are not handed off but simulated, at the published costs; "
        "the paper's prototype of six nodes sets the mean answer of Rice and is no claim.",
    ),
    PaperSection(
        CWARD,
        "CWARD, section 4.3",
        "Eight nodes serve ClarkNet's and WorldCup98's traces with the hot set read into memory "
        "beforehand, and without. They are compared with LVS, which is weighted round robin here.",
        differs="All of a node's memory holds files, and drops them as the LARD paper's nodes do: "
        "what Linux left of 256 MB for its page cache is not published. Costs are the LARD "
        "paper's: the machines were ten times as fast, which is tried.",
    ),
    PaperSection(
        HACC,
        "USENIX NT 1999, section 4",
        "Three nodes, one of them with half the memory, serve static files, then dynamic requests "
        "of Domino and of ASP. HACC is compared with an IP sprayer: round robin for static files "
        "and ASP, least connections for Domino.",
        differs="The same number of requests is always under way: the paper adds users, who pause, "
        "until it takes a second to connect (three with Domino), and how many were under way "
        "then is not published. So no number of users is measured (113, 36 and 46 % more). An "
        "overloaded node hands documents over as they are asked for, so its popular ones "
        "first: how many are handed over, and which, is not published.",
    ),
    PaperSection(
        FRONT_ENDS,
        "Aron and others, USENIX 2000, section 3",
        "Nodes answer one page from memory, of 6 KB or of the 3 KB of the IBM trace, behind one "
        "front end, or with a distributor on each of them. A front end saturates where one more "
        "node adds less than half of what one node serves.",
        (
            CurvesOfSection(
                "front-ends.svg",
                "Answers of 6 KB: requests a second, over nodes",
                "What the nodes serve a second: a curve that turns flat is a front end that is "
                "full.",
                RATE,
                tuple(
                    f"{kind}, 6 KB, nodes"
                    for kind in ("handoff", "splicing", "layer 4", "distributors on every node")
                ),
                together=True,
                up_to=8,
            ),
        ),
        differs="Connections that stay open spare a node nothing here, so splicing is not ahead on "
        "one node. Of layer 4 the paper says that it passes on 20,000 connections a second, "
        "which is its cost here: no claim is made of it.",
    ),
)
