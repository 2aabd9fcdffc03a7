"""Gets a node's files from a folder, from one file, or from a FLEX server.

Takes where to get them from. Returns the files by name, and only when all of them are complete.
What was fetched is noted beside the files in force, and the server is told it. So the server sends
the files only when something changed. Does not tell HAProxy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from flex.routing import flex_server_client, haproxy, host_to_node_maps, install_files
from flex.routing.flex_server_client import LONGEST, Asker
from flex.routing.host_to_node_maps import MOVED, OWNERS

# Beside the files in force: by which tag the server knows which version of them.
FETCHED = ".fetched"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCHEMES = ("http", "https")
# Seconds for the whole of an answer. A guess.
PATIENCE = 30.0
# In a question: the digest of the large map that is here, which need not be sent then. A server
# that does not know it sends all files.
HAS_LARGE = "FLEX-Large-Map"
# Among the files of an answer, in place of the large map: its digest.
LEFT_OUT = "owners.map.digest"
_NODE = re.compile(r"^    node (\S+)$", re.MULTILINE)
_DIRECTORY = re.compile(rf"map_str\((\S+)/{re.escape(haproxy.HOSTS)}\)")
_SOCKET = re.compile(r"^    stats socket (\S+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pulled:
    """Files, and the server's tag of them; "" where no server was asked. It did not send the large
    map where that is `spared`. `others` is what it calls all but the small map.
    """

    files: Mapping[str, str]
    tag: str = ""
    spared: bool = False
    others: str = ""

    @property
    def node(self) -> str:
        return self._sentence(_NODE)

    @property
    def directory(self) -> str:
        """Where HAProxy looks for its maps."""
        return self._sentence(_DIRECTORY)

    @property
    def socket(self) -> str:
        """The socket of HAProxy in these files."""
        return self._sentence(_SOCKET)

    def _sentence(self, what: re.Pattern[str]) -> str:
        matched = what.search(self.files[haproxy.CONFIGURATION])
        return matched[1] if matched else ""


def pull(
    where: str,
    folder: Path,
    token: str = "",
    patience: float = PATIENCE,
    asker: Asker | None = None,
    large: str = "",
    *,
    anew: bool = False,
) -> Pulled:
    """`folder` has the files in force, if there are any; `anew` they are sent though they are the
    same. The large map with the digest `large` is not sent where it can be made of what is there.
    Raises Away where a server does not answer
    within `patience` seconds, Denied where the server does not accept the token, and BadInput where
    the answer is not a node's files.
    """
    if scheme := _SCHEME.match(where):
        if scheme[1].lower() not in _SCHEMES:
            raise flex_server_client.unusable(where, f"{scheme[0]} is no way to ask a FLEX server")
        asker = asker or Asker()
        return _fetch(where, folder, token, patience, asker, large, anew=anew)
    path = Path(where)
    try:
        files = _read_folder(path) if path.is_dir() else _parse_files(_read(path))
    except (OSError, ValueError) as error:
        raise flex_server_client.unusable(
            where, getattr(error, "strerror", None) or "it is not plain text"
        ) from error
    return Pulled(_whole(files, where))


def files_in_force(folder: Path) -> Pulled | None:
    """The files in the folder, None where FLEX did not write them."""
    try:
        files = _read_folder(folder)
    except (OSError, UnicodeDecodeError):
        return None
    return Pulled(files) if haproxy.is_whole(files) and haproxy.CONFIGURATION in files else None


def note_in_force(taken: Pulled, folder: Path) -> None:
    """These are in force now. Where that cannot be noted, the server is asked for all of them next
    time.
    """
    if not taken.tag:
        return
    with suppress(OSError):
        (folder / FETCHED).write_text(
            f"{taken.tag} {haproxy.version(taken.files)}\n", encoding="utf-8"
        )


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LONGEST)


def _read_folder(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text("ascii") for name in install_files.there_of(folder)}


def _parse_files(content: bytes) -> dict[str, str]:
    """As the server answers, or the files alone. Nothing where it is something else."""
    answer = flex_server_client.parse(content)
    files = answer.get("files", answer) if isinstance(answer, dict) else None
    if not isinstance(files, dict) or not all(
        isinstance(text, str) and text.isascii() for text in files.values()
    ):
        return {}
    return files


def _fetch(
    url: str, folder: Path, token: str, patience: float, asker: Asker, large: str, *, anew: bool
) -> Pulled:
    there = files_in_force(folder)
    owners = _large_map(there, large)
    tag, _, version = (install_files.content(folder / FETCHED) or "").strip().partition(" ")
    has = bool(version) and there is not None and haproxy.version(there.files) == version
    request = flex_server_client.request(url, token, tag if has and not anew else "")
    if owners:
        request.add_header(HAS_LARGE, host_to_node_maps.digest(owners))
    told = asker.begin(request, patience)
    answer = flex_server_client.wait_for_answer(url, told, patience)
    if answer.status == HTTPStatus.NOT_MODIFIED and has and there:
        return Pulled(there.files, tag)
    if answer.status != HTTPStatus.OK:
        raise flex_server_client.refusal(url, answer)
    files = _parse_files(answer.content)
    spared = bool(owners) and files.get(LEFT_OUT) == host_to_node_maps.digest(owners)
    if spared:
        files = {**files, OWNERS: owners}
        del files[LEFT_OUT]
    others = _others(answer.content)
    return Pulled(_whole(files, url), answer.tag, spared, others)


def _others(content: bytes) -> str:
    """What the server calls these files but for the small map; "" by an older one."""
    answer = flex_server_client.parse(content)
    others = answer.get("others", "") if isinstance(answer, dict) else ""
    return others if isinstance(others, str) else ""


def _large_map(there: Pulled | None, wanted: str) -> str:
    """The large map that is here, or what it becomes with the small one where that is wanted."""
    files = there.files if there else {}
    large, moved = files.get(OWNERS, ""), files.get(MOVED, "")
    if wanted and wanted != host_to_node_maps.digest(large):
        new = host_to_node_maps.large_map_of(large, moved)
        if host_to_node_maps.digest(new) == wanted:
            return new
    return large


def _whole(files: Mapping[str, str], where: str) -> Mapping[str, str]:
    if haproxy.CONFIGURATION not in files or not haproxy.is_whole(files):
        raise flex_server_client.unusable(
            where, "these are not all files of one version, byte by byte"
        )
    return files
