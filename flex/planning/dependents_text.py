"""Why a site stays for what leans on its name, and what a person can do about it.

Takes what leans on the name. Returns text. Does not decide which sites stay:
dependents_of_sites.py does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from flex.zones.what_leans_on_names import CARRIED, HINTS, Dependent, Leaning

# What the reason begins with by which such a site stays.
STAYS = "would take along "
# The same for addresses in other records, which no move changes.
LEAVES = "would leave behind "
# Why a site stays where nobody looked at what leans on its name.
NOBODY_KNOWS = f"{STAYS}what nobody knows, as its zone cannot be transferred"
# What a person can do about it.
GIVE_A_NAME = (
    "give mail and other services a name with an address of its own, as in "
    "`MX 10 mail` and `mail A ...`"
)
LET_IT_MOVE = (
    'let it move with what leans on it by dns.dependents = "warn", for all or in [[dns.site]]'
)
TAKE_HINTS_OUT = "take ipv4hint and ipv6hint out of the record"
LET_HINTS_FOLLOW = (
    'have FLEX change them with the address by dns.address_hints = "follow", which it does at '
    "the site's own name, where they are exactly its addresses and its zone can be transferred"
)
# Why they do not follow, where that is set already.
NOT_FOLLOWING = ", which do not follow as "

# Why hints do not follow, by owner and type of the set.
Held = Mapping[tuple[str, str], str]
NONE_HELD: Held = MappingProxyType({})


def ways_on(reasons: Iterable[str]) -> str:
    """What a person can do about sites that stay for these reasons."""
    every = set(reasons)
    carried = any(not why.startswith(LEAVES) for why in every)
    hints = any(LEAVES in why for why in every)
    ways = [GIVE_A_NAME] * carried + [TAKE_HINTS_OUT] * hints
    if any(LEAVES in why and NOT_FOLLOWING not in why for why in every):
        ways.append(LET_HINTS_FOLLOW)
    return "; ".join([*ways, f"or {LET_IT_MOVE}"])


def hints_in_words(dependent: Dependent, held: Held) -> str:
    """The hints that a move leaves behind, and why they do not follow where that is asked for."""
    why = held.get((dependent.record.owner, dependent.kind))
    return f"{dependent.description}{NOT_FOLLOWING}{why}" if why else dependent.description


def why_it_stays(leaning: Leaning, held: Held = NONE_HELD) -> str:
    carried = leaning.taken_along
    what, first, kinds = (
        (STAYS, carried[0], CARRIED) if carried else (LEAVES, leaning.left_behind[0], HINTS)
    )
    more = leaning.count(*kinds) - 1
    others = f" and {more:,} more" if more else ""
    hints = leaning.left_behind if carried else ()
    besides = f"; and {LEAVES}{hints_in_words(hints[0], held)}" if hints else ""
    return f"{what}{hints_in_words(first, held)}{others}{besides}"


def stays_here(why: str, site: str) -> str:
    """What a person should know of one site that stays."""
    if why == NOBODY_KNOWS:
        return (
            f"stays where it is, as a move {why}; let FLEX's key transfer it (`flex config named`)"
        )
    follow = "" if NOT_FOLLOWING in why else f"or {LET_HINTS_FOLLOW}; "
    if why.startswith(LEAVES):
        return (
            f"stays where it is, as a move {why}; {TAKE_HINTS_OUT}; {follow}or let "
            f'it move without them by [[dns.site]] name = "{site}", dependents = "warn"'
        )
    also = f"{TAKE_HINTS_OUT}; {follow}and " if LEAVES in why else ""
    return f"stays where it is, as a move {why}; {also}{way_on(site)}"


def reason_of_doors(why: str) -> str:
    """The same of a site that doors lead visitors to."""
    return f"doors alone lead its visitors, as a change of its address {why}"


def way_on(site: str) -> str:
    return (
        f"give mail and other services a name with an address of its own, as in `{site}. "
        f"MX 10 mail.{site}.` and `mail.{site}. A ...`; or let it move with them by "
        f'[[dns.site]] name = "{site}", dependents = "warn"'
    )


def is_reason(why: str) -> bool:
    return why.startswith((STAYS, LEAVES))
