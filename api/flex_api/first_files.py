"""The first files of an installation: settings, a key, the configuration of the name server, the
nightly timer, and commands that bring a site to its new node.

Does not overwrite a file that exists, so it can be run again after an upgrade.
"""

from __future__ import annotations

import grp
import os
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path

from flex.errors import BadInput
from flex.refuse_root import ACCOUNT
from flex_api import paths_in_systemd_units
from flex_dns.server_configuration.named_conf_lines import bind_snippet
from flex_dns.wire.key import make_key

# The TSIG key that may change records, and the one that may only transfer zones, as the name server
# knows them.
KEY_NAME = "flex-update"
READER_NAME = "flex-transfer"
ZONE = "hosting.example."
# The key is for FLEX and for the name server's group, and for nobody else.
KEY_MODE = 0o640
SETTINGS = "flex.toml"
# Not readable for everybody: the settings may hold the password of a database.
SETTINGS_MODE = 0o640
FOLDER_MODE = 0o750
STATE = "/var/lib/flex/"
# Where a package of Debian's has the command, and one of its units.
PACKAGED = Path("/usr/sbin/flex")
PACKAGED_UNIT = Path("/usr/lib/systemd/system/flex-nightly.service")
# Where the commands for sites that move are: of an installed FLEX, and of a checkout.
_HOOKS = "hooks"
_CHECKOUT = Path(__file__).parents[2] / "deploy"


def write(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files that were written, and those that were there before."""
    try:
        _make_folder(folder)
        files = _files(folder.absolute())
        fresh = {name: content for name, content in files.items() if not (folder / name).exists()}
        for name, content in fresh.items():
            _make_folder((folder / name).parent)
            _write(folder / name, content, _mode(name))
    except OSError as error:
        raise BadInput(
            f"writing the first files to {folder}",
            str(error.strerror or error),
            kept="files that were there are as they were",
            advice="choose a folder you may write to, such as /etc/flex as root",
        ) from error
    written = [folder / name for name in fresh]
    return written, [folder / name for name in files if name not in fresh]


def state_of(folder: Path) -> str:
    """Settings in /etc keep what they make where services may write; others keep it beside them."""
    return STATE if folder.resolve().is_relative_to("/etc") else ""


def _files(folder: Path) -> dict[str, str]:
    state = state_of(folder)
    marks = {
        "@STATE@": state,
        **paths_in_systemd_units.words(
            paths_in_systemd_units.program(),
            folder / SETTINGS,
            state,
            paths_in_systemd_units.python(),
        ),
    }
    starter = resources.files("flex_api") / "starter"
    texts = {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in starter.iterdir()
        if entry.name[0] != "_" and entry.is_file()
    }
    plain = {
        name: _fill_marks(text, marks)
        for name, text in texts.items()
        if not name.endswith((".service", ".timer")) or not units_are_installed()
    }
    keys = {
        "flex.key": make_key(KEY_NAME).clause(),
        "flex-transfer.key": make_key(READER_NAME).clause(),
    }
    return {
        **plain,
        **keys,
        **_hooks(),
        "named.conf.flex": bind_snippet(ZONE, KEY_NAME, READER_NAME),
    }


def units_are_installed() -> bool:
    """Whether the FLEX that runs came in a package of Debian's, which has its units."""
    return paths_in_systemd_units.program() == PACKAGED and PACKAGED_UNIT.exists()


def _hooks() -> dict[str, str]:
    """They are at deploy/hooks in a checkout, for people to read; a wheel has them beside the
    others.
    """
    installed = resources.files("flex_api") / "starter" / _HOOKS
    folder = installed if installed.is_dir() else _CHECKOUT / _HOOKS
    return {
        f"{_HOOKS}/{entry.name}": entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.is_file()
    }


def _fill_marks(text: str, marks: Mapping[str, str]) -> str:
    for mark, words in marks.items():
        text = text.replace(mark, words)
    return text


def _mode(name: str) -> int:
    if name.endswith(".key"):
        return KEY_MODE
    if is_command(name):
        return 0o755
    return SETTINGS_MODE if name == SETTINGS else 0o644


def is_command(name: str) -> bool:
    """Whether it is one of the commands for sites that move, and not what they read."""
    return name in {f"{_HOOKS}/{each}" for each in ("files", "database", "vhost", "cron")}


def give_to_account(descriptor: int, mode: int) -> None:
    """The units must read what root writes for them, where their account is there already, and
    whatever root's umask is. By its descriptor, as a name may lead elsewhere by now.
    """
    if os.geteuid():
        return
    with suppress(KeyError):
        os.fchown(descriptor, -1, grp.getgrnam(ACCOUNT).gr_gid)
        os.fchmod(descriptor, mode)


def _make_folder(folder: Path) -> None:
    """One that is there already stays as it is."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        give_to_account(descriptor, FOLDER_MODE)
    finally:
        os.close(descriptor)


def _write(path: Path, content: str, mode: int) -> None:
    """Created with its mode, so that a key is never readable by others, not even for a moment."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, mode), "w", encoding="utf-8") as file:
        give_to_account(file.fileno(), mode)
        file.write(content)
