"""What a node's HAProxy does with requests for sites that have one writer: one node alone answers,
and while such a site moves, requests wait at every door.

Takes a node and the Layout of its machine. Returns lines of HAProxy's configuration, and the Lua
file by which requests wait. Does not know which site is where: the maps say that, see
host_to_node_maps.py. Nothing of this is in the files of a cluster without such sites.

Why two nodes never answer at a time: a node answers for a name only where its own map says that it
is the owner, at inner doors, too. While a name is held no node is. The order that names the new
owner is given only once the old one goes by the hold and has no request for the name under way. A
node that has not heard sends requests to an inner door of a node that has, or that waits itself.

Why no request goes around in circles: an inner door passes a request on once, and says so in a
header that visitors cannot send. Whoever gets that and is not the owner answers 503.

A process that ends after a reload hears of no map any more, while others may own by now what is its
node's. What comes in there over older connections it passes to its successor's inner door. Where it
has no successor nobody answers.
"""

from __future__ import annotations

from datetime import timedelta

from flex.routing.haproxy_globals import ENDS, none_is_up
from flex.routing.host_to_node_maps import HELD, MOVED, ONE_WRITER, OWNERS, one_writer_backend
from flex.routing.ports_and_paths import Layout

# The file by which requests wait.
HOLD = "hold.lua"
# Tables, by host name: the requests that wait, and those that this node is answering itself.
WAITING = "waiting"
UNDER_WAY = "under_way"
# An inner door that passes a request on says so in it.
PASSED = "x-flex-passed"
# Doors begin with these defaults: whoever goes away while a request waits frees its place.
_MAY_LEAVE = "whoever_may_leave"
# Names of a table at most: more than HAProxy has requests. Those that nobody asks for go.
_MOST_NAMES = "1m"
_LONGEST_NAME = 253
# Seconds after which a visitor, or a program, may ask again. A guess.
_AGAIN = 5
# The backend of the process that took this one's place.
SUCCESSOR = "successor"
_STATEFUL = f"{{ var(txn.backend) -m beg {ONE_WRITER} }}"
_IS_HELD = f"{{ var(txn.backend) -m beg {HELD} }}"
_IS_SUCCESSOR = f"{{ var(txn.backend) -m str {SUCCESSOR} }}"
_FOUND = "{ var(txn.backend) -m found }"
_WAITED = "{ var(txn.waits) -m bool }"

# Lua sees changes of the small map, as it is the same one as in the configuration. MAP and LONGEST
# stand for where that is, and for seconds: `lua-load` of HAProxy 2.6 hands no words on.
_LUA = """-- Requests for a held name wait here until the map says who answers them.
local moved = Map.new("MAP", Map._str)
local longest = LONGEST

local function now()
  local time = core.now()
  return time.sec + time.usec / 1000000
end

core.register_action("flex_hold", { "http-req" }, function(txn)
  local host = txn:get_var("txn.host")
  local ends = now() + longest
  repeat
    core.msleep(20)
    local said = moved:lookup(host)
    local stops = txn.f:stopping()
    local is_over = stops == 1 or stops == true or now() >= ends
  until not said or string.sub(said, 1, 3) ~= "hd_" or is_over
end)
"""


def files(layout: Layout) -> dict[str, str]:
    seconds = f"{layout.hold_time / timedelta(seconds=1):g}"
    text = _LUA.replace("MAP", f"{layout.directory}/{MOVED}")
    return {HOLD: text.replace("LONGEST", seconds)}


def global_lines(layout: Layout) -> list[str]:
    return [f"lua-load {layout.directory}/{HOLD}"]


def defaults_lines(defaults: list[str]) -> list[str]:
    """Stand before those of all other sections. Without this option HAProxy would look after a
    visitor only once the wait is over.
    """
    head, *rest = defaults
    return [f"{head} {_MAY_LEAVE}", *rest, "option abortonclose"]


def begins_like(section: str) -> str:
    """The head of a frontend at which requests wait."""
    return f"{section} from {_MAY_LEAVE}"


def refuses_forged() -> list[str]:
    """What nodes say to each other no visitor says."""
    return [f"http-request del-header {PASSED}"]


def waiting_lines(node: str, layout: Layout) -> list[str]:
    """Has a request wait while its name is held, and counts what this node answers.

    HAProxy counts those that wait, so whoever goes away frees the place. The map is asked once more
    when the request is counted: whoever sees that nothing is under way under the hold knows that
    nothing more comes. A process that ends leaves both to its successor.
    """
    small, large = (f"{layout.directory}/{name}" for name in (MOVED, OWNERS))
    key, ours = "var(txn.host)", _is_owner(node)
    return [
        f"http-request set-var(txn.waits) bool(true) if {_IS_HELD}",
        f"http-request track-sc1 {key} table {WAITING} if {_WAITED}",
        f"{_later()} if {_WAITED} {{ sc1_conn_cur gt {layout.hold_requests} }}",
        f"http-request lua.flex_hold if {_WAITED}",
        f"http-request unset-var(txn.backend) if {_WAITED}",
        f"http-request set-var(txn.backend) {key},map_str({small}) if {_WAITED}",
        f"http-request set-var(txn.backend) {key},map_str({large}) if {_WAITED} !{_FOUND}",
        f"http-request set-var(txn.backend) str({SUCCESSOR}) if {ENDS} {_IS_HELD} or {ENDS} {ours}",
        f"http-request track-sc2 {key} table {UNDER_WAY} if {ours}",
        f"http-request set-var(txn.backend) {key},map_str({small}) if {ours}",
        f"{_later()} if {_IS_HELD}",
    ]


def choosing_lines() -> list[str]:
    """The owner or nobody: also not this node where it is away, or no node of that name serves."""
    is_nobody = "!{ var(txn.backend),nbsrv ge 0 }"
    return [
        (f"{_later()} if {_STATEFUL} {none_is_up('var(txn.backend)')} or {_STATEFUL} {is_nobody}"),
        f"use_backend %[var(txn.backend)] if {_STATEFUL} or {_IS_SUCCESSOR}",
    ]


def inner_lines(node: str, layout: Layout) -> list[str]:
    """At an inner door: as at others, and what belongs to another node is passed on once."""
    elsewhere = f"{_STATEFUL} !{_is_owner(node)}"
    return [
        f"http-request set-var(txn.passed) bool(true) if {{ req.hdr({PASSED}) -m found }}",
        *refuses_forged(),
        *waiting_lines(node, layout),
        f"{_later()} if {elsewhere} {{ var(txn.passed) -m bool }}",
        (
            f"http-request set-header {PASSED} 1 if {elsewhere} "
            f"or {_IS_SUCCESSOR} {{ var(txn.passed) -m bool }}"
        ),
        *choosing_lines(),
    ]


def tables() -> list[list[str]]:
    return [
        [
            f"backend {name}",
            (
                f"stick-table type string len {_LONGEST_NAME} size {_MOST_NAMES} "
                "expire 1m store conn_cur"
            ),
        ]
        for name in (WAITING, UNDER_WAY)
    ]


def lines_of_way() -> list[str]:
    """Where the owner takes no connection, visitors hear when to ask again."""
    return [f"http-error status 503 {_answer()}"]


def _is_owner(node: str) -> str:
    return f"{{ var(txn.backend) -m str {one_writer_backend(node)} }}"


def _later() -> str:
    return f"http-request return status 503 {_answer()}"


def _answer() -> str:
    sentence = '"This site is not answered at this moment. Please try again soon."'
    return f"content-type text/plain string {sentence} hdr Retry-After {_AGAIN}"
