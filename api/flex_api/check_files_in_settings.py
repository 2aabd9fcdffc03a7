"""Whether the files and logs that the settings name are there and can be read.

Takes Settings. Returns sentences: problems that would stop a night, and remarks on what may be
intended. Does not parse anything but the list of sites.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from flex.errors import FlexError
from flex_api import which_names_are_sites
from flex_api.settings.name_servers_and_zones import Primary
from flex_api.settings.whole_settings import Settings
from flex_api.wiring import sources
from flex_logs_ingest.files.find_and_unpack_logs import paths


def problems(settings: Settings, hidden: Collection[str]) -> Iterator[str]:
    """A line for each file that is named, and is not there or cannot be read. `hidden` settings
    name files of a service alone.
    """
    for where, path in _files(settings):
        if where not in hidden and (why := _unread(path)):
            yield f"{where} = {str(path)!r}: {why}"
    if settings.ingest.sites_file is None:
        return
    try:
        which_names_are_sites.read_site_list(settings.ingest.sites_file)
    except FlexError as error:
        yield f"{error}; {error.advice}"


def remarks(settings: Settings, hidden: Collection[str]) -> Iterator[str]:
    """A line for each glob without files, each folder that is not there, and each alias that leads
    to no site of the list.
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
        listed = (
            set(which_names_are_sites.read_site_list(settings.ingest.sites_file))
            if settings.ingest.sites_file
            else set()
        )
        found = sources(settings)
    except FlexError:
        return
    for source in found:
        if source.globs and not paths(source):
            yield f"the logs of {source.name}: nothing matches {', '.join(source.globs)}"
    for name, site in settings.ingest.aliases.items():
        if (
            listed
            and not site.startswith("/")
            and which_names_are_sites.site_name(site) not in listed
        ):
            yield (
                f"ingest.aliases: {name!r:.100} leads to {site!r:.100}, which "
                "ingest.sites_file does not list"
            )


def _files(settings: Settings) -> Iterator[tuple[str, Path]]:
    yield from _keys("dns", settings.dns)
    for number, primary in enumerate(settings.dns.primary):
        yield from _keys(f"dns.primary[{number}]", primary)
    for number, hook in enumerate(settings.notify.webhook):
        for name, path in (
            ("url_file", hook.url_file),
            ("secret_file", hook.secret_file),
        ):
            if path:
                yield f"notify.webhook[{number}].{name}", path


def _keys(section: str, primary: Primary) -> Iterator[tuple[str, Path]]:
    for name, path in (
        ("key_file", primary.key_file),
        ("transfer_key_file", primary.transfer_key_file),
    ):
        if path:
            yield f"{section}.{name}", path


def _unread(path: Path) -> str:
    """Why it cannot be read; "" where it can."""
    try:
        with path.open("rb"):
            return ""
    except OSError as error:
        return error.strerror or str(error)
