"""Whether the files and logs that the settings name are there and can be used.

Takes Settings. Returns sentences: problems, with which a part of FLEX cannot work, and remarks on
what may be intended. Does not parse anything but the list of sites, other names of sites and the
keys, and opens no database.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from flex.errors import FlexError
from flex.store import database_by_url
from flex.why_file_unreadable import why_unreadable
from flex_api import other_names_in_settings, which_names_are_sites
from flex_api.moving import hook_commands
from flex_api.other_names_in_settings import NamesInSettings
from flex_api.settings.name_servers_and_zones import Primary
from flex_api.settings.whole_settings import Settings
from flex_api.wiring import sources
from flex_dns.wire.key import read_keys
from flex_logs_ingest.files.find_and_unpack_logs import paths

# How many lines of a list a sentence shows.
_SHOWN = 3
# What to do where the right is another user's.
_AS_SERVICE = "run this as the user of the service, or give that user the right"


def problems(settings: Settings, hidden: Collection[str]) -> Iterator[str]:
    """A line for each file that is named and cannot be used as what it is named for. `hidden`
    settings name files of a service alone.
    """
    for where, path in _files(settings):
        if where not in hidden and (why := _unread(path)):
            yield f"{where} = {str(path)!r}: {why}"
    for where, path in _every_key(settings):
        if where not in hidden and (why := _no_key(path)):
            yield f"{where} = {str(path)!r}: {why}"
    for where, folder in _folders(settings):
        if why := _not_writable(folder):
            yield f"{where} = {str(folder)!r}: {why}"
    if settings.metrics.textfile and not settings.metrics.textfile.parent.is_dir():
        path = settings.metrics.textfile
        yield (
            f"metrics.textfile = {str(path)!r}: there is no folder {path.parent}; "
            "the node exporter's textfile collector reads its own"
        )
    yield from _database_problems(settings)
    yield from _site_list_problems(settings)
    yield from _other_names_problems(settings)
    for hook in settings.move.hook:
        for why in hook_commands.troubles(hook):
            yield f"move.hook: {hook.stage} ({hook.shown_name}): {why}"


def _database_problems(settings: Settings) -> Iterator[str]:
    """SQLite makes files beside its own."""
    try:
        url, _ = database_by_url.parse_url(settings.database.url)
    except FlexError as error:
        yield f"database.url: {error.answer}; {error.advice}"
        return
    file = Path(url.database or "")
    if url.get_backend_name() != "sqlite" or not file.is_absolute():
        return
    if why := _not_writable(file.parent):
        yield f"database.url: {file.parent}: {why}"
    elif file.exists() and not _may_write(file, os.W_OK):
        yield f"database.url: {file}: {_who()} may not write to it; {_AS_SERVICE}"


def _site_list_problems(settings: Settings) -> Iterator[str]:
    path = settings.ingest.sites_file
    if path is None:
        return
    where = f"ingest.sites_file = {str(path)!r}"
    try:
        if not which_names_are_sites.read_site_list(path):
            yield f"{where}: it lists no site; list yours, one per line, or leave the setting out"
        wrong = which_names_are_sites.lines_without_name(path)
    except FlexError as error:
        yield f"{error}; {error.advice}"
        return
    for number, name in wrong[:_SHOWN]:
        yield f"{where}: line {number} is no name of a site: {name!r:.100}"
    if len(wrong) > _SHOWN:
        yield f"{where}: {len(wrong) - _SHOWN} more lines are no names of sites"


def _other_names_problems(settings: Settings) -> Iterator[str]:
    """A list of sites that cannot be read has a line of its own."""
    try:
        listed = _listed_sites(settings)
    except FlexError:
        return
    try:
        other_names_in_settings.names_in_settings(settings.ingest, listed)
    except FlexError as error:
        yield f"{error}; {error.advice}"


def _listed_sites(settings: Settings) -> frozenset[str]:
    return other_names_in_settings.listed_sites(settings.ingest)


def remarks(settings: Settings, hidden: Collection[str]) -> Iterator[str]:
    """A line for each single glob without files, each folder that is not there, and each alias that
    leads to no site of the list.
    """
    for name in sorted(hidden):
        yield (
            f"{name} is a credential of systemd's, which the service alone can see: "
            "it was not checked"
        )
    for number, section in enumerate(settings.ingest.source):
        root = section.document_root.partition("{")[0]
        if root and not Path(root).exists():
            yield f"ingest.source[{number}].document_root: there is no {root}"
    try:
        listed, log_sources = _listed_sites(settings), sources(settings)
        names = other_names_in_settings.names_in_settings(settings.ingest, listed)
    except FlexError:
        return
    for source in log_sources:
        for pattern in source.globs:
            if not paths(replace(source, globs=(pattern,))):
                yield f"the logs of {source.name}: nothing matches {pattern}"
    yield from _remarks_on_names(settings, names, listed)


def _remarks_on_names(
    settings: Settings, names: NamesInSettings, listed: Collection[str]
) -> Iterator[str]:
    written = [("ingest.aliases", *one) for one in settings.ingest.aliases.items()]
    written += [
        (f"ingest.aliases_file ({one.where})", one.name, one.site)
        for one in names.claims
        if one.is_of_file
    ]
    for where, name, site in written:
        if (
            listed
            and not site.startswith("/")
            and which_names_are_sites.site_name(site) not in listed
        ):
            yield (
                f"{where}: {name!r:.100} leads to {site!r:.100}, which "
                "ingest.sites_file does not list"
            )
    for pattern in names.vhosts.empty:
        yield f"ingest.vhosts: nothing matches {pattern}"
    for fault in names.vhosts.unread:
        yield f"ingest.vhosts: not read: {fault}"
    if left := names.vhosts.not_taken:
        named = [f"{one.text!r:.100} ({one.where})" for one in left[:_SHOWN]]
        more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
        yield f"ingest.vhosts: stand for no one name, so not taken: {', '.join(named)}{more}"


def _files(settings: Settings) -> Iterator[tuple[str, Path]]:
    for number, hook in enumerate(settings.notify.webhook):
        for name, path in (("url_file", hook.url_file), ("secret_file", hook.secret_file)):
            if path:
                yield f"notify.webhook[{number}].{name}", path
    if settings.move.ready.ca_file:
        yield "move.ready.ca_file", settings.move.ready.ca_file


def _every_key(settings: Settings) -> Iterator[tuple[str, Path]]:
    yield from _keys("dns", settings.dns)
    for number, primary in enumerate(settings.dns.primary):
        yield from _keys(f"dns.primary[{number}]", primary)


def _keys(section: str, primary: Primary) -> Iterator[tuple[str, Path]]:
    for name, path in (
        ("key_file", primary.key_file),
        ("transfer_key_file", primary.transfer_key_file),
    ):
        if path:
            yield f"{section}.{name}", path


def _folders(settings: Settings) -> Iterator[tuple[str, Path]]:
    yield "ingest.directory", settings.ingest.directory
    yield "report.dir", settings.report.dir
    if settings.routing.deliver:
        yield "routing.deliver", Path(settings.routing.deliver.partition("{")[0])
    if settings.metrics.textfile and settings.metrics.textfile.parent.is_dir():
        yield "metrics.textfile", settings.metrics.textfile.parent


def _not_writable(folder: Path) -> str:
    """Why nothing can be written there; "" where it can. A folder that is not there yet is made in
    the nearest one that is.
    """
    # Not Path.exists, which raises where a folder above may not be looked into.
    every = (folder, *folder.parents)
    there = next(path for path in every if os.path.exists(path))  # noqa: PTH110
    if not there.is_dir():
        what = "it is" if there == folder else f"{there} is"
        return f"{what} a file, and has to be a folder"
    if _may_write(there, os.W_OK | os.X_OK):
        return ""
    where = "there" if there == folder else f"to {there}"
    return f"{_who()} may not write {where}; {_AS_SERVICE}"


def _may_write(path: Path, how: int) -> bool:
    """As the user whose rights this process has."""
    return os.access(path, how, effective_ids=os.access in os.supports_effective_ids)


def _who() -> str:
    number = os.geteuid()
    try:
        return f"the user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"the user {number}"


def _unread(path: Path) -> str:
    """Why it cannot be read; "" where it can."""
    try:
        with path.open("rb"):
            return ""
    except OSError as error:
        return why_unreadable(error)


def _no_key(path: Path) -> str:
    """Why no update can be signed with it; "" where one can."""
    try:
        read_keys(path)
    except FlexError as error:
        return f"{error.answer}; {error.advice}"
    return ""
