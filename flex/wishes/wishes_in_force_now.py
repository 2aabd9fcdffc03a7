"""Several wishes for one site: a standing wish, and campaigns on top of it, each for its time.

Takes pins and a moment. Returns one pin for each site, as it holds at that moment. While a campaign
holds, its parts replace the same parts of the standing wish. The other parts of the standing wish
stay, and all of it holds again when the campaign ends. A plan is for all the time until the next
one: for it a wish holds that begins before that. Does not change the wishes themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from flex.model.wish import DEFAULTS, Pin

# Fields of which a campaign takes some from itself and some from the standing wish, as
# `merge_campaign` says; of every other field it takes the one or the other.
MERGED = ("nodes", "not_on", "min_replicas", "max_replicas", "together", "apart")
EVER = datetime.min.replace(tzinfo=UTC)


# How long a plan lasts at most: there is one each night. That is a day; an hour more where clocks
# are set back; and an hour for a timer's random delay and for longer logs. The hours are a guess.
NIGHT = timedelta(hours=26)


def pins_in_force(
    pins: Iterable[Pin], now: datetime, lasting: timedelta = timedelta()
) -> tuple[Pin, ...]:
    """One pin for each site, in order of site, as it holds now or begins to hold in the time that
    is `lasting`. If a site has two campaigns, the one that begins later takes precedence.
    """
    site_pins: dict[str, Pin] = {}
    those = (pin for pin in pins if pin.holds(now) or _begins(pin, now, lasting))
    for pin in sorted(those, key=_order):
        site_pins[pin.site] = (
            merge_campaign(site_pins[pin.site], pin) if pin.site in site_pins else pin
        )
    return tuple(site_pins[site] for site in sorted(site_pins))


def pin_beside_standing(standing: Pin | None, wanted: Pin) -> Pin:
    """A wish with an end takes no place of one without: it is a campaign on top of that, called
    after its end.
    """
    if wanted.until is None or wanted.campaign or standing is None or standing.until is not None:
        return wanted
    return replace(wanted, campaign=campaign_name(wanted.until))


def campaign_name(until: datetime) -> str:
    return f"until-{until:%Y-%m-%dT%H%MZ}"


def _begins(pin: Pin, now: datetime, lasting: timedelta) -> bool:
    return pin.since is not None and now < pin.since <= now + lasting


def _order(pin: Pin) -> tuple[bool, datetime, str]:
    return pin.campaign != "", pin.since or EVER, pin.campaign


def merge_campaign(standing: Pin, campaign: Pin) -> Pin:
    """The campaign, with what it says nothing of taken from the standing wish."""
    on = campaign.nodes or tuple(node for node in standing.nodes if node not in campaign.not_on)
    if campaign.max_replicas and len(on) > campaign.max_replicas and not campaign.nodes:
        on = ()
    least = campaign.min_replicas if campaign.min_replicas > 1 else standing.min_replicas
    if campaign.max_replicas:
        least = min(least, campaign.max_replicas)
    needed = max(least, len(on))
    kept_most = max(standing.max_replicas, needed) if standing.max_replicas else 0
    return replace(
        campaign,
        **_values_left(standing, campaign),
        nodes=on,
        not_on=_join(campaign.not_on, standing.not_on, but=on),
        min_replicas=least,
        max_replicas=campaign.max_replicas or kept_most,
        together=_join(campaign.together, standing.together, but=campaign.apart),
        apart=_join(campaign.apart, standing.apart, but=campaign.together),
    )


def _values_left(standing: Pin, campaign: Pin) -> dict[str, Any]:
    """What the standing wish asks for where the campaign says nothing. Any: values of any field."""
    return {
        name: getattr(standing, name)
        for name, default in DEFAULTS.items()
        if name not in MERGED and getattr(campaign, name) == default
    }


def _join(
    first: tuple[str, ...], second: tuple[str, ...], *, but: tuple[str, ...]
) -> tuple[str, ...]:
    return (*first, *(name for name in second if name not in first and name not in but))
