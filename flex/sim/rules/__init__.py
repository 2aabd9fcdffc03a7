"""Which node an access goes to, of those that may serve it.

A rule is one file and one line here. It works at once, on the Python engine; a file and two lines
in native/core/src/sim/rules have the same decided faster. Rules count in whole numbers only.
Policies (flex.sim.policies) say which rule decides for which targets.
"""

from __future__ import annotations

from flex.sim.rules.bounded import Bounded
from flex.sim.rules.hacc import Hacc
from flex.sim.rules.in_memory_lb_gc import Cached
from flex.sim.rules.lard import Lard
from flex.sim.rules.lardr import LardR
from flex.sim.rules.least import Least
from flex.sim.rules.random_node import Dice
from flex.sim.rules.rule import Rule
from flex.sim.rules.turn import Turn
from flex.sim.rules.weighted_by_load import Weighted

RULES: dict[str, type[Rule]] = {
    "turn": Turn,
    "weighted": Weighted,
    "least": Least,
    "dice": Dice,
    "lard": Lard,
    "lardr": LardR,
    "bounded": Bounded,
    "cached": Cached,
    "hacc": Hacc,
}
NUMBER = {name: number for number, name in enumerate(RULES)}
