"""How a node's HAProxy counts what this node answers for each site: requests, answers that are
errors, and how long answers took.

Takes the Layout of a machine. Returns lines of HAProxy's configuration; none where nothing is to be
counted. Does not read what was counted: read_http_answers.py does.

A name has an entry for each span of time, whose number is in its key. So a count has a known begin
whenever it is read, and entries that nobody asks for any more go by themselves. Only names that the
node owns, or that another node sent here, are counted: no visitor fills the table with others.
"""

from __future__ import annotations

from itertools import pairwise

from flex.model.node_answer_counts import BOUNDS, SPAN, TIMES
from flex.routing.ports_and_paths import Layout

# The table of what was answered.
ANSWERS = "answers"
# Entries at most: 20,000 names that are asked for all the time. One takes about 500 bytes. A guess.
_MOST_ENTRIES = "100k"
# Entries that nobody adds to stay so long: an hour is there, and some time to read it.
_KEPT = "75m"
# Names of hosts have 253 letters at most; behind them stand a slash and the number of the span.
_LONGEST_KEY = 270
# The counter of answers that are errors; that of each time comes behind it.
ERRORS = 0
_COUNTED = "{ var(txn.counted) -m bool }"


def key(name: str, span: int) -> str:
    return f"{name}/{span}"


def lines_of_table(layout: Layout) -> list[list[str]]:
    if not layout.counts_answers:
        return []
    return [
        [
            f"backend {ANSWERS}",
            (
                f"stick-table type string len {_LONGEST_KEY} size {_MOST_ENTRIES} "
                f"expire {_KEPT} store conn_cur,http_req_cnt,gpc({TIMES + 1})"
            ),
        ]
    ]


def lines_of_inner_door(layout: Layout, host: str) -> list[str]:
    """Other nodes send here only what this node owns."""
    if not layout.counts_answers:
        return []
    return [
        f"http-request set-var(txn.host) {host}",
        "http-request set-var(txn.counted) bool(true)",
    ]


def lines_of_owner(layout: Layout) -> list[str]:
    """At the door of a node, for what belongs to it."""
    if not layout.counts_answers:
        return []
    return ["http-request set-var(txn.counted) bool(true)"]


def counting_lines(layout: Layout) -> list[str]:
    """Where this machine's web server is asked. What waited before, as for a site that is held, is
    not its doing, so time begins here.
    """
    if not layout.counts_answers:
        return []
    return [
        f"http-request set-var(txn.began) date(0,ms) if {_COUNTED}",
        f"http-request set-var(txn.span) date,div({SPAN}) if {_COUNTED}",
        (f"http-request track-sc0 var(txn.host),concat(/,txn.span) table {ANSWERS} if {_COUNTED}"),
        f"http-response set-var(txn.took) date(0,ms),sub(txn.began) if {_COUNTED}",
        f"http-response sc-inc-gpc({ERRORS},0) if {_COUNTED} {{ status ge 500 }}",
        *_times(),
    ]


def _times() -> list[str]:
    """A clock that was set back in between has an answer take no time."""
    took = "{ var(txn.took) -m int"
    ranges = [f"le {BOUNDS[0]}"]
    for lower, upper in pairwise(BOUNDS):
        ranges.append(f"{lower + 1}:{upper}")
    ranges.append(f"gt {BOUNDS[-1]}")
    return [
        f"http-response sc-inc-gpc({number},0) if {_COUNTED} {took} {span} }}"
        for number, span in enumerate(ranges, start=ERRORS + 1)
    ]
