"""The error tree: everything that can fail, each with what a person should do next.

    FlexError
    ├── BadInput         what we were given cannot be used        exit 3
    │   ├── BadSetting   a key or value of the settings file
    │   ├── BadTable     a table that breaks its declared schema
    │   ├── Unknown      a site, node, plan … that is not known here
    │   ├── Unconditional    a change that must say what it was made from
    │   ├── TooLarge     a request that is larger than allowed
    │   └── Misused      a verb or an option that there is not    exit 2
    ├── NoData           no or too old logs; no plan or partition exit 20
    ├── Infeasible       no partition meets every wish            exit 21
    ├── Held             a rule or a missing approval stopped it  exit 22
    │   ├── Frozen       somebody froze all changes               exit 23
    │   ├── Expired      a plan that is too old to be applied
    │   ├── Outdated     a plan whose base is not in force any more
    │   ├── Ended        a plan that is not waiting any more
    │   ├── Unwell       nodes that sites move to do not answer
    │   ├── NoneMoved    no site of a plan could move: all of it was taken back
    │   ├── Cancelled    a job that somebody ended
    │   └── Interrupted  a job whose process is gone
    ├── Busy             another run holds the lease              exit 23
    │   ├── LostLease    another run took the lease over meanwhile
    │   ├── Overtaken    somebody else changed it meanwhile
    │   └── TooMany      too many requests with one token
    ├── NotWritten       a directory is full or not writable      exit 24
    │   └── NotPrinted   there is no Chromium, or it did not print
    ├── StoreError       the database failed                      exit 25
    │   └── NotWhole     somebody changed it without FLEX
    ├── Denied           the caller may not do this               exit 26
    │   ├── Unauthenticated  the caller is not known
    │   └── Misdirected      the server was asked for by a host that is not its own
    ├── Away             a server, HAProxy or the watch is gone   exit 27
    │   └── NotRunning   files wait for the start of HAProxy
    ├── DnsError         the name server failed or refused        exit 30
    │   ├── Unreachable  no answer, or no connection
    │   │   └── Late     a server that does not follow its primary yet
    │   ├── Refused      an answer that says no
    │   ├── Stale        a record is no longer what the plan saw
    │   └── Foreign      a record belongs to somebody else
    ├── PartlyApplied    some of a plan is in DNS, some is not    exit 31
    │   └── OnTheWay     what stopped it passes: it can go on
    └── Unverified       applied, but servers or doors disagree   exit 32

Bad lines in a log are values, not errors; a bug is an exception that nobody catches.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex.model.limits_and_approvals import FREEZE, Stop

# What stayed as it was, where an error does not say otherwise.
NOTHING_CHANGED = "nothing was changed"


class FlexError(Exception):
    """What was asked, what came back, what stayed as it was, and the next step.

    Edges translate foreign exceptions into one of these where they arise; only the command line and
    the API turn them into text and numbers. `stops` are the rules that it went by, each with what
    gets past it.
    """

    exit_code = 1
    slug = "internal"

    def __init__(
        self,
        asked: str,
        answer: str,
        *,
        kept: str = NOTHING_CHANGED,
        advice: str,
        stops: Sequence[Stop] = (),
    ) -> None:
        super().__init__(f"{asked}: {answer}")
        self.asked = asked
        self.answer = answer
        self.kept = kept
        self.advice = advice
        self.stops = tuple(stops)

    def __reduce__(self) -> tuple[object, ...]:
        """Errors come out of other processes as they are."""
        return _rebuild_error, (type(self), self.asked, self.answer, self.__dict__)


def _rebuild_error(
    kind: type[FlexError], asked: str, answer: str, told: dict[str, object]
) -> FlexError:
    error = kind.__new__(kind, f"{asked}: {answer}")
    error.__dict__.update(told)
    return error


class BadInput(FlexError):
    exit_code = 3
    slug = "validation"


class BadSetting(BadInput):
    pass


class BadTable(BadInput):
    pass


class Unknown(BadInput):
    slug = "not-found"


class Unconditional(BadInput):
    slug = "precondition-required"


class TooLarge(BadInput):
    slug = "too-large"


class Misused(BadInput):
    exit_code = 2


class NoData(FlexError):
    exit_code = 20
    slug = "insufficient-data"


class Infeasible(FlexError):
    exit_code = 21
    slug = "infeasible"


class Held(FlexError):
    exit_code = 22
    slug = "unsafe-plan"


class Frozen(Held):
    exit_code = 23
    slug = "frozen"


def held_or_frozen(stops: Sequence[Stop]) -> type[Held]:
    """What is raised for these rules: a freeze has an exit code of its own."""
    return Frozen if stops[0].rule == FREEZE else Held


class Expired(Held):
    slug = "plan-expired"


class Outdated(Held):
    slug = "stale-base"


class Ended(Held):
    slug = "plan-ended"


class Unwell(Held):
    pass


class NoneMoved(Held):
    pass


class Cancelled(Held):
    slug = "cancelled"


class Interrupted(Held):
    slug = "interrupted"


class Busy(FlexError):
    exit_code = 23
    slug = "busy"


class LostLease(Busy):
    """What was to be done is another run's work by now."""


class Overtaken(Busy):
    slug = "precondition-failed"


class TooMany(Busy):
    """`seconds` are how long to wait before asking again."""

    slug = "rate-limited"

    def __init__(
        self,
        asked: str,
        answer: str,
        *,
        kept: str,
        advice: str,
        seconds: float,
        stops: Sequence[Stop] = (),
    ) -> None:
        super().__init__(asked, answer, kept=kept, advice=advice, stops=stops)
        self.seconds = seconds


class StoreError(FlexError):
    exit_code = 25
    slug = "store"


class NotWhole(StoreError):
    pass


class NotWritten(FlexError):
    exit_code = 24
    slug = "not-written"


class NotPrinted(NotWritten):
    slug = "not-printed"


class DnsError(FlexError):
    exit_code = 30
    slug = "dns-refused"


class Unreachable(DnsError):
    slug = "dns-unreachable"


class Late(Unreachable):
    pass


class Refused(DnsError):
    pass


class Stale(DnsError):
    slug = "stale-base"


class Foreign(DnsError):
    slug = "dns-ownership"


class PartlyApplied(FlexError):
    exit_code = 31
    slug = "partly-applied"


class OnTheWay(PartlyApplied):
    pass


class Unverified(FlexError):
    exit_code = 32
    slug = "unverified"


class Denied(FlexError):
    exit_code = 26
    slug = "forbidden"


class Unauthenticated(Denied):
    slug = "unauthenticated"


class Misdirected(Denied):
    slug = "misdirected"


class Away(FlexError):
    exit_code = 27
    slug = "away"


class NotRunning(Away):
    pass
