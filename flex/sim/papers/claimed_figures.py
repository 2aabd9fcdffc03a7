"""Which published figure each claim is judged by, under the name that it has among the figures of
all papers.

A figure that sets something (calibration.py) must not be here, and one that is here must set
nothing. Does not say what was published of it: the claims do.
"""

from __future__ import annotations

FIGURES: dict[str, str] = {
    # HPL-2000-28, section 4.
    "case 1: throughput over round robin, four nodes, larger memory": "flex/case-1/gain",
    "case 1: FLEX outperforms round robin in all cases": "flex/case-1/always-ahead",
    "case 1: behind Optimal in May, June and July": "flex/case-1/behind",
    "case 1: miss ratio lower than round robin's": "flex/case-1/misses",
    # HPL-2000-28, section 5.
    "case 2: throughput over round robin, four nodes, partition of the day before":
        "flex/case-2/gain-4",
    "case 2: throughput over round robin, eight nodes": "flex/case-2/gain-8",
    "case 2: behind Optimal": "flex/case-2/behind",
    "case 2: miss ratio lower than round robin's": "flex/case-2/misses",
    "case 2: speed-up from four to eight nodes is superlinear": "flex/case-2/speed-up",
    "case 2: round robin's miss ratio stays as it is from four to eight nodes":
        "flex/case-2/round-robin-misses",
    "case 2: per-client round robin behind ideal round robin": "flex/case-2/clients",
    "synthetic traces: FLEX over round robin on 16 nodes, with less locality": "flex/synthetic/16",
    # ASPLOS 1998, section 2.4.
    "thresholds: LARD's throughput as T_high - T_low rises": "lard/limits/throughput",
    "thresholds: the nodes' delays are farther apart as T_high - T_low rises":
        "lard/limits/delay",
    "thresholds: LARD with a higher T_low": "lard/limits/low",
    # ASPLOS 1998, section 4.
    "Rice: LARD/R over WRR at 8 nodes": "lard/rice/gain-8",
    "Rice: LARD/R over WRR at 16 nodes": "lard/rice/gain-16",
    "Rice: LARD's miss ratio from 8 nodes": "lard/rice/misses-lard",
    "Rice: LARD/R's miss ratio at 16 nodes": "lard/rice/misses-lardr-16",
    "Rice: idle time of LARD and LARD/R at 8 and 16 nodes": "lard/rice/idle",
    "Rice: WRR's miss ratio does not change with the nodes": "lard/rice/misses-wrr-flat",
    "Rice: WRR/GMS against LARD/R where LARD/R serves twice what WRR does": "lard/rice/gms",
    "Rice: mean delay of LARD/R against WRR's at 16 nodes": "lard/rice/delay",
    "Rice: what LB and LB/GC gain over WRR, of what LARD/R gains, from 4 nodes":
        "lard/rice/gain-lb",
    "Rice: LB/GC over LB, from 4 nodes": "lard/rice/lb-gc-over-lb",
    "Rice: WRR with ten times the cache against LARD at 8 nodes": "lard/rice/ten-times",
    "Rice: LRU in place of GDS, throughput lower by": "lard/rice/lru",
    "IBM: LARD/R over WRR from 4 nodes": "lard/ibm/gain",
    "IBM: WRR/GMS behind LARD/R at 16 nodes": "lard/ibm/gms",
    "IBM: mean delay of LARD/R against WRR's": "lard/ibm/delay",
    "the advantage of LARD/R over WRR grows with the speed of processors": "lard/rice/speeds",
    "a second disk a node speeds LARD/R up mildly, further ones do not": "lard/rice/disks",
    "with four disks WRR comes near LARD/R at 16 nodes": "lard/rice/four-disks",
    "hot targets: LARD/R over LARD": "lard/rice/hot",
    "Deep Blue: LARD and LARD/R against WRR": "lard/deep-blue/match",
    # CWARD, section 4.3.
    "ClarkNet, hot set prefetched: over LVS": "cward/clarknet/prefetched",
    "ClarkNet, nothing prefetched: over LVS": "cward/clarknet/not-prefetched",
    "WorldCup98, hot set prefetched: over LVS": "cward/worldcup/prefetched",
    "WorldCup98, nothing prefetched: over LVS": "cward/worldcup/not-prefetched",
    # HACC, sections 4.3 to 4.5.
    "static files, uniform requests: throughput over an IP sprayer": "hacc/static/uniform",
    "static files of the FAS server: throughput over an IP sprayer": "hacc/static/fas",
    "dynamic requests, Domino: throughput over an IP sprayer": "hacc/domino/gain",
    "dynamic requests kept apart from static ones: mean time lower": "hacc/asp/delay",
    # Aron and others, section 3.
    "handoff saturates, with 6 KB and with the IBM trace": "aron/handoff/nodes",
    "splicing saturates": "aron/splicing/nodes",
    "distributors on every node do not saturate": "aron/distributors/nodes",
    "handoff: 13 KB in place of 6 KB, lower by": "aron/handoff/13-kb",
    "splicing: 13 KB in place of 6 KB, lower by": "aron/splicing/13-kb",
    "the most that handoff serves of the IBM trace": "aron/handoff/ibm",
}  # fmt: skip
