"""What `flex onboard` answers, made from what it found.

Takes what was found. Returns the output that programs read. Does not look at anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flex.site_names_in_words import first_few
from flex_api.onboarding.find_nodes import FoundNode
from flex_api.onboarding.logs_of_nodes import LogsFound
from flex_api.onboarding.settings_text import SETTINGS, SITES
from flex_api.onboarding.what_can_move_sites import LED_ELSEWHERE, Movable
from flex_api.schemas.onboard_output import OnboardedNode, OnboardedSite, OnboardOutput, UnreadFile
from flex_logs_ingest.panels.read_hosting import Hosting

# Files that were not read which are named; others are counted.
MOST_NAMED = 20
# A plan is made from yesterday. Logs that were written last before that have nothing of it.
OLD = timedelta(hours=36)


@dataclass(frozen=True, slots=True)
class Onboarded:
    hosting: Hosting
    nodes: Sequence[FoundNode]
    nobody_named_them: bool
    logs: LogsFound
    movable: Movable
    primary: str
    written: tuple[str, ...]


def output(found: Onboarded, folder: Path, questions: int, now: datetime) -> OnboardOutput:
    verdicts = found.movable.verdicts
    ways = Counter(one.way for one in verdicts.values())
    hosting = found.hosting
    not_read = [*hosting.unread.items(), *hosting.left_alone.items()]
    return OnboardOutput(
        found_by=list(hosting.found_by),
        written=list(found.written),
        questions=questions,
        by_dns=ways["dns"],
        by_doors=ways["doors"],
        by_nothing=ways["nothing"],
        nodes=[
            OnboardedNode(name=one.name, addresses=list(one.addresses), sites=one.sites)
            for one in found.nodes
        ],
        primary=found.primary,
        zones=list(found.movable.zones),
        log_files=found.logs.files,
        sites=[
            OnboardedSite(
                site=site.name,
                other_names=list(site.names[1:]),
                document_root=site.root,
                logs=list(site.logs),
                way=verdicts[site.name].way,
                why=verdicts[site.name].why,
                zone=verdicts[site.name].zone,
                stay_behind=list(verdicts[site.name].stay_behind),
            )
            for site in hosting.sites
        ],
        not_read=[UnreadFile(path=path, why=why) for path, why in not_read[:MOST_NAMED]],
        not_read_in_all=len(not_read) + hosting.not_kept,
        remarks=list(_remarks(found)),
        next=list(_next(found, folder, now)),
    )


def _remarks(found: Onboarded) -> Iterator[str]:
    if found.nobody_named_them:
        yield (
            "these nodes are the addresses that the sites have in DNS: name yours with --node if "
            "any of them is a CDN's or somebody else's"
        )
    yield from found.logs.remarks
    if patterns := found.hosting.patterns:
        yield (
            f"no site has a name that stands for several, so these are left out: "
            f"{first_few(patterns)}; list their sites in {SITES}"
        )
    for trouble in found.movable.trouble[:MOST_NAMED]:
        yield f"DNS was not read: {trouble}"
    if found.movable.trouble:
        return
    if not found.primary:
        yield "no primary name server was named, so nobody can say what DNS can move"
    elif not found.movable.zones:
        yield (
            "no zone of these sites was read: a key that may transfer them (`flex init` makes "
            "one, `flex config named` tells the name server) lets DNS move sites"
        )
    led = [
        site
        for site, one in found.movable.verdicts.items()
        if one.zone in found.movable.zones and one.why.startswith(LED_ELSEWHERE)
    ]
    if led:
        yield (
            f"a plan does not know that the world is led elsewhere than the primary says: "
            f"{first_few(led)}; `flex sites exclude SITE` keeps FLEX off them"
        )
    behind = sum(len(one.stay_behind) for one in found.movable.verdicts.values())
    if behind:
        yield (
            f"{behind:,} other names of sites that DNS can move do not go along: what comes by "
            "them stays where they lead"
        )


def _next(found: Onboarded, folder: Path, now: datetime) -> Iterator[str]:
    """From here to a plan on paper."""
    flex = f"flex --config {folder / SETTINGS}"
    yield f"{flex} db upgrade"
    written = datetime.fromtimestamp(found.logs.newest, UTC)
    if found.logs.files and now - written > OLD:
        yield f"{flex} run --as-of {written + timedelta(days=1):%Y-%m-%d}"
    else:
        yield f"{flex} run"
