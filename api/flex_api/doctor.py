"""Whether everything is there that a night needs.

Takes the settings. Returns one result for each check: what it found, and what to do about it. Does
not change anything.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from flex import native_or_python
from flex.errors import BadSetting, FlexError
from flex.model.period import Period
from flex.partition import sites_in
from flex.planning import dependents_of_sites, plan_notes_on_sites
from flex.planning.dependents_text import (
    GIVE_A_NAME,
    LET_HINTS_FOLLOW,
    NOT_FOLLOWING,
    TAKE_HINTS_OUT,
    hints_in_words,
    ways_on,
)
from flex.planning.names_left_behind import MOST
from flex.site_names_in_words import first_few
from flex.store import migrate, open_store
from flex.zones import records_of_partition
from flex.zones.names_not_following import Followed
from flex.zones.what_leans_on_names import CARRIED, HINTS
from flex_api import other_names_in_settings, which_names_are_sites, wiring
from flex_api.doctor_routing import routing_checks
from flex_api.facts import leaning_on_sites, logs_good_enough, other_names
from flex_api.in_words import amounts
from flex_api.night import human_decision_records
from flex_api.schemas.verbs_output import CheckRow
from flex_api.settings.file import Settings
from flex_api.settings.name_servers_and_zones import Primary
from flex_api.wiring import controller, server, servers, solver, sources
from flex_dns.preflight.primary_check import ExpectedOfPrimary, preflight
from flex_dns.wire.session import Session
from flex_dns.zone.zones_of_names import zones_of
from flex_logs_ingest.files.find_and_unpack_logs import Source, path_text, paths

OTHER_NAMES = "make each a CNAME to its site, which then takes it along; only an apex cannot be one"
NAME_MAIL_SERVER = (
    "give each an MX that names its mail server, as in `MX 10 mail`, or `MX 0 .` if it takes no "
    "mail; in DNS nobody sees whether mail comes"
)
# What more helps those that lead to nodes alone and lie in a zone of ours.
FOLLOWING = (
    'FLEX moves those that lead to your nodes alone with dns.other_names = "follow" and '
    "dns.adopt = true"
)
# Files that a line names.
NAMED = 3
# Less than this beside the partials and the database makes a night a gamble.
ROOM = 10**9


def checks(settings: Settings, now: datetime) -> Iterator[CheckRow]:
    yield _engine()
    yield _solver(settings)
    yield _database(settings)
    yield _nodes(settings)
    yield from _logs(settings, now)
    yield from _counts(settings, now)
    yield _sites(settings)
    yield from _names_in_files(settings)
    yield _room(settings.ingest.directory)
    yield from routing_checks(settings)
    yield from _watch_of_moves(settings)
    yield from _named_sites(settings)
    yield from _dns(settings, now)


def _engine() -> CheckRow:
    if native_or_python.NATIVE:
        return _ok("engine", "native loops")
    return _warn(
        "engine", f"Python loops: {native_or_python.WHY_NOT}", "install flex-native for large logs"
    )


def _solver(settings: Settings) -> CheckRow:
    try:
        solver(settings.solver.engine)
    except FlexError as error:
        return _fail("solver", error)
    return _ok("solver", settings.solver.engine)


def _database(settings: Settings) -> CheckRow:
    try:
        revision, head = migrate.revision(settings.database.url)
    except FlexError as error:
        return _fail("database", error)
    if revision != head:
        return CheckRow(
            name="database",
            state="fail",
            detail=f"it is at {revision or 'nothing'}, this FLEX wants {head}",
            advice="flex db upgrade",
        )
    return _ok("database", f"up to date ({head})")


def _nodes(settings: Settings) -> CheckRow:
    addresses = [address for node in settings.node for address in node.addresses]
    twice = sorted({address for address in addresses if addresses.count(address) > 1})
    if not settings.node:
        return _warn("nodes", "there are none", "add a [[node]] for each machine that serves sites")
    if twice:
        return _warn(
            "nodes", f"{twice[0]} belongs to more than one", "give each node addresses of its own"
        )
    return _ok("nodes", f"{amounts.count(len(settings.node), 'node')}, {len(addresses)} addresses")


def _logs(settings: Settings, now: datetime) -> Iterator[CheckRow]:
    """Node by node: one silent log among others is a quiet site, a silent node is a fault."""
    if not settings.ingest.source:
        yield _warn("logs", "there is no source", "add an [[ingest.source]] for each node")
    of_source = [(source, paths(source)) for source in _sources(settings) if source.globs]
    of_node: dict[str, list[Path]] = {}
    for source, files in of_source:
        of_node.setdefault(source.node, []).extend(map(Path, files))
    for node, logs in of_node.items():
        yield _logs_of(node, logs, settings, now)
    yield from _check_shared_files(of_source)


def _check_shared_files(of_source: Sequence[tuple[Source, Sequence[str]]]) -> Iterator[CheckRow]:
    """A file of two sources is read for the first, but a copy that is made of it may count for the
    other.

    Patterns of names can share out the files of one glob.
    """
    first: dict[str, str] = {}
    both: dict[tuple[str, str], str] = {}
    for source, files in of_source:
        for path in () if source.site.pattern else files:
            file = os.path.realpath(path)
            if first.setdefault(file, source.name) != source.name:
                both.setdefault((first[file], source.name), path)
    for (first_source, other), path in both.items():
        yield _warn(
            f"logs of {first_source} and {other}",
            f"both match {path_text(path)}",
            "correct the globs: a log belongs to one source, and only the first of "
            "the two reads it",
        )


def _sources(settings: Settings) -> Sequence[Source]:
    """None where the list of sites cannot be read, which is another check's business."""
    try:
        return sources(settings)
    except BadSetting:
        return ()


def _logs_of(node: str, files: Sequence[Path], settings: Settings, now: datetime) -> CheckRow:
    name = f"logs of {node}"
    times = [time for time in map(_time_written, files) if time is not None]
    if not times:
        return _warn(name, "its globs match no file", "correct the globs, or let the logs arrive")
    written = datetime.fromtimestamp(max(times), UTC)
    detail = f"{amounts.count(len(times), 'file')}, last written {amounts.ago(written, now)}"
    if now - written > settings.profile.max_age:
        return _warn(
            name, detail, "let the logs arrive: with old ones the partition stays as it is"
        )
    return _ok(name, detail)


def _time_written(path: Path) -> float | None:
    """None for a link that leads nowhere, and for what has gone since it was found."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _counts(settings: Settings, now: datetime) -> Iterator[CheckRow]:
    """What was counted of each node's logs; the database's own line says where there is none."""
    period = Period.days_before(now, settings.profile.window.days)
    try:
        with open_store(settings.database.url) as store:
            judged = logs_good_enough.judge(settings, store, period, now)
            gone = logs_good_enough.gone_sources(settings, store, period)
            unread = {node.name for node in judged.nodes if not store.readings(1, node=node.name)}
            nothing = not store.readings(1)
    except FlexError:
        return
    if nothing and judged.nodes:
        yield _warn("counts", "no log was read yet", _how_to_read(settings, unread))
        return
    for node in judged.nodes:
        name = f"counts of {node.name}"
        if node.name in unread:
            yield _warn(name, "none of its logs was read yet", _how_to_read(settings, {node.name}))
        elif node.findings:
            yield _warn(name, "; ".join(map(str, node.findings)), "`flex data` shows every source")
        else:
            yield _ok(
                name, f"answers in {amounts.count(node.heard, 'hour')} of {period}, none missing"
            )
    for source, node_name in gone:
        yield _warn(
            f"counts of {source}",
            f"they count for {node_name} in {period}, and no source has that name any more",
            "what was counted stays, and its logs go on behind it; if the name is a "
            "slip, give the source its old one",
        )


def _watch_of_moves(settings: Settings) -> Iterator[CheckRow]:
    """Where doors for all sites are off, logs that are read here say what is compared."""
    if not settings.move.watch or settings.routing.leads_to_all:
        return
    read_here = {source.node for source in settings.ingest.source if source.glob}
    if unread := sorted({node.name for node in settings.node} - read_here):
        yield _warn(
            "watch of moves",
            f"move.watch watches no site that comes from or goes to {first_few(unread)}: doors for "
            "all sites, which count what is compared, are off, and no logs of these nodes are "
            "read here",
            'set routing.doors = "all" (docs/howto/routing.md), let their logs arrive here, or '
            "leave move.watch out",
        )


def _named_sites(settings: Settings) -> Iterator[CheckRow]:
    """Names of sites that are not there: what settings say of them holds for nobody."""
    named = {
        "[[move.hook]] sites": [site for hook in settings.move.hook for site in hook.sites],
        "[[move.site]]": [section.name for section in settings.move.site],
        "[[dns.site]]": [section.name for section in settings.dns.site],
        "[solver.classes] sites": [
            site for section in settings.solver.classes.values() for site in section.sites
        ],
        "solver.content_routed": settings.solver.content_routed,
    }
    if not any(named.values()):
        return
    try:
        with open_store(settings.database.url) as store:
            known = sites_in(store.placement()[1])
    except FlexError:
        return
    for setting, sites in named.items():
        if known and (unknown := sorted({*sites} - known)):
            yield _warn(
                "names of sites",
                f"{setting} names {first_few(unknown)}: no site of that name is on any node",
                "correct the name, or leave it out",
            )


def _how_to_read(settings: Settings, nodes: Collection[str]) -> str:
    of_nodes = [source for source in settings.ingest.source if source.node in nodes]
    here = any(not source.shipped for source in of_nodes)
    sent = any(source.shipped for source in of_nodes)
    import_ = "`flex import` the parcels that `flex ingest --partials-only` makes beside the logs"
    return " and ".join(["run `flex ingest`"] * here + [import_] * sent)


def _sites(settings: Settings) -> CheckRow:
    if settings.ingest.sites_file is None:
        detail = "any host name that a server logs becomes a site"
        return _warn(
            "hosted sites",
            detail,
            "list your sites in ingest.sites_file if your logs hold names visitors sent",
        )
    try:
        listed = which_names_are_sites.read_site_list(settings.ingest.sites_file)
    except FlexError as error:
        return _fail("hosted sites", error)
    return _ok(
        "hosted sites", f"{amounts.count(len(listed), 'site')} in {settings.ingest.sites_file}"
    )


def _names_in_files(settings: Settings) -> Iterator[CheckRow]:
    """What files say of other names of sites, where the settings name such files; and what is wrong
    with these names, wherever they are written.
    """
    ingest, name = settings.ingest, "names in files"
    are_named = bool(ingest.aliases_file or ingest.vhosts)
    if not are_named and not ingest.aliases:
        return
    try:
        listed = other_names_in_settings.listed_sites(ingest)
        written_names = other_names_in_settings.names_in_settings(ingest, listed)
    except FlexError as error:
        yield _fail(name, error)
        return
    if not are_named:
        return
    names = len({claim.name for claim in written_names.claims})
    sites = len({claim.site for claim in written_names.claims})
    detail = f"{amounts.count(names, 'other name')} of {amounts.count(sites, 'site')}"
    if ingest.vhosts:
        hosts, files = len(written_names.vhosts.hosts), len(written_names.vhosts.files)
        detail += f"; {amounts.count(hosts, 'virtual host')} in {amounts.count(files, 'file')}"
    if written_names.vhosts.empty:
        yield _warn(
            name,
            f"{detail}; nothing matches {', '.join(written_names.vhosts.empty)}",
            "correct ingest.vhosts, or let the files arrive",
        )
    elif written_names.vhosts.unread:
        yield _warn(
            name,
            f"{detail}; not read: {'; '.join(written_names.vhosts.unread[:NAMED])}",
            "make these readable for FLEX if they have names of sites",
        )
    else:
        yield _ok(name, detail)


def _room(directory: Path) -> CheckRow:
    there = next(folder for folder in (directory, *directory.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    if free < ROOM:
        return _warn(
            "disk",
            f"{amounts.size(free)} free at {there}",
            "make room: a full disk stops the night",
        )
    return _ok("disk", f"{amounts.size(free)} free at {there}")


def _dns(settings: Settings, now: datetime) -> Iterator[CheckRow]:
    if not settings.dns.every_zone:
        yield (
            _ok("DNS", "no zone is FLEX's to change: doors alone lead visitors")
            if settings.routing.leads_to_all
            else _warn("DNS", "there is no zone", "name the zones of your sites in dns.zones")
        )
    for primary in settings.dns.primaries:
        yield from _primary(settings, primary)
    yield from _other_zones(settings)
    yield from _decisions(settings, now)
    if settings.dns.every_zone:
        yield from _other_names(settings, now)
        yield from _dependents(settings, now)


def _decisions(settings: Settings, now: datetime) -> Iterator[CheckRow]:
    """Whether the zones say what people decided. What else is wrong with database or name server
    has a line of its own.
    """
    name = "decisions in DNS"
    try:
        with open_store(settings.database.url) as store:
            left, every = human_decision_records.unsaid_decisions(settings, store, now)
    except FlexError:
        return
    if left:
        told = first_few(list(map(str, left)), between="; ")
        yield _warn(
            name,
            f"the database and the zones do not say the same: {told}",
            "what the database alone says is lost with it, but for a copy of it or a file of "
            "`flex wishes export`",
        )
    elif every:
        decided = amounts.count(every, "decision")
        yield _ok(name, f"the zones say what people decided: {decided}")


def _other_names(settings: Settings, now: datetime) -> Iterator[CheckRow]:
    """Names of sites that visitors use and FLEX does not move. Where no name server answers, its
    own line says so.
    """
    name = "other names"
    try:
        with closing(wiring.world(settings, lambda: now)) as world:
            followed = other_names.read_other_names(world, known_sites(settings), world.pins)
    except FlexError as error:
        yield _warn(name, f"where other names of sites lead was not read: {error}", error.advice)
        return
    every = [stray.name for stray in followed.strays_left_behind]
    for remark in plan_notes_on_sites.remark_on_other_names(
        replace(followed, unseen=()), most=MOST
    ):
        row = _warn(name, remark, _way_on(settings, followed))
        yield row.model_copy(update={"names": every})
    for remark in plan_notes_on_sites.remark_on_other_names(replace(followed, strays=())):
        yield _ok(name, remark)
    if followed.along:
        count = amounts.count(len(followed.along), "other name")
        sites = amounts.count(len({other_name.site for other_name in followed.along}), "site")
        yield _ok(name, f"{count} of {sites} go along with them")
    elif not followed.strays_left_behind and not followed.unseen:
        yield _ok(name, "none of a site has addresses of its own")


def _dependents(settings: Settings, now: datetime) -> Iterator[CheckRow]:
    """Mail and other services that a move of a site would take along. Where no name server answers,
    its own line says so.
    """
    name = "what leans on sites"
    dependents = settings.dns.what_to_do_with_dependents()
    if not dependents.are_looked_for:
        yield _ok(name, 'nobody looks, as dns.dependents is "ignore"')
        return
    try:
        with closing(wiring.world(settings, lambda: now)) as world:
            excluded = {pin.site for pin in world.pins if pin.excluded}
            sites = [site for site in known_sites(settings) if site not in excluded]
            reach, reasons = leaning_on_sites.look_now(world, sites)
    except FlexError as error:
        yield _warn(name, f"it was not read: {error}", error.advice)
        return
    along = leaning_on_sites.dependents_of_moving_sites(reach, sites, dependents, *CARRIED)
    hints = leaning_on_sites.dependents_of_moving_sites(reach, sites, dependents, *HINTS)
    if reasons:
        which = amounts.count(len(reasons), "site")
        stay = "stays where it is" if len(reasons) == 1 else "stay where they are"
        named = [f"{one.rstrip('.')} {why}" for one, why in sorted(reasons.items())]
        detail = f"{which} {stay}: {first_few(named, between='; ')}"
        yield _warn(name, detail, ways_on(reasons.values()))
    if along:
        named = [f"{one.description} with {site}" for site, one in along]
        detail = f"{dependents_of_sites.MOVED_ALONG}: {first_few(named)}"
        yield _warn(name, detail, GIVE_A_NAME)
    if hints:
        named = [hints_in_words(one, reach.held_hints) for _, one in hints]
        detail = f"{dependents_of_sites.LEFT_BEHIND}: {first_few(named)}"
        follow = f"; or {LET_HINTS_FOLLOW}" if NOT_FOLLOWING not in detail else ""
        yield _warn(name, detail, f"{TAKE_HINTS_OUT}{follow}")
    if moving := [one for one in reach.hints if one[0] not in reasons]:
        sets = amounts.count(len(moving), "record set")
        yield _ok(name, f"address hints of {sets} change with the addresses of names")
    if unsure := leaning_on_sites.mail_without_mx(reach, sites, dependents):
        detail = (
            "mail may come to sites without any MX, by their address, and go with them when "
            f"they move; their SPF lets hosts send mail: {first_few(unsure)}"
        )
        row = _warn(name, detail, NAME_MAIL_SERVER)
        yield row.model_copy(update={"names": unsure})
    if not reasons and not along and not hints and not unsure:
        yield _ok(
            name,
            "no mail, service or name server is at a site's name, and no address hints would "
            "be left behind",
        )


def _way_on(settings: Settings, followed: Followed) -> str:
    """Taking a name over is named only where FLEX could: it leads to nodes alone, and no CNAME or
    marker is in the way.
    """
    dns = settings.dns
    nodes = {address for node in settings.node for address in node.addresses}
    could = any(
        stray.answer.addresses
        and not stray.answer.chain
        and nodes.issuperset(stray.answer.addresses)
        for stray in followed.strays_left_behind
    )
    done = dns.adopt and dns.other_names == "follow"
    return OTHER_NAMES if done or not could else f"{OTHER_NAMES}; {FOLLOWING}"


def _other_zones(settings: Settings) -> Iterator[CheckRow]:
    """Sites that are in no zone of the settings, and in one that a primary answers for all the
    same.
    """
    _, outside = records_of_partition.split(known_sites(settings), settings.dns.every_zone)
    primaries = [section for section in (settings.dns, *settings.dns.primary) if section.key_file]
    for primary in primaries if outside else ():
        try:
            name_server = server(settings, primary)
            with Session(name_server) as session:
                zones = zones_of(
                    session, name_server, [records_of_partition.name_of(site) for site in outside]
                )
        except FlexError as error:
            yield _warn("zones of sites", str(error), error.advice)
            continue
        if zones:
            named = ", ".join(f'"{zone}"' for zone in sorted(set(zones.values())))
            detail = (
                f"{amounts.count(len(zones), 'site')} in zones that {name_server} serves "
                "and dns.zones does not name"
            )
            advice = (
                f"zones = [{named}] beside those that are there, then `flex "
                "config named` for the server's side"
            )
            yield _warn("zones of sites", detail, advice)


def known_sites(settings: Settings) -> list[str]:
    """Those listed, else those that are placed or have been seen."""
    try:
        if settings.ingest.sites_file is not None:
            return sorted(which_names_are_sites.read_site_list(settings.ingest.sites_file))
        with open_store(settings.database.url) as store:
            kept, (_, placement) = store.profiles(), store.placement()
    except FlexError:
        return []
    return sorted({*placement["site"], *(kept[1]["site"] if kept else ())})


def _primary(settings: Settings, primary: Primary) -> Iterator[CheckRow]:
    try:
        name_server = server(settings, primary)
    except FlexError as error:
        yield _fail("DNS key", error)
        return
    us = _controller(settings)
    names = frozenset(map(records_of_partition.name_of, names_to_change(settings)))
    for zone in primary.zones:
        wanted = ExpectedOfPrimary(servers(primary), primary.verify_ns, us, own_name=zone in names)
        for check in preflight(name_server, zone, wanted=wanted):
            yield CheckRow(
                name=f"{zone} {check.name}",
                state=check.state,
                detail=check.detail,
                advice=check.advice,
            )


def names_to_change(settings: Settings) -> list[str]:
    """Sites, and the other names that FLEX is told to change with them. Settings that cannot be
    read have a line of their own.
    """
    sites = known_sites(settings)
    if settings.dns.other_names == "stay":
        return sites
    try:
        others = other_names.list_other_names(settings, sites)
    except FlexError:
        return sites
    return [*sites, *(other.name for other in others)]


def _controller(settings: Settings) -> str:
    """Without a database, which another check tells of, nobody can say who we are."""
    try:
        with open_store(settings.database.url) as store:
            return controller(settings, store)
    except FlexError:
        return ""


def _ok(name: str, detail: str) -> CheckRow:
    return CheckRow(name=name, state="ok", detail=detail, advice="")


def _warn(name: str, detail: str, advice: str) -> CheckRow:
    return CheckRow(name=name, state="warn", detail=detail, advice=advice)


def _fail(name: str, error: FlexError) -> CheckRow:
    return CheckRow(name=name, state="fail", detail=str(error), advice=error.advice)
