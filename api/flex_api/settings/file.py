"""The settings file, typed. Unknown keys are errors. Only this module reads the environment.

Takes a TOML file. Returns a frozen Settings (whole_settings.py), or raises BadSetting with the key,
the value and what would be right. Relative paths are relative to the folder of the file.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flex.errors import BadSetting
from flex.why_file_unreadable import why_unreadable
from flex_api.settings.explain_bad_settings import explain
from flex_api.settings.file_changed import Origin, origin
from flex_api.settings.name_servers_and_zones import Primary
from flex_api.settings.safety_and_notices import Metrics, Notify, Webhook
from flex_api.settings.whole_settings import Database, Report, Settings, SourceSection

# Arrow's own allocators keep what they were given: reading two logs of 30 MB took 245 MiB by them,
# and 205 MiB by the system's. Arrow asks for it once, when it is loaded, and only in the
# environment.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

__all__ = [
    "Settings",
    "config_path",
    "flat",
    "is_started_by_systemd",
    "keys_in_file",
    "keys_set",
    "load",
    "mask_secrets",
    "names_without_credentials",
    "parse",
    "problems",
    "read_from",
    "secrets_in_environment",
    "stale",
]

_CREDENTIALS = "CREDENTIALS_DIRECTORY"

_SECRET = re.compile(
    "passw|passphrase|secret|_pwd$|(^|_)(pass|token|key|credential)s?$", re.IGNORECASE
)
_PLACE = re.compile("_(file|path|dir|directory)$", re.IGNORECASE)
# Letters that a secret has at least.
_SHORTEST = 4

DEFAULT_PATH = Path("/etc/flex/flex.toml")


def config_path(given: Path | None) -> Path:
    """What was asked for, else $FLEX_CONFIG, else the usual place."""
    return given or Path(os.environ.get("FLEX_CONFIG", DEFAULT_PATH))


def is_started_by_systemd() -> bool:
    """Whether a unit runs this process itself, so that no person does by hand. A shell in a unit
    has another number.
    """
    return os.environ.get("SYSTEMD_EXEC_PID") == str(os.getpid())


def systemd_wants_to_hear() -> tuple[str, float]:
    """The socket at which systemd wants to be told how this process is, and within how many seconds
    again and again; "" where it does not, 0 where once is enough.
    """
    about_us = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    microseconds = os.environ.get("WATCHDOG_USEC", "") if about_us else ""
    seconds = int(microseconds) / 1e6 if microseconds.isdecimal() else 0.0
    return os.environ.get("NOTIFY_SOCKET", ""), seconds


def load(path: Path) -> Settings:
    # Looked at before it is read: what is written in between shows as a change.
    read = origin(path, datetime.now(UTC))
    settings = parse(_read(path), path)
    settings._origin = read
    return settings


def read_from(settings: Settings) -> Origin | None:
    """None where they come from no file."""
    return settings._origin


def stale(settings: Settings) -> str:
    """That the file they were read from says something else by now, and whether that is good; else
    nothing.
    """
    if settings._origin is None or settings._origin.is_unchanged:
        return ""
    try:
        load(settings._origin.path)
    except BadSetting as error:
        return (
            f"{settings._origin.path} was changed since, and cannot be used as it "
            f"is now: {error.answer}"
        )
    return f"{settings._origin.path} was changed since"


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise _bad(
            path,
            "there is no such file",
            "make one with `flex init DIR`, or name yours with --config",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(path, why_unreadable(error), "make the file readable, as UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise _bad(path, f"this is not TOML: {error!s:.300}", "correct the line named") from error


def parse(values: Mapping[str, Any], path: Path) -> Settings:
    """Any: what TOML holds before it is checked."""
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        problems = explain(error, Settings)
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise _bad(
            path, problems[0] + more, "correct it; `flex config schema` lists every key"
        ) from error
    anchored = _make_paths_absolute(settings, path.parent)
    anchored._given = frozenset(flat(values))
    return anchored


def keys_set(settings: Settings) -> frozenset[str]:
    """The dotted names of everything that the file they were read from set."""
    return settings._given


def problems(path: Path) -> tuple[str, ...]:
    """Everything that is wrong with the file, a line each."""
    try:
        Settings.model_validate(_read(path))
    except ValidationError as error:
        return tuple(explain(error, Settings))
    return ()


def keys_in_file(path: Path) -> frozenset[str]:
    """The dotted names of everything the file itself sets."""
    return frozenset(flat(_read(path)))


def names_without_credentials(path: Path) -> frozenset[str]:
    """The dotted names of those that name a credential of systemd's, where it gives this process
    none.
    """
    if os.environ.get(_CREDENTIALS):
        return frozenset()
    return frozenset(
        name for name, value in flat(_read(path)).items() if f"${{{_CREDENTIALS}}}" in str(value)
    )


def secrets_in_environment() -> list[str]:
    """Values of environment variables whose names look secret, and their lines, the longest first:
    one may be a part of another. A name of a place where a secret is kept is none.
    """
    secrets = {
        line
        for name, value in os.environ.items()
        if _SECRET.search(name) and not _PLACE.search(name)
        for line in (value, *value.splitlines())
        if len(line) >= _SHORTEST
    }
    return sorted(secrets, key=len, reverse=True)


def mask_secrets(settings: Settings) -> dict[str, object]:
    """The settings as plain values, a password in the database's URL and the paths of webhooks made
    unreadable.
    """
    plain: dict[str, Any] = settings.model_dump(mode="json", by_alias=True)
    plain["database"]["url"] = re.sub(r"(://[^/@:]+):[^@]*@", r"\1:***@", plain["database"]["url"])
    for hook in plain["notify"]["webhook"]:
        hook["url"] = re.sub(r"(://[^/]+)/.+", r"\1/***", hook["url"])
    return plain


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    """Nested sections as dotted names; the n-th of several like sections is numbered."""
    flattened: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flattened |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
            for number, entry in enumerate(value):
                flattened |= flat(entry, f"{prefix}{name}[{number}].")
        else:
            flattened[prefix + name] = value
    return flattened


def _make_paths_absolute(settings: Settings, folder: Path) -> Settings:
    """Relative paths made absolute, ${CREDENTIALS_DIRECTORY} filled in."""
    ingest = settings.ingest.model_copy(
        update={
            "directory": folder / settings.ingest.directory,
            "sites_file": None
            if settings.ingest.sites_file is None
            else folder / settings.ingest.sites_file,
            "aliases_file": None
            if settings.ingest.aliases_file is None
            else folder / settings.ingest.aliases_file,
            "vhosts": tuple(str(folder / glob) for glob in settings.ingest.vhosts),
            "cpu": tuple(
                section.model_copy(update={"pools": folder / section.pools})
                if section.pools
                else section
                for section in settings.ingest.cpu
            ),
            "source": tuple(_anchored_source(source, folder) for source in settings.ingest.source),
        }
    )
    return settings.model_copy(
        update={
            "ingest": ingest,
            "database": _anchored_database(settings.database, folder),
            "report": Report(dir=folder / settings.report.dir),
            "notify": _anchored_notify(settings.notify, folder),
            "move": settings.move.model_copy(
                update={
                    "ready": settings.move.ready.model_copy(
                        update={"ca_file": _anchored_secret(settings.move.ready.ca_file, folder)}
                    )
                }
            ),
            "metrics": Metrics(textfile=_anchored_secret(settings.metrics.textfile, folder)),
            "dns": _anchored_primary(settings.dns, folder).model_copy(
                update={
                    "primary": tuple(
                        _anchored_primary(primary, folder) for primary in settings.dns.primary
                    )
                }
            ),
        }
    )


def _anchored_source(source: SourceSection, folder: Path) -> SourceSection:
    globs = tuple(str(folder / glob) for glob in source.globs)
    root = str(folder / source.document_root) if source.document_root else ""
    return source.model_copy(update={"glob": globs, "document_root": root})


def _anchored_database(database: Database, folder: Path) -> Database:
    file = _anchored_secret(database.url_file, folder)
    url = _read_url(file) if file else database.url
    return database.model_copy(update={"url": _anchored_url(url, folder), "url_file": file})


def _read_url(file: Path) -> str:
    try:
        url = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _bad_url(file, why_unreadable(error)) from error
    if not url or not url.isprintable():
        raise _bad_url(file, "it is not one line with a URL")
    return url


def _bad_url(file: Path, answer: str) -> BadSetting:
    return BadSetting(
        f"database.url_file = {str(file)!r}",
        answer,
        kept="nothing was read or changed",
        advice="write the URL into it, such as "
        "postgresql://flex:PASSWORD@db.example.net/flex, for FLEX to read",
    )


def _anchored_url(url: str, folder: Path) -> str:
    prefix = "sqlite:///"
    if not url.startswith(prefix) or url == "sqlite:///:memory:":
        return url
    return prefix + str(folder.resolve() / url.removeprefix(prefix))


def _anchored_primary(primary: Primary, folder: Path) -> Primary:
    keys = {
        name: _anchored_secret(getattr(primary, name), folder)
        for name in ("key_file", "transfer_key_file")
    }
    return primary.model_copy(update=keys)


def _anchored_secret(key_file: Path | None, folder: Path) -> Path | None:
    if key_file is None:
        return None
    credentials = os.environ.get(_CREDENTIALS, "")
    return folder / str(key_file).replace(f"${{{_CREDENTIALS}}}", credentials)


def _anchored_notify(notify: Notify, folder: Path) -> Notify:
    def anchor(hook: Webhook) -> Webhook:
        files = {
            name: _anchored_secret(getattr(hook, name), folder)
            for name in ("url_file", "secret_file")
        }
        return hook.model_copy(update=files)

    return notify.model_copy(update={"webhook": tuple(anchor(hook) for hook in notify.webhook)})


def _bad(path: Path, answer: str, advice: str) -> BadSetting:
    return BadSetting(
        f"reading the settings in {path}", answer, kept="nothing was read or changed", advice=advice
    )
