"""`flex onboard`: reads what a machine hosts and what DNS says, and writes settings by it.

Takes a folder for the settings, a tree of files and answers. Returns what was found, with a verdict
for each site. Writes the settings and the two lists that they name, and nothing else; nothing at
all in a dry run. Asks name servers, and changes nothing on them. Asks the person at most five
questions, each with an answer that enter takes.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from flex.errors import BadInput, NoData, NotWritten
from flex.model.nodes import Node
from flex.site_names_in_words import first_few
from flex.why_file_unreadable import why_unreadable
from flex.zones.names_not_following import OtherName
from flex.zones.records_of_partition import name_of
from flex_api import first_files
from flex_api.onboarding import settings_text
from flex_api.onboarding.find_nodes import (
    FoundNode,
    node_of_this_machine,
    nodes_of_addresses,
    nodes_written,
)
from flex_api.onboarding.logs_of_nodes import NODE, LogsFound, logs_of_nodes, usual_logs
from flex_api.onboarding.settings_text import SETTINGS, SITES
from flex_api.onboarding.site_mobility import LED_ELSEWHERE, Movable, judge
from flex_api.onboarding.source_patterns import Sources, sources_of
from flex_api.schemas.onboard_output import OnboardedNode, OnboardedSite, OnboardOutput, UnreadFile
from flex_api.settings import file as config
from flex_api.settings.quantities import Size
from flex_dns.wire.ask_resolver import Resolver, resolver_of_this_machine
from flex_dns.wire.key import read_keys
from flex_dns.wire.name_server_and_key import Address, Server, address_text
from flex_logs_ingest.files.find_and_unpack_logs import path_text
from flex_logs_ingest.panels.hosted_site_values import HostedSite
from flex_logs_ingest.panels.read_hosting import Hosting, read_hosting
from flex_logs_ingest.scan.site_rules import SiteRule


@dataclass(frozen=True, slots=True)
class Onboarded:
    hosting: Hosting
    nodes: Sequence[FoundNode]
    nobody_named_them: bool
    logs: LogsFound
    movable: Movable
    primary: str
    written: tuple[str, ...]


# The question, and the answer that is taken when there is none.
Ask = Callable[[str, str], str]
MOST_QUESTIONS = 5
# The answer that there is none, where something was found that is not meant.
NONE = "-"


@dataclass(slots=True)
class Questions:
    """`ask` is None where nobody is there to answer: then what was found counts."""

    ask: Ask | None
    asked: int = 0

    def answer(self, given: str | None, question: str, otherwise: str) -> str:
        """What an option says, else a person, else what was found."""
        if given is not None:
            return given.strip()
        if self.ask is None:
            return otherwise
        self.asked += 1
        assert self.asked <= MOST_QUESTIONS, "each is asked once"
        answer = self.ask(question, otherwise).strip() or otherwise
        return "" if answer == NONE else answer


# Sites whose addresses are looked up to find the nodes. A guess: more change no answer.
MOST_LOOKED_UP = 1_000
# Sites whose zones are asked for their primary. A guess.
MOST_ASKED = 20
RAM = "12 GiB"
PORT = 53
# Keys that `flex init` makes in the same folder; the first only reads.
KEYS = ("flex-transfer.key", "flex.key")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Answers that are None are asked for."""

    folder: Path
    tree: Path = Path("/")
    vhosts: tuple[str, ...] = ()
    nodes: tuple[str, ...] | None = None
    ram: str | None = None
    logs: str | None = None
    primary: str | None = None
    key_file: str | None = None
    resolver: str = ""
    dry_run: bool = False
    is_replaced: bool = False


def onboard(
    wanted: Wanted, now: datetime, ask: Ask | None, say: Callable[[str], None]
) -> OnboardOutput:
    """Raises BadInput, NoData where there is no site, and NotWritten."""
    _refuse_files_that_are_there(wanted)
    hosting = read_hosting(wanted.tree, wanted.vhosts)
    if not hosting.sites:
        raise _nothing(wanted, hosting)
    say(f"{len(hosting.sites):,} sites, by {' and '.join(hosting.found_by)}")
    questions = Questions(ask)
    resolver = Resolver(
        _address(wanted.resolver) if wanted.resolver else resolver_of_this_machine()
    )
    nodes = _nodes(wanted, hosting, questions, resolver)
    ram = _ram(questions.answer(wanted.ram, "Memory of each to keep files in", RAM))
    sources = sources_of(hosting.sites)
    logs = _logs(wanted, nodes, sources, questions)
    primary = _primary(wanted, hosting.sites, questions, resolver)
    key_file = _key_file(wanted, questions) if primary else ""
    server = _server(primary, key_file) if primary and key_file else None
    say("asking DNS what can move them")
    movable = judge(
        [site.name for site in hosting.sites],
        _others(hosting.sites, sources),
        tuple(Node(node.name, node.addresses, ram=0) for node in nodes),
        server,
        "flex",
        resolver,
    )
    texts = settings_text.texts(
        settings_text.Found(
            hosting.sites,
            nodes,
            ram,
            logs.nodes,
            sources.aliases,
            server=primary[0] if primary else "",
            port=primary[1] if primary else PORT,
            key_file=key_file if server else "",
            zones=movable.zones,
            state=first_files.state_of(wanted.folder),
        )
    )
    _check(texts, wanted.folder)
    written = () if wanted.dry_run else _write(wanted, texts)
    onboarded = Onboarded(
        hosting,
        nodes,
        wanted.nodes is None and not questions.asked,
        logs,
        movable,
        address_text(primary) if primary else "",
        written,
    )
    return output(onboarded, wanted.folder, questions.asked, now)


def _nodes(
    wanted: Wanted, hosting: Hosting, questions: Questions, resolver: Resolver
) -> tuple[FoundNode, ...]:
    if wanted.nodes is not None:
        return nodes_written(wanted.nodes, resolver)
    names = [name_of(site.name) for site in hosting.sites[:MOST_LOOKED_UP]]
    panel_addresses = {address for site in hosting.sites for address in site.addresses}
    nodes = nodes_of_addresses(resolver.addresses_of(names), panel_addresses, resolver)
    answer = questions.answer(
        None, "Your nodes, by name or address in DNS, and no CDN's", " ".join(map(str, nodes))
    )
    if not answer:
        raise BadInput(
            "the nodes that serve these sites",
            "DNS leads none of the sites to any address, and no file says one",
            kept="nothing was written",
            advice="name them: --node web1.example.net, or --node n1=192.0.2.11",
        )
    # What was found and taken keeps what is known of it.
    if answer == " ".join(map(str, nodes)):
        return nodes
    return nodes_written(answer.split(), resolver)


def _logs(
    wanted: Wanted, nodes: Sequence[FoundNode], sources: Sources, questions: Questions
) -> LogsFound:
    """Only where there are several nodes it is a question whose the logs are."""
    folder = wanted.logs or ""
    if len(nodes) > 1:
        question = f"Folder with the logs of each node, with {NODE} for its name"
        folder = questions.answer(wanted.logs, question, "")
    here = node_of_this_machine(nodes) or nodes[0].name
    known = sources.sources or usual_logs(wanted.tree)
    logs = logs_of_nodes(nodes, here, known, wanted.tree, folder)
    if not sources.left_out:
        return logs
    remark = (
        f"{sources.left_out:,} logs of single sites are in no source, as their paths follow no "
        "pattern: let the server write them by one"
    )
    return replace(logs, remarks=(*logs.remarks, remark))


def _primary(
    wanted: Wanted, sites: Sequence[HostedSite], questions: Questions, resolver: Resolver
) -> Address | None:
    primary = ""
    if wanted.primary is None:
        named = (resolver.primary_of(name_of(site.name)) for site in sites[:MOST_ASKED])
        ordered = Counter(filter(None, named)).most_common(1)
        primary = ordered[0][0] if ordered else ""
    answer = questions.answer(wanted.primary, "Primary name server of their zones", primary)
    return _address(answer) if answer else None


def _key_file(wanted: Wanted, questions: Questions) -> str:
    there = (wanted.folder / name for name in KEYS)
    key_file = next((str(path) for path in there if os.access(path, os.R_OK)), "")
    answer = questions.answer(
        wanted.key_file, "File with a TSIG key that may transfer these zones", key_file
    )
    return str(Path(answer).absolute()) if answer else ""


def _server(primary: Address, key_file: str) -> Server:
    """Raises BadSetting where the key cannot be used. It is never shown."""
    return Server(*primary, read_keys(Path(key_file))[0])


def _others(sites: Sequence[HostedSite], sources: Sources) -> list[OtherName]:
    """As a plan will know them by the settings."""
    aliases = settings_text.aliases_of(sites)
    names = frozenset(site.name for site in sites)
    rule = SiteRule(aliases={**aliases, **sources.aliases}, listed=names)
    alone = frozenset(site.name for site in sites if site.logs)
    return [
        OtherName(site, name, looked=False, written=name in aliases)
        for site, name in rule.others(names, alone)
        if name not in names
    ]


def _ram(text: str) -> str:
    try:
        size = TypeAdapter(Size).validate_python(text)
    except ValidationError as error:
        raise _bad_ram(text) from error
    if size < 2**20:
        raise _bad_ram(text)
    return text


def _bad_ram(text: str) -> BadInput:
    return BadInput(
        f"nodes with {text[:40]!r} of memory",
        "wanted a size such as '12 GiB', of 1 MiB at least",
        kept="nothing was written",
        advice="say it as --ram '12 GiB'",
    )


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if colon and port.isdigit() and ":" not in host.strip("[]"):
        return host.strip("[]"), int(port)
    if text.startswith("[") and colon and port.isdigit():
        return host.strip("[]"), int(port)
    return text.strip("[]"), PORT


def _refuse_files_that_are_there(wanted: Wanted) -> None:
    there = [
        str(wanted.folder / name)
        for name in settings_text.FILES
        if os.path.lexists(wanted.folder / name)
    ]
    if there and not wanted.is_replaced and not wanted.dry_run:
        raise BadInput(
            f"settings in {wanted.folder}",
            f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} there already",
            kept="nothing was read or written",
            advice="name another folder, look first with --dry-run, or let them be "
            "replaced with --replace",
        )


def _nothing(wanted: Wanted, hosting: Hosting) -> NoData:
    first = [f"{path}: {why}" for path, why in hosting.unread.items()][:3]
    return NoData(
        f"sites in {path_text(str(wanted.tree))}, by {' and '.join(hosting.found_by)}",
        "; ".join(first) or "no virtual host and no panel was found there",
        kept="nothing was written",
        advice="run it as root, or name the files: --vhosts '/etc/nginx/sites-enabled/*', or "
        "the root of a copy: --tree /srv/web1",
    )


def _check(texts: Mapping[str, str], folder: Path) -> None:
    """Raises BadSetting where what was answered makes settings that cannot be used."""
    values = tomllib.loads(texts[settings_text.SETTINGS])
    config.parse(values, folder / settings_text.SETTINGS)


def _write(wanted: Wanted, texts: Mapping[str, str]) -> tuple[str, ...]:
    """The settings last: without them the lists mean nothing."""
    try:
        wanted.folder.mkdir(parents=True, exist_ok=True)
        for name in reversed(settings_text.FILES):
            _write_file(wanted.folder / name, texts[name], is_replaced=wanted.is_replaced)
    except OSError as error:
        raise NotWritten(
            f"writing settings to {wanted.folder}",
            why_unreadable(error),
            kept="what was not written yet is as it was",
            advice="name a folder that you may write to",
        ) from error
    return tuple(str(wanted.folder / name) for name in settings_text.FILES)


def _write_file(path: Path, text: str, *, is_replaced: bool) -> None:
    """A new file, or one that takes the place of the old one at once."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    target = path.with_name(f".{path.name}.new") if is_replaced else path
    if is_replaced:
        target.unlink(missing_ok=True)
    with os.fdopen(
        os.open(target, flags, first_files.SETTINGS_MODE), "w", encoding="utf-8"
    ) as file:
        first_files.give_to_account(file.fileno(), first_files.SETTINGS_MODE)
        file.write(text)
    if is_replaced:
        target.replace(path)


# Files that were not read which are named; others are counted.
MOST_NAMED = 20
# A plan is made from yesterday. Logs that were written last before that have nothing of it.
OLD = timedelta(hours=36)


def output(onboarded: Onboarded, folder: Path, questions: int, now: datetime) -> OnboardOutput:
    verdicts = onboarded.movable.verdicts
    ways = Counter(verdict.way for verdict in verdicts.values())
    hosting = onboarded.hosting
    not_read = [*hosting.unread.items(), *hosting.left_alone.items()]
    return OnboardOutput(
        found_by=list(hosting.found_by),
        written=list(onboarded.written),
        questions=questions,
        by_dns=ways["dns"],
        by_doors=ways["doors"],
        by_nothing=ways["nothing"],
        nodes=[
            OnboardedNode(name=node.name, addresses=list(node.addresses), sites=node.sites)
            for node in onboarded.nodes
        ],
        primary=onboarded.primary,
        zones=list(onboarded.movable.zones),
        log_files=onboarded.logs.files,
        sites=[
            OnboardedSite.like(
                verdicts[site.name],
                site=site.name,
                other_names=list(site.names[1:]),
                document_root=site.root,
                logs=list(site.logs),
            )
            for site in hosting.sites
        ],
        not_read=[UnreadFile(path=path, why=why) for path, why in not_read[:MOST_NAMED]],
        not_read_in_all=len(not_read) + hosting.not_kept,
        remarks=list(_remarks(onboarded)),
        next=list(_next(onboarded, folder, now)),
    )


def _remarks(onboarded: Onboarded) -> Iterator[str]:
    if onboarded.nobody_named_them:
        yield (
            "these nodes are the addresses that the sites have in DNS: name yours with --node if "
            "any of them is a CDN's or somebody else's"
        )
    yield from onboarded.logs.remarks
    if patterns := onboarded.hosting.patterns:
        yield (
            f"no site has a name that stands for several, so these are left out: "
            f"{first_few(patterns)}; list their sites in {SITES}"
        )
    for trouble in onboarded.movable.trouble[:MOST_NAMED]:
        yield f"DNS was not read: {trouble}"
    if onboarded.movable.trouble:
        return
    if not onboarded.primary:
        yield "no primary name server was named, so nobody can say what DNS can move"
    elif not onboarded.movable.zones:
        yield (
            "no zone of these sites was read: a key that may transfer them (`flex init` makes "
            "one, `flex config named` tells the name server) lets DNS move sites"
        )
    led = [
        site
        for site, verdict in onboarded.movable.verdicts.items()
        if verdict.zone in onboarded.movable.zones and verdict.why.startswith(LED_ELSEWHERE)
    ]
    if led:
        yield (
            f"a plan does not know that the world is led elsewhere than the primary says: "
            f"{first_few(led)}; `flex sites exclude SITE` keeps FLEX off them"
        )
    behind = sum(len(verdict.stay_behind) for verdict in onboarded.movable.verdicts.values())
    if behind:
        yield (
            f"{behind:,} other names of sites that DNS can move do not go along: what comes by "
            "them stays where they lead"
        )


def _next(onboarded: Onboarded, folder: Path, now: datetime) -> Iterator[str]:
    """Yield the commands that lead from here to a plan on paper."""
    flex = f"flex --config {folder / SETTINGS}"
    yield f"{flex} db upgrade"
    written = datetime.fromtimestamp(onboarded.logs.newest, UTC)
    if onboarded.logs.files and now - written > OLD:
        yield f"{flex} run --as-of {written + timedelta(days=1):%Y-%m-%d}"
    else:
        yield f"{flex} run"
