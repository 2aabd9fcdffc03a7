"""Rounds of the watch over sites that moved: beside `flex serve` every few seconds, and once in
each night.

Takes a world. Looks without a lease, and takes it to lead a site back. What fails is tried again
after growing pauses. Where `move.watch` is not set, nothing is done.
"""

from __future__ import annotations

from flex.errors import Busy, FlexError, LostLease
from flex.model.plan import Plan
from flex_api.in_words import amounts
from flex_api.night import watch_moved_sites, worse_off_returns
from flex_api.night.fallback_site_names import settle_names
from flex_api.night.leases import lease
from flex_api.night.record_stages import Steps
from flex_api.wiring import World
from flex_logs_ingest.reading.recent_answers import RecentAnswers

PURPOSE = "watch: leading sites back that are worse off where they moved to"
# Rounds that are left out behind the first attempt that failed, and at most. Guesses.
FIRST_PAUSE = 1
LONGEST_PAUSE = 30
# Bytes of logs that one round reads, which takes some two seconds.
MOST_OF_LOGS = 2**27


def watch_in_night(world: World) -> str:
    """By a run that holds the lease. What fails is said, and stops no night."""
    watch_moved_sites.begin_late(world)
    watch_moved_sites.look(world)
    try:
        worse_off_returns.lead_back(world)
    except LostLease:
        raise
    except FlexError as error:
        world.say(f"Sites that are worse off could not be led back: {error}")
    left = amounts.count(len(world.store.watched_moves()), "site")
    return f"{left} still watched"


class WatchOfMoves:
    """`flex serve` looks by it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._recent = RecentAnswers(MOST_OF_LOGS)
        # The plan in force whose moves are watched.
        self._seen = ""
        self._said = ""
        self._left_out = 0
        self._pause = FIRST_PAUSE

    def round(self) -> None:
        world = self._world
        if not world.settings.move.watch:
            return
        if world.store.in_force() != self._seen:
            self._seen = watch_moved_sites.begin_late(world)
        watch_moved_sites.look(world, self._recent)
        if not worse_off_returns.sites_to_lead_back(world):
            self._left_out, self._pause = 0, FIRST_PAUSE
        elif why := worse_off_returns.why_wait(world):
            self._say_once(f"Sites that are worse off stay for now: {why}.")
        elif worse_off_returns.waits_for_yes(world):
            worse_off_returns.look_for_yes(world)
        elif self._left_out:
            self._left_out -= 1
        else:
            self._try()

    def _try(self) -> None:
        try:
            self._lead_back()
            self._pause = FIRST_PAUSE
        except Busy as error:
            self._say_once(f"Sites that are worse off could not be led back yet: {error}")
        except FlexError as error:
            self._left_out = self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            self._say_once(f"Sites that are worse off could not be led back: {error}")

    def _lead_back(self) -> None:
        world = settle_names(self._world)
        with lease(world, PURPOSE) as held:
            step = Steps(world, held.run)
            plan = step.run_work(lambda: worse_off_returns.lead_back(world, step.enter), _outcome)
            if plan:
                held.concerns(plan)

    def _say_once(self, line: str) -> None:
        if line != self._said:
            self._world.say(line)
        self._said = line


def _outcome(plan: Plan | None) -> str:
    return f"plan {plan.id} is {plan.state}" if plan else "no site went back"
