"""What a server keeps at hand of how the cluster is, for its pages and for whoever asks.

Takes the views of a desk. Returns a `Sight`, and what is known of the logs by it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from flex.errors import FlexError, StoreError
from flex.model.period import Period
from flex.traffic.quality import Judged
from flex_api import status
from flex_api.facts.dead_nodes_in_dns import Dead
from flex_api.facts.traffic_by_hour import HoursInLogs, hours_in_logs
from flex_api.status import Sight
from flex_api.web.request_context import Desk

# Weeks of logs in the heat map of a node or a site. A guess.
WEEKS = 4


def sight(desk: Desk) -> Sight:
    watched = desk.house.watched
    return Sight(
        desk.world(),
        headlines=desk.views.headlines,
        runs=desk.views.runs,
        base=desk.views.base,
        plan=desk.views.plan,
        dead=lambda: published_dead_nodes(desk),
        judged=lambda: quality(desk),
        last_lines=lambda nodes: desk.views.get_or_make(
            "last-lines", lambda: status.last_lines_of(desk.house.store, nodes)
        ),
        watch_trouble=lambda: watched().trouble(datetime.now(UTC)) if watched else "",
    )


def published_dead_nodes(desk: Desk) -> tuple[Dead, ...]:
    """Return the dead nodes that are still in DNS. What was tried is no change that views would
    see: it is asked for each time.
    """
    return status.dead_nodes(desk.world(), lambda: desk.views.nodes_view().sites)


def quality(desk: Desk) -> tuple[Period, Judged]:
    """The logs, as the next plan would judge them: looked at anew after each run that read any, and
    every hour.
    """
    hour = desk.house.clock().replace(minute=0, second=0, microsecond=0)

    def look() -> tuple[datetime, Period, Judged]:
        return hour, *status.judge(desk.world())

    judgement = desk.views.get_or_make("quality", look)
    if judgement[0] != hour:
        desk.views.held.pop("quality", None)
        judgement = desk.views.get_or_make("quality", look)
    return judgement[1:]


def newest(desk: Desk) -> datetime | None:
    """When the last line of all logs was written; None also where what says so cannot be read,
    which is told among the troubles.
    """
    try:
        return status.log_state(sight(desk)).last
    except StoreError:
        raise
    except FlexError:
        return None


def latest_weeks(desk: Desk) -> Period:
    """The weeks before today; before the day after the last line, where the logs stopped coming."""
    now, last = desk.house.clock(), newest(desk)
    return Period.days_before(min(now, last + timedelta(days=1)) if last else now, 7 * WEEKS)


def latest_hours(desk: Desk) -> HoursInLogs:
    """How busy the hours of these weeks were, on the days that logs are of."""
    return desk.views.get_or_make(
        "hours-in-logs", lambda: hours_in_logs(desk.store, latest_weeks(desk))
    )
